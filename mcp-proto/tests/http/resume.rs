//! Answers of legacy servers that go on in another stream.

use std::time::Duration;

use mcp_proto::op::{CallTool, Connect, ListTools};
use mcp_proto::{
    Call, ErrorKind, Event, HttpFailureKind, HttpFault, Method, Outcome, Owner, ResendReason, Sent,
    TimerReason, TransportError,
};
use serde_json::json;

use crate::support::*;

const PRIMED: &str = "id: 7\nretry: 500\ndata:\n\n";

/// A tool's call whose answer is a stream.
fn streaming(bench: &mut Bench) -> (Call<CallTool>, Posted) {
    let call = bench.begin(tool("x", json!({})));
    let post = bench.expect("tools/call");
    bench.streams(&post, "");
    (call, post)
}

/// How long it takes until the rest is asked for, and that request.
fn rest(bench: &mut Bench) -> (Duration, Posted) {
    let since = bench.now;
    let reason = bench.next_deadline();
    assert!(matches!(reason, TimerReason::Resume(_)), "{reason:?}\n{}", bench.whole_trace());
    let get = bench.next_post();
    assert_eq!(get.request.method, Method::Get);
    (bench.now - since, get)
}

fn fault(kind: &ErrorKind) -> &HttpFault {
    let ErrorKind::Transport(TransportError::Http(fault)) = kind else { panic!("{kind}") };
    fault
}

/// M-SESS-03, M-SESS-05, M-SESS-09: the rest of an answer is asked for by GET under the session,
/// from the last event that had an id; the request is not sent again, and the result ends the call.
#[test]
fn an_interrupted_answer_goes_on() {
    for ends in [true, false] {
        let mut bench = Bench::legacy();
        let (call, post) = streaming(&mut bench);
        assert_eq!(post.header("last-event-id"), None);
        bench.body(&post, PRIMED.as_bytes());
        if ends {
            bench.ends(&post);
        } else {
            bench.resets(&post);
        }
        bench.quiet();
        let after = Duration::from_millis(500);
        let told = Event::ResumeScheduled { call: call.id(), after };
        assert_eq!(bench.events.last(), Some(&told));
        let (pause, get) = rest(&mut bench);
        assert_eq!(pause, after);
        assert_eq!(get.owner, Owner::Call(call.id()));
        assert_eq!(get.header("last-event-id"), Some("7"));
        assert_eq!(get.header("accept"), Some("text/event-stream"));
        assert_eq!(get.header("mcp-session-id"), post.header("mcp-session-id"));
        assert_eq!(get.header("mcp-protocol-version"), post.header("mcp-protocol-version"));
        assert_eq!(get.header("content-type"), None);
        let message = bench.completion(&post, json!({ "content": [] }));
        bench.streams(&get, &message);
        bench.done(&call).unwrap();
        assert!(bench.watch.resends(call.id()).is_empty());
        bench.quiet();
        assert_eq!(bench.deadline(), None, "nothing is waited for");
    }
}

/// M-UNTR-03, M-UNTR-04, M-SESS-04: the pause is the server's, a second when it says nothing, and
/// never shorter than 10 ms.
#[test]
fn pauses_have_a_floor() {
    for (said, want, id) in [
        ("id: 7\ndata:\n\n", 1000, "7"),
        ("id: 7\nretry: 0\n\n", 10, "7"),
        ("retry: 9\n\nid: 8\n\n", 10, "8"),
        ("retry: 25000\nid: 8\n\n", 25_000, "8"),
    ] {
        let mut bench = Bench::legacy();
        let (_, post) = streaming(&mut bench);
        bench.body(&post, said.as_bytes());
        bench.ends(&post);
        let (pause, get) = rest(&mut bench);
        assert_eq!(pause, Duration::from_millis(want), "{said:?}");
        assert_eq!(get.header("last-event-id"), Some(id));
    }
}

/// M-SESS-05: each stream has a place of its own, also among calls at the same time, and a rest that
/// is interrupted goes on from where it came to.
#[test]
fn each_stream_has_its_place() {
    let mut bench = Bench::legacy();
    let (first, a) = streaming(&mut bench);
    let (second, b) = streaming(&mut bench);
    bench.body(&a, b"id: a1\nretry: 100\ndata:\n\n");
    bench.body(&b, b"id: b1\nretry: 300\ndata:\n\n");
    bench.resets(&a);
    bench.resets(&b);
    let (_, get_a) = rest(&mut bench);
    assert_eq!(get_a.header("last-event-id"), Some("a1"));
    bench.streams(&get_a, "id: a2\ndata:\n\n");
    bench.ends(&get_a);
    let (_, again) = rest(&mut bench);
    assert_eq!(again.header("last-event-id"), Some("a2"));
    let (_, get_b) = rest(&mut bench);
    assert_eq!(get_b.header("last-event-id"), Some("b1"));
    for (call, post, get) in [(&second, &b, &get_b), (&first, &a, &again)] {
        let message = bench.completion(post, json!({ "content": [] }));
        bench.streams(get, &message);
        bench.done(call).unwrap();
    }
    bench.quiet();
}

