//! The bridge, met by a client that writes what it is told.

use std::io::Write as _;
use std::sync::Arc;

use serde_json::{Value, json};

use super::super::Script;
use super::{Output, Shared};
use crate::http::visitor::{Answer, Visitor};

const MODERN: (&str, &str) = ("MCP-Protocol-Version", "2026-07-28");

fn request(id: u64, method: &str) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "method": method }).to_string()
}

fn ask(visitor: &mut Visitor, id: u64, method: &str) -> Answer {
    visitor.ask("POST", &[MODERN], &request(id, method))
}

#[test]
fn answers_are_an_object_and_a_stream_in_turn() {
    let script = Script::new()
        .notify("early", "{}")
        .expect("a")
        .result("1")
        .repeat(2, Script::new().expect("b").result("2"))
        .expect("c")
        .notify("between", "{}")
        .result("3");
    let (url, playing) = script.over_http();
    let mut visitor = Visitor::new(&url);
    let kinds = ["a", "b", "b", "c"].map(|method| {
        let answer = ask(&mut visitor, 7, method);
        let messages = answer.messages();
        assert_eq!(messages.last().map(|it| &it["id"]), Some(&json!(7)));
        (answer.header("content-type").map(str::to_owned), messages.len())
    });
    let [json, stream] = ["application/json", "text/event-stream"];
    let told: Vec<_> = kinds.iter().map(|it| (it.0.as_deref().unwrap(), it.1)).collect();
    // What was written before anybody asked may come with the first answer or before it is read.
    assert!(told[0] == (stream, 2) || told[0] == (json, 1), "{told:?}");
    assert_eq!(told[1..], [(stream, 1), (json, 1), (stream, 2)]);
    assert_eq!(playing.finish().methods(), ["a", "b", "b", "c"]);
}

#[test]
fn a_stream_that_is_closed_is_cancelled_before_what_is_asked_next() {
    let script = Script::new()
        .expect("server/discover")
        .result("0")
        .expect_as("slow", "slow")
        .expect("notifications/cancelled")
        .expect("after")
        .text_for("slow", "\"nobody's\"")
        .result("1");
    let (url, playing) = script.over_http();
    let mut visitor = Visitor::new(&url);
    ask(&mut visitor, 1, "server/discover");
    visitor.send("POST", &[MODERN], &request(2, "slow"));
    playing.wait_until(|it| it.count("slow") == 1);
    drop(visitor);
    let after = ask(&mut Visitor::new(&url), 3, "after");
    assert_eq!(after.message()["result"], 1);
    let told = playing.finish().check().of("notifications/cancelled");
    assert_eq!(told[0]["params"], json!({ "requestId": 2 }));
}

#[test]
fn a_legacy_client_names_its_session_from_then_on() {
    let script = Script::new().expect("initialize").result("{}").answer_rest();
    let (url, playing) = script.over_http();
    let mut visitor = Visitor::new(&url);
    let answer = visitor.ask("POST", &[], &request(1, "initialize"));
    let session = answer.header("mcp-session-id").unwrap().to_owned();
    let note = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string();
    assert_eq!(visitor.ask("POST", &[], &note).status, 400);
    let headers = [("Mcp-Session-Id", &*session)];
    assert_eq!(visitor.ask("POST", &headers, &note).status, 202);
    assert_eq!(visitor.ask("DELETE", &headers, "").status, 204);
    assert_eq!(playing.finish().methods(), ["initialize", "notifications/initialized"]);
}

#[test]
fn the_get_stream_carries_what_is_about_no_request() {
    let script = Script::new()
        .expect("initialize")
        .result("{}")
        .expect("notifications/initialized")
        .gate("open")
        .notify("news", "{}");
    let (url, playing) = script.over_http();
    let mut visitor = Visitor::new(&url);
    let answer = visitor.ask("POST", &[], &request(1, "initialize"));
    let session = answer.header("mcp-session-id").unwrap().to_owned();
    let headers = [("Mcp-Session-Id", &*session)];
    let note = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string();
    visitor.ask("POST", &headers, &note);
    visitor.send("GET", &headers, "");
    assert_eq!(visitor.head().0, 200);
    playing.open("open");
    let event = String::from_utf8(visitor.chunk().unwrap()).unwrap();
    let data: Value = serde_json::from_str(event.split("data: ").nth(1).unwrap()).unwrap();
    assert_eq!(data["method"], "news");
    playing.finish().check();
}

#[test]
fn connections_end_with_the_script_and_a_long_line_is_sent_ahead() {
    let script = Script::new()
        .expect("a")
        .part(r#"{"jsonrpc":"2.0","id":$id,"result":""#)
        .filler(super::super::Sink::Stdout, b'x', 100_000)
        .gate("rest")
        .bytes("\"}\n")
        .expect("b")
        .exit(0);
    let (url, playing) = script.over_http();
    let mut visitor = Visitor::new(&url);
    visitor.send("POST", &[MODERN], &request(1, "a"));
    assert_eq!(visitor.head().0, 200);
    let begin = visitor.chunk().unwrap();
    assert!(begin.starts_with(b"data: {\"jsonrpc\":\"2.0\",\"id\":1,"), "sent before its end");
    playing.open("rest");
    let mut length = begin.len();
    while let Some(chunk) = visitor.chunk() {
        length += chunk.len();
    }
    assert!(length > 100_000);
    visitor.send("POST", &[MODERN], &request(2, "b"));
    assert!(visitor.rest().0.is_empty());
    playing.finish().check();
}

/// Whatever is routed in one `write` is routed under one lock, so that no request comes between.
#[test]
fn lines_that_are_written_at_once_are_routed_at_once() {
    let shared = Arc::<Shared>::default();
    let mut output = Output::new(shared.clone());
    let lines = [r#"{"method":"a"}"#, r#"{"method":"b"}"#, r#"{"method":"#].join("\n");
    assert_eq!(output.write(lines.as_bytes()).unwrap(), lines.len());
    assert_eq!(shared.lock().waiting, [&br#"{"method":"a"}"#[..], br#"{"method":"b"}"#]);
    assert_eq!(output.write(b"\"c\"}\r\n").unwrap(), 6);
    assert_eq!(shared.lock().waiting[2], br#"{"method":"c"}"#);
}
