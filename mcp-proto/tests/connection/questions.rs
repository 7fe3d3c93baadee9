//! What a legacy server asks by itself: elicitation, sampling, roots (2025-11-25: client).

use mcp_proto::model::{ElicitMode, Root};
use mcp_proto::{Answer, ConnectionConfig, Event, Hearing, Input, Owner, Question, Setting};
use serde_json::{Value, json};

use crate::support::*;

fn hears(hears: &[Hearing]) -> ConnectionConfig {
    let mut config = config();
    config.hears = hears.to_vec();
    config
}

fn asks(bench: &mut Bench, method: &str, params: &Value) {
    bench.line(
        &json!({ "jsonrpc": "2.0", "id": "q", "method": method, "params": params }).to_string(),
    );
}

fn form() -> Value {
    let schema = json!({ "type": "object", "properties": {
        "name": { "type": "string", "minLength": 2 }, "age": { "type": "integer", "default": 7 },
    } });
    json!({ "message": "who?", "requestedSchema": schema })
}

fn page() -> Value {
    json!({ "mode": "url", "message": "go", "url": "https://a.example/x", "elicitationId": "e1" })
}

fn said() -> Value {
    let text = json!({ "type": "text", "text": "hi" });
    json!({ "messages": [{ "role": "user", "content": text }], "maxTokens": 5 })
}

/// What the server was answered.
fn answered(bench: &mut Bench) -> Value {
    let sent = bench.next_message();
    assert_eq!(sent.id(), "q");
    sent.message
}

fn code(bench: &mut Bench) -> i64 {
    answered(bench)["error"]["code"].as_i64().unwrap()
}

/// M-ELIC-01, M-ELIC-02, M-ELIC-16
#[test]
fn forms_are_filled_in_by_the_host() {
    let mut bench = Bench::legacy(hears(&[Hearing::Elicitation]));
    for (answer, sent) in [
        (
            json!({ "action": "accept", "content": { "name": "me" } }),
            json!({ "action": "accept", "content": { "name": "me", "age": 7 } }),
        ),
        (
            json!({ "name": "me", "age": 8 }),
            json!({ "action": "accept", "content": { "name": "me", "age": 8 } }),
        ),
        (json!({ "action": "decline" }), json!({ "action": "decline" })),
        (json!({ "action": "cancel" }), json!({ "action": "cancel" })),
        (json!({ "action": "yes" }), json!({ "action": "cancel" })),
    ] {
        asks(&mut bench, "elicitation/create", &form());
        let (id, owner, question) = bench.question();
        assert_eq!(owner, Owner::Connection);
        let Question::Elicit(request) = question else { panic!("{question:?}") };
        assert_eq!((&*request.message, &*request.server), ("who?", "peer"));
        assert!(
            matches!(&request.mode, ElicitMode::Form { schema } if schema.as_str().contains("minLength"))
        );
        bench.reply(id, Answer::Elicit(answer));
        assert_eq!(answered(&mut bench)["result"], sent);
    }
}

/// M-ELIC-05, M-ELIC-08, M-ELIC-17
#[test]
fn pages_are_visited_with_consent_alone() {
    let mut bench = Bench::legacy(hears(&[Hearing::Elicitation, Hearing::UrlElicitation]));
    asks(&mut bench, "elicitation/create", &page());
    let (id, _, question) = bench.question();
    let Question::Elicit(request) = question else { panic!("{question:?}") };
    let ElicitMode::Url { url, elicitation_id } = &request.mode else { panic!("{request:?}") };
    assert_eq!((&**url, elicitation_id.as_deref()), ("https://a.example/x", Some("e1")));
    let answer = json!({ "action": "accept", "content": { "x": 1 }, "_meta": { "k": 1 } });
    bench.reply(id, Answer::Elicit(answer));
    let sent = answered(&mut bench);
    assert_eq!(sent["result"], json!({ "action": "accept", "_meta": { "k": 1 } }));
    bench.quiet();
}

/// M-ELIC-11, M-ELIC-13, M-ELIC-20
#[test]
fn what_cannot_be_asked_is_refused_with_its_code() {
    let mut none = Bench::legacy(config());
    for (method, params) in [("elicitation/create", form()), ("sampling/createMessage", said())] {
        asks(&mut none, method, &params);
        assert_eq!(code(&mut none), -32601);
    }
    let mut forms = Bench::legacy(hears(&[Hearing::Elicitation]));
    let wrong_schema = json!({ "message": "m", "requestedSchema": { "properties": { "x": {} } } });
    for params in [page(), wrong_schema, json!([]), json!({ "mode": "later" })] {
        asks(&mut forms, "elicitation/create", &params);
        assert_eq!(code(&mut forms), -32602, "{params}");
    }
    let mut pages = Bench::legacy(hears(&[Hearing::UrlElicitation]));
    let relative = json!({ "mode": "url", "message": "m", "url": "/x" });
    for params in [form(), relative] {
        asks(&mut pages, "elicitation/create", &params);
        assert_eq!(code(&mut pages), -32602, "{params}");
    }
    assert!(forms.asked.is_empty() && pages.asked.is_empty(), "nobody was asked");
    for answer in
        [json!("text"), json!({ "name": "x" }), json!({ "action": "accept", "content": 5 })]
    {
        asks(&mut forms, "elicitation/create", &form());
        let (id, ..) = forms.question();
        forms.reply(id, Answer::Elicit(answer));
        let sent = answered(&mut forms);
        assert_eq!(sent["error"]["code"], -32603);
        assert_eq!(sent.get("result"), None);
        let told = |event: &Event| matches!(event, Event::AnswerDropped { .. });
        assert!(forms.events.iter().any(told), "the host's log has the reason");
    }
}

