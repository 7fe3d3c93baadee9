//! The parameters of one tool, against the arguments of one call.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::annotations::{HeaderParameter, HeaderParameters, HeaderType, InvalidAnnotation};
use crate::text::excerpt;
use crate::wire::headers;

/// The largest number of which every smaller one is exact in a double (2^53 - 1).
const MAX_SAFE: i64 = 9_007_199_254_740_991;

/// What is known of the parameters of a tool.
#[derive(Clone, Debug)]
pub(crate) struct ToolParameters {
    /// Those that stand in headers, or why the tool must not be called over HTTP.
    headers: Result<HeaderParameters, InvalidAnnotation>,
    /// Those that must be given, and for which the schema has no default.
    required: Vec<String>,
}

/// Arguments, and members of them, as they are sent.
type Members<'a> = BTreeMap<Cow<'a, str>, &'a RawValue>;

impl ToolParameters {
    /// Whether there is nothing to be known.
    pub(crate) fn is_empty(&self) -> bool {
        self.required.is_empty() && self.headers.as_ref().is_ok_and(HeaderParameters::is_empty)
    }

    /// Reads an input schema. One that cannot be read says nothing of what is required.
    pub(crate) fn read(schema: &str) -> Self {
        let value = serde_json::from_str(schema).unwrap_or(Value::Null);
        ToolParameters { headers: HeaderParameters::read(schema), required: required(&value) }
    }

    /// What a call of the tool lacks, and else the headers that its arguments go into, if there are
    /// any on its way.
    ///
    /// `params` are the parameters of the request.
    ///
    /// # Errors
    /// What is wrong with the arguments, or with the tool; no value of an argument is in it.
    pub(crate) fn judge(
        &self,
        params: &str,
        mirrors: bool,
    ) -> Result<Vec<(String, String)>, String> {
        #[derive(Deserialize)]
        struct Params<'a> {
            #[serde(borrow, default)]
            arguments: Option<&'a RawValue>,
        }
        let arguments = serde_json::from_str::<Params<'_>>(params).ok().and_then(|it| it.arguments);
        let arguments = arguments.map(|it| members(it.get())).unwrap_or_default();
        if let Some(name) = self.required.iter().find(|name| !arguments.contains_key(name.as_str()))
        {
            let name = excerpt(name);
            return Err(format!(
                "the argument {name:?} is required, as the server's list of tools has it"
            ));
        }
        if !mirrors {
            return Ok(Vec::new());
        }
        let headers = match &self.headers {
            Ok(headers) => headers.all(),
            Err(wrong) => return Err(format!("the tool must not be called over HTTP: {wrong}")),
        };
        let mut all = Vec::with_capacity(headers.len());
        for parameter in headers {
            if let Some(value) = value(parameter, &arguments)? {
                all.push((parameter.header().to_ascii_lowercase(), value));
            }
        }
        Ok(all)
    }
}

/// The required parameters that have no default. Only what is surely required counts.
fn required(schema: &Value) -> Vec<String> {
    let names = schema.get("required").and_then(Value::as_array).map(Vec::as_slice);
    let properties = schema.get("properties");
    let has_default = |name: &str| {
        properties.and_then(|all| all.get(name)).is_some_and(|it| it.get("default").is_some())
    };
    let names = names.unwrap_or_default().iter().filter_map(Value::as_str);
    names.filter(|name| !has_default(name)).map(String::from).collect()
}

fn members(object: &str) -> Members<'_> {
    serde_json::from_str(object).unwrap_or_default()
}

/// The value of a header. `None`: there is nothing at its place, or `null`.
fn value(parameter: &HeaderParameter, arguments: &Members<'_>) -> Result<Option<String>, String> {
    let Some((first, rest)) = parameter.path().split_first() else { return Ok(None) };
    let mut at = arguments.get(first.as_str()).copied();
    for step in rest {
        at = at.and_then(|value| members(value.get()).get(step.as_str()).copied());
    }
    let value: Value = match at.map(|value| serde_json::from_str(value.get())) {
        Some(Ok(value)) => value,
        _ => return Ok(None),
    };
    let text = match (parameter.kind(), &value) {
        (_, Value::Null) => return Ok(None),
        (HeaderType::String, Value::String(text)) => Some(headers::encode(text).into_owned()),
        (HeaderType::Boolean, Value::Bool(it)) => Some(it.to_string()),
        (HeaderType::Integer, Value::Number(number)) => safe_integer(number).map(|n| n.to_string()),
        _ => None,
    };
    let wrong = || {
        let kind = match parameter.kind() {
            HeaderType::String => "a text",
            HeaderType::Integer => "a whole number between -(2^53 - 1) and 2^53 - 1",
            HeaderType::Boolean => "true or false",
        };
        let at = excerpt(&parameter.path().join("."));
        format!(
            "the argument {at:?} stands in the header {}, so it must be {kind}",
            parameter.header()
        )
    };
    text.map(Some).ok_or_else(wrong)
}

