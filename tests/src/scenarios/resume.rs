//! Answers that break off, and how a legacy server is asked for their rest.

use std::sync::{Arc, Mutex};

use mcp_proto::driver::CallOptions;
use mcp_proto::{ErrorKind, HttpFault, Outcome, TransportError};
use serde_json::json;

use super::Stage;
use super::conversation::echo;
use super::exchanges::connect;
use crate::script::{HttpScript, HttpTranscript};

/// The call's own answer, on whatever stream it comes.
const RESULT: &str =
    r#"{"jsonrpc":"2.0","id":$call.id,"result":{"content":[{"type":"text","text":"whole"}]}}"#;

/// A stream with a place to go on from, and a pause that nobody notices.
const PRIMED: &str = "id: 7\nretry: 10\ndata:\n\n";

/// A legacy server whose answer to a call breaks off after this text, in good order or not.
fn broken(text: &str, ends: bool) -> HttpScript {
    let script = HttpScript::with_session("2025-11-25", "s-1");
    let script = script.expect_as("tools/call", "call").events().sse(text);
    if ends { script.end() } else { script.reset() }
}

/// The places from which the rest was asked for, in order.
fn places(seen: &HttpTranscript) -> Vec<&str> {
    let gets = seen.requests().iter().filter(|it| it.request.method == "GET");
    gets.map(|it| it.header("last-event-id").unwrap_or_default()).collect()
}

/// M-SESS-03, M-SESS-05, M-SESS-09: the rest comes on another stream of the session, and the tool
/// runs once.
pub fn an_answer_that_breaks_off_goes_on(on: &Stage) {
    for ends in [true, false] {
        let script = broken(PRIMED, ends).expect_http("GET").events().event(RESULT).end();
        let server = script.rest().start();
        let client = connect(on, &server);
        assert_eq!(client.call_tool("x", json!({})).unwrap().text(), "whole");
        client.close();
        let seen = server.finish().check();
        assert_eq!((seen.count("tools/call"), places(&seen)), (1, vec!["7"]));
        let get = seen.requests().iter().find(|it| it.request.method == "GET").unwrap();
        assert_eq!(get.header("mcp-session-id"), Some("s-1"));
        assert_eq!(get.header("mcp-protocol-version"), Some("2025-11-25"));
    }
}

/// M-SESS-05, M-PROG-01: a rest that breaks off goes on from where it came to, and what came before
/// is told once.
pub fn a_rest_that_breaks_off_goes_on(on: &Stage) {
    let progress = |n: u8| {
        let params = format!(r#"{{"progressToken":$call.token,"progress":{n}}}"#);
        let head = r#"{"jsonrpc":"2.0","method":"notifications/progress""#;
        format!("id: {n}\nretry: 10\ndata: {head},\"params\":{params}}}\n\n")
    };
    let mut script = broken(&progress(1), false);
    for n in 2..5 {
        script = script.expect_http("GET").events().sse(&progress(n)).reset();
    }
    let server = script.expect_http("GET").events().event(RESULT).end().rest().start();
    let client = connect(on, &server);
    let told = Arc::new(Mutex::new(Vec::new()));
    let all = Arc::clone(&told);
    let options = CallOptions::new().on_progress(move |it| all.lock().unwrap().push(it.progress));
    assert_eq!(client.call_tool_with("x", json!({}), options).unwrap().text(), "whole");
    client.close();
    assert_eq!(*told.lock().unwrap(), [1.0, 2.0, 3.0, 4.0]);
    let seen = server.finish().check();
    assert_eq!((seen.count("tools/call"), places(&seen)), (1, vec!["1", "2", "3", "4"]));
}

/// M-SESS-05, M-ERR-08, M-RTRY-06: the rest is asked for five times; then its call fails, and
/// nothing else does.
pub fn a_rest_that_cannot_be_had_fails_its_call_alone(on: &Stage) {
    let busy = HttpScript::new().expect_http("GET").status(503);
    let server = broken(PRIMED, true).repeat(5, busy).rest().start();
    let client = connect(on, &server);
    let error = client.call_tool("x", json!({})).unwrap_err();
    let ErrorKind::Transport(TransportError::Http(HttpFault::NotResumed(why))) = error.kind()
    else {
        panic!("{error:?}");
    };
    assert!(matches!(**why, HttpFault::Trouble { status: 503, .. }), "{why}");
    assert_eq!(error.outcome(), Outcome::Unknown);
    assert_eq!(echo(&client, "hi"), "hi");
    client.close();
    let seen = server.finish().check();
    assert_eq!((seen.count("initialize"), places(&seen)), (1, vec!["7"; 5]));
}

/// M-SESS-05: calls at the same time keep the places of their streams apart.
pub fn each_answer_has_its_own_rest(on: &Stage) {
    let result = |label: &str| {
        let content = format!(r#"{{"content":[{{"type":"text","text":"{label}"}}]}}"#);
        format!(r#"{{"jsonrpc":"2.0","id":${label}.id,"result":{content}}}"#)
    };
    let script = HttpScript::with_session("2025-11-25", "s-1")
        .expect_as("tools/call", "one")
        .events()
        .sse("id: of one\nretry: 10\ndata:\n\n")
        .gate("both")
        .reset()
        .expect_as("tools/call", "two")
        .events()
        .sse("id: of two\nretry: 400\ndata:\n\n")
        .open("both")
        .reset()
        .expect_http("GET")
        .events()
        .event(&result("one"))
        .end()
        .expect_http("GET")
        .events()
        .event(&result("two"))
        .end();
    let server = script.rest().start();
    let client = connect(on, &server);
    let one = client.begin("x", json!({})).unwrap();
    server.wait_until(|it| it.count("tools/call") == 1);
    let two = client.begin("x", json!({})).unwrap();
    assert_eq!(two.wait().unwrap().text(), "two");
    assert_eq!(one.wait().unwrap().text(), "one");
    client.close();
    assert_eq!(places(&server.finish().check()), ["of one", "of two"]);
}
