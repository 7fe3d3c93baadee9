//! Answers of every kind that a request can get.

use mcp_proto::op::{CallTool, ListTools, Ping};
use mcp_proto::{Call, ErrorKind, Event, HttpFault, Outcome, SkipReason, TransportError};
use serde_json::{Value, json};

use crate::support::*;

/// A call of a tool that is under way.
fn calling(bench: &mut Bench) -> (Call<CallTool>, Posted) {
    let call = bench.begin(tool("add", json!({ "a": 1 })));
    let post = bench.expect("tools/call");
    (call, post)
}

fn text(text: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": text }] })
}

/// M-HTTP-01, M-HTTP-02: each request is a POST of its own, and the server chooses how it answers.
#[test]
fn a_server_answers_as_json_or_as_events() {
    in_both_eras(|bench| {
        for _ in 0..2 {
            let (call, post) = calling(bench);
            bench.completes(&post, text("json"));
            assert_eq!(bench.done(&call).unwrap().text(), "json");
            let list = bench.begin(ListTools);
            let post = bench.expect("tools/list");
            let text = bench.completion(&post, json!({ "tools": [{ "name": "a" }] }));
            bench.streams(&post, &text);
            assert_eq!(bench.done(&list).unwrap()[0].name, "a");
        }
        let ping = bench.begin(Ping);
        let post = bench.next_post();
        bench.completes(&post, json!({}));
        bench.done(&ping).unwrap();
    });
}

/// M-HTTP-08, M-HTTP-14: event streams as servers write them, in one piece and byte by byte. `R` is
/// the answer, `P` the same with a line end in each place where JSON may have one.
#[test]
fn event_streams_are_read_as_the_standard_says() {
    let streams = [
        "data: R\n\n",
        "data:R\n\n",
        "data: R\r\n\r\n",
        "data: R\r\r",
        "event: message\r\ndata: R\n\r\n",
        "\u{feff}data: R\n\n",
        "id: 1\ndata:\n\ndata: R\n\n",
        "id: 1\r\ndata: \r\n\r\nid: 2\r\ndata: R\r\n\r\n",
        "retry: 500\n\ndata: R\n\n",
        ": keepalive\n\n: \n:\r\ndata: R\n: inside\n\n",
        "event: ping\ndata: 2026-01-01T00:00:00Z\n\ndata: R\n\n",
        "event: endpoint\ndata: {}\n\nevent:\ndata: R\n\n",
        "data: P\n\n",
        "foo\ndat: x\nid: a\0b\ndata: R\n\n",
        "\n\n\n\r\n\r\ndata: R\n\n",
        "data: R\n",
        "data: R",
    ];
    for stream in streams {
        for split in [Split::Whole, Split::Bytes] {
            in_both_eras(|bench| {
                bench.split = split.clone();
                let (call, post) = calling(bench);
                let message = answer(&post, &bench.complete(text("é 🦀")));
                let pretty = message.replace(',', ",\ndata:").replace(":{", ":\ndata: {");
                bench.streams(&post, &stream.replace('R', &message).replace('P', &pretty));
                bench.ends(&post);
                assert_eq!(bench.done(&call).unwrap().text(), "é 🦀", "{stream:?} {split:?}");
                bench.quiet();
            });
        }
    }
}

/// M-HTTP-13, M-RTRY-11, M-TIME-08: the answer ends the call, whatever the stream does then.
#[test]
fn what_follows_the_answer_makes_no_difference() {
    in_both_eras(|bench| {
        for how in 0..4 {
            bench.lets_go = false;
            let (call, post) = calling(bench);
            let message = bench.completion(&post, text("done"));
            bench.trace();
            bench.streams(&post, &message);
            assert_eq!(bench.done(&call).unwrap().text(), "done");
            let trace = bench.trace();
            let released = format!("Http({:?}, {:?}, Release)", post.exchange, post.owner);
            assert_eq!(trace.iter().filter(|line| **line == released).count(), 1, "{trace:?}");
            let late = r#"{"jsonrpc":"2.0","id":"late","method":"ping"}"#;
            match how {
                0 => bench.body(&post, event(late).as_bytes()),
                1 => bench.body(&post, message.as_bytes()),
                2 => bench.resets(&post),
                _ => bench.ends(&post),
            }
            assert_eq!(bench.trace(), [""; 0]);
            bench.quiet();
            bench.lets_go = true;
            bench.let_go();
        }
    });
}

