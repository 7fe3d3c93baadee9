//! Filling names into a line.

use std::collections::BTreeMap;

use serde_json::{Number, Value, json};

/// What a script can name.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    last: Value,
    labelled: BTreeMap<String, Value>,
    /// The loop counters, the innermost last.
    pub(super) counters: Vec<u64>,
    argv: Vec<String>,
    pub(super) grandchild: Option<u32>,
}

impl Names {
    /// Nothing has been expected yet.
    pub(super) fn new(argv: Vec<String>) -> Self {
        Names { argv, ..Names::default() }
    }

    /// Remembers a message that was expected.
    pub(super) fn remember(&mut self, message: &Value, label: Option<&str>) {
        let content = ["params", "result", "error"];
        let params = content.iter().find_map(|member| message.get(member));
        let params = params.unwrap_or(&Value::Null);
        let token = params.pointer("/_meta/progressToken");
        let known = json!({ "id": message.get("id"), "token": token, "params": params });
        if let Some(label) = label {
            self.labelled.insert(label.to_owned(), known.clone());
        }
        self.last = known;
    }

    /// The line with each name replaced by the JSON text of its value.
    pub(super) fn fill(&self, text: &str) -> Result<String, String> {
        let mut filled = String::with_capacity(text.len());
        let (mut in_string, mut escaped) = (false, false);
        let mut rest = text;
        while let Some(next) = rest.chars().next() {
            // Only here: to look for a name at each character takes the square of the length.
            if next == '$' && !in_string {
                let name = &rest[1..];
                let name = &name[..name_length(name)];
                if !name.is_empty() {
                    filled.push_str(&self.value(name)?.to_string());
                    rest = &rest[1 + name.len()..];
                    continue;
                }
            }
            if in_string && next == '\\' {
                escaped = !escaped;
            } else {
                in_string ^= next == '"' && !escaped;
                escaped = false;
            }
            filled.push(next);
            rest = &rest[next.len_utf8()..];
        }
        Ok(filled)
    }

    fn value(&self, name: &str) -> Result<Value, String> {
        let mut segments = name.split('.');
        let first = segments.next().unwrap_or_default();
        let mut value = match first {
            "id" | "token" | "params" => self.last.get(first).cloned(),
            "n" => self.counters.last().map(|counter| json!(counter)),
            "pid" => Some(json!(std::process::id())),
            "argv" => Some(json!(self.argv)),
            "cwd" => std::env::current_dir().ok().map(|cwd| json!(cwd.to_string_lossy())),
            "env" => Some(environment()),
            "grandchild" => self.grandchild.map(|pid| json!(pid)),
            label => self.labelled.get(label).cloned(),
        };
        for segment in segments {
            value = value.and_then(|value| step_into(&value, segment));
        }
        value.ok_or_else(|| format!("the script has no value for `${name}`"))
    }
}

fn step_into(value: &Value, segment: &str) -> Option<Value> {
    let inner = match value {
        Value::Array(items) => segment.parse().ok().and_then(|at: usize| items.get(at)),
        _ => value.get(segment),
    };
    match (inner, segment, value) {
        (Some(inner), _, _) => Some(inner.clone()),
        (None, "string", Value::String(_)) => Some(value.clone()),
        (None, "string", _) => Some(Value::String(value.to_string())),
        (None, "float", Value::Number(number)) => {
            number.as_f64().and_then(Number::from_f64).map(Value::Number)
        }
        _ => None,
    }
}

/// The length of the name at the start of the text: segments of letters, digits and `_`.
fn name_length(text: &str) -> usize {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut length = 0;
    for segment in text.split('.') {
        let part = segment.find(|c| !is_part(c)).unwrap_or(segment.len());
        if part == 0 {
            break;
        }
        length += part + usize::from(length > 0);
        if part < segment.len() {
            break;
        }
    }
    length
}

fn environment() -> Value {
    let text = |value: std::ffi::OsString| value.to_string_lossy().into_owned();
    std::env::vars_os().map(|(name, value)| (text(name), Value::String(text(value)))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Names {
        let mut names = Names::new(vec!["a b".to_owned(), String::new()]);
        let meta = json!({ "progressToken": 0 });
        let params = json!({ "_meta": meta, "list": [1, { "x": "y" }] });
        names.remember(&json!({ "id": 5, "params": params }), Some("a"));
        names.remember(&json!({ "id": "s" }), None);
        names.counters = vec![9, 3];
        names
    }

    #[test]
    fn names_outside_strings_become_values() {
        let names = names();
        for (text, expected) in [
            ("$id", r#""s""#),
            ("[$a.id,$a.token,$n]", "[5,0,3]"),
            ("$a.id.string $a.id.float $id.string", r#""5" 5.0 "s""#),
            ("$a.params.list.1.x", r#""y""#),
            ("$a.params.list.string", r#""[1,{\"x\":\"y\"}]""#),
            ("$argv $argv.0", r#"["a b",""] "a b""#),
            ("$token", "null"),
            ("$ $$ $.5 5$", "$ $$ $.5 5$"),
            ("$a.id.", "5."),
        ] {
            assert_eq!(names.fill(text).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn strings_are_left_alone() {
        let names = names();
        for text in [r##"{"$ref":"#/$defs/id","$id":"x"}"##, r#""a \" $id""#, r#""grüße $n""#] {
            assert_eq!(names.fill(text).as_deref(), Ok(text));
        }
        let filled = names.fill(r#"{"a":"\\","id":$n}"#);
        assert_eq!(filled.as_deref(), Ok(r#"{"a":"\\","id":3}"#));
    }

    #[test]
    fn an_unknown_name_is_a_mistake_of_the_script() {
        for name in ["$b.id", "$a.x", "$a.params.list.7", "$grandchild", "$id.float"] {
            let message = names().fill(name).unwrap_err();
            assert!(message.contains(name), "{message}");
        }
        assert!(Names::default().fill("$id").is_err());
        assert!(Names::default().fill("$n").is_err());
    }
}