/// M-SESS-05, M-UNTR-03: streams that bring nothing new are asked for less and less often, until the
/// call has run out of its time; the error says what was waited for, and the server is told.
#[test]
fn fruitless_streams_end_with_the_time_of_the_call() {
    let mut bench = Bench::legacy();
    let call =
        bench.begin_with(tool("x", json!({})), options(Some(Duration::from_secs(20)), false));
    let mut stream = bench.expect("tools/call");
    bench.streams(&stream, "id: 7\nretry: 0\n\n");
    let mut asked = 0;
    loop {
        bench.ends(&stream);
        match bench.next_deadline() {
            TimerReason::Resume(_) => asked += 1,
            TimerReason::Call(_) => break,
            other => panic!("{other:?}"),
        }
        stream = bench.next_post();
        bench.streams(&stream, ": nothing\n\n");
    }
    assert_eq!(asked, 10, "after 10, 20, 40, … ms");
    let error = bench.error(&call);
    assert!(error.is_timeout(), "{error}");
    let told = bench.expect("notifications/cancelled");
    bench.accepts(&told);
    bench.quiet();
    assert_eq!(bench.deadline(), None, "the pause ends with the call");
}

/// M-SESS-05, M-ERR-08: asking for the rest may fail a few times in a row. Then the call fails
/// whether or not it could be repeated, and nobody says that it did not run.
#[test]
fn a_rest_that_cannot_be_had_fails_the_call() {
    for tools in [true, false] {
        let mut bench = Bench::legacy();
        let (call, list);
        if tools {
            (call, list) = (Some(bench.begin(tool("x", json!({})))), None);
        } else {
            (call, list) = (None, Some(bench.begin(ListTools)));
        }
        let post = bench.next_post();
        bench.streams(&post, PRIMED);
        bench.resets(&post);
        for turn in 0..5 {
            let (_, get) = rest(&mut bench);
            match turn % 3 {
                0 => bench.breaks(&get, HttpFailureKind::Connect, Sent::None),
                1 => bench.whole(&get, 503, &[], b"busy"),
                _ => bench.breaks(&get, HttpFailureKind::Closed, Sent::All),
            }
        }
        let error = match (&call, &list) {
            (Some(call), _) => bench.error(call),
            (_, Some(list)) => bench.error(list),
            _ => unreachable!(),
        };
        let HttpFault::NotResumed(why) = fault(error.kind()) else { panic!("{error}") };
        assert!(matches!(**why, HttpFault::Trouble { status: 503, .. }), "{why}");
        assert!(error.to_string().contains("could not be resumed"), "{error}");
        assert_eq!(error.outcome(), Outcome::Unknown);
        bench.quiet();
        assert_eq!(bench.deadline(), None);
    }
}

/// M-SESS-05, M-RTRY-06: a server that offers no such stream ends the call at once, whatever its
/// body says: the answer of a refused GET is not the answer of the request.
#[test]
fn a_refused_rest_is_no_answer() {
    let refused =
        br#"{"jsonrpc":"2.0","error":{"code":-32000,"message":"Method not allowed."},"id":null}"#;
    for status in [400, 404, 405] {
        let mut bench = Bench::cold();
        let connect = bench.begin(Connect);
        bench.speak_legacy("2025-03-26", None);
        bench.done(&connect).unwrap();
        let (call, post) = streaming(&mut bench);
        bench.body(&post, PRIMED.as_bytes());
        bench.ends(&post);
        let (_, get) = rest(&mut bench);
        bench.whole(&get, status, JSON, refused);
        let error = bench.error(&call);
        let HttpFault::NotResumed(why) = fault(error.kind()) else { panic!("{error}") };
        assert!(matches!(**why, HttpFault::Status { status: it, .. } if it == status), "{why}");
        assert_eq!(error.outcome(), Outcome::Unknown);
        bench.quiet();
    }
}