/// M-HTTP-14, M-UNTR-13: events that are no messages are skipped, however many; the answer comes.
#[test]
fn events_that_are_no_messages_are_skipped() {
    let junk = ["hello", "{}", "7", "[]", "null", "{\"id\":", "\"text\"", "{\"a\":1}", "[7]"];
    // Fifty thousand lines of a journal would take their time.
    let mut config = config();
    config.journal = false;
    for bench in &mut [Bench::modern_with(config.clone()), Bench::legacy_with(config)] {
        let (call, post) = calling(bench);
        bench.head(&post, 200, SSE);
        for text in junk {
            bench.body(&post, event(text).as_bytes());
        }
        let skips = |events: &[Event]| {
            let skipped = |event: &&Event| matches!(event, Event::LineSkipped { .. });
            events.iter().filter(skipped).count()
        };
        assert_eq!(skips(&bench.events), junk.len() - 1, "an empty batch says nothing");
        bench.body(&post, "data: x\n\n".repeat(50_000).as_bytes());
        assert!(bench.is_pending(&call));
        let message = bench.completion(&post, text("at last"));
        bench.body(&post, message.as_bytes());
        assert_eq!(bench.done(&call).unwrap().text(), "at last");
        bench.quiet();
    }
}

/// M-HTTP-02, M-HTTP-07: media types count without their parameters and their case, and a message
/// is one whatever its type says.
#[test]
fn media_types_are_read_leniently() {
    let json = [
        "application/json; charset=utf-8",
        "application/JSON;Charset=\"utf-8\"",
        " Application/Json ; a=b",
        "text/plain",
        "text/html",
        "application/vnd.api+json",
        "",
    ];
    in_both_eras(|bench| {
        for kind in json {
            for name in ["content-type", "Content-Type"] {
                let (call, post) = calling(bench);
                let message = answer(&post, &bench.complete(text("ok")));
                bench.whole(&post, 200, &[(name, kind)], message.as_bytes());
                assert_eq!(bench.done(&call).unwrap().text(), "ok", "{kind}");
            }
        }
        let (call, post) = calling(bench);
        let message = answer(&post, &bench.complete(text("no type")));
        bench.whole(&post, 200, &[], format!("\u{feff}\r\n {message}\n").as_bytes());
        assert_eq!(bench.done(&call).unwrap().text(), "no type");
        for kind in
            ["Text/Event-Stream;charset=UTF-8", "text/event-stream ; x", "TEXT/EVENT-STREAM"]
        {
            let (call, post) = calling(bench);
            let message = bench.completion(&post, text("ok"));
            bench.head(&post, 200, &[("content-type", kind)]);
            bench.body(&post, message.as_bytes());
            assert_eq!(bench.done(&call).unwrap().text(), "ok", "{kind}");
        }
    });
}

