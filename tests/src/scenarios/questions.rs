//! What servers ask of the host: modern ones before they answer a call, legacy ones by requests of
//! their own.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use mcp_proto::model::{ElicitMode, ElicitResult, Root, SamplingResult};
use mcp_proto::{ErrorKind, InputFault, WaitAnswer};
use serde_json::{Map, Value, json};

use super::Stage;
use super::conversation::echo;
use crate::client::Setup;
use crate::script::Script;

const FORM: &str = r#"{"method":"elicitation/create","params":{"message":"who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer","default":7}},"required":["name"]}}}"#;
const SAMPLE: &str = r#"{"method":"sampling/createMessage","params":{"maxTokens":9,"messages":[{"role":"user","content":{"type":"text","text":"capital of France?"}}]}}"#;
const PAGE: &str = r#"{"method":"elicitation/create","params":{"mode":"url","message":"log in","url":"https://a.example/x"}}"#;
const DONE: &str = r#"{"resultType":"complete","content":[{"type":"text","text":"done"}]}"#;

fn asks(requests: &str) -> String {
    format!(r#"{{"resultType":"input_required","inputRequests":{requests},"requestState":"S\u0000é"}}"#)
}

fn accept(name: &str) -> Value {
    json!({ "action": "accept", "content": { "name": name } })
}

/// M-MRTR-02, M-MRTR-03, M-ROOT-05
pub fn a_tool_may_ask_before_it_answers(on: &Stage) {
    let setup = Setup::new()
        .with(|config| config.roots = vec![Root::new("file:///work").unwrap()])
        .on_elicitation(|caller, params| async move {
            assert_eq!(params.parse::<Value>()?["message"], "who?");
            // The connection is free meanwhile.
            caller.ping().await?;
            Ok(accept("me"))
        })
        .on_sampling(false, |_, request| async move {
            assert_eq!(request.max_tokens, Some(9));
            Ok(SamplingResult::text("Paris", "m"))
        });
    let roots = r#"{"method":"roots/list"}"#;
    let script = Script::modern()
        .expect_as("tools/call", "call")
        .result_for("call", &asks(&format!(r#"{{"f":{FORM},"s":{SAMPLE},"r":{roots}}}"#)))
        .answer("server/discover")
        .expect("tools/call")
        .result(DONE)
        .answer_rest();
    let (client, playing) = on.play_with(script, setup);
    assert_eq!(echo(&client, "hi"), "done");
    client.close();
    let written = playing.finish().check();
    let calls = written.of("tools/call");
    assert_ne!(calls[0]["id"], calls[1]["id"]);
    let params = &calls[1]["params"];
    assert_eq!(params["arguments"], calls[0]["params"]["arguments"]);
    assert_eq!(params["requestState"], "S\u{0}é");
    let responses = &params["inputResponses"];
    assert_eq!(responses["f"]["content"], json!({ "name": "me", "age": 7 }));
    assert_eq!(responses["s"]["content"]["text"], "Paris");
    assert_eq!(responses["r"], json!({ "roots": [{ "uri": "file:///work" }] }));
    let declared = &calls[0]["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"];
    assert_eq!(declared, &json!({ "roots": {}, "sampling": {}, "elicitation": {} }));
}

/// M-MRTR-11, M-MRTR-12, M-MRTR-14
pub fn a_call_goes_on_from_its_error(on: &Stage) {
    let forms = Arc::new(AtomicU64::new(0));
    let models = AtomicU64::new(0);
    let asked = Arc::clone(&forms);
    let setup = Setup::new()
        .on_elicitation(move |_, _| {
            asked.fetch_add(1, Ordering::Relaxed);
            async { Ok(accept("kept")) }
        })
        .on_sampling(false, move |caller, _| {
            let first = models.fetch_add(1, Ordering::Relaxed) == 0;
            async move {
                if first {
                    // By then the form has been filled in.
                    caller.ping().await?;
                    return Err("the model is asleep".into());
                }
                Ok(SamplingResult::text("Paris", "m"))
            }
        });
    let script = Script::modern()
        .expect_as("tools/call", "call")
        .result_for("call", &asks(&format!(r#"{{"f":{FORM},"s":{SAMPLE}}}"#)))
        .answer("server/discover")
        .expect("tools/call")
        .result(DONE)
        .answer_rest();
    let (client, playing) = on.play_with(script, setup);
    let error = client.call_tool("echo", json!({ "message": "hi" })).unwrap_err();
    let ErrorKind::InputRequired(fault) = error.kind() else { panic!("{error}") };
    assert!(matches!(fault, InputFault::Unanswered { .. }), "{error}");
    let from = error.continuation().expect("where to go on");
    assert!(from.is_resumable());
    assert_eq!(from.answers().keys().collect::<Vec<_>>(), ["f"]);
    let result = client.resume(error).unwrap().tool().expect("the result of a tool");
    assert_eq!(result.text(), "done");
    client.close();
    let written = playing.finish().check();
    assert_eq!(written.count("tools/call"), 2);
    let params = &written.of("tools/call")[1]["params"];
    assert_eq!(params["arguments"], json!({ "message": "hi" }));
    assert_eq!(params["inputResponses"]["f"]["content"]["name"], "kept");
    assert_eq!(forms.load(Ordering::Relaxed), 1, "nobody was asked twice");
}

/// M-ELIC-01, M-ELIC-05, M-ELIC-07
pub fn a_page_is_visited_with_the_users_consent(on: &Stage) {
    let setup = || {
        Setup::new().on_url_elicitation(|_, request| async move {
            let ElicitMode::Url { url, .. } = &request.mode else { panic!("{request:?}") };
            assert_eq!(url, "https://a.example/x");
            assert_eq!(request.domain().as_deref(), Some("a.example"));
            Ok(ElicitResult::accept(Map::new()))
        })
    };
    let script = Script::modern()
        .expect("tools/call")
        .result(&asks(&format!(r#"{{"p":{PAGE}}}"#)))
        .expect("tools/call")
        .result(DONE)
        .answer_rest();
    let (client, playing) = on.play_with(script, setup());
    assert_eq!(echo(&client, "hi"), "done");
    client.close();
    let written = playing.finish().check();
    let params = &written.of("tools/call")[1]["params"];
    assert_eq!(params["inputResponses"]["p"], json!({ "action": "accept" }));

    let params: Value = serde_json::from_str(PAGE).unwrap();
    let script = Script::legacy("2025-11-25")
        .expect_as("tools/call", "call")
        .ask("\"e\"", "elicitation/create", &params["params"].to_string())
        .expect_response("\"e\"")
        .text_for("call", "\"on\"")
        .answer_rest();
    let (client, playing) = on.play_with(script, setup());
    assert_eq!(echo(&client, ""), "on");
    client.close();
    let written = playing.finish().check();
    assert_eq!(written.responses()[0]["result"], json!({ "action": "accept" }));
}

/// M-SAMP-01, M-SAMP-06, M-SAMP-08
pub fn the_hosts_model_answers_a_legacy_server(on: &Stage) {
    let asked = AtomicU64::new(0);
    let setup = Setup::new().on_sampling(true, move |_, request| {
        let first = asked.fetch_add(1, Ordering::Relaxed) == 0;
        async move {
            assert_eq!(request.messages.len(), 1);
            if first { Ok(SamplingResult::text("Paris", "m")) } else { Err("marker-5563".into()) }
        }
    });
    let sample: Value = serde_json::from_str(SAMPLE).unwrap();
    let params = sample["params"].to_string();
    let ask = |id: &str| {
        Script::new().ask(id, "sampling/createMessage", &params).expect_response(id)
    };
    let script = Script::legacy("2025-11-25")
        .expect_as("tools/call", "call")
        .then(ask("1"))
        .then(ask("2"))
        .text_for("call", "\"on\"")
        .answer_rest();
    let (client, playing) = on.play_with(script, setup);
    assert_eq!(echo(&client, ""), "on");
    client.close();
    let written = playing.finish().check();
    let declared = &written.of("initialize")[0]["params"]["capabilities"]["sampling"];
    assert_eq!(declared, &json!({ "tools": {} }));
    let answers = written.responses();
    assert_eq!(answers[0]["result"]["content"]["text"], "Paris");
    assert_eq!(answers[0]["result"]["model"], "m");
    assert_eq!(answers[1]["error"]["code"], -32603);
    assert!(!answers[1].to_string().contains("marker"), "{}", answers[1]);
}

/// M-PRMT-04, M-MRTR-01: prompts and resources may ask before they answer, too.
pub fn a_prompt_and_a_resource_may_ask(on: &Stage) {
    let setup = Setup::new().on_elicitation(|_, _| async { Ok(accept("me")) });
    let requests = asks(&format!(r#"{{"f":{FORM}}}"#));
    let script = Script::modern()
        .expect("prompts/get")
        .result(&requests)
        .expect("prompts/get")
        .result(r#"{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}]}"#)
        .expect("resources/read")
        .result(&requests)
        .expect("resources/read")
        .result(r#"{"contents":[{"uri":"a:b","text":"all"}]}"#)
        .answer_rest();
    let (client, playing) = on.play_with(script, setup);
    let prompt = client.get_prompt("p".into(), json!({ "x": "y" })).unwrap();
    assert_eq!(prompt.messages.len(), 1);
    let read = client.read_resource("a:b".into()).unwrap();
    assert_eq!(read.contents[0].text(), Some("all"));
    client.close();
    let written = playing.finish().check();
    for method in ["prompts/get", "resources/read"] {
        let [first, second] = &written.of(method)[..] else { panic!("{method}") };
        assert_ne!(first["id"], second["id"]);
        let params = &second["params"];
        assert_eq!(params["inputResponses"]["f"]["content"]["name"], "me");
        assert_eq!(params["requestState"], "S\u{0}é");
        for member in ["name", "arguments", "uri"] {
            assert_eq!(params[member], first["params"][member], "{method}");
        }
    }
}

/// M-SAMP-16: the host refuses what goes beyond its limits, and each request stands for itself.
pub fn the_hosts_model_is_asked_as_often_as_the_host_wants(on: &Stage) {
    let asked = AtomicU64::new(0);
    let setup = Setup::new().on_sampling(true, move |_, request| {
        let often = asked.fetch_add(1, Ordering::Relaxed) >= 2;
        async move {
            assert_eq!(request.messages.len(), 1, "nothing of an earlier request");
            let refused = often || request.tool_rounds() > 0;
            Ok(if refused { SamplingResult::refused() } else { SamplingResult::text("Paris", "m") })
        }
    });
    let sample: Value = serde_json::from_str(SAMPLE).unwrap();
    let params = sample["params"].to_string();
    let ask = |id: &str| {
        Script::new().ask(id, "sampling/createMessage", &params).expect_response(id)
    };
    let script = Script::legacy("2025-11-25")
        .expect_as("tools/call", "call")
        .then(ask("1"))
        .then(ask("2"))
        .then(ask("3"))
        .text_for("call", "\"on\"")
        .answer_rest();
    let (client, playing) = on.play_with(script, setup);
    assert_eq!(echo(&client, ""), "on");
    client.close();
    let written = playing.finish().check();
    let answers = written.responses();
    assert_eq!(answers[0]["result"], answers[1]["result"]);
    assert_eq!(answers[0]["result"]["content"]["text"], "Paris");
    assert_eq!(answers[2]["error"]["code"], -1, "{}", answers[2]);
}

/// M-ROOT-01, M-ROOT-02
pub fn roots_are_told_to_whoever_asks(on: &Stage) {
    let roots = || vec![Root::new("file:///work").unwrap().with_name("Work")];
    let setup = Setup::new().with(|config| config.roots = roots());
    let script = Script::legacy("2025-11-25")
        .expect_as("tools/call", "call")
        .ask("\"r\"", "roots/list", "{}")
        .expect_response("\"r\"")
        .text_for("call", "\"on\"")
        .answer_rest();
    let (client, playing) = on.play_with(script, setup);
    assert_eq!(echo(&client, ""), "on");
    client.close();
    let written = playing.finish().check();
    let listed = json!({ "roots": [{ "uri": "file:///work", "name": "Work" }] });
    assert_eq!(written.responses()[0]["result"], listed);
}

/// M-MRTR-08, M-MRTR-09, M-MRTR-10
pub fn the_host_says_how_to_wait(on: &Stage) {
    let setup = Setup::new().on_input_wait(|_, wait| async move {
        assert_eq!((&*wait.method, wait.state.is_some()), ("tools/call", true));
        Ok(if wait.round < 3 { WaitAnswer::Retry } else { WaitAnswer::Cancel })
    });
    let wait = r#"{"resultType":"input_required","requestState":"S"}"#;
    let turn = || Script::new().expect("tools/call").result(wait);
    let script = Script::modern().then(turn()).then(turn()).then(turn()).answer_rest();
    let (client, playing) = on.play_with(script, setup);
    let error = client.call_tool("echo", json!({ "message": "hi" })).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::InputRequired(InputFault::Stopped)), "{error}");
    assert!(error.continuation().is_some_and(|from| from.is_resumable()));
    client.close();
    assert_eq!(playing.finish().check().count("tools/call"), 3);
}
