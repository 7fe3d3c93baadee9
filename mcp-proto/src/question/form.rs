//! The schema of a form, and what may be filled in (specification: client/elicitation, "Requested
//! Schema"): a flat object of texts, numbers, yes-or-no, and choices.

use serde_json::{Map, Value};

use super::format;

/// The schema of a form.
#[derive(Debug)]
pub(crate) struct Form {
    fields: Vec<Field>,
    /// No fields are described, and so anything will do.
    open: bool,
}

#[derive(Debug)]
struct Field {
    name: String,
    kind: Kind,
    required: bool,
    default: Option<Value>,
}

#[derive(Debug)]
enum Kind {
    Text { min: Option<u64>, max: Option<u64>, format: Option<String> },
    Number { whole: bool, min: Option<f64>, max: Option<f64> },
    Bool,
    One(Vec<String>),
    Many { of: Vec<String>, min: Option<u64>, max: Option<u64> },
}

impl Form {
    /// Reads a schema.
    ///
    /// # Errors
    /// What is wrong with it, in words that hold nothing of it but the names of its fields.
    pub(crate) fn read(schema: &Value) -> Result<Form, String> {
        let wrong = |why: &str| Err(format!("the requested schema {why}"));
        let Some(schema) = schema.as_object() else { return wrong("is no object") };
        if schema.get("type").is_some_and(|kind| kind != "object") {
            return wrong("is none of an object");
        }
        let properties = match schema.get("properties") {
            None => return Ok(Form { fields: Vec::new(), open: true }),
            Some(Value::Object(properties)) => properties,
            Some(_) => return wrong("has properties that are no object"),
        };
        let required: Vec<_> = texts(schema.get("required"));
        if let Some(missing) = required.iter().find(|name| !properties.contains_key(**name)) {
            let missing = crate::text::excerpt(missing);
            return wrong(&format!("requires {missing:?}, which it does not describe"));
        }
        let mut fields = Vec::with_capacity(properties.len());
        for (name, property) in properties {
            let Some(kind) = Kind::read(property) else {
                let name = crate::text::excerpt(name);
                return wrong(&format!("describes {name:?} as something that no form has"));
            };
            let default = property.get("default").filter(|value| !value.is_null()).cloned();
            let required = required.contains(&name.as_str());
            fields.push(Field { name: name.clone(), kind, required, default });
        }
        Ok(Form { fields, open: false })
    }

    /// Fills in the defaults of fields that are missing, and checks the whole.
    ///
    /// # Errors
    /// What is wrong, by the names of the fields and without their contents.
    pub(crate) fn fill(&self, content: Map<String, Value>) -> Result<Map<String, Value>, String> {
        let mut content = content;
        for Field { name, kind, required, default } in &self.fields {
            let absent = content.get(name).is_none_or(Value::is_null);
            if absent {
                content.shift_remove(name);
                if let Some(default) = default.as_ref().filter(|value| kind.check(value).is_ok()) {
                    content.insert(name.clone(), default.clone());
                } else if *required {
                    return Err(format!("the field {:?} is required", crate::text::excerpt(name)));
                }
                continue;
            }
            if let Some(Err(why)) = content.get(name).map(|value| kind.check(value)) {
                return Err(format!("the field {:?} {why}", crate::text::excerpt(name)));
            }
        }
        let known = |name: &String| self.open || self.fields.iter().any(|f| f.name == *name);
        if let Some(unknown) = content.keys().find(|name| !known(name)) {
            let unknown = crate::text::excerpt(unknown);
            return Err(format!("the form has no field {unknown:?}"));
        }
        Ok(content)
    }
}

/// The texts in an array; of anything else none.
fn texts(value: Option<&Value>) -> Vec<&str> {
    value.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
}

/// The choices of an `enum`, or of a `oneOf` or `anyOf` of titled constants.
fn choices(schema: &Value) -> Option<Vec<String>> {
    if let Some(listed) = schema.get("enum").and_then(Value::as_array) {
        return listed.iter().map(|value| value.as_str().map(String::from)).collect();
    }
    let titled = schema.get("oneOf").or_else(|| schema.get("anyOf"))?.as_array()?;
    titled.iter().map(|value| value.get("const")?.as_str().map(String::from)).collect()
}

