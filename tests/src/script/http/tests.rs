//! Scripts over HTTP, judged by what a client sees.

use serde_json::{Value, json};

use super::*;
use crate::http::visitor::{Answer, Visitor};

const JSON: &[(&str, &str)] = &[("Content-Type", "application/json"), ("Accept", "*/*")];

fn message(id: u64, method: &str) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "method": method }).to_string()
}

fn ask(visitor: &mut Visitor, id: u64, method: &str) -> Answer {
    visitor.ask("POST", JSON, &message(id, method))
}

#[test]
fn answers_are_sent_as_written() {
    let server = HttpScript::new()
        .expect("a")
        .result(r#"{"x":1}"#)
        .expect("b")
        .error(400, -32000, "no \"b\"")
        .expect("c")
        .respond(Reply::new(307).header("Location", "/other"))
        .expect("d")
        .raw_in_chunks("HTTP/1.1 200 Fine\r\nContent-Length: 5\r\n\r\n[$id]\n\n", 3)
        .expect_http("DELETE")
        .respond(Reply::new(200).typed("text/plain", "gone").header("X", "y"))
        .start();
    let mut visitor = Visitor::new(server.url());
    let result = ask(&mut visitor, 7, "a");
    assert_eq!(result.message(), json!({ "jsonrpc": "2.0", "id": 7, "result": { "x": 1 } }));
    let error = ask(&mut visitor, 8, "b");
    assert_eq!((error.status, &error.message()["error"]["message"]), (400, &json!("no \"b\"")));
    let redirect = ask(&mut visitor, 9, "c");
    assert_eq!((redirect.status, redirect.header("location")), (307, Some("/other")));
    assert_eq!(ask(&mut visitor, 10, "d").body, b"[10]\n");
    visitor.write("");
    let transcript = server.finish();
    assert_eq!(transcript.count("a"), 1);
    assert_eq!(transcript.left(), 1);
    assert_eq!((transcript.connections(), transcript.requests().len()), (1, 4));
    assert_eq!(transcript.requests()[0].header("accept"), Some("*/*"));
}

#[test]
fn event_streams_are_sent_piece_by_piece() {
    let server = HttpScript::new()
        .expect("a")
        .events()
        .sse(": hello\n\n")
        .gate("more")
        .result_event("{}")
        .end()
        .expect("b")
        .demo_with(HttpOptions::default())
        .rest()
        .start();
    let mut visitor = Visitor::new(server.url());
    visitor.send("POST", JSON, &message(1, "a"));
    assert_eq!(visitor.head().0, 200);
    assert_eq!(visitor.chunk().unwrap(), b": hello\n\n");
    server.open("more");
    let event = String::from_utf8(visitor.chunk().unwrap()).unwrap();
    assert!(event.starts_with("event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":1"), "{event}");
    assert_eq!(visitor.chunk(), None);
    // Not expected, so the demo server answers, which wants both types.
    assert_eq!(ask(&mut visitor, 2, "server/discover").status, 406);
    assert_eq!(server.so_far().left(), 1);
}

#[test]
fn connections_end_in_every_way() {
    let server = HttpScript::new()
        .accept(Accept::Close)
        .accept(Accept::Reset)
        .accept(Accept::Gate("third".to_owned()))
        .expect("a")
        .close()
        .expect("b")
        .raw("HTTP/1.1 200 OK\r\nContent-Le")
        .reset()
        .expect("c")
        .expect("d")
        .result("{}")
        .close_at_next_byte()
        .start();
    assert_eq!(Visitor::new(server.url()).rest(), (Vec::new(), false));
    assert_eq!(Visitor::new(server.url()).rest(), (Vec::new(), true));
    let mut third = Visitor::new(server.url());
    third.send("POST", JSON, &message(1, "a"));
    assert_eq!(server.so_far().requests().len(), 0);
    server.open("third");
    assert_eq!(third.rest(), (Vec::new(), false));
    let mut fourth = Visitor::new(server.url());
    fourth.send("POST", JSON, &message(1, "b"));
    assert!(fourth.rest().1);
    let mut fifth = Visitor::new(server.url());
    fifth.send("POST", JSON, &message(1, "c"));
    server.wait_until(|transcript| transcript.count("c") == 1);
    drop(fifth);
    assert_eq!(server.wait_until(|transcript| !transcript.closed().is_empty()).closed(), [5]);
    let mut sixth = Visitor::new(server.url());
    assert_eq!(ask(&mut sixth, 1, "d").status, 200);
    sixth.send("POST", JSON, &message(2, "e"));
    assert!(sixth.rest().1);
    let transcript = server.finish().check();
    assert_eq!((transcript.connections(), transcript.count("e")), (6, 0));
}

#[test]
fn requests_of_two_connections_meet() {
    let server = HttpScript::new()
        .in_any_order()
        .expect("later")
        .respond(Reply::new(200).json(r#"{"late":$first.id}"#))
        .open("done")
        .expect_as("sooner", "first")
        .gate("done")
        .status(204)
        .start();
    let (mut one, mut other) = (Visitor::new(server.url()), Visitor::new(server.url()));
    one.send("POST", JSON, &message(5, "sooner"));
    server.wait_until(|transcript| transcript.count("sooner") == 1);
    assert_eq!(ask(&mut other, 6, "later").message(), json!({ "late": 5 }));
    assert_eq!(one.answer().status, 204);
    server.finish().check();
}

#[test]
fn what_is_not_expected_is_a_failure() {
    let server = HttpScript::new().expect("a").result("$nobody.id").start();
    let mut visitor = Visitor::new(server.url());
    assert_eq!(visitor.ask("GET", &[], "").status, 405);
    assert_eq!(visitor.ask("DELETE", &[], "").status, 405);
    assert_eq!(ask(&mut visitor, 1, "b").status, 500);
    assert_eq!(server.so_far().failures().len(), 1);
    visitor.send("POST", JSON, &message(1, "a"));
    assert_eq!(visitor.rest(), (Vec::new(), false));
    let transcript = server.finish();
    assert!(transcript.failures()[1].contains("nobody"), "{transcript:?}");
    assert!(std::panic::catch_unwind(|| transcript.check()).is_err());
}

#[test]
fn the_handshake_is_answered() {
    let server =
        HttpScript::with_session("2025-06-18", "s-1").expect_response().status(202).rest().start();
    let mut visitor = Visitor::new(server.url());
    assert_eq!(ask(&mut visitor, 1, "server/discover").status, 400);
    let initialized = ask(&mut visitor, 2, "initialize");
    assert_eq!(initialized.header("mcp-session-id"), Some("s-1"));
    assert_eq!(initialized.message()["result"]["protocolVersion"], "2025-06-18");
    let notification = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    assert_eq!(visitor.ask("POST", JSON, &notification.to_string()).status, 202);
    let response = json!({ "jsonrpc": "2.0", "id": "e1", "result": Value::Null });
    assert_eq!(visitor.ask("POST", JSON, &response.to_string()).status, 202);
    let both = [JSON[0], ("Accept", "application/json, text/event-stream")];
    let tools = visitor.ask("POST", &both, &message(3, "tools/list"));
    assert_eq!(tools.message()["result"]["tools"][0]["name"], "echo");
    server.finish().check();
}
