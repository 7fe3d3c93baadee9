//! The schema of a form, and what may be filled in (specification: client/elicitation, "Requested
//! Schema"): a flat object of texts, numbers, yes-or-no, and choices.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use serde_json::{Map, Number, Value};

use super::{format, whole};

/// The schema of a form.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Form {
    fields: Vec<Field>,
    /// No fields are described, and so anything will do.
    open: bool,
}

#[derive(Clone, Debug, PartialEq)]
struct Field {
    name: String,
    kind: Kind,
    required: bool,
    default: Option<Value>,
}

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Text { min: Option<u64>, max: Option<u64>, format: Option<String> },
    Number { whole: bool, min: Option<Number>, max: Option<Number> },
    Bool,
    One(BTreeSet<String>),
    Many { of: BTreeSet<String>, min: Option<u64>, max: Option<u64> },
}

/// What a schema without properties may not have: it would bind fields that nobody knows.
const RULES: [&str; 6] = ["required", "$ref", "oneOf", "anyOf", "allOf", "patternProperties"];

impl Form {
    /// A form that nothing is known of.
    pub(crate) fn open() -> Form {
        Form { fields: Vec::new(), open: true }
    }

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
            None if RULES.iter().any(|rule| schema.contains_key(*rule)) => {
                return wrong("has rules for fields that it does not describe");
            }
            None => return Ok(Form::open()),
            Some(Value::Object(properties)) => properties,
            Some(_) => return wrong("has properties that are no object"),
        };
        let required = texts(schema.get("required"));
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
        let names: BTreeSet<_> = self.fields.iter().map(|field| field.name.as_str()).collect();
        let known = |name: &str| self.open || names.contains(name);
        if let Some(unknown) = content.keys().find(|name| !known(name)) {
            let unknown = crate::text::excerpt(unknown);
            return Err(format!("the form has no field {unknown:?}"));
        }
        Ok(content)
    }
}

/// The texts in an array; of anything else none.
fn texts(value: Option<&Value>) -> BTreeSet<&str> {
    value.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
}

/// The choices of an `enum`, or of a `oneOf` or `anyOf` of titled constants.
fn choices(schema: &Value) -> Option<BTreeSet<String>> {
    if let Some(listed) = schema.get("enum").and_then(Value::as_array) {
        return listed.iter().map(|value| value.as_str().map(String::from)).collect();
    }
    let titled = schema.get("oneOf").or_else(|| schema.get("anyOf"))?.as_array()?;
    titled.iter().map(|value| value.get("const")?.as_str().map(String::from)).collect()
}

impl Kind {
    fn read(schema: &Value) -> Option<Kind> {
        let count = |name: &str| schema.get(name).and_then(whole);
        let number = |name: &str| schema.get(name).and_then(Value::as_number).cloned();
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
                let number = value.as_number().ok_or("is no number")?;
                if *whole && number.as_f64().is_none_or(|it| it.fract() != 0.0) {
                    return Err(String::from("is no whole number"));
                }
                match (min, max) {
                    (Some(min), _) if compare(number, min).is_lt() => {
                        Err(format!("is less than {min}"))
                    }
                    (_, Some(max)) if compare(number, max).is_gt() => {
                        Err(format!("is more than {max}"))
                    }
                    _ => Ok(()),
                }
            }
            Kind::Bool => value.as_bool().map(drop).ok_or_else(|| String::from("is no yes or no")),
            Kind::One(of) => {
                let text = value.as_str().ok_or("is no text")?;
                of.contains(text).then_some(()).ok_or_else(not_offered)
            }
            Kind::Many { of, min, max } => {
                let list = value.as_array().ok_or("is no list")?;
                within(list.len() as u64, *min, *max, "choices")?;
                let offered = |value: &Value| value.as_str().is_some_and(|text| of.contains(text));
                list.iter().all(offered).then_some(()).ok_or_else(not_offered)
            }
        }
    }
}

/// Whole numbers are compared as such: as floats, large ones would be taken for each other.
fn compare(one: &Number, other: &Number) -> Ordering {
    match (one.as_i128(), other.as_i128()) {
        (Some(one), Some(other)) => one.cmp(&other),
        _ => one.as_f64().partial_cmp(&other.as_f64()).unwrap_or(Ordering::Equal),
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

    /// M-ELIC-15: what is next to each other as whole numbers is the same as floats, and a number of
    /// things may be written as a fraction.
    #[test]
    fn numbers_are_what_they_say() {
        let most = 9_007_199_254_740_992_i64;
        let whole = json!({ "type": "integer", "minimum": -most, "maximum": most });
        let text = json!({ "type": "string", "minLength": 2.0, "maxLength": 3e0 });
        for (property, value, fits) in [
            (&whole, json!(most), true),
            (&whole, json!(-most), true),
            (&whole, json!(most + 1), false),
            (&whole, json!(-most - 1), false),
            (&text, json!("ab"), true),
            (&text, json!("a"), false),
            (&text, json!("abcd"), false),
        ] {
            assert_eq!(fill(property, value.clone()).is_ok(), fits, "{property} {value}");
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
            json!({ "type": "object", "required": ["g"] }),
            json!({ "$ref": "#/$defs/f" }),
            json!({ "type": "object", "oneOf": [{ "properties": {} }] }),
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

    /// M-ELIC-15: a server may describe as much as fits into a message, and nothing takes for ever.
    #[test]
    fn large_forms_are_read_and_filled_in_linear_time() {
        const MANY: usize = 60_000;
        let names: Vec<_> = (0..MANY).map(|n| format!("f{n}")).collect();
        let field = json!({ "type": "string", "default": "d" });
        let fields: Map<_, _> = names.iter().map(|name| (name.clone(), field.clone())).collect();
        let choices = json!({ "type": "array", "items": { "enum": names }, "default": names });
        let mut properties = fields.clone();
        properties.insert(String::from("many"), choices);
        let form = Form::read(&json!({ "properties": properties, "required": names })).unwrap();
        let filled = form.fill(Map::new()).unwrap();
        assert_eq!(filled.len(), MANY + 1);
        assert_eq!(form.fill(filled).unwrap().len(), MANY + 1);
    }
}
