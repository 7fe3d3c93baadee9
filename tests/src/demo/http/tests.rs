//! The demo server over HTTP, judged by what a client sees.

use serde_json::{Value, json};

use super::super::{Eras, Options};
use super::{Answers, HttpDemo, HttpOptions};
use crate::http::visitor::{Answer, Visitor};

mod legacy;
mod modern;

const TYPES: [(&str, &str); 2] =
    [("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream")];

fn start(change: impl FnOnce(&mut HttpOptions)) -> HttpDemo {
    let mut options = HttpOptions::default();
    change(&mut options);
    HttpDemo::start(options).unwrap()
}

fn only(eras: Eras) -> HttpDemo {
    start(|options| options.demo.eras = eras)
}

/// Posts a message with the types that every client names, and these headers.
fn post(visitor: &mut Visitor, headers: &[(&str, &str)], body: &Value) -> Answer {
    let headers = [&TYPES, headers].concat();
    visitor.ask("POST", &headers, &body.to_string())
}

fn request(id: u64, method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

fn code(answer: &Answer) -> i64 {
    answer.message()["error"]["code"].as_i64().unwrap()
}

#[test]
fn the_endpoint_takes_what_is_meant_for_it() {
    let demo = start(|_| {});
    let mut visitor = Visitor::new(demo.url());
    let body = request(1, "ping", json!({}));
    let text = body.to_string();
    let mut status =
        |method, headers: &[(&str, &str)], body| visitor.ask(method, headers, body).status;
    assert_eq!(status("PUT", &TYPES, &text), 405);
    assert_eq!(status("GET", &TYPES, ""), 405);
    assert_eq!(status("POST", &TYPES[1..], &text), 415);
    assert_eq!(status("POST", &TYPES[..1], &text), 406);
    let some = [TYPES[0], ("Accept", "application/json")];
    assert_eq!(status("POST", &some, &text), 406);
    let weighed = [TYPES[0], ("Accept", "text/event-stream;q=0.5, Application/JSON")];
    assert_eq!(status("POST", &weighed, "{"), 400);
    assert_eq!(status("POST", &TYPES, ""), 400);
    assert_eq!(status("POST", &TYPES, "[]"), 400);
    let foreign = [&TYPES[..], &[("Origin", "http://localhost.evil.example")]].concat();
    assert_eq!(status("POST", &foreign, &text), 403);
    let own = [&TYPES[..], &[("Origin", "http://localhost:6274")]].concat();
    assert_eq!(status("POST", &own, &text), 400);
    visitor.write("GET /other HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(visitor.answer().status, 404);
    visitor.write("GET /mcp HTTP/1.1\r\n\r\n");
    assert_eq!(visitor.answer().status, 400);
    visitor.write("nonsense\r\n\r\n");
    assert_eq!(visitor.answer().status, 400);
    assert_eq!(visitor.rest(), (Vec::new(), false));
    let counters = demo.wait_until(|counters| counters.open == 0);
    assert_eq!((counters.connections, counters.requests("PUT")), (1, 1));
    assert_eq!((counters.answers(405), counters.answers(415)), (2, 1));
}

#[test]
fn a_connection_is_closed_when_its_client_asks_for_it() {
    let demo = start(|_| {});
    let mut visitor = Visitor::new(demo.url());
    let answer = visitor.ask("GET", &[("Connection", "close")], "");
    assert_eq!(answer.status, 405);
    assert_eq!(visitor.rest(), (Vec::new(), false));
}

#[test]
fn dropping_it_ends_its_connections() {
    let demo = start(|_| {});
    let mut visitor = Visitor::new(demo.url());
    assert_eq!(visitor.ask("GET", &[], "").status, 405);
    drop(demo);
    assert_eq!(visitor.rest(), (Vec::new(), false));
}
