//! What a server may send at most, and what happens beyond.

use std::time::Duration;

use mcp_proto::op::{CallTool, Connect, ListTools};
use mcp_proto::{Call, ConnectionConfig, ErrorKind, Event, Outcome, SkipReason};
use serde_json::{Value, json};

use crate::support::*;

const LIMIT: usize = 500;

fn small() -> ConnectionConfig {
    let mut config = config();
    config.max_message_bytes = LIMIT;
    config
}

fn benches() -> [Bench; 2] {
    [Bench::modern_with(small()), Bench::legacy_with(small())]
}

/// A call of a tool, and one of a list that must not notice what becomes of it.
fn two(bench: &mut Bench) -> (Call<CallTool>, Posted, Call<ListTools>, Posted) {
    let call = bench.begin(tool("x", json!({})));
    let post = bench.expect("tools/call");
    let list = bench.begin(ListTools);
    let list_post = bench.expect("tools/list");
    (call, post, list, list_post)
}

/// An answer of exactly this many bytes.
fn sized(bench: &Bench, post: &Posted, bytes: usize) -> String {
    let with = |text: &str| {
        let content = json!({ "content": [{ "type": "text", "text": text }] });
        answer(post, &bench.complete(content))
    };
    let empty = with("").len();
    with(&"x".repeat(bytes - empty))
}

fn is_limit(kind: &ErrorKind) -> bool {
    let ErrorKind::Limit(limit) = kind else { return false };
    limit.limit == LIMIT && limit.setting == "max_message_bytes"
}

/// M-UNTR-02, M-SIZE-02, M-RTRY-07: one byte over the bound fails exactly the call that it answers,
/// as JSON and as an event, at once, and nothing is repeated.
#[test]
fn a_message_over_the_bound_fails_its_call() {
    for stream in [false, true] {
        for split in [Split::Whole, Split::Bytes] {
            for mut bench in benches() {
                bench.split = split.clone();
                let (call, post, list, list_post) = two(&mut bench);
                let message = sized(&bench, &post, LIMIT);
                if stream {
                    bench.streams(&post, &event(&message));
                } else {
                    bench.says(&post, 200, &message);
                }
                bench.done(&call).unwrap();

                let call = bench.begin(tool("x", json!({})));
                let post = bench.expect("tools/call");
                let message = sized(&bench, &post, LIMIT + 1);
                if stream {
                    // Its end is not waited for.
                    bench.streams(&post, &format!("data: {message}"));
                } else {
                    bench.head(&post, 200, JSON);
                    bench.body(&post, message.as_bytes());
                }
                let error = bench.error(&call);
                assert!(is_limit(error.kind()) && error.is_transport(), "{error}");
                assert_eq!(error.outcome(), Outcome::Unknown);
                assert!(!bench.watch.is_open(post.exchange), "its exchange is over");

                bench.says(&list_post, 200, &format!("{{{}", " ".repeat(LIMIT)));
                assert!(is_limit(bench.error(&list).kind()));
                bench.quiet();
                assert_eq!(bench.deadline(), None);
            }
        }
    }
}

