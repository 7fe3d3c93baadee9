//! The end of a connection, with whatever is open.

use std::time::Duration;

use mcp_proto::op::{Connect, ListTools};
use mcp_proto::{
    Call, CloseReason, ConnectionState, Era, ErrorKind, HttpFailureKind, Input, Method, Outcome,
    Sent,
};
use serde_json::json;

use crate::support::*;

fn is_closed(kind: &ErrorKind, reason: &CloseReason) -> bool {
    matches!(kind, ErrorKind::Closed(is) if is == reason)
}

/// Ten calls, each at another place, and the exchanges that they have.
fn ten_calls(bench: &mut Bench) -> (Vec<Call<mcp_proto::op::CallTool>>, Vec<Posted>) {
    let calls: Vec<_> = (0..10).map(|n| bench.begin(tool("x", json!({ "n": n })))).collect();
    let posts = bench.take_posts();
    for (n, post) in posts.iter().enumerate() {
        match n % 5 {
            0 => {}
            1 => bench.head(post, 200, SSE),
            2 => bench.streams(post, "data: {\"id\""),
            3 => bench.head(post, 200, JSON),
            _ => bench.head(post, 500, JSON),
        }
    }
    (calls, posts)
}

/// M-CONN-01, M-SESS-02: closing ends each call and each exchange once, and is over when the
/// performer has let go of all of them.
#[test]
fn closing_ends_everything_that_is_open() {
    in_both_eras(|bench| {
        bench.lets_go = false;
        let (calls, posts) = ten_calls(bench);
        bench.trace();
        bench.input(Input::Close);
        for call in &calls {
            let error = bench.error(call);
            assert!(is_closed(error.kind(), &CloseReason::Closed), "{error}");
            assert_eq!(error.outcome(), Outcome::Unknown);
        }
        let trace = bench.trace();
        for post in &posts {
            let aborted = format!("Http({:?}, {:?}, Abort)", post.exchange, post.owner);
            assert_eq!(trace.iter().filter(|line| **line == aborted).count(), 1);
        }
        let deletes = bench.take_posts();
        assert!(deletes.iter().all(|post| post.request.method == Method::Delete));
        for post in &deletes {
            bench.accepts(post);
        }
        assert_eq!(*bench.connection.state(), ConnectionState::Closed(CloseReason::Closed));
        // In any order, and in either way.
        for (n, post) in posts.iter().rev().enumerate() {
            assert!(!bench.connection.at_rest() && !bench.watch.is_closed());
            if n % 2 == 0 {
                bench.ends(post);
            } else {
                bench.breaks(post, HttpFailureKind::Aborted, Sent::Some);
            }
        }
        bench.let_go();
        assert!(bench.connection.at_rest() && bench.watch.is_closed());
        let late = bench.begin(ListTools);
        let error = bench.error(&late);
        assert!(is_closed(error.kind(), &CloseReason::Closed));
        assert_eq!(error.outcome(), Outcome::NotSent);
        bench.lets_go = true;
        bench.quiet();
    });
}

/// M-CONN-01, M-STD-08: after a disconnect the next call begins the connection anew, once the last
/// exchange has ended.
#[test]
fn a_disconnect_is_no_end() {
    in_both_eras(|bench| {
        bench.lets_go = false;
        let (calls, posts) = ten_calls(bench);
        let era = bench.era();
        bench.input(Input::Disconnect);
        for call in &calls {
            let error = bench.error(call);
            assert!(is_closed(error.kind(), &CloseReason::Disconnected), "{error}");
        }
        let list = bench.begin(ListTools);
        for post in bench.take_posts() {
            assert_eq!(post.request.method, Method::Delete);
            bench.accepts(&post);
        }
        let (last, rest) = posts.split_last().unwrap();
        for post in rest {
            bench.ends(post);
        }
        bench.quiet();
        bench.ends(last);
        bench.lets_go = true;
        bench.let_go();
        // What the server speaks is known.
        match era {
            Era::Modern => bench.speak_modern(),
            Era::Legacy => bench.greet("2025-11-25", None),
        }
        let post = bench.expect("tools/list");
        bench.completes(&post, json!({ "tools": [] }));
        bench.done(&list).unwrap();
        // Twice is once, and so is a disconnect of what is at rest.
        bench.input(Input::Disconnect);
        bench.input(Input::Disconnect);
        for post in bench.take_posts() {
            bench.accepts(&post);
        }
        bench.quiet();
    });
}

/// M-CONN-01, M-TIME-04: closing during a start, at each of its steps, sends nothing more than the
/// end of a session, if one was opened.
#[test]
fn closing_during_a_start_leaves_nothing() {
    for step in 0..8 {
        let mut bench = Bench::cold();
        let call = bench.begin(Connect);
        let waiting = bench.begin(tool("x", json!({})));
        let probe = bench.expect("server/discover");
        let mut session = false;
        if step == 1 {
            bench.head(&probe, 400, JSON);
        }
        if step == 2 {
            bench.breaks(&probe, HttpFailureKind::Connect, Sent::None);
        }
        if step >= 3 {
            bench.says(&probe, 400, "");
            let initialize = bench.expect("initialize");
            if step == 4 {
                bench.head(&initialize, 200, SSE);
            }
            if step == 5 {
                bench.whole(&initialize, 503, &[], b"");
            }
            if step >= 6 {
                session = true;
                bench.welcome(&initialize, "2025-11-25", Some("s-1"));
                let notification = bench.expect(INITIALIZED);
                if step == 7 {
                    bench.lets_go = false;
                    bench.head(&notification, 202, &[]);
                    let post = bench.expect("tools/call");
                    bench.head(&post, 200, SSE);
                }
            }
        }
        bench.input(Input::Close);
        if step < 7 {
            assert_eq!(bench.error(&call).outcome(), Outcome::NotSent, "{step}");
        }
        let sent = if step == 7 { Outcome::Unknown } else { Outcome::NotSent };
        assert_eq!(bench.error(&waiting).outcome(), sent, "{step}");
        let rest = bench.take_posts();
        assert_eq!(rest.len(), usize::from(session), "{step}");
        for post in rest {
            assert_eq!(post.request.method, Method::Delete);
            bench.accepts(&post);
        }
        bench.let_go();
        assert!(bench.watch.is_closed(), "{step}");
        assert_eq!(bench.deadline(), None);
    }
}

/// M-CONN-01: a close during a disconnect waits for the same end, and for nothing else.
#[test]
fn a_close_during_a_disconnect_is_one_end() {
    let mut bench = Bench::legacy();
    bench.input(Input::Disconnect);
    let delete = bench.next_post();
    let waits = bench.begin(ListTools);
    bench.input(Input::Close);
    let error = bench.error(&waits);
    assert_eq!(error.outcome(), Outcome::NotSent);
    bench.quiet();
    bench.advance(Duration::from_millis(1000));
    assert!(!bench.watch.is_open(delete.exchange) && bench.watch.is_closed());
}

/// M-CONN-01: a performer that ends an exchange without a word about its answer ends the call.
#[test]
fn an_exchange_that_ends_without_an_answer_fails_its_call() {
    in_both_eras(|bench| {
        let call = bench.begin(tool("x", json!({})));
        let post = bench.expect("tools/call");
        bench.ends(&post);
        let error = bench.error(&call);
        assert!(error.is_transport() && error.outcome() == Outcome::Unknown, "{error}");
        bench.quiet();
    });
}
