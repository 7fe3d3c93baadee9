//! `x-mcp-header`: which parameters of a tool stand in headers, and whether they may.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::text::excerpt;
use crate::wire::headers;
use crate::{Raw, wire};

/// How many parameters of one tool may stand in headers.
pub const MAX_HEADER_PARAMETERS: usize = 64;
/// How long the name may be that such a parameter has in its header, in bytes.
pub const MAX_HEADER_NAME_BYTES: usize = 128;

const ANNOTATION: &str = "x-mcp-header";

/// The parameters of a tool that stand in headers as well.
///
/// ```
/// use mcp_proto::{HeaderParameters, Raw};
///
/// let schema = r#"{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}"#;
/// let found = HeaderParameters::of(&Raw::new(schema)).expect("annotations as they must be");
/// assert_eq!(found.all()[0].header(), "Mcp-Param-Region");
///
/// let number = schema.replace("string", "number");
/// let error = HeaderParameters::of(&Raw::new(number)).unwrap_err();
/// assert!(error.to_string().contains("integer"), "{error}");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeaderParameters {
    all: Vec<HeaderParameter>,
}

/// A parameter that stands in a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderParameter {
    name: String,
    path: Vec<String>,
    kind: HeaderType,
}

/// Of what type a parameter in a header is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeaderType {
    /// A text, which stands there as it is, or encoded where a header could not carry it.
    String,
    /// A whole number, in decimal.
    Integer,
    /// `true` or `false`.
    Boolean,
}

/// What is wrong with the annotations of a tool. A client over HTTP must not use such a tool.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidAnnotation {
    /// The annotation is no text.
    #[error("an x-mcp-header is no text")]
    NoText,
    /// The annotation is no name that a header can have: one token (RFC 9110), not too long.
    #[error(
        "the x-mcp-header {0:?} is no header name (RFC 9110: one token, at most {MAX_HEADER_NAME_BYTES} bytes)"
    )]
    Name(String),
    /// Two annotations differ in case at most.
    #[error("the x-mcp-header {0:?} stands there twice (case does not count)")]
    Twice(String),
    /// The annotated parameter has another type, or none that is named.
    #[error("the x-mcp-header {0:?} is at a parameter that is no string, integer or boolean")]
    Type(String),
    /// The annotation is at something that is no parameter with a path of its own.
    #[error("the x-mcp-header {0:?} is at nothing that is reached by `properties` alone")]
    Place(String),
    /// There are more of them than [`MAX_HEADER_PARAMETERS`].
    #[error("there are more than {MAX_HEADER_PARAMETERS} annotations x-mcp-header")]
    TooMany,
    /// The schema cannot be read, so nobody knows where its annotations are.
    #[error("the schema, which has an x-mcp-header, cannot be read: {0}")]
    Unreadable(String),
}

impl HeaderParameter {
    /// The name of the header: `Mcp-Param-` and what the annotation says.
    #[must_use]
    pub fn header(&self) -> String {
        format!("Mcp-Param-{}", self.name)
    }

    /// Where its value stands in the arguments: one member after the other.
    #[must_use]
    pub fn path(&self) -> &[String] {
        &self.path
    }

    /// Of what type it is.
    #[must_use]
    pub fn kind(&self) -> HeaderType {
        self.kind
    }
}

impl HeaderParameters {
    /// The annotated parameters of an input schema.
    ///
    /// # Errors
    /// When an annotation breaks a rule of the specification (server/tools, "x-mcp-header").
    pub fn of(input_schema: &Raw) -> Result<Self, InvalidAnnotation> {
        Self::read(input_schema.as_str())
    }

    pub(crate) fn read(schema: &str) -> Result<Self, InvalidAnnotation> {
        if !may_have(schema) {
            return Ok(HeaderParameters::default());
        }
        match serde_json::from_str(schema) {
            Ok(schema) => Self::in_value(&schema),
            Err(error) => Err(InvalidAnnotation::Unreadable(wire::json_trouble(&error))),
        }
    }

    pub(super) fn in_value(schema: &Value) -> Result<Self, InvalidAnnotation> {
        let mut walk = Walk { found: Vec::new(), names: BTreeSet::new() };
        walk.schema(schema, &mut Some(Vec::new()))?;
        Ok(HeaderParameters { all: walk.found })
    }

    /// All of them, in the order of the schema.
    #[must_use]
    pub fn all(&self) -> &[HeaderParameter] {
        &self.all
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }
}

/// Whether there can be an annotation in this text at all. Letters can hide behind escapes.
pub(super) fn may_have(schema: &str) -> bool {
    schema.contains(ANNOTATION) || schema.contains("\\u")
}

struct Walk {
    found: Vec<HeaderParameter>,
    names: BTreeSet<String>,
}

/// The chain of properties from the root to where the walk is, if there is nothing else in it.
type Path = Option<Vec<String>>;