/// M-UNTR-01, M-UNTR-02: an event over the bound that answers nobody is thrown away while it comes
/// in; the call has its answer after it.
#[test]
fn an_event_over_the_bound_that_answers_nobody_is_skipped() {
    for mut bench in benches() {
        let (call, post, list, list_post) = two(&mut bench);
        bench.head(&post, 200, SSE);
        let long = "x".repeat(LIMIT);
        for message in [
            format!(r#"{{"jsonrpc":"2.0","method":"notifications/message","params":"{long}"}}"#),
            format!(r#"{{"jsonrpc":"2.0","id":7,"method":"x/y","params":"{long}"}}"#),
            format!("{long}x"),
        ] {
            bench.body(&post, event(&message).as_bytes());
            let why = SkipReason::TooLong;
            let skipped = Event::LineSkipped { why, bytes: LIMIT as u64 };
            assert_eq!(bench.events.pop(), Some(skipped), "{message}");
            assert!(bench.is_pending(&call));
        }
        // The id of another request that is out makes it an answer to this one.
        let message = sized(&bench, &post, LIMIT);
        bench.body(&post, event(&message).as_bytes());
        bench.done(&call).unwrap();
        let call = bench.begin(tool("x", json!({})));
        let post = bench.expect("tools/call");
        let taken = list_post.id();
        bench.streams(&post, &event(&format!(r#"{{"id":{taken},"result":"{long}"}}"#)));
        assert!(is_limit(bench.error(&call).kind()));
        assert!(bench.is_pending(&list));
        bench.completes(&list_post, json!({ "tools": [] }));
        bench.done(&list).unwrap();
        bench.quiet();
    }
}

/// M-UNTR-01, M-HTTP-14: comments, unknown fields and names of events may be as long as they like;
/// ids and pauses too.
#[test]
fn what_carries_no_message_costs_nothing() {
    for mut bench in benches() {
        let (call, post, list, list_post) = two(&mut bench);
        let long = "x".repeat(100 * LIMIT);
        let digits = "9".repeat(100 * LIMIT);
        bench.streams(
            &post,
            &format!(
                ":{long}\n{long}\n{long}:{long}\nid: {long}\nretry: {digits}\nevent: {long}\ndata: x\n\n"
            ),
        );
        assert!(bench.is_pending(&call));
        let message = bench.completion(&post, json!({ "content": [] }));
        bench.body(&post, message.as_bytes());
        bench.done(&call).unwrap();
        bench.completes(&list_post, json!({ "tools": [] }));
        bench.done(&list).unwrap();
    }
}

/// M-UNTR-02: of an error answer only the beginning is kept, and its status counts.
#[test]
fn long_error_answers_are_cut() {
    for mut bench in benches() {
        let (call, post, list, list_post) = two(&mut bench);
        bench.head(&post, 400, &[("content-type", "text/plain")]);
        for _ in 0..100 {
            bench.body(&post, "é".repeat(10_000).as_bytes());
        }
        bench.ends(&post);
        let error = bench.error(&call);
        let text = error.to_string();
        assert!(text.contains("400") && text.chars().count() < 5000, "{}", text.len());
        // A server's own error may be larger than the bound of messages.
        let mut refusal: Value = serde_json::from_str(&refusal(&list_post, -32602)).unwrap();
        refusal["error"]["data"] = json!("x".repeat(2 * LIMIT));
        bench.says(&list_post, 422, &refusal.to_string());
        assert_eq!(bench.error(&list).server_error().map(|e| e.code), Some(-32602));
    }
}

/// M-UNTR-02, M-ERA-19: an answer over the bound decides about the era like any other that is of no
/// use.
#[test]
fn a_probe_answered_over_the_bound_means_legacy() {
    for stream in [false, true] {
        let mut bench = Bench::new(small(), target());
        let call = bench.begin(Connect);
        let probe = bench.expect("server/discover");
        let mut result = discovered(&["2026-07-28"]);
        result["instructions"] = json!("x".repeat(LIMIT));
        let message = answer(&probe, &result);
        if stream {
            bench.streams(&probe, &event(&message));
        } else {
            bench.says(&probe, 200, &message);
        }
        bench.greet("2025-11-25", None);
        bench.done(&call).unwrap();
    }
}

/// M-TIME-11, M-UNTR-02: what was skipped is repeated in the text of a timeout.
#[test]
fn a_timeout_tells_what_was_skipped() {
    let mut bench = Bench::modern_with(small());
    let call = bench.begin(tool("x", json!({})));
    let post = bench.expect("tools/call");
    bench.streams(&post, &event("hello"));
    bench.body(&post, event(&"x".repeat(LIMIT + 1)).as_bytes());
    bench.advance(Duration::from_secs(30));
    let text = bench.error(&call).to_string();
    assert!(text.contains("2 event(s)") && text.contains("too long"), "{text}");
    assert!(!text.contains("stdout") && !text.contains("hello"), "{text}");
}

/// M-UNTR-02, M-ERR-02: an error answer whose body does not end is waited for two seconds, and none
/// that is larger than 64 KiB or has said what it has to say.
#[test]
fn the_body_of_an_error_is_not_waited_for() {
    let refused = |post: &Posted| refusal(post, -32004);
    for status in [400, 422, 500] {
        in_both_eras(|bench| {
            let (call, post, list, list_post) = two(bench);
            // A body that comes byte by byte has no more time.
            bench.head(&post, status, JSON);
            bench.advance(Duration::from_millis(1999));
            bench.body(&post, refused(&post).as_bytes());
            assert!(bench.is_pending(&call));
            bench.advance(Duration::from_millis(1));
            let error = bench.error(&call);
            if status == 500 {
                assert!(error.to_string().contains("HTTP status 500"), "{error}");
            } else {
                assert_eq!(error.server_error().map(|error| error.code), Some(-32004), "{error}");
            }
            assert!(!bench.watch.is_open(post.exchange));
            bench.completes(&list_post, json!({ "tools": [] }));
            bench.done(&list).unwrap();
            bench.quiet();
        });
    }
    in_both_eras(|bench| {
        let (call, post, ..) = two(bench);
        bench.head(&post, 400, &[("content-type", "text/plain")]);
        bench.body(&post, &[b'x'; 64 * 1024 - 1]);
        assert!(bench.is_pending(&call));
        bench.body(&post, b"x");
        let error = bench.error(&call);
        assert!(error.to_string().contains("HTTP status 400: xxx"), "{error}");
        assert!(!bench.watch.is_open(post.exchange));
    });
    in_both_eras(|bench| {
        for split in [Split::Whole, Split::Bytes] {
            bench.split = split;
            let call = bench.begin(tool("x", json!({})));
            let post = bench.expect("tools/call");
            bench.head(&post, 400, SSE);
            bench.body(&post, format!(": a\n\nid: 1\n\n{}", event(&refused(&post))).as_bytes());
            let error = bench.error(&call);
            assert_eq!(error.server_error().map(|error| error.code), Some(-32004), "{error}");
            assert!(!bench.watch.is_open(post.exchange));
        }
    });
}