/// M-SAMP-01, M-SAMP-09, M-SAMP-10
#[test]
fn the_hosts_model_answers() {
    let mut bench = Bench::legacy(hears(&[Hearing::Sampling]));
    for (answer, error) in [
        (Answer::Sample(json!("hello")), None),
        (Answer::Sample(Value::Null), Some(-1)),
        (Answer::Sample(json!(5)), Some(-32603)),
        (Answer::Failed, Some(-32603)),
    ] {
        asks(&mut bench, "sampling/createMessage", &said());
        let (id, _, question) = bench.question();
        let Question::Sample(request) = question else { panic!("{question:?}") };
        assert_eq!((request.messages.len(), request.max_tokens), (1, Some(5)));
        bench.reply(id, answer);
        let sent = answered(&mut bench);
        match error {
            Some(code) => assert_eq!(sent["error"]["code"], code),
            None => assert_eq!(
                sent["result"],
                json!({ "role": "assistant", "content": { "type": "text", "text": "hello" },
                    "model": "unknown", "stopReason": "endTurn" })
            ),
        }
    }
}

/// M-SAMP-05, M-SAMP-06, M-SAMP-07
#[test]
fn tools_need_the_hosts_consent_and_histories_make_sense() {
    let mut tools = said();
    tools["tools"] = json!([]);
    let odd = json!({ "messages": [{ "role": "user" }], "maxTokens": 5 });
    for (declared, params, refused) in [
        (vec![Hearing::Sampling], &tools, true),
        (vec![Hearing::Sampling, Hearing::SamplingTools], &tools, false),
        (vec![Hearing::Sampling, Hearing::SamplingTools], &odd, true),
    ] {
        let mut bench = Bench::legacy(hears(&declared));
        asks(&mut bench, "sampling/createMessage", params);
        if refused {
            assert_eq!(code(&mut bench), -32602);
            assert!(bench.asked.is_empty());
        } else {
            let (id, ..) = bench.question();
            bench.reply(id, Answer::Failed);
            assert_eq!(code(&mut bench), -32603);
        }
    }
}

/// M-ROOT-01, M-ROOT-02, M-ROOT-03
#[test]
fn roots_can_be_set_at_any_time() {
    let root = |uri: &str| Root::new(uri).unwrap();
    let mut bench = Bench::legacy(config());
    asks(&mut bench, "roots/list", &json!({}));
    assert_eq!(answered(&mut bench)["result"], json!({ "roots": [] }));
    let roots = vec![root("file:///a").with_name("A"), root("file:///b")];
    bench.input(Input::Set(Setting::Roots(roots.clone())));
    assert_eq!(bench.connection.roots(), roots);
    bench.expect("notifications/roots/list_changed");
    asks(&mut bench, "roots/list", &json!({}));
    let listed = json!({ "roots": [{ "uri": "file:///a", "name": "A" }, { "uri": "file:///b" }] });
    assert_eq!(answered(&mut bench)["result"], listed);
    bench.input(Input::Set(Setting::Roots(roots)));
    bench.quiet();
}

/// M-ROOT-04, M-CAP-03
#[test]
fn only_legacy_sessions_are_told_that_roots_have_changed() {
    let roots = || Setting::Roots(vec![Root::new("file:///a").unwrap()]);
    let mut modern = Bench::modern(config());
    modern.input(Input::Set(roots()));
    modern.quiet();
    let call = modern.begin(tool("x", json!({})));
    let sent = modern.expect("tools/call");
    let declared = &sent.meta()["io.modelcontextprotocol/clientCapabilities"];
    assert_eq!(declared, &json!({ "roots": {} }), "it is told with the next request");
    modern.completes(&sent, json!({ "content": [] }));
    modern.done(&call).unwrap();

    let mut early = Bench::stdio(config());
    early.input(Input::Set(roots()));
    let call = early.begin(mcp_proto::op::Connect);
    early.speak_legacy("2025-11-25");
    early.done(&call).unwrap();
    early.quiet();
}
