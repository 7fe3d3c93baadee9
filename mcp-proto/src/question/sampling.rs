//! Sampling: which conversations a server may send, and what an answer says (specification:
//! client/sampling).

use alloc::sync::Arc;
use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::{Refusal, whole};
use crate::Raw;
use crate::model::{Content, ModelPreferences, Role, SamplingMessage, SamplingRequest};

/// Reads the parameters of `sampling/createMessage`. `tools` says whether the host has declared that
/// its model may use tools.
pub(crate) fn read(
    params: &Raw,
    tools: bool,
    server: &Arc<str>,
) -> Result<SamplingRequest, Refusal> {
    let invalid = |why: &str| Refusal::Invalid(String::from(why));
    let members: Map<String, Value> =
        params.parse().map_err(|_| invalid("the parameters are no object"))?;
    let given = |name: &str| members.get(name).is_some_and(|value| !value.is_null());
    if !tools && (given("tools") || given("toolChoice")) {
        return Err(Refusal::Undeclared("sampling.tools"));
    }
    let messages = params.member("messages").ok_or_else(|| invalid("there are no messages"))?;
    let messages: Vec<_> = pieces(&messages).ok_or_else(|| invalid("the messages are no list"))?;
    let messages = messages.iter().map(message).collect::<Result<Vec<_>, _>>();
    let messages = messages.map_err(Refusal::Invalid)?;
    check(&messages).map_err(Refusal::Invalid)?;
    let preferences = params.member("modelPreferences");
    let tools = params.member("tools").and_then(|tools| pieces(&tools)).unwrap_or_default();
    Ok(SamplingRequest {
        server: Arc::clone(server),
        messages,
        preferences: preferences.map(|raw| ModelPreferences::read(&raw)).unwrap_or_default(),
        system_prompt: members.get("systemPrompt").and_then(Value::as_str).map(String::from),
        max_tokens: members.get("maxTokens").and_then(whole),
        tools,
        raw: params.clone(),
    })
}

/// The items of an array.
fn pieces(array: &Raw) -> Option<Vec<Raw>> {
    let items: Vec<&serde_json::value::RawValue> = serde_json::from_str(array.as_str()).ok()?;
    Some(items.into_iter().map(|item| array.cut(item.get())).collect())
}

fn message(raw: &Raw) -> Result<SamplingMessage, String> {
    let role = raw.member("role").and_then(|role| role.parse::<String>().ok());
    let role = match role.as_deref().map(Role::new) {
        Some(role @ (Role::User | Role::Assistant)) => role,
        Some(Role::Other(_)) => return Err(String::from("a message has an unknown role")),
        None => return Err(String::from("a message has no role")),
    };
    let content = raw.member("content").filter(|content| !content.is_null());
    let content = content.ok_or("a message has no content")?;
    let content = match content.as_str().as_bytes().first() {
        Some(b'[') => pieces(&content).unwrap_or_default(),
        Some(b'{') => vec![content],
        _ => return Err(String::from("the content of a message is neither an object nor a list")),
    };
    let content = content.into_iter().map(Content::read).collect();
    Ok(SamplingMessage { role, content, raw: raw.clone() })
}

/// Every tool that the model wanted to use has its result in the next message, which is the user's
/// and holds nothing but results (client/sampling, "Message Content Constraints").
fn check(messages: &[SamplingMessage]) -> Result<(), String> {
    let mut open: BTreeSet<&str> = BTreeSet::new();
    for message in messages {
        let results: Vec<_> = message.content.iter().filter_map(Content::tool_result_id).collect();
        if !results.is_empty() {
            if message.role != Role::User {
                return Err(String::from("a tool result stands in a message of the assistant's"));
            }
            if results.len() != message.content.len() {
                return Err(String::from("a message mixes tool results with other content"));
            }
        }
        for id in results {
            if !open.remove(id) {
                return Err(String::from("a tool result answers no use of a tool"));
            }
        }
        if !open.is_empty() {
            return Err(String::from("the message after the use of a tool has no result for it"));
        }
        if message.role == Role::Assistant {
            open.extend(message.content.iter().filter_map(Content::tool_use_id));
        }
    }
    match open.is_empty() {
        true => Ok(()),
        false => Err(String::from("the last message uses a tool, and no result follows")),
    }
}