impl Walk {
    fn schema(&mut self, schema: &Value, path: &mut Path) -> Result<(), InvalidAnnotation> {
        let Value::Object(members) = schema else { return Ok(()) };
        if let Some(annotation) = members.get(ANNOTATION) {
            self.annotated(annotation, members, path.as_deref())?;
        }
        for (keyword, value) in members {
            match (keyword.as_str(), value) {
                // Data, in which nothing is an annotation.
                (ANNOTATION | "const" | "default" | "enum" | "examples" | "required", _) => {}
                ("properties", Value::Object(properties)) => {
                    for (name, property) in properties {
                        if let Some(path) = path {
                            path.push(name.clone());
                        }
                        self.schema(property, path)?;
                        if let Some(path) = path {
                            path.pop();
                        }
                    }
                }
                // Names, and what they stand for.
                (
                    "$defs" | "definitions" | "dependencies" | "dependentSchemas"
                    | "patternProperties",
                    Value::Object(named),
                ) => named.values().try_for_each(|it| self.schema(it, &mut None))?,
                (_, Value::Array(schemas)) => {
                    schemas.iter().try_for_each(|it| self.schema(it, &mut None))?;
                }
                (_, other) => self.schema(other, &mut None)?,
            }
        }
        Ok(())
    }

    fn annotated(
        &mut self,
        annotation: &Value,
        schema: &Map<String, Value>,
        path: Option<&[String]>,
    ) -> Result<(), InvalidAnnotation> {
        let name = annotation.as_str().ok_or(InvalidAnnotation::NoText)?;
        if !headers::is_name(name) || name.len() > MAX_HEADER_NAME_BYTES {
            return Err(InvalidAnnotation::Name(excerpt(name)));
        }
        let path = match path {
            Some(path) if !path.is_empty() => path,
            _ => return Err(InvalidAnnotation::Place(String::from(name))),
        };
        let kind = kind(schema).ok_or_else(|| InvalidAnnotation::Type(String::from(name)))?;
        if !self.names.insert(name.to_ascii_lowercase()) {
            return Err(InvalidAnnotation::Twice(String::from(name)));
        }
        if self.found.len() >= MAX_HEADER_PARAMETERS {
            return Err(InvalidAnnotation::TooMany);
        }
        self.found.push(HeaderParameter { name: String::from(name), path: path.to_vec(), kind });
        Ok(())
    }
}

