//! Elicitation: what a server may ask for, and what an answer says (specification:
//! client/elicitation).

use alloc::sync::Arc;

use serde_json::{Map, Value};

use super::Refusal;
use super::form::Form;
use crate::model::{ElicitMode, ElicitRequest};
use crate::{Era, Raw};

/// Reads the parameters of `elicitation/create`. Without a mode it is a form.
///
/// The form, if it is one, is read here, once.
pub(crate) fn read(
    params: &Raw,
    era: Era,
    server: &Arc<str>,
) -> Result<(ElicitRequest, Option<Form>), Refusal> {
    let invalid = |why: &str| Refusal::Invalid(String::from(why));
    let members: Map<String, Value> =
        params.parse().map_err(|_| invalid("the parameters are no object"))?;
    let text = |name: &str| members.get(name).and_then(Value::as_str).map(String::from);
    let message = text("message").unwrap_or_default();
    let is_form = match members.get("mode") {
        None | Some(Value::Null) => true,
        Some(mode) => mode == "form",
    };
    let (mode, form) = match members.get("mode") {
        _ if is_form => {
            let (schema, form) = schema(params, &members)?;
            (ElicitMode::Form { schema }, Some(form))
        }
        Some(Value::String(mode)) if mode == "url" => {
            let url = text("url").filter(|url| url::Url::parse(url).is_ok());
            let url = url.ok_or_else(|| invalid("the url is no URL"))?;
            // Modern servers have none: they are asked again instead.
            let elicitation_id = text("elicitationId").filter(|_| era == Era::Legacy);
            (ElicitMode::Url { url, elicitation_id }, None)
        }
        _ => return Err(invalid("the mode is neither form nor url")),
    };
    Ok((ElicitRequest { server: Arc::clone(server), message, mode, raw: params.clone() }, form))
}

/// The schema of a form. Servers that forget it take whatever is filled in.
fn schema(params: &Raw, members: &Map<String, Value>) -> Result<(Raw, Form), Refusal> {
    let Some(schema) = members.get("requestedSchema").filter(|schema| !schema.is_null()) else {
        return Ok((Raw::new("{}"), Form::open()));
    };
    let form = Form::read(schema).map_err(Refusal::Invalid)?;
    let sent = params.member("requestedSchema");
    Ok((sent.unwrap_or_else(|| Raw::new(schema.to_string())), form))
}

/// What an answer of the host's says, as the result to send: to a form, or else to a page.
///
/// # Errors
/// When what was filled in does not fit the form. The reason is for the host's log: nothing of it is
/// sent.
pub(crate) fn answer(form: Option<&Form>, answer: Value) -> Result<Value, String> {
    match form {
        Some(form) => form_answer(form, answer),
        None => Ok(consent(answer)),
    }
}

fn form_answer(form: &Form, answer: Value) -> Result<Value, String> {
    let Value::Object(mut members) = answer else {
        return Err(String::from("the answer is no object"));
    };
    let (content, meta) = match members.get("action").and_then(Value::as_str) {
        // The content alone.
        None => (members, None),
        Some("accept") => {
            let meta = members.shift_remove("_meta");
            match members.shift_remove("content") {
                None | Some(Value::Null) => (Map::new(), meta),
                Some(Value::Object(content)) => (content, meta),
                Some(_) => return Err(String::from("the content is no object")),
            }
        }
        Some(action) => {
            let action = if action == "decline" { "decline" } else { "cancel" };
            return Ok(result(action, None, members.shift_remove("_meta")));
        }
    };
    let content = form.fill(content)?;
    Ok(result("accept", Some(content), meta))
}

/// Only an explicit yes is one.
fn consent(answer: Value) -> Value {
    match answer {
        Value::Bool(true) => result("accept", None, None),
        Value::Object(mut members) => {
            let meta = members.shift_remove("_meta");
            let action = match members.get("action").and_then(Value::as_str) {
                Some("accept") => "accept",
                Some("decline") => "decline",
                _ => "cancel",
            };
            result(action, None, meta)
        }
        _ => result("cancel", None, None),
    }
}