/// What an answer of the host's says, as the result to send; `None` when the user has refused.
///
/// # Errors
/// When it is no answer. The reason is for the host's log: nothing of it is sent.
pub(crate) fn answer(answer: Value) -> Result<Option<Value>, String> {
    let mut members = match answer {
        Value::Null => return Ok(None),
        Value::String(text) => Map::from_iter([(String::from("content"), Value::String(text))]),
        Value::Object(members) => members,
        _ => return Err(String::from("the answer is neither an object nor a text")),
    };
    let content = match members.shift_remove("content") {
        Some(Value::String(text)) => json!({ "type": "text", "text": text }),
        Some(content @ (Value::Object(_) | Value::Array(_))) => content,
        _ => return Err(String::from("the answer has no content")),
    };
    let is_use = |piece: &Value| piece.get("type").is_some_and(|kind| kind == "tool_use");
    let uses = match &content {
        Value::Array(pieces) => pieces.iter().any(is_use),
        piece => is_use(piece),
    };
    let stop = if uses { "toolUse" } else { "endTurn" };
    let mut result = Map::new();
    for (name, default) in [("role", "assistant"), ("model", "unknown"), ("stopReason", stop)] {
        let given = members.shift_remove(name).filter(Value::is_string);
        result.insert(String::from(name), given.unwrap_or_else(|| Value::from(default)));
    }
    result.insert(String::from("content"), content);
    result.extend(members);
    Ok(Some(Value::Object(result)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(params: &Value, tools: bool) -> Result<SamplingRequest, Refusal> {
        read(&Raw::new(params.to_string()), tools, &Arc::from("peer"))
    }

    fn history(messages: &Value) -> Result<SamplingRequest, Refusal> {
        request(&json!({ "messages": messages, "maxTokens": 5 }), true)
    }

    fn text(role: &str) -> Value {
        json!({ "role": role, "content": { "type": "text", "text": "t" } })
    }

    fn uses(ids: &[&str]) -> Value {
        let uses =
            ids.iter().map(|id| json!({ "type": "tool_use", "id": id, "name": "n", "input": {} }));
        json!({ "role": "assistant", "content": uses.collect::<Vec<_>>() })
    }

    fn results(ids: &[&str]) -> Value {
        let results =
            ids.iter().map(|id| json!({ "type": "tool_result", "toolUseId": id, "content": [] }));
        json!({ "role": "user", "content": results.collect::<Vec<_>>() })
    }

    /// M-SAMP-01, M-SAMP-11, M-SAMP-13
    #[test]
    fn a_request_says_all_of_itself() {
        let params = json!({
            "messages": [text("user"), uses(&["a"]), results(&["a"])],
            "modelPreferences": { "hints": [{ "name": "sonnet" }, { "id": 1 }, { "name": "claude" }],
                "costPriority": -3, "speedPriority": 0.5, "intelligencePriority": 7 },
            "systemPrompt": "be brief", "maxTokens": 77, "temperature": 0.1, "tools": [{ "name": "n" }],
        });
        let request = request(&params, true).unwrap();
        assert_eq!((&*request.server, request.messages.len()), ("peer", 3));
        assert_eq!(
            (request.system_prompt.as_deref(), request.max_tokens),
            (Some("be brief"), Some(77))
        );
        let preferences = &request.preferences;
        assert_eq!(preferences.hints, ["sonnet", "claude"]);
        assert_eq!(preferences.cost_priority, Some(0.0));
        assert_eq!(
            (preferences.speed_priority, preferences.intelligence_priority),
            (Some(0.5), Some(1.0))
        );
        assert_eq!(request.tools.len(), 1);
    }

    /// M-SAMP-13: a whole number is one however it is written.
    #[test]
    fn the_limit_of_tokens_arrives() {
        for (sent, told) in [
            (json!(1000), Some(1000)),
            (json!(1000.0), Some(1000)),
            (json!(1e3), Some(1000)),
            (json!(0), Some(0)),
            (json!(10.5), None),
            (json!(-1), None),
            (json!("1000"), None),
        ] {
            let request = request(&json!({ "messages": [], "maxTokens": sent }), false).unwrap();
            assert_eq!(request.max_tokens, told, "{sent}");
        }
    }

    /// M-SAMP-17
    #[test]
    fn what_is_not_understood_is_passed_through() {
        let params = json!({ "messages": [], "maxTokens": 5, "temperature": 0.5, "metadata": { "k": 1 },
            "stopSequences": ["x"], "includeContext": "none", "later": [null] });
        let request = request(&params, false).unwrap();
        assert_eq!(request.raw.parse::<Value>().unwrap(), params);
    }

    /// M-SAMP-16: a host can count the rounds of a loop of tools, and nothing is kept between two
    /// requests: the same request reads the same, whatever came before.
    #[test]
    fn rounds_of_tools_can_be_limited() {
        let rounds = |messages: Value| history(&messages).unwrap().tool_rounds();
        assert_eq!(rounds(json!([text("user")])), 0);
        let one = [uses(&["a", "b"]), results(&["a", "b"])];
        let two = [&one[..], &[uses(&["c"]), results(&["c"])]].concat();
        let begun = [&[text("user")], &two[..]].concat();
        assert_eq!(rounds(json!(begun)), 2);
        let anew = [&begun[..], &[text("assistant"), text("user")], &one[..]].concat();
        assert_eq!(rounds(json!(anew)), 1, "the user has said something since");
        assert_eq!(history(&json!(begun)), history(&json!(begun)));
        assert_eq!(rounds(json!([text("user")])), 0);
    }

    /// M-SAMP-12
    #[test]
    fn the_first_hint_that_fits_wins() {
        let raw = Raw::new(r#"{"hints":[{"name":"opus"},{"name":"haiku"},{"name":"claude"}]}"#);
        let preferences = ModelPreferences::read(&raw);
        let models = ["claude-sonnet-5", "claude-haiku-5"];
        assert_eq!(preferences.choose(&models), Some("claude-haiku-5"));
        assert_eq!(ModelPreferences::default().choose(&models), None);
    }

    /// M-SAMP-02, M-SAMP-03, M-SAMP-04
    #[test]
    fn histories_that_cannot_be_are_refused() {
        let mixed = json!({ "role": "user", "content": [
            { "type": "tool_result", "toolUseId": "a", "content": [] }, { "type": "text", "text": "t" },
        ] });
        for good in [
            json!([]),
            json!([text("user")]),
            json!([text("user"), text("user"), text("assistant")]),
            json!([uses(&["a", "b"]), results(&["b", "a"]), uses(&["a"]), results(&["a"])]),
        ] {
            assert!(history(&good).is_ok(), "{good}");
        }
        for bad in [
            json!([{ "content": { "type": "text", "text": "t" } }]),
            json!([{ "role": "system", "content": { "type": "text", "text": "t" } }]),
            json!([{ "role": "user" }]),
            json!([{ "role": "user", "content": null }]),
            json!([{ "role": "user", "content": "text" }]),
            json!([uses(&["a"]), mixed]),
            json!([uses(&["a"])]),
            json!([uses(&["a"]), text("user")]),
            json!([uses(&["a", "b"]), results(&["a"])]),
            json!([uses(&["a"]), text("user"), results(&["a"])]),
            json!([uses(&["a"]), text("assistant"), results(&["a"])]),
            json!([results(&["a"])]),
            json!([uses(&["a"]), results(&["a", "a"])]),
            json!("no list"),
        ] {
            assert!(matches!(history(&bad), Err(Refusal::Invalid(_))), "{bad}");
        }
    }

    /// M-SAMP-07
    #[test]
    fn tools_are_an_option_of_the_hosts() {
        for member in ["tools", "toolChoice"] {
            let mut params = json!({ "messages": [], "maxTokens": 1 });
            params[member] = json!([]);
            assert_eq!(request(&params, false), Err(Refusal::Undeclared("sampling.tools")));
            assert!(request(&params, true).is_ok());
        }
        assert!(request(&json!({ "messages": [], "tools": null }), false).is_ok());
    }

    /// M-SAMP-10, M-SAMP-09
    #[test]
    fn answers_are_completed() {
        let text = json!({ "type": "text", "text": "hi" });
        let full = json!({ "role": "assistant", "model": "unknown", "stopReason": "endTurn", "content": text });
        for given in [json!("hi"), json!({ "content": "hi" }), json!({ "content": text })] {
            assert_eq!(answer(given), Ok(Some(full.clone())));
        }
        let uses = json!({ "type": "tool_use", "id": "a", "name": "n", "input": {} });
        for content in [uses.clone(), json!([text, uses])] {
            let result = answer(json!({ "content": content })).unwrap().unwrap();
            assert_eq!(result["stopReason"], "toolUse");
        }
        let given = json!({ "role": "user", "model": "m", "stopReason": "maxTokens", "content": [],
            "_meta": { "k": 1 } });
        assert_eq!(answer(given.clone()), Ok(Some(given)));
        assert_eq!(answer(Value::Null), Ok(None));
        for wrong in [json!(5), json!([]), json!({}), json!({ "content": 5 })] {
            assert!(answer(wrong.clone()).is_err(), "{wrong}");
        }
    }

    /// M-SAMP-15
    #[test]
    fn uses_and_results_of_tools_keep_their_metadata() {
        let content = json!([{ "type": "tool_use", "id": "a", "name": "n", "input": { "x": 1 },
            "_meta": { "k": 1 } }]);
        let result = json!([{ "type": "tool_result", "toolUseId": "a", "isError": true,
            "content": [{ "type": "text", "text": "t" }], "structuredContent": [1], "_meta": { "k": 2 } }]);
        let messages = json!([{ "role": "assistant", "content": content },
            { "role": "user", "content": result }]);
        let request = history(&messages).unwrap();
        let [Content::ToolUse(used)] = &*request.messages[0].content else { panic!("{request:?}") };
        assert_eq!((&*used.id, &*used.name, used.input.as_str()), ("a", "n", r#"{"x":1}"#));
        assert!(used.raw.as_str().contains(r#""_meta":{"k":1}"#));
        let [Content::ToolResult(got)] = &*request.messages[1].content else {
            panic!("{request:?}")
        };
        assert_eq!((&*got.tool_use_id, got.is_error, got.content.len()), ("a", true, 1));
        assert_eq!(got.structured_content.as_ref().unwrap().as_str(), "[1]");
        assert!(got.raw.as_str().contains(r#""_meta":{"k":2}"#));
    }
}