/// M-RTRY-04, M-RTRY-13, M-ERR-08: a success that brings no answer fails the call, tells what came,
/// and is not repeated: not even what could be.
#[test]
fn useless_answers_fail_the_call_once() {
    let html: Headers = &[("content-type", "text/html; charset=utf-8")];
    let plain: Headers = &[("content-type", "text/plain")];
    let cases: [(u16, Headers, &str, &str); 8] = [
        (200, JSON, "", "empty"),
        (200, &[], "", "empty"),
        (202, &[], "", "empty"),
        (204, &[], "", "empty"),
        (200, html, "<html>Log in</html>", "text/html"),
        (200, plain, "ok", "text/plain"),
        (200, JSON, "<html>", "JSON"),
        (200, JSON, r#"{"jsonrpc":"2.0","method":"notifications/x"}"#, "does not answer"),
    ];
    in_both_eras(|bench| {
        for (status, head, body, words) in cases {
            let (call, post) = calling(bench);
            bench.whole(&post, status, head, body.as_bytes());
            let error = bench.error(&call);
            let fault = |kind: &ErrorKind| {
                matches!(kind, ErrorKind::Transport(TransportError::Http(HttpFault::Unusable(_))))
            };
            assert!(fault(error.kind()), "{body}: {error}");
            assert!(error.to_string().contains(words), "{body}: {error}");
            assert!(!error.to_string().contains("Log in"), "{error}");
            assert_eq!(error.outcome(), Outcome::Unknown);
            let list = bench.begin(ListTools);
            let post = bench.expect("tools/list");
            bench.whole(&post, status, head, body.as_bytes());
            assert!(fault(bench.error(&list).kind()));
            bench.quiet();
        }
    });
}

/// M-RTRY-13, M-RTRY-04: JSON that is cut off, although the answer is complete, was an answer.
#[test]
fn truncated_json_fails_the_call_once() {
    in_both_eras(|bench| {
        let (call, post) = calling(bench);
        let message = answer(&post, &bench.complete(text("x")));
        for cut in [message.len() - 1, message.len() / 2, 12, 2] {
            let (call, post) = calling(bench);
            bench.says(&post, 200, message.get(..cut).unwrap());
            let error = bench.error(&call);
            assert_eq!(error.outcome(), Outcome::Unknown, "{cut}: {error}");
            let list = bench.begin(ListTools);
            let post = bench.expect("tools/list");
            bench.says(&post, 200, message.get(..cut).unwrap());
            bench.error(&list);
            bench.quiet();
        }
        bench.says(&post, 200, &message);
        bench.done(&call).unwrap();
    });
}

/// M-HTTP-11, M-RTRY-04, M-ERR-02: a server's own error is told as it came, under any status that
/// lets it speak, and changes nothing else.
#[test]
fn errors_of_the_servers_are_told_as_they_came() {
    in_both_eras(|bench| {
        for (status, code) in
            [(200, -32602), (200, -32603), (400, -32602), (404, -32601), (422, -32000), (429, 7)]
        {
            let list = bench.begin(ListTools);
            let post = bench.expect("tools/list");
            bench.says(&post, status, &refusal(&post, code));
            let error = bench.error(&list);
            assert_eq!(error.server_error().map(|error| error.code), Some(code), "{status}");
            let (call, post) = calling(bench);
            bench.head(&post, status, SSE);
            bench.body(&post, event(&refusal(&post, code)).as_bytes());
            bench.ends(&post);
            let error = bench.error(&call);
            assert_eq!(error.server_error().map(|error| error.code), Some(code), "{status} SSE");
            bench.quiet();
        }
        let before = bench.connection.server().cloned();
        assert!(before.is_some(), "the connection stays ready");
    });
}

/// M-BASE-08: servers of 2025-03-26 answer in batches.
#[test]
fn batches_of_old_servers_are_read() {
    let mut bench = Bench::legacy();
    for stream in [false, true] {
        let (call, post) = calling(&mut bench);
        let message = answer(&post, &text("batched"));
        let batch = format!(r#"[{{"jsonrpc":"2.0","method":"notifications/x"}},{message}]"#);
        if stream {
            bench.streams(&post, &event(&batch));
        } else {
            bench.says(&post, 200, &batch);
        }
        assert_eq!(bench.done(&call).unwrap().text(), "batched");
    }
}

/// M-UNTR-21, M-UNTR-02: what is wrong with an answer is told without its text.
#[test]
fn no_text_of_a_broken_answer_is_told() {
    let mut bench = Bench::modern();
    let (call, post) = calling(&mut bench);
    bench.says(&post, 200, r#"{"marker-secret": tru"#);
    assert!(!bench.error(&call).to_string().contains("marker-secret"));
    let (call, post) = calling(&mut bench);
    let broken = format!(r#"{{"id":{},"result":{{"marker-secret":1}}"#, post.id());
    bench.streams(&post, &event(&broken));
    assert!(!bench.error(&call).to_string().contains("marker-secret"));
    let skipped =
        |event: &Event| matches!(event, Event::LineSkipped { why: SkipReason::NotJson, .. });
    assert!(bench.events.iter().any(skipped));
    assert!(!bench.whole_trace().contains("marker-secret"));
}
