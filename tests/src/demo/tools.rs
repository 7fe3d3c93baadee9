//! The tools. Arguments that break a tool's schema are the model's mistake to correct, so they
//! end in a result with `isError`; a malformed request is a protocol error.

use std::time::Duration;

use serde_json::{Map, Number, Value, json};

use super::message::{Failure, Outgoing};
use super::slow::SlowCall;
use super::{Action, Demo, Revision};

/// Stands in the message where the blob goes.
const BLOB: &str = "<blob>";

pub(super) fn call(
    demo: &Demo,
    revision: Revision,
    id: &Value,
    params: &Value,
) -> Result<Vec<Action>, Failure> {
    let invalid = |what: &str| Failure::invalid_params(format!("Invalid params: {what}"));
    let name = params.get("name").and_then(Value::as_str);
    let name = name.ok_or_else(|| invalid("name is required"))?;
    let none = Map::new();
    let arguments = match params.get("arguments") {
        None | Some(Value::Null) => &none,
        Some(Value::Object(arguments)) => arguments,
        Some(_) => return Err(invalid("arguments is not an object")),
    };
    let answer = |result| {
        let result = demo.finish(revision, result, false);
        Outgoing::result(id.clone(), result)
    };
    let action = match name {
        "echo" => Action::Send(answer(echo(arguments))),
        "add" => Action::Send(answer(add(revision, arguments))),
        "fail" => Action::Send(answer(failed("This tool always fails."))),
        "blob" => Action::Send(match count(arguments, "bytes", None) {
            Ok(bytes) => blob(&answer(text(BLOB)), bytes),
            Err(mistake) => answer(failed(&mistake)),
        }),
        "slow" => match slow(arguments) {
            Ok(plan) => {
                let token = params.get("_meta").and_then(|it| it.get("progressToken"));
                let result = text(&format!("Done after {} steps.", plan.steps));
                Action::Run(SlowCall::new(
                    id.clone(),
                    token.filter(|token| !token.is_null()).cloned(),
                    plan,
                    revision.has_annotations(),
                    answer(result),
                ))
            }
            Err(mistake) => Action::Send(answer(failed(&mistake))),
        },
        _ => return Err(Failure::invalid_params(format!("Unknown tool: {name}"))),
    };
    Ok(vec![action])
}

/// What a call of `slow` asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) steps: u64,
    pub(super) pause: Duration,
    pub(super) until_cancelled: bool,
}

fn text(text: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": text }] })
}

fn failed(message: &str) -> Value {
    let mut result = text(message);
    result["isError"] = true.into();
    result
}

fn echo(arguments: &Map<String, Value>) -> Value {
    match arguments.get("message").and_then(Value::as_str) {
        Some(message) => text(message),
        None => failed("`message` is required, and is a string"),
    }
}

fn add(revision: Revision, arguments: &Map<String, Value>) -> Value {
    let operand = |name: &str| arguments.get(name).and_then(Value::as_number);
    let (Some(a), Some(b)) = (operand("a"), operand("b")) else {
        return failed("`a` and `b` are required, and are numbers");
    };
    let Some(sum) = sum(a, b) else {
        return failed("the sum is too large for a number");
    };
    let mut result = text(&sum.to_string());
    if revision.has_structured_content() {
        result["structuredContent"] = json!({ "sum": sum });
    }
    result
}

/// Exact as long as both are integers.
fn sum(a: &Number, b: &Number) -> Option<Number> {
    let integers = a.as_i64().zip(b.as_i64());
    if let Some(sum) = integers.and_then(|(a, b)| a.checked_add(b)) {
        return Some(sum.into());
    }
    Number::from_f64(a.as_f64()? + b.as_f64()?)
}

fn blob(answer: &Outgoing, bytes: u64) -> Outgoing {
    match answer {
        Outgoing::Message(message) => Outgoing::padded(message, BLOB, bytes),
        Outgoing::Padded { .. } => None,
    }
    .unwrap_or_else(|| answer.clone())
}

fn slow(arguments: &Map<String, Value>) -> Result<Plan, String> {
    let until_cancelled = match arguments.get("until_cancelled") {
        None => false,
        Some(Value::Bool(flag)) => *flag,
        Some(_) => return Err("`until_cancelled` is true or false".to_owned()),
    };
    Ok(Plan {
        steps: count(arguments, "steps", Some(3))?,
        pause: Duration::from_millis(count(arguments, "millis", Some(0))?),
        until_cancelled,
    })
}

fn count(arguments: &Map<String, Value>, name: &str, default: Option<u64>) -> Result<u64, String> {
    match (arguments.get(name), default) {
        (None, Some(default)) => Ok(default),
        (value, _) => value
            .and_then(Value::as_u64)
            .ok_or_else(|| format!("`{name}` is an integer that is not negative")),
    }
}
