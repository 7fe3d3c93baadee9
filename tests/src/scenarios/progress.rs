//! Progress of calls.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_proto::driver::CallOptions;
use mcp_proto::model::Progress;
use serde_json::{Map, Value, json};

use super::Stage;
use super::conversation::echo;
use crate::client::Setup;
use crate::script::Script;

/// Options with a callback that remembers what it was told, and a way to look at it.
fn watched() -> (CallOptions, impl Fn() -> Vec<Progress>) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let seeing = Arc::clone(&seen);
    let options = CallOptions::new()
        .timeout(Duration::from_secs(60))
        .on_progress(move |progress| seeing.lock().unwrap().push(progress));
    (options, move || seen.lock().unwrap().clone())
}

fn meta(token: Value) -> Map<String, Value> {
    Map::from_iter([("progressToken".to_owned(), token)])
}

/// M-PROG-01, M-PROG-06
pub fn a_callback_is_told_all_of_it(on: &Stage) {
    let params = [
        r#"{"progressToken":$token,"progress":0.5,"total":1.5,"message":"half"}"#,
        r#"{"progressToken":$token,"progress":1}"#,
        r#"{"progressToken":$token,"progress":1.5,"total":null,"message":null,"more":[]}"#,
    ];
    let mut script = Script::modern().expect("tools/call");
    for params in params {
        script = script.notify("notifications/progress", params);
    }
    let (client, playing) = on.play(script.text("\"done\""));
    let (options, seen) = watched();
    assert_eq!(client.call_tool_with("x", json!({}), options).unwrap().text(), "done");
    let told: Vec<_> =
        seen().into_iter().map(|it| (it.progress, it.total, it.message)).collect();
    assert_eq!(
        told,
        [(0.5, Some(1.5), Some("half".to_owned())), (1.0, None, None), (1.5, None, None)]
    );
    client.close();
    playing.finish().check();
}

/// M-PROG-01
pub fn what_comes_before_a_result_is_shown_before_it(on: &Stage) {
    let answer = Script::new().expect("tools/call").part(concat!(
        r#"{"jsonrpc":"2.0","method":"notifications/progress","#,
        r#""params":{"progressToken":$token,"progress":1}}"#,
        "\n",
        r#"{"jsonrpc":"2.0","id":$id,"result":{"content":[]}}"#,
        "\n",
    ));
    let script = Script::modern().repeat(200, answer);
    let (client, playing) = on.try_play_through(4096, script, Setup::new());
    let client = client.unwrap();
    for n in 0..200 {
        let (options, seen) = watched();
        client.begin_with("x", json!({}), options).unwrap().wait().unwrap();
        assert_eq!(seen().len(), 1, "of call {n}");
    }
    client.close();
    playing.finish().check();
}

/// M-PROG-02, M-PROG-03
pub fn each_call_has_a_token_of_its_own(on: &Stage) {
    let progress = |token: &str| {
        let params = format!(r#"{{"progressToken":{token},"progress":7}}"#);
        Script::new().notify("notifications/progress", &params)
    };
    let script = Script::legacy("2025-11-25")
        .expect_as("tools/call", "first")
        .expect_as("tools/call", "second")
        .then(progress("$second.token"))
        .then(progress("\"nobody's\""))
        .then(progress("999"))
        .text_for("second", "\"2\"")
        .then(progress("$second.token"))
        .text_for("first", "\"1\"")
        .then(progress("$first.token"))
        .answer_rest();
    let (client, playing) = on.play(script);
    let ((first, seen_first), (second, seen_second)) = (watched(), watched());
    let first = client.begin_with("x", json!({}), first).unwrap();
    playing.wait_until(|it| it.count("tools/call") == 1);
    let second = client.begin_with("x", json!({}), second).unwrap();
    assert_eq!(second.wait().unwrap().text(), "2");
    assert_eq!(first.wait().unwrap().text(), "1");
    assert_eq!(echo(&client, "hi"), "hi");
    assert_eq!((seen_first().len(), seen_second().len()), (0, 1));
    client.close();
    let written = playing.finish().check();
    let calls = written.of("tools/call");
    let token = |n: usize| calls[n]["params"]["_meta"]["progressToken"].clone();
    assert_ne!(token(0), token(1));
    assert_eq!(token(2), Value::Null, "a call without a callback asks for none");
}

/// M-PROG-04, M-PROG-05
pub fn a_token_of_the_hosts_is_kept(on: &Stage) {
    for token in [json!(0), json!(""), json!("host's"), json!(-1)] {
        let params = r#"{"progressToken":$token,"progress":1}"#;
        let script = Script::modern()
            .repeat(2, {
                let call = Script::new().expect("tools/call");
                call.notify("notifications/progress", params).text("\"done\"")
            })
            .drain();
        let (client, playing) = on.play(script);
        let (options, seen) = watched();
        client.call_tool_with("x", json!({}), options.meta(meta(token.clone()))).unwrap();
        assert_eq!(seen().len(), 1, "{token}");
        let (options, seen) = watched();
        let arguments = json!({ "a": 1, "_meta": { "progressToken": token } });
        client.call_tool_with("x", arguments, options).unwrap();
        assert_eq!(seen().len(), 1, "{token}, among the arguments");
        client.close();
        for call in playing.finish().check().of("tools/call") {
            assert_eq!(call["params"]["_meta"]["progressToken"], token);
            assert_eq!(call["params"]["arguments"].get("_meta"), None);
        }
    }
}

/// M-PROG-08
pub fn a_callback_that_panics_does_not_fail_its_call(on: &Stage) {
    let client = on.connect(on.demo(&[]), Setup::new()).unwrap();
    let options = CallOptions::new().on_progress(|_| panic!("a callback of the host's"));
    let result = client.call_tool_with("slow", json!({ "steps": 3 }), options).unwrap();
    assert_eq!(result.text(), "Done after 3 steps.");
    assert_eq!(echo(&client, "hi"), "hi");
    client.close();
}