impl Kind {
    fn read(schema: &Value) -> Option<Kind> {
        let count = |name: &str| schema.get(name).and_then(Value::as_u64);
        let number = |name: &str| schema.get(name).and_then(Value::as_f64);
        let titled = schema.get("oneOf").is_some() || schema.get("anyOf").is_some();
        match schema.get("type").and_then(Value::as_str) {
            Some("string") if titled || schema.get("enum").is_some() => {
                choices(schema).map(Kind::One)
            }
            Some("string") => {
                let format = schema.get("format").and_then(Value::as_str).map(String::from);
                Some(Kind::Text { min: count("minLength"), max: count("maxLength"), format })
            }
            Some(kind @ ("number" | "integer")) => {
                let (min, max) = (number("minimum"), number("maximum"));
                Some(Kind::Number { whole: kind == "integer", min, max })
            }
            Some("boolean") => Some(Kind::Bool),
            Some("array") => {
                let of = choices(schema.get("items")?)?;
                Some(Kind::Many { of, min: count("minItems"), max: count("maxItems") })
            }
            // A choice may come without its type.
            None if titled || schema.get("enum").is_some() => choices(schema).map(Kind::One),
            _ => None,
        }
    }

    /// Whether a value may stand in such a field; if not, the words for it.
    fn check(&self, value: &Value) -> Result<(), String> {
        match self {
            Kind::Text { min, max, format } => {
                let text = value.as_str().ok_or("is no text")?;
                // A schema counts characters, not bytes.
                let length = text.chars().count() as u64;
                within(length, *min, *max, "characters")?;
                match format.as_deref() {
                    Some(format) if !format::fits(format, text) => Err(format!("is no {format}")),
                    _ => Ok(()),
                }
            }
            Kind::Number { whole, min, max } => {
                let number = value.as_f64().ok_or("is no number")?;
                if *whole && number.fract() != 0.0 {
                    return Err(String::from("is no whole number"));
                }
                match (min, max) {
                    (Some(min), _) if number < *min => Err(format!("is less than {min}")),
                    (_, Some(max)) if number > *max => Err(format!("is more than {max}")),
                    _ => Ok(()),
                }
            }
            Kind::Bool => value.as_bool().map(drop).ok_or_else(|| String::from("is no yes or no")),
            Kind::One(of) => {
                let text = value.as_str().ok_or("is no text")?;
                of.iter().any(|one| one == text).then_some(()).ok_or_else(not_offered)
            }
            Kind::Many { of, min, max } => {
                let list = value.as_array().ok_or("is no list")?;
                within(list.len() as u64, *min, *max, "choices")?;
                let offered = |value: &Value| of.iter().any(|one| value == one.as_str());
                list.iter().all(offered).then_some(()).ok_or_else(not_offered)
            }
        }
    }
}

fn not_offered() -> String {
    String::from("is none of the choices")
}