/// A whole number that every reader of JSON understands alike. `42.0` is one.
fn safe_integer(number: &serde_json::Number) -> Option<i64> {
    let whole = match number.as_i64() {
        Some(whole) => whole,
        None => {
            let float = number.as_f64().filter(|it| it.fract() == 0.0)?;
            // Within this range the conversion is exact.
            #[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)]
            let whole = (float.abs() <= MAX_SAFE as f64).then_some(float as i64)?;
            whole
        }
    };
    (whole.unsigned_abs() <= MAX_SAFE.unsigned_abs()).then_some(whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn tool() -> ToolParameters {
        ToolParameters::read(
            &json!({ "type": "object", "properties": {
                "s": { "type": "string", "x-mcp-header": "S" },
                "i": { "type": "integer", "x-mcp-header": "I" },
                "b": { "type": "boolean", "x-mcp-header": "B" },
                "deep": { "properties": { "in": { "properties": {
                    "x": { "type": "string", "x-mcp-header": "Deep" } } } } },
            } })
            .to_string(),
        )
    }

    fn judge(arguments: Value) -> Result<Vec<(String, String)>, String> {
        tool().judge(&json!({ "name": "t", "arguments": arguments }).to_string(), true)
    }

    fn one(name: &str, value: &str) -> Result<Vec<(String, String)>, String> {
        Ok(vec![(String::from(name), String::from(value))])
    }

    /// M-HDR-12, M-HDR-13
    #[test]
    fn values_are_written_as_their_type_is() {
        for (text, value) in [("us-west1", "us-west1"), ("", ""), (" a ", "=?base64?IGEg?=")] {
            assert_eq!(judge(json!({ "s": text })), one("mcp-param-s", value));
        }
        for (number, value) in [
            (json!(-7), "-7"),
            (json!(42.0), "42"),
            (json!(1e3), "1000"),
            (json!(-0.0), "0"),
            (json!(9_007_199_254_740_991_i64), "9007199254740991"),
            (json!(-9_007_199_254_740_991_i64), "-9007199254740991"),
        ] {
            assert_eq!(judge(json!({ "i": number })), one("mcp-param-i", value));
        }
        assert_eq!(judge(json!({ "b": true })), one("mcp-param-b", "true"));
        assert_eq!(judge(json!({ "b": false })), one("mcp-param-b", "false"));
    }

    /// M-HDR-10: and neither the name nor the value of another argument is told.
    #[test]
    fn values_of_other_types_and_ranges_are_refused() {
        for arguments in [
            json!({ "i": 9_007_199_254_740_992_i64 }),
            json!({ "i": -9_007_199_254_740_992_i64 }),
            json!({ "i": u64::MAX }),
            json!({ "i": i64::MIN }),
            json!({ "i": 1.5 }),
            json!({ "i": 1e300 }),
            json!({ "i": "7" }),
            json!({ "s": 7 }),
            json!({ "s": ["x"] }),
            json!({ "b": "true" }),
            json!({ "b": 1 }),
            json!({ "deep": { "in": { "x": {} } } }),
        ] {
            let error = judge(arguments.clone()).unwrap_err();
            assert!(error.contains("Mcp-Param-"), "{arguments}: {error}");
        }
    }

    /// M-HDR-11: only what is at the exact path counts.
    #[test]
    fn what_is_not_there_has_no_header() {
        for arguments in [
            json!({}),
            json!({ "s": null, "i": null, "b": null }),
            json!({ "x": "x", "in": { "x": "x" } }),
            json!({ "deep": null }),
            json!({ "deep": "x" }),
            json!({ "deep": [{ "in": { "x": "x" } }] }),
            json!({ "deep": { "x": "x", "in": {} } }),
            json!({ "deep": { "in": { "x": null } } }),
            json!({ "deep": { "deep": { "in": { "x": "x" } } } }),
        ] {
            assert_eq!(judge(arguments.clone()), Ok(vec![]), "{arguments}");
        }
        assert_eq!(judge(json!({ "deep": { "in": { "x": "y" } } })), one("mcp-param-deep", "y"));
    }

    /// M-TOOL-08
    #[test]
    fn what_is_required_must_be_there() {
        let schema = json!({
            "properties": { "a": {}, "b": { "default": null }, "c": { "default": 1 } },
            "required": ["a", "b", 7, "d"],
        });
        let tool = ToolParameters::read(&schema.to_string());
        let judge =
            |arguments: Value| tool.judge(&json!({ "arguments": arguments }).to_string(), false);
        assert_eq!(judge(json!({ "a": null, "d": 1 })), Ok(vec![]));
        assert!(judge(json!({ "a": 1 })).unwrap_err().contains("\"d\""));
        assert!(judge(json!({ "b": 1, "d": 1 })).unwrap_err().contains("\"a\""));
        assert!(tool.judge("{}", false).unwrap_err().contains("\"a\""));
        for schema in ["null", "7", r#"{"required":"a"}"#, r#"{"required":[null]}"#, "{"] {
            assert!(ToolParameters::read(schema).is_empty(), "{schema}");
        }
    }

    /// M-HDR-14
    #[test]
    fn annotations_count_only_where_there_are_headers() {
        let tool = ToolParameters::read(r#"{"properties":{"a":{"x-mcp-header":""}}}"#);
        assert_eq!(tool.judge("{}", false), Ok(vec![]));
        assert!(tool.judge("{}", true).unwrap_err().contains("over HTTP"));
    }
}