/// The type, if it is one of the three. A value may be `null` beside it: then there is no header.
fn kind(schema: &Map<String, Value>) -> Option<HeaderType> {
    let one = |name: &Value| match name.as_str() {
        Some("string") => Some(HeaderType::String),
        Some("integer") => Some(HeaderType::Integer),
        Some("boolean") => Some(HeaderType::Boolean),
        _ => None,
    };
    match schema.get("type")? {
        Value::Array(types) => match &types[..] {
            [other, null] | [null, other] if null == "null" => one(other),
            _ => None,
        },
        name => one(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(schema: &Value) -> Result<HeaderParameters, InvalidAnnotation> {
        HeaderParameters::of(&Raw::new(schema.to_string()))
    }

    fn of(properties: Value) -> Result<HeaderParameters, InvalidAnnotation> {
        read(&json!({ "type": "object", "properties": properties }))
    }

    /// M-HDR-04, M-HDR-09
    #[test]
    fn parameters_are_found_by_their_paths() {
        let found = of(json!({
            "plain": { "type": "string" },
            "region": { "type": "string", "x-mcp-header": "Region" },
            "properties": { "type": "object", "properties": {
                "x-mcp-header": { "type": ["null", "integer"], "x-mcp-header": "X-1" },
            } },
            "flag": { "type": ["boolean", "null"], "x-mcp-header": "f" },
        }))
        .unwrap();
        let all: Vec<_> =
            found.all().iter().map(|it| (it.header(), it.path().join("/"), it.kind())).collect();
        let of = |name: &str, path: &str, kind| (String::from(name), String::from(path), kind);
        assert_eq!(
            all,
            [
                of("Mcp-Param-Region", "region", HeaderType::String),
                of("Mcp-Param-X-1", "properties/x-mcp-header", HeaderType::Integer),
                of("Mcp-Param-f", "flag", HeaderType::Boolean),
            ]
        );
    }

    /// M-HDR-04, M-HDR-06
    #[test]
    fn names_that_no_header_has_are_refused() {
        let long = "x".repeat(MAX_HEADER_NAME_BYTES + 1);
        for name in ["", " ", "My Region", "a\r\nb: c", "a\tb", "é", "a:b", "\u{7f}", &*long] {
            let found = of(json!({ "a": { "type": "string", "x-mcp-header": name } }));
            assert!(matches!(found, Err(InvalidAnnotation::Name(_))), "{name:?}: {found:?}");
            let text = found.unwrap_err().to_string();
            assert!(!text.contains('\n') && text.len() < 600, "{text}");
        }
        for value in [json!(null), json!(7), json!(["A"]), json!({}), json!(true)] {
            let found = of(json!({ "a": { "type": "string", "x-mcp-header": value } }));
            assert_eq!(found, Err(InvalidAnnotation::NoText), "{value}");
        }
        let found = of(json!({ "a": { "type": "string", "x-mcp-header": &long[1..] } }));
        assert_eq!(found.unwrap().all().len(), 1);
    }

    /// M-HDR-04, M-HDR-07: nested ones are of the same schema.
    #[test]
    fn names_are_unique_whatever_their_case() {
        let twice = json!({
            "a": { "type": "string", "x-mcp-header": "Region" },
            "b": { "type": "object", "properties": {
                "c": { "type": "string", "x-mcp-header": "rEGION" } } },
        });
        assert_eq!(of(twice), Err(InvalidAnnotation::Twice(String::from("rEGION"))));
    }

    /// M-HDR-04, M-HDR-08
    #[test]
    fn only_three_types_stand_in_headers() {
        let types = [
            json!("number"),
            json!("array"),
            json!("object"),
            json!("null"),
            json!("String"),
            json!(["string"]),
            json!(["string", "integer"]),
            json!(["string", "null", "integer"]),
            json!(["null", "null"]),
            json!([]),
            json!(7),
        ];
        for kind in types {
            let found = of(json!({ "a": { "type": kind, "x-mcp-header": "A" } }));
            assert_eq!(found, Err(InvalidAnnotation::Type(String::from("A"))), "{kind}");
        }
        let untyped = of(json!({ "a": { "x-mcp-header": "A", "$ref": "#/$defs/x" } }));
        assert_eq!(untyped, Err(InvalidAnnotation::Type(String::from("A"))));
    }

    /// M-HDR-04, M-HDR-09: one for each keyword that is on the way.
    #[test]
    fn nothing_but_properties_leads_to_a_header() {
        let leaf = json!({ "type": "string", "x-mcp-header": "A" });
        let object = json!({ "type": "object", "properties": { "a": leaf } });
        let one = ["items", "not", "if", "then", "else", "additionalProperties", "contains"];
        let many = ["oneOf", "anyOf", "allOf", "prefixItems", "items"];
        let named = ["$defs", "definitions", "dependentSchemas", "patternProperties"];
        let mut schemas = vec![leaf.clone()];
        for inner in [&leaf, &object] {
            schemas.extend(one.map(|keyword| json!({ keyword: inner })));
            schemas.extend(many.map(|keyword| json!({ keyword: [{}, inner] })));
            schemas.extend(named.map(|keyword| json!({ keyword: { "properties": inner } })));
        }
        for schema in schemas {
            for whole in [schema.clone(), json!({ "properties": { "p": schema } })] {
                let place = Err(InvalidAnnotation::Place(String::from("A")));
                let at_property = whole["properties"]["p"] == leaf;
                assert_eq!(read(&whole) == place, !at_property, "{whole}");
            }
        }
    }

    /// M-HDR-09
    #[test]
    fn data_is_no_annotation() {
        let leaf = json!({ "x-mcp-header": "" });
        for keyword in ["default", "const", "examples", "enum"] {
            let value = json!([leaf]);
            assert!(of(json!({ "a": { keyword: value } })).unwrap().is_empty(), "{keyword}");
        }
        assert!(of(json!({ "x-mcp-header": { "type": "number" } })).unwrap().is_empty());
    }

    /// M-HDR-04: letters hide behind escapes, and schemas behind their depth.
    #[test]
    fn nothing_hides_an_annotation() {
        let hidden = r#"{"properties":{"a":{"type":"number","x\u002dmcp-header":"A"}}}"#;
        let found = HeaderParameters::of(&Raw::new(hidden));
        assert_eq!(found, Err(InvalidAnnotation::Type(String::from("A"))));
        let deep = |inner: &str| {
            let open = r#"{"properties":{"a":"#.repeat(5000);
            HeaderParameters::of(&Raw::new(format!("{open}{inner}{}", "}}".repeat(5000))))
        };
        assert_eq!(deep("{}"), Ok(HeaderParameters::default()));
        let found = deep(r#"{"type":"string","x-mcp-header":"A"}"#);
        assert!(matches!(found, Err(InvalidAnnotation::Unreadable(_))), "{found:?}");
    }

    #[test]
    fn their_number_is_bounded() {
        let many = |count: usize| {
            let all = (0..count).map(|n| {
                (format!("p{n}"), json!({ "type": "integer", "x-mcp-header": format!("P{n}") }))
            });
            of(Value::Object(all.collect()))
        };
        assert_eq!(many(MAX_HEADER_PARAMETERS).unwrap().all().len(), MAX_HEADER_PARAMETERS);
        assert_eq!(many(MAX_HEADER_PARAMETERS + 1), Err(InvalidAnnotation::TooMany));
    }
}