/// M-SESS-03: a redirect within the origin keeps the place; a server that answers the rest as one
/// JSON message has answered.
#[test]
fn a_redirected_rest_keeps_its_place() {
    let mut bench = Bench::legacy();
    let (call, post) = streaming(&mut bench);
    bench.body(&post, PRIMED.as_bytes());
    bench.ends(&post);
    let (_, get) = rest(&mut bench);
    bench.head(&get, 307, &[("location", "/elsewhere")]);
    let get = bench.next_post();
    assert_eq!((get.request.method, get.header("last-event-id")), (Method::Get, Some("7")));
    bench.streams(&get, ": nothing\n\n");
    bench.resets(&get);
    let (_, get) = rest(&mut bench);
    assert_eq!(get.header("last-event-id"), Some("7"));
    let result = answer(&post, &json!({ "content": [] }));
    bench.whole(&get, 200, JSON, result.as_bytes());
    bench.done(&call).unwrap();
    bench.quiet();
}

/// M-SESS-07, M-RTRY-08: when the session is lost meanwhile a new one is begun. What is idempotent
/// is sent again there; a tool's call ends, and may have run.
#[test]
fn a_rest_of_a_lost_session() {
    let mut bench = Bench::legacy();
    let (call, post) = streaming(&mut bench);
    let list = bench.begin(ListTools);
    let listing = bench.expect("tools/list");
    bench.body(&post, PRIMED.as_bytes());
    bench.resets(&post);
    bench.streams(&listing, "id: 9\nretry: 700\ndata:\n\n");
    bench.resets(&listing);
    let (_, get) = rest(&mut bench);
    bench.whole(&get, 404, &[], b"");
    let error = bench.error(&call);
    let HttpFault::NotResumed(why) = fault(error.kind()) else { panic!("{error}") };
    assert_eq!(**why, HttpFault::SessionGone);
    assert_eq!(error.outcome(), Outcome::Unknown);
    let initialize = bench.expect("initialize");
    // The other pause ends while the new session begins.
    assert!(matches!(bench.next_deadline(), TimerReason::Resume(_)));
    bench.welcome(&initialize, "2025-11-25", Some("session-2"));
    let notification = bench.expect(INITIALIZED);
    bench.accepts(&notification);
    let again = bench.expect("tools/list");
    assert_eq!(again.header("mcp-session-id"), Some("session-2"));
    assert_eq!(bench.watch.resends(list.id()), [ResendReason::NewSession]);
    bench.result(&again, json!({ "tools": [] }));
    bench.done(&list).unwrap();
    bench.quiet();
}

/// M-SESS-05, M-RTRY-08: a pause ends with its call when no new session can be begun.
#[test]
fn no_pause_outlives_a_session_that_cannot_be_replaced() {
    let mut bench = Bench::legacy();
    let (call, post) = streaming(&mut bench);
    bench.body(&post, b"id: 7\nretry: 25000\ndata:\n\n");
    bench.resets(&post);
    let list = bench.begin(ListTools);
    let listing = bench.expect("tools/list");
    bench.says(&listing, 404, "");
    let initialize = bench.expect("initialize");
    bench.says(&initialize, 401, "");
    assert_eq!(bench.error(&call).outcome(), Outcome::Unknown);
    bench.error(&list);
    bench.quiet();
    assert_eq!(bench.deadline(), None, "nothing is waited for");
}

/// M-SESS-05, M-TIME-05: a call that is cancelled, or whose connection is closed, is not resumed.
#[test]
fn nothing_is_resumed_for_nobody() {
    for closes in [false, true] {
        for paused in [true, false] {
            let mut bench = Bench::legacy();
            let (call, post) = streaming(&mut bench);
            bench.body(&post, PRIMED.as_bytes());
            bench.ends(&post);
            if !paused {
                rest(&mut bench);
            }
            if closes {
                bench.end();
            } else {
                bench.cancel(&call);
                assert!(matches!(bench.error(&call).kind(), ErrorKind::Cancelled));
                let told = bench.expect("notifications/cancelled");
                bench.accepts(&told);
                bench.quiet();
                assert_eq!(bench.deadline(), None);
            }
        }
    }
}

/// M-SESS-10, M-HTTP-10: a modern stream has no place to go on from, whatever it says.
#[test]
fn modern_streams_do_not_resume() {
    let mut bench = Bench::modern();
    let (_, post) = streaming(&mut bench);
    bench.body(&post, PRIMED.as_bytes());
    bench.ends(&post);
    let again = bench.expect("tools/call");
    assert_eq!(again.header("last-event-id"), None);
}
