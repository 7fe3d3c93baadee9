//! Event streams as servers really write them.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use mcp_proto::driver::CallOptions;
use mcp_proto::{ErrorKind, Outcome};
use serde_json::json;

use super::Stage;
use super::conversation::echo;
use super::exchanges::{connect, soon};
use crate::client::Setup;
use crate::script::{HttpPlaying, HttpScript, Reply};

const RESULT: &str = r#"{"jsonrpc":"2.0","id":$id,"result":{"resultType":"complete","content":[{"type":"text","text":"é 🦀"}]}}"#;

/// A modern server that answers one call with each of these streams.
fn streams(texts: &[String]) -> HttpPlaying {
    let each = |script: HttpScript, text: &String| {
        script.expect("tools/call").events().sse(text).end()
    };
    texts.iter().fold(HttpScript::modern(), each).start()
}

/// M-HTTP-14, M-HTTP-08
pub fn streams_are_read_as_the_standard_says(on: &Stage) {
    let (head, tail) = RESULT.split_at(RESULT.find(r#""result""#).unwrap());
    let texts = [
        format!("event:message\ndata:{RESULT}\n\n"),
        format!("event: message\r\ndata: {RESULT}\r\n\r\n"),
        format!("data: {RESULT}\r\r"),
        format!(": a comment\n\ndata: {head}\r\ndata: {tail}\n\r"),
        format!("event: ping\ndata: 2026-01-01T00:00:00Z\n\ndata: {RESULT}\n\n"),
        format!("\u{feff}data: {RESULT}\n\n"),
        format!("id: a\0b\nretry: soon\nunknown: field\nlonely\ndata: {RESULT}\n\n"),
        format!("data\n\nid: 7\n\ndata: {RESULT}\nevent: message\n\n"),
    ];
    let server = streams(&texts);
    let client = connect(on, &server);
    for text in &texts {
        assert_eq!(echo(&client, ""), "é 🦀", "{text:?}");
    }
    client.close();
    server.finish().check();
}

/// M-HTTP-14
pub fn a_stream_may_come_byte_by_byte(on: &Stage) {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
    let (begin, end) = RESULT.split_at(RESULT.find(r#""result""#).unwrap());
    let answer = format!("{head}\u{feff}id: 1\r\ndata: {begin}\r\ndata: {end}\r\n\r\n");
    let script = HttpScript::modern().expect("tools/call").raw_in_chunks(&answer, 1).close();
    let server = script.start();
    let client = connect(on, &server);
    assert_eq!(echo(&client, ""), "é 🦀");
    client.close();
    server.finish().check();
}

/// M-UNTR-13
pub fn fifty_thousand_events_that_mean_nothing_are_skipped(on: &Stage) {
    let junk = "data: x\n\n".repeat(50_000);
    let server = streams(&[format!("{junk}data: {RESULT}\n\n")]);
    let client = connect(on, &server);
    assert_eq!(echo(&client, ""), "é 🦀");
    client.close();
    server.finish().check();
}

/// M-UNTR-01, M-UNTR-02
pub fn an_event_without_an_end_is_given_up(on: &Stage) {
    let begin = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
    let script = HttpScript::modern()
        .expect("tools/call")
        .raw(begin)
        .raw(r#"data: {"jsonrpc":"2.0","id":$id,"result":{"x":""#)
        .filler(b'x', 10 << 20)
        .hold()
        .rest();
    let server = script.start();
    let setup = Setup::new().with(|config| config.max_message_bytes = 1 << 20);
    let client = on.connect(soon(&server), setup).unwrap();
    let error = client.call_tool("x", json!({})).unwrap_err();
    let ErrorKind::Limit(reached) = error.kind() else { panic!("{error:?}") };
    assert_eq!((reached.limit, reached.setting), (1 << 20, "max_message_bytes"));
    assert_eq!(error.outcome(), Outcome::Unknown);
    server.wait_until(|it| it.closed().len() == 1);
    assert_eq!(echo(&client, "hi"), "hi");
    client.close();
    server.finish().check();
}

/// M-RTRY-09, M-RTRY-12
pub fn a_last_event_without_its_end_counts_if_it_is_whole(on: &Stage) {
    let cut = RESULT.len() - 10;
    let script = HttpScript::modern()
        .expect("tools/call")
        .events()
        .sse(&format!("data: {RESULT}"))
        .end()
        .expect("tools/call")
        .events()
        .sse(&format!("data: {}", &RESULT[..cut]))
        .end()
        .expect("tools/call")
        .text("\"asked again\"");
    let server = script.start();
    let client = connect(on, &server);
    assert_eq!([echo(&client, ""), echo(&client, "")], ["é 🦀", "asked again"]);
    client.close();
    server.finish().check();
}

/// M-RTRY-12, M-PROG-01
pub fn what_comes_on_a_stream_is_shown_at_once(on: &Stage) {
    let progress = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":$token,"progress":1}}"#;
    let script = HttpScript::modern()
        .expect("tools/call")
        .events()
        .event(progress)
        .gate("seen")
        .sse(&format!("data: {RESULT}\n\n"))
        .end();
    let server = Arc::new(script.start());
    let client = connect(on, &server);
    let opening = Arc::clone(&server);
    // Its result is only written once its progress was seen.
    let options = CallOptions::new().on_progress(move |_| opening.open("seen"));
    let result = client.call_tool_with("x", json!({}), options).unwrap();
    assert_eq!(result.text(), "é 🦀");
    client.close();
    server.so_far().check();
}

/// A client that hears, so that it asks for the stream of a legacy server.
fn hearing() -> Setup {
    Setup::new().on_elicitation(|_, _| async { Ok(json!({ "action": "decline" })) })
}

/// M-SESS-08
pub fn the_get_stream_need_not_be_offered(on: &Stage) {
    let ways: [fn(HttpScript) -> HttpScript; 9] = [
        |it| it.status(405),
        |it| it.status(404),
        |it| it.status(400),
        |it| it.status(406),
        |it| it.status(409),
        |it| it.status(501),
        |it| it.respond(Reply::new(200).typed("text/html", "<form>log in</form>")),
        |it| it.respond(Reply::new(200).json("{}")),
        |it| it.hold(),
    ];
    for way in ways {
        let script = HttpScript::legacy("2025-11-25").in_any_order().expect_http("GET");
        let server = way(script).rest().start();
        let client = on.connect(soon(&server), hearing()).unwrap();
        server.wait_until(|it| it.count_http("GET") == 1);
        assert_eq!(client.list_tools().unwrap().len(), 5);
        assert_eq!(echo(&client, "hi"), "hi");
        client.close();
        server.finish().check();
    }
}

/// M-SESS-08
pub fn a_get_stream_that_ends_at_once_is_opened_ever_more_slowly(on: &Stage) {
    let ends = HttpScript::new().expect_http("GET").events().end();
    let script = HttpScript::legacy("2025-11-25").in_any_order().repeat(10, ends);
    let server = script.rest().start();
    let begin = Instant::now();
    let client = on.connect(soon(&server), hearing()).unwrap();
    for n in 0..50 {
        assert_eq!(echo(&client, &n.to_string()), n.to_string());
    }
    server.wait_until(|it| it.count_http("GET") == 2);
    client.close();
    let asked = server.so_far().count_http("GET");
    // The first pause is 1 s at least.
    let took = begin.elapsed().as_secs_f64();
    assert!(asked as f64 <= 2.0 + took, "{asked} times in {took} s");
    assert!(took >= 0.9, "again after {took} s");
    assert!(server.so_far().failures().is_empty());
}

/// M-SESS-08, M-ELIC-01, M-CONN-17
pub fn what_a_server_asks_on_the_get_stream_is_answered(on: &Stage) {
    let ask = r#"{"jsonrpc":"2.0","id":"e1","method":"elicitation/create","params":{"message":"?"}}"#;
    let script = HttpScript::with_session("2025-11-25", "s-1")
        .in_any_order()
        .expect_http("GET")
        .events()
        .event(ask)
        .hold()
        .expect_response()
        .status(202);
    let server = script.rest().start();
    let asked = Arc::new(Mutex::new(0));
    let count = Arc::clone(&asked);
    let setup = Setup::new().on_elicitation(move |_, _| {
        *count.lock().unwrap() += 1;
        async { Ok(json!({ "action": "decline" })) }
    });
    let config = soon(&server).header("X-Api-Key", "s3cret-9133");
    let client = on.connect(config, setup).unwrap();
    let seen = server.wait_until(|it| it.left() == 0);
    let answer = seen.requests().iter().find(|it| it.message["id"] == "e1").unwrap();
    assert_eq!(answer.message["result"]["action"], "decline");
    assert_eq!(*asked.lock().unwrap(), 1);
    assert_eq!(echo(&client, "hi"), "hi");
    client.close();
    let seen = server.finish().check();
    assert_eq!((seen.count_http("GET"), seen.count_http("DELETE")), (1, 1));
    for request in seen.requests() {
        assert_eq!(request.header("x-api-key"), Some("s3cret-9133"), "{request:?}");
    }
}