fn result(action: &str, content: Option<Map<String, Value>>, meta: Option<Value>) -> Value {
    let mut members = Map::new();
    members.insert(String::from("action"), Value::from(action));
    if let Some(content) = content {
        members.insert(String::from("content"), Value::Object(content));
    }
    if let Some(meta @ Value::Object(_)) = meta {
        members.insert(String::from("_meta"), meta);
    }
    Value::Object(members)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn both(params: Value, era: Era) -> Result<(ElicitRequest, Option<Form>), Refusal> {
        read(&Raw::new(params.to_string()), era, &Arc::from("peer"))
    }

    fn request(params: Value, era: Era) -> Result<ElicitRequest, Refusal> {
        both(params, era).map(|(request, _)| request)
    }

    /// What is sent for an answer to this request.
    fn answer(request: &ElicitRequest, answer: Value) -> Result<Value, String> {
        let (_, form) = read(&request.raw, Era::Modern, &request.server).unwrap();
        super::answer(form.as_ref(), answer)
    }

    fn form() -> ElicitRequest {
        let schema = json!({ "type": "object", "properties": {
            "name": { "type": "string", "minLength": 2 }, "ok": { "type": "boolean", "default": true },
        } });
        request(json!({ "message": "who?", "requestedSchema": schema }), Era::Modern).unwrap()
    }

    fn page() -> ElicitRequest {
        let params = json!({ "mode": "url", "message": "go", "url": "https://a.example/x?y" });
        request(params, Era::Modern).unwrap()
    }

    /// M-ELIC-09, M-ELIC-19, M-ELIC-20
    #[test]
    fn requests_are_read_or_refused() {
        let form = form();
        assert_eq!((&*form.server, &*form.message), ("peer", "who?"));
        assert!(
            matches!(&form.mode, ElicitMode::Form { schema } if schema.as_str().contains("minLength"))
        );
        let page = page();
        let ElicitMode::Url { url, .. } = &page.mode else { panic!("{page:?}") };
        assert_eq!(url, "https://a.example/x?y");
        for wrong in [
            json!([]),
            json!({ "message": "m", "requestedSchema": { "type": "string" } }),
            json!({ "message": "m", "mode": "later" }),
            json!({ "message": "m", "mode": 5 }),
            json!({ "message": "m", "mode": "url" }),
            json!({ "message": "m", "mode": "url", "url": "/relative" }),
            json!({ "message": "m", "requestedSchema": { "properties": { "x": { "type": "object" } } } }),
        ] {
            assert!(
                matches!(request(wrong.clone(), Era::Legacy), Err(Refusal::Invalid(_))),
                "{wrong}"
            );
        }
    }

    /// M-ELIC-09: what a sloppy server forgets is made up for.
    #[test]
    fn a_form_without_a_schema_takes_anything() {
        let request = request(json!({}), Era::Legacy).unwrap();
        assert_eq!(request.message, "");
        let sent = answer(&request, json!({ "any": [1] }));
        assert_eq!(sent, Ok(json!({ "action": "accept", "content": { "any": [1] } })));
        assert!(answer(&request, json!(5)).is_err());
    }

    /// M-ELIC-05, M-ELIC-06
    #[test]
    fn only_legacy_servers_name_their_request() {
        let params = json!({ "mode": "url", "message": "go", "url": "https://a.example",
            "elicitationId": "e1" });
        for (era, named) in [(Era::Legacy, Some("e1")), (Era::Modern, None)] {
            let request = request(params.clone(), era).unwrap();
            let ElicitMode::Url { elicitation_id, .. } = &request.mode else { panic!() };
            assert_eq!(elicitation_id.as_deref(), named);
        }
    }

    /// M-ELIC-18
    #[test]
    fn a_domain_that_may_look_like_another_is_told() {
        let at = |url: &str| {
            let params = json!({ "mode": "url", "message": "go", "url": url });
            request(params, Era::Modern).unwrap()
        };
        let plain = at("https://user@Login.Example:8443/a");
        assert_eq!(plain.domain().as_deref(), Some("login.example"));
        assert!(!plain.is_domain_ambiguous());
        let cyrillic = at("https://аpple.example/");
        assert!(cyrillic.domain().unwrap().starts_with("xn--"));
        assert!(cyrillic.is_domain_ambiguous());
        assert_eq!(form().domain(), None);
    }

    /// M-ELIC-02, M-ELIC-03, M-ELIC-14
    #[test]
    fn an_answer_accepts_declines_or_cancels() {
        let all = json!({ "action": "accept", "content": { "name": "xy", "ok": true } });
        for (given, sent) in [
            (json!({ "action": "accept", "content": { "name": "xy" } }), all.clone()),
            (json!({ "name": "xy" }), all.clone()),
            (
                json!({ "action": "decline", "content": { "name": 5 } }),
                json!({ "action": "decline" }),
            ),
            (json!({ "action": "cancel" }), json!({ "action": "cancel" })),
            (
                json!({ "action": "accept", "content": null, "_meta": { "k": 1 } }),
                json!({ "action": "accept", "content": { "ok": true }, "_meta": { "k": 1 } }),
            ),
        ] {
            assert_eq!(answer(&form(), given), Ok(sent));
        }
    }

    /// M-ELIC-04, M-ELIC-13
    #[test]
    fn odd_answers_cancel_and_wrong_content_fails() {
        let cancel = json!({ "action": "cancel" });
        assert_eq!(answer(&form(), json!({ "action": "yes", "content": {} })), Ok(cancel));
        for wrong in [
            json!("text"),
            json!(null),
            json!({ "action": "accept", "content": "text" }),
            json!({ "action": "accept", "content": { "name": "x" } }),
            json!({ "name": "xy", "extra": 1 }),
        ] {
            assert!(answer(&form(), wrong.clone()).is_err(), "{wrong}");
        }
    }

    /// M-ELIC-07, M-ELIC-08
    #[test]
    fn consent_is_explicit() {
        for (given, sent) in [
            (json!(true), json!({ "action": "accept" })),
            (json!({ "action": "accept", "content": { "x": 1 } }), json!({ "action": "accept" })),
            (
                json!({ "action": "decline", "_meta": { "k": 1 } }),
                json!({ "action": "decline", "_meta": { "k": 1 } }),
            ),
            (json!("accept"), json!({ "action": "cancel" })),
            (json!({ "accept": true }), json!({ "action": "cancel" })),
            (json!(1), json!({ "action": "cancel" })),
            (json!(null), json!({ "action": "cancel" })),
            (json!({ "action": "yes" }), json!({ "action": "cancel" })),
        ] {
            assert_eq!(answer(&page(), given.clone()), Ok(sent), "{given}");
        }
    }
}