fn within(count: u64, min: Option<u64>, max: Option<u64>, of: &str) -> Result<(), String> {
    match (min, max) {
        (Some(min), _) if count < min => Err(format!("needs at least {min} {of}")),
        (_, Some(max)) if count > max => Err(format!("takes at most {max} {of}")),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fill(property: &Value, value: Value) -> Result<Map<String, Value>, String> {
        let form = Form::read(&json!({ "type": "object", "properties": { "f": property } }))?;
        let Value::Object(content) = json!({ "f": value }) else { unreachable!() };
        form.fill(content)
    }

    /// M-ELIC-15, M-ELIC-12
    #[test]
    fn each_kind_of_field_takes_what_fits() {
        let titled = json!([{ "const": "a", "title": "A" }, { "const": "b", "title": "B" }]);
        let table = [
            (json!({ "type": "string" }), vec![json!("")], vec![json!(1), json!([])]),
            (
                json!({ "type": "string", "minLength": 2, "maxLength": 3 }),
                vec![json!("ab"), json!("äöü")],
                vec![json!("a"), json!("abcd")],
            ),
            (
                json!({ "type": "string", "format": "email" }),
                vec![json!("a@b.example")],
                vec![json!("a"), json!("a b@c.example"), json!("@b")],
            ),
            (
                json!({ "type": "string", "format": "uri" }),
                vec![json!("https://a.example/b")],
                vec![json!("/b"), json!("no uri")],
            ),
            (
                json!({ "type": "string", "format": "date" }),
                vec![json!("2028-02-29")],
                vec![json!("2027-02-29"), json!("2027-13-01"), json!("27-01-01")],
            ),
            (
                json!({ "type": "string", "format": "date-time" }),
                vec![json!("2027-01-01T00:00:00Z"), json!("2027-01-01t23:59:60.5+01:00")],
                vec![
                    json!("2027-01-01"),
                    json!("2027-01-01T24:00:00Z"),
                    json!("2027-01-01T00:00:00"),
                ],
            ),
            (json!({ "type": "string", "format": "later" }), vec![json!("any")], vec![]),
            (
                json!({ "type": "number", "minimum": -1, "maximum": 2.5 }),
                vec![json!(-1), json!(2.5)],
                vec![json!(-1.1), json!(2.6), json!("1")],
            ),
            (json!({ "type": "integer" }), vec![json!(3), json!(3.0)], vec![json!(3.5)]),
            (json!({ "type": "boolean" }), vec![json!(true)], vec![json!("true"), json!(1)]),
            (json!({ "type": "string", "enum": ["a", "b"] }), vec![json!("a")], vec![json!("c")]),
            (json!({ "type": "string", "oneOf": titled }), vec![json!("b")], vec![json!("B")]),
            (
                json!({ "type": "array", "items": { "type": "string", "enum": ["a", "b"] },
                    "minItems": 1, "maxItems": 2 }),
                vec![json!(["a"]), json!(["b", "a"])],
                vec![json!([]), json!(["a", "b", "a"]), json!(["c"]), json!("a"), json!([1])],
            ),
            (
                json!({ "type": "array", "items": { "anyOf": titled } }),
                vec![json!(["a", "b"]), json!([])],
                vec![json!(["A"])],
            ),
        ];
        for (property, good, bad) in table {
            for value in good {
                let filled = fill(&property, value.clone());
                assert_eq!(filled.as_ref().map(|all| &all["f"]), Ok(&value), "{property}");
            }
            for value in bad {
                let why = fill(&property, value.clone()).unwrap_err();
                assert!(why.starts_with("the field \"f\" "), "{why}: {property} {value}");
            }
        }
    }

    /// M-ELIC-15
    #[test]
    fn schemas_that_are_no_form_are_refused() {
        for schema in [
            json!([]),
            json!({ "type": "object", "properties": [] }),
            json!({ "type": "array", "properties": {} }),
            json!({ "type": "object", "properties": { "f": { "type": "object" } } }),
            json!({ "type": "object", "properties": { "f": {} } }),
            json!({ "type": "object", "properties": { "f": { "type": "null" } } }),
            json!({ "type": "object", "properties": { "f": { "type": "array" } } }),
            json!({ "type": "object", "properties": { "f": { "enum": [1] } } }),
            json!({ "type": "object", "properties": { "f": { "type": "string" } },
                "required": ["g"] }),
        ] {
            let why = Form::read(&schema).unwrap_err();
            assert!(why.starts_with("the requested schema "), "{why}: {schema}");
        }
        assert!(Form::read(&json!({ "properties": {} })).is_ok(), "the type may be missing");
    }

    /// M-ELIC-16: what is missing is filled in, what is required must be there, and nothing else.
    #[test]
    fn defaults_are_filled_in() {
        let form =
            Form::read(&json!({ "type": "object", "required": ["need", "name"], "properties": {
            "name": { "type": "string", "default": "n" },
            "age": { "type": "integer", "default": 7 },
            "score": { "type": "number", "default": 0.5 },
            "ok": { "type": "boolean", "default": false },
            "one": { "type": "string", "enum": ["a", "b"], "default": "b" },
            "many": { "type": "array", "items": { "enum": ["a", "b"] }, "default": ["a"] },
            "odd": { "type": "integer", "default": "no number" },
            "free": { "type": "string" },
            "need": { "type": "string" },
        } }))
            .unwrap();
        let Value::Object(given) = json!({ "need": "x", "age": 8, "ok": null }) else { panic!() };
        let filled = Value::Object(form.fill(given).unwrap());
        let all = json!({ "need": "x", "age": 8, "name": "n", "score": 0.5, "ok": false, "one": "b",
            "many": ["a"] });
        assert_eq!(filled, all);
        let why = form.fill(Map::new()).unwrap_err();
        assert_eq!(why, "the field \"need\" is required");
        let Value::Object(more) = json!({ "need": "x", "secret": 1 }) else { panic!() };
        assert_eq!(form.fill(more).unwrap_err(), "the form has no field \"secret\"");
    }
}
