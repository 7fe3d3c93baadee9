//! Times that run out, and calls that their host no longer wants.

use std::time::Duration;

use mcp_proto::op::{CallTool, Connect, ListTools};
use mcp_proto::{
    Call, Era, EraChoice, ErrorKind, HttpFailureKind, HttpInput, Input, Mailbox, Outcome, Phase,
    Sent, Timeout,
};
use serde_json::json;

use crate::support::*;

fn calling(bench: &mut Bench) -> (Call<CallTool>, Posted) {
    let call = bench.begin(tool("x", json!({})));
    let post = bench.expect("tools/call");
    (call, post)
}

fn timeout(kind: &ErrorKind) -> &Timeout {
    let ErrorKind::Timeout(timeout) = kind else { panic!("{kind}") };
    timeout
}

/// How far an exchange is.
const PLACES: [u8; 4] = [0, 1, 2, 3];

fn goes(bench: &mut Bench, post: &Posted, to: u8) {
    match to {
        0 => {}
        1 => bench.head(post, 200, JSON),
        2 => {
            bench.head(post, 200, JSON);
            bench.body(post, br#"{"jsonrpc":"#);
        }
        _ => bench.streams(post, ": open\n\ndata: {\"jsonrpc\":"),
    }
}

fn aborts(bench: &mut Bench, post: &Posted) -> usize {
    let aborted = format!("Http({:?}, {:?}, Abort)", post.exchange, post.owner);
    bench.trace().iter().filter(|line| **line == aborted).count()
}

/// M-TIME-11, M-TIME-12, M-TIME-03: silence ends a call after 30 s, wherever its exchange is, and it
/// is not sent again.
#[test]
fn silence_ends_a_call() {
    in_both_eras(|bench| {
        for place in PLACES {
            let list = bench.begin(ListTools);
            let post = bench.expect("tools/list");
            goes(bench, &post, place);
            bench.advance(Duration::from_millis(29_999));
            assert!(bench.is_pending(&list));
            bench.trace();
            bench.advance(Duration::from_millis(1));
            let error = bench.error(&list);
            let Timeout { phase, after, .. } = timeout(error.kind());
            assert_eq!((*phase, *after), (Phase::Answer, Duration::from_secs(30)));
            assert_eq!(error.outcome(), Outcome::Unknown);
            assert_eq!(aborts(bench, &post), 1);
            let told = bench.take_posts();
            assert!(told.iter().all(|post| post.method() == "notifications/cancelled"));
            for post in &told {
                bench.accepts(post);
            }
        }
        assert_eq!(bench.deadline(), None);
    });
}

/// M-TIME-07, M-TIME-04, M-TIME-08: a modern server notices that the exchange is gone; a legacy one
/// is told as well. What it says later goes nowhere.
#[test]
fn a_call_that_is_not_wanted_ends_at_once() {
    in_both_eras(|bench| {
        let legacy = bench.era() == mcp_proto::Era::Legacy;
        for place in PLACES {
            bench.lets_go = false;
            let (call, post) = calling(bench);
            goes(bench, &post, place);
            bench.trace();
            bench.cancel(&call);
            let error = bench.error(&call);
            assert!(matches!(error.kind(), ErrorKind::Cancelled), "{error}");
            assert_eq!(error.outcome(), Outcome::Unknown);
            assert_eq!(aborts(bench, &post), 1);
            if legacy {
                let told = bench.expect("notifications/cancelled");
                assert_eq!(told.params()["requestId"], *post.id());
                assert!(told.params()["reason"].is_string() && told.message.get("id").is_none());
                bench.accepts(&told);
            }
            bench.quiet();
            bench.trace();
            // The performer has not heard of it yet.
            let message = answer(&post, &bench.complete(json!({ "content": [] })));
            match place {
                0 | 1 => bench.whole(&post, 200, JSON, message.as_bytes()),
                2 => bench.resets(&post),
                _ => bench.body(&post, format!("\n\n{}", event(&message)).as_bytes()),
            }
            assert_eq!(bench.trace(), [""; 0]);
            bench.lets_go = true;
            bench.let_go();
            bench.quiet();
        }
    });
}

/// M-TIME-09: a result that has arrived is handed on, whatever the host says while it waits for its
/// items to be taken; nothing is told to the server.
#[test]
fn a_result_that_has_arrived_beats_the_cancellation() {
    in_both_eras(|bench| {
        let call = bench.begin_with(tool("x", json!({})), options(None, true));
        let post = bench.expect("tools/call");
        let params = json!({ "progressToken": post.meta()["progressToken"], "progress": 1 });
        let progress = json!({ "method": "notifications/progress", "params": params }).to_string();
        let message = bench.completion(&post, json!({ "content": [] }));
        bench.streams(&post, &(event(&progress) + &message));
        assert!(bench.is_pending(&call), "an item waits");
        bench.cancel(&call);
        bench.done(&call).unwrap();
        bench.quiet();
    });
}

/// M-TIME-04, M-ERA-13: neither the probe nor `initialize` is cancelled in words.
#[test]
fn a_start_is_not_cancelled_in_words() {
    for era in [EraChoice::Auto, EraChoice::Legacy] {
        let mut config = config();
        config.era = era;
        let mut bench = Bench::new(config, target());
        let with = options(Some(Duration::from_secs(2)), false);
        let call = bench.begin_with(Connect, with);
        let cancelled = bench.begin(tool("x", json!({})));
        let first = bench.next_post();
        bench.cancel(&cancelled);
        let error = bench.error(&cancelled);
        assert_eq!(error.outcome(), Outcome::NotSent);
        bench.advance(Duration::from_secs(2));
        let error = bench.error(&call);
        assert_eq!(timeout(error.kind()).phase, Phase::Start);
        bench.quiet();
        assert!(bench.watch.is_open(first.exchange), "others may still wait for the start");
        bench.input(Input::Close);
        bench.quiet();
        assert!(!bench.watch.is_open(first.exchange));
    }
}

/// M-TIME-01, M-RTRY-01: a time that the call brings bounds its pauses too.
#[test]
fn the_time_of_a_call_bounds_its_retries() {
    in_both_eras(|bench| {
        let list = bench.begin_with(ListTools, options(Some(Duration::from_millis(2500)), false));
        let post = bench.expect("tools/list");
        bench.whole(&post, 503, &[], b"");
        bench.advance(Duration::from_secs(1));
        let post = bench.expect("tools/list");
        bench.whole(&post, 503, &[], b"");
        bench.advance(Duration::from_secs(1));
        assert!(bench.is_pending(&list));
        bench.advance(Duration::from_millis(500));
        let error = bench.error(&list);
        assert_eq!(timeout(error.kind()).phase, Phase::Answer);
        bench.quiet();
        assert_eq!(bench.deadline(), None);
        // And a pause can be cancelled: nobody is told, since nothing is out.
        let list = bench.begin(ListTools);
        let post = bench.expect("tools/list");
        bench.breaks(&post, HttpFailureKind::Connect, Sent::None);
        bench.cancel(&list);
        assert!(matches!(bench.error(&list).kind(), ErrorKind::Cancelled));
        bench.quiet();
        assert_eq!(bench.deadline(), None);
    });
}

/// M-TIME-01, M-RTRY-08: a call that waits for a new session waits for no longer than its time.
#[test]
fn the_time_of_a_call_bounds_its_new_session() {
    let mut bench = Bench::legacy();
    let list = bench.begin_with(ListTools, options(Some(Duration::from_secs(3)), false));
    let post = bench.expect("tools/list");
    bench.says(&post, 404, "");
    let initialize = bench.expect("initialize");
    bench.advance(Duration::from_secs(3));
    let error = bench.error(&list);
    assert_eq!(timeout(error.kind()).phase, Phase::Start);
    // The session is begun all the same; the next call is glad of it.
    bench.welcome(&initialize, "2025-11-25", Some("session-2"));
    let notification = bench.expect(INITIALIZED);
    bench.accepts(&notification);
    bench.quiet();
}

/// M-TIME-11, M-PROG-09: progress does not extend the time of a call.
#[test]
fn progress_does_not_extend_the_time() {
    in_both_eras(|bench| {
        let call = bench.begin_with(tool("x", json!({})), options(None, true));
        let post = bench.expect("tools/call");
        bench.head(&post, 200, SSE);
        for n in 1..30 {
            bench.advance(Duration::from_secs(1));
            bench.input(Input::Pull(Mailbox::Call(call.id())));
            let params = json!({ "progressToken": post.meta()["progressToken"], "progress": n });
            let progress = json!({ "method": "notifications/progress", "params": params });
            bench.body(&post, event(&progress.to_string()).as_bytes());
            assert_eq!(bench.items.len(), n);
        }
        bench.advance(Duration::from_secs(1));
        assert!(bench.error(&call).is_timeout());
        bench.items.clear();
        for post in bench.take_posts() {
            bench.accepts(&post);
        }
    });
}

/// M-TIME-11: a cancellation that a legacy server never takes is given up, too.
#[test]
fn a_cancellation_that_is_never_taken_is_given_up() {
    let mut bench = Bench::legacy();
    let (call, _) = calling(&mut bench);
    bench.cancel(&call);
    bench.error(&call);
    let told = bench.expect("notifications/cancelled");
    bench.advance(Duration::from_secs(29));
    assert!(bench.watch.is_open(told.exchange));
    bench.advance(Duration::from_secs(1));
    assert!(!bench.watch.is_open(told.exchange));
    assert_eq!(bench.deadline(), None);
}

/// M-ERA-08, M-TIME-11: the time of the probe is the server's: it begins when there is a connection
/// to it, and the way to it has a time of its own.
#[test]
fn the_probes_time_begins_with_the_connection() {
    let seconds = Duration::from_secs;
    let mut bench = Bench::cold();
    let call = bench.begin(Connect);
    let probe = bench.expect("server/discover");
    bench.advance(seconds(1));
    bench.http(probe.exchange, HttpInput::Connecting);
    bench.advance(seconds(9));
    bench.http(probe.exchange, HttpInput::Connected);
    bench.advance(Duration::from_millis(4999));
    assert!(bench.is_pending(&call));
    bench.advance(Duration::from_millis(1));
    let error = bench.error(&call);
    assert!(error.is_timeout(), "{error}");
    // A performer that never gets there has as much time as the start.
    let mut bench = Bench::cold();
    let call = bench.begin(Connect);
    let probe = bench.expect("server/discover");
    bench.http(probe.exchange, HttpInput::Connecting);
    bench.advance(Duration::from_millis(59_999));
    assert!(bench.is_pending(&call));
    bench.advance(Duration::from_millis(1));
    assert!(bench.error(&call).is_timeout());
}

/// M-TIME-08, M-ERR-08: what ends while its connection is being opened was not sent, and the server
/// is told nothing of it; with the connection that changes.
#[test]
fn what_waits_for_its_connection_was_not_sent() {
    for cancel in [true, false] {
        in_both_eras(|bench| {
            for (connected, outcome) in [(false, Outcome::NotSent), (true, Outcome::Unknown)] {
                let call = bench.begin(tool("x", json!({})));
                let post = bench.expect("tools/call");
                bench.http(post.exchange, HttpInput::Connecting);
                if connected {
                    bench.http(post.exchange, HttpInput::Connected);
                }
                if cancel {
                    bench.cancel(&call);
                } else {
                    bench.advance(Duration::from_secs(30));
                }
                assert_eq!(bench.error(&call).outcome(), outcome);
                assert!(!bench.watch.is_open(post.exchange));
                let told = bench.take_posts();
                let legacy = bench.era() == Era::Legacy;
                assert_eq!(told.len(), usize::from(connected && legacy));
                told.iter().for_each(|post| bench.accepts(post));
            }
        });
    }
}

/// M-RTRY-13, M-ERR-08: a second attempt that was not sent says nothing of the first.
#[test]
fn an_attempt_that_was_not_sent_does_not_speak_for_the_one_before() {
    in_both_eras(|bench| {
        let call = bench.begin(ListTools);
        let post = bench.expect("tools/list");
        bench.resets(&post);
        bench.advance(Duration::from_secs(1));
        let again = bench.expect("tools/list");
        bench.http(again.exchange, HttpInput::Connecting);
        bench.cancel(&call);
        assert_eq!(bench.error(&call).outcome(), Outcome::Unknown);
        bench.quiet();
    });
}
