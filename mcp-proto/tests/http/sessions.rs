//! Sessions of legacy servers: how they begin, how they are lost, how they end.

use std::time::Duration;

use mcp_proto::op::{CallTool, Connect, ListTools, ToolList};
use mcp_proto::{
    Call, ErrorKind, Event, HttpFault, Input, Method, Outcome, ResendReason, ServerErrorKind,
    TransportError,
};
use serde_json::json;

use crate::support::*;

fn session(post: &Posted) -> Option<&str> {
    post.header("mcp-session-id")
}

fn listing(bench: &mut Bench) -> (Call<mcp_proto::op::ListTools>, Posted) {
    let call = bench.begin(ListTools);
    let post = bench.expect("tools/list");
    (call, post)
}

fn calling(bench: &mut Bench) -> (Call<CallTool>, Posted) {
    let call = bench.begin(tool("x", json!({})));
    let post = bench.expect("tools/call");
    (call, post)
}

fn lists(bench: &mut Bench, call: &Call<ListTools>, post: &Posted) -> ToolList {
    bench.result(post, json!({ "tools": [] }));
    bench.done(call).unwrap()
}

fn is_gone(kind: &ErrorKind) -> bool {
    matches!(kind, ErrorKind::Transport(TransportError::Http(HttpFault::SessionGone)))
}

fn renewals(bench: &Bench) -> usize {
    bench.events.iter().filter(|event| **event == Event::SessionReplaced).count()
}

/// M-SESS-01, M-SESS-06: an id is taken if it can be sent back.
#[test]
fn only_ids_that_can_be_sent_back_are_taken() {
    let longest = "~".repeat(4096);
    let longer = "~".repeat(4097);
    for (id, taken) in [
        ("1868a90c-7c7e", true),
        ("!", true),
        (&*longest, true),
        (&*longer, false),
        ("", false),
        ("a b", false),
        ("a\u{1}b", false),
        ("é", false),
    ] {
        let mut bench = Bench::cold();
        let call = bench.begin(Connect);
        bench.speak_legacy("2025-11-25", Some(id));
        bench.done(&call).unwrap();
        let want = taken.then_some(id);
        assert_eq!(session(&bench.posts[2]), want, "with `notifications/initialized`");
        let (list, post) = listing(&mut bench);
        assert_eq!(session(&post), want);
        lists(&mut bench, &list, &post);
        bench.input(Input::Close);
        let deletes = bench.take_posts();
        assert_eq!(
            deletes.iter().map(session).collect::<Vec<_>>(),
            Vec::from_iter(taken.then_some(want))
        );
    }
}

/// M-SESS-02, M-SESS-09: closing ends the session with DELETE, whatever the server says to that.
#[test]
fn closing_ends_the_session() {
    for status in [200, 202, 204, 400, 404, 405, 500, 307, 0] {
        let mut bench = Bench::legacy();
        bench.input(Input::Close);
        let delete = bench.next_post();
        assert_eq!((delete.request.method, session(&delete)), (Method::Delete, Some("session-1")));
        assert!(!bench.watch.is_closed(), "the session is ended first");
        if status == 0 {
            bench.resets(&delete);
        } else {
            bench.whole(&delete, status, &[], b"x");
        }
        assert!(bench.watch.is_closed(), "{status}");
        bench.quiet();
    }
}

/// M-SESS-02: a server that is silent about it is waited for a second at most.
#[test]
fn the_end_of_a_session_has_a_second() {
    let mut bench = Bench::legacy();
    bench.lets_go = false;
    bench.input(Input::Close);
    let delete = bench.next_post();
    bench.advance(Duration::from_millis(999));
    assert!(!bench.watch.is_closed() && !bench.whole_trace().contains("Abort"));
    bench.advance(Duration::from_millis(1));
    assert!(bench.whole_trace().contains("Abort"));
    assert!(!bench.watch.is_closed(), "the performer has not let go of it");
    bench.let_go();
    assert!(bench.watch.is_closed() && !bench.watch.is_open(delete.exchange));
}

/// M-SESS-02: without a session there is nothing to end.
#[test]
fn no_session_no_delete() {
    let mut bench = Bench::cold();
    let call = bench.begin(Connect);
    bench.speak_legacy("2025-11-25", None);
    bench.done(&call).unwrap();
    bench.input(Input::Close);
    assert!(bench.watch.is_closed());
    bench.quiet();
    let mut bench = Bench::modern();
    bench.input(Input::Close);
    assert!(bench.watch.is_closed());
    bench.quiet();
}

/// M-SESS-02, M-SESS-01: a session is ended at a disconnect too, and the next use begins another.
#[test]
fn a_disconnect_ends_the_session_before_the_next_begins() {
    let mut bench = Bench::legacy();
    bench.input(Input::Disconnect);
    let delete = bench.next_post();
    let list = bench.begin(ListTools);
    bench.quiet();
    bench.accepts(&delete);
    bench.greet("2025-11-25", Some("session-2"));
    let post = bench.expect("tools/list");
    assert_eq!(session(&post), Some("session-2"));
    lists(&mut bench, &list, &post);
}

/// M-SESS-02, M-ERA-12, M-ERA-13: a session that was opened and never used is ended as well.
#[test]
fn a_session_that_was_only_opened_is_ended() {
    let with_session = [JSON[0], ("mcp-session-id", "s-1")];
    for version in [Some("1999-01-01"), None] {
        let mut bench = Bench::cold();
        let call = bench.begin(Connect);
        let probe = bench.expect("server/discover");
        bench.says(&probe, 404, "");
        let initialize = bench.expect("initialize");
        bench.head(&initialize, 200, &with_session);
        if let Some(version) = version {
            bench.body(&initialize, answer(&initialize, &initialized(version)).as_bytes());
            bench.ends(&initialize);
        } else {
            bench.input(Input::Close);
        }
        bench.error(&call);
        let delete = bench.next_post();
        assert_eq!((delete.request.method, session(&delete)), (Method::Delete, Some("s-1")));
        bench.quiet();
    }
}

/// M-RTRY-08, M-SESS-07: a lost session is begun anew without its id, and what may be repeated is.
#[test]
fn a_lost_session_is_replaced() {
    let mut bench = Bench::legacy();
    let (list, post) = listing(&mut bench);
    assert_eq!(session(&post), Some("session-1"));
    bench.whole(&post, 404, &[("content-type", "text/plain")], b"no such session");
    let initialize = bench.expect("initialize");
    assert_eq!(session(&initialize), None);
    bench.welcome(&initialize, "2025-06-18", Some("session-2"));
    let notification = bench.expect(INITIALIZED);
    bench.quiet();
    bench.accepts(&notification);
    let again = bench.expect("tools/list");
    assert_eq!(session(&again), Some("session-2"));
    assert_eq!(again.header("mcp-protocol-version"), Some("2025-06-18"));
    assert_ne!(again.id(), post.id());
    lists(&mut bench, &list, &again);
    assert_eq!(bench.watch.resends(list.id()), [ResendReason::NewSession]);
    assert_eq!(renewals(&bench), 1);
    bench.quiet();
}

/// M-RTRY-06, M-RTRY-08: a tool is not called again in a new session; the server did not run it.
#[test]
fn a_tool_is_not_called_again_in_a_new_session() {
    let mut bench = Bench::legacy();
    let (call, post) = calling(&mut bench);
    bench.says(&post, 404, "");
    let error = bench.error(&call);
    assert!(is_gone(error.kind()), "{error}");
    assert_eq!(error.outcome(), Outcome::NotRun);
    // The session is replaced all the same.
    bench.greet("2025-11-25", Some("session-2"));
    let (call, post) = calling(&mut bench);
    assert_eq!(session(&post), Some("session-2"));
    bench.result(&post, json!({ "content": [] }));
    bench.done(&call).unwrap();
    bench.quiet();
}

/// M-SESS-07: those who notice together, or late, share one new session.
#[test]
fn one_new_session_is_shared() {
    let mut bench = Bench::legacy();
    let (at_once, first) = listing(&mut bench);
    let (starting, second) = listing(&mut bench);
    let (greeting, third) = listing(&mut bench);
    let (late, fourth) = listing(&mut bench);
    let (called, fifth) = calling(&mut bench);
    let (answered, sixth) = calling(&mut bench);
    bench.says(&first, 404, "");
    let initialize = bench.expect("initialize");
    bench.says(&second, 404, "");
    bench.welcome(&initialize, "2025-11-25", Some("session-2"));
    let notification = bench.expect(INITIALIZED);
    bench.says(&third, 404, "");
    bench.quiet();
    bench.accepts(&notification);
    for call in [&at_once, &starting, &greeting] {
        let again = bench.expect("tools/list");
        assert_eq!(session(&again), Some("session-2"));
        lists(&mut bench, call, &again);
    }
    bench.says(&fourth, 404, "");
    let again = bench.expect("tools/list");
    assert_eq!(session(&again), Some("session-2"));
    lists(&mut bench, &late, &again);
    bench.says(&fifth, 404, "");
    assert!(is_gone(bench.error(&called).kind()));
    // What the old session answers after all, is answered.
    bench.result(&sixth, json!({ "content": [] }));
    bench.done(&answered).unwrap();
    assert_eq!(renewals(&bench), 1);
    bench.quiet();
}

/// M-SESS-07, M-RTRY-08: a call goes over to one new session at the most.
#[test]
fn a_call_is_carried_over_once() {
    let mut bench = Bench::legacy();
    let (list, post) = listing(&mut bench);
    bench.says(&post, 404, "");
    bench.greet("2025-11-25", Some("session-2"));
    let again = bench.expect("tools/list");
    bench.says(&again, 404, "");
    assert!(is_gone(bench.error(&list).kind()));
    bench.greet("2025-11-25", Some("session-3"));
    let (list, post) = listing(&mut bench);
    assert_eq!(session(&post), Some("session-3"));
    lists(&mut bench, &list, &post);
    bench.quiet();
}

/// M-SESS-07, M-PAGE-02: pages of a lost session are asked for again from the first.
#[test]
fn a_list_begins_anew_in_a_new_session() {
    let mut bench = Bench::legacy();
    let (list, post) = listing(&mut bench);
    bench.result(&post, json!({ "tools": [{ "name": "old" }], "nextCursor": "2" }));
    let page = bench.expect("tools/list");
    assert_eq!(page.params()["cursor"], "2");
    bench.says(&page, 404, "");
    bench.greet("2025-11-25", Some("session-2"));
    let again = bench.expect("tools/list");
    assert!(again.params().get("cursor").is_none());
    bench.result(&again, json!({ "tools": [{ "name": "new" }] }));
    let names: Vec<_> = bench.done(&list).unwrap().into_iter().map(|tool| tool.name).collect();
    assert_eq!(names, ["new"]);
}

/// M-HTTP-11, M-SESS-07, M-RTRY-04: 404 means the session only where there is one, and not when the
/// server says that it does not know the method.
#[test]
fn not_every_404_is_about_the_session() {
    let mut bench = Bench::legacy();
    let (list, post) = listing(&mut bench);
    bench.says(&post, 404, &refusal(&post, -32601));
    let error = bench.error(&list);
    assert_eq!(error.server_error().map(|e| e.kind()), Some(ServerErrorKind::MethodNotFound));
    bench.quiet();

    let mut bench = Bench::cold();
    let call = bench.begin(Connect);
    bench.speak_legacy("2025-11-25", None);
    bench.done(&call).unwrap();
    let (list, post) = listing(&mut bench);
    bench.says(&post, 404, "");
    let error = bench.error(&list);
    let status = |kind: &_| {
        matches!(
            kind,
            ErrorKind::Transport(TransportError::Http(HttpFault::Status { status: 404, .. }))
        )
    };
    assert!(status(error.kind()), "{error}");
    bench.quiet();
}

/// M-RTRY-08, M-ERR-08: when no new session can be begun, whoever waits is told so, and nobody that
/// was sent is told otherwise.
#[test]
fn calls_end_when_no_new_session_can_be_begun() {
    let mut bench = Bench::legacy();
    let (list, post) = listing(&mut bench);
    let (called, _) = calling(&mut bench);
    bench.says(&post, 404, "");
    let initialize = bench.expect("initialize");
    let waits = bench.begin(tool("y", json!({})));
    bench.says(&initialize, 401, "");
    for (outcome, error) in [
        (Outcome::Unknown, bench.error(&list)),
        (Outcome::Unknown, bench.error(&called)),
        (Outcome::NotSent, bench.error(&waits)),
    ] {
        assert_eq!(error.outcome(), outcome, "{error}");
    }
    bench.quiet();
    // The next call begins from the beginning.
    let list = bench.begin(ListTools);
    bench.speak_legacy("2025-11-25", Some("session-2"));
    let post = bench.expect("tools/list");
    lists(&mut bench, &list, &post);
}

/// M-SESS-07, M-RTRY-08: deployed servers say with 400 that a session is gone. What they say about a
/// request of their own knowledge, under its id, is another matter.
#[test]
fn a_session_is_lost_with_400_as_well() {
    let said = |id: &str, code: i64, text: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":"{text}"}}}}"#)
    };
    for body in [
        said("null", -32000, "Bad Request: No valid session ID provided"),
        said("\"server-error\"", -32600, "Bad Request: Invalid session"),
        said("null", -32000, "Bad Request: Server not initialized"),
        String::from("Unknown Session"),
    ] {
        let mut bench = Bench::legacy();
        let (list, post) = listing(&mut bench);
        let (called, called_post) = calling(&mut bench);
        bench.says(&post, 400, &body);
        bench.says(&called_post, 400, &body);
        assert!(is_gone(bench.error(&called).kind()), "{body}");
        bench.greet("2025-11-25", Some("session-2"));
        let again = bench.expect("tools/list");
        assert_eq!(session(&again), Some("session-2"));
        lists(&mut bench, &list, &again);
        assert_eq!(renewals(&bench), 1);
        bench.quiet();
    }
    let mut bench = Bench::legacy();
    for make in [
        |post: &Posted| (post.id().to_string(), -32000, "the session of the shop is over"),
        |_: &Posted| (String::from("null"), -32602, "unknown session"),
        |_: &Posted| (String::from("null"), -32000, "no"),
    ] {
        let (list, post) = listing(&mut bench);
        let (id, code, text) = make(&post);
        bench.says(&post, 400, &said(&id, code, text));
        assert_eq!(bench.error(&list).server_error().map(|error| error.code), Some(code));
        bench.quiet();
    }
    assert_eq!(renewals(&bench), 0);
    // Who has no session loses none.
    let mut bench = Bench::cold();
    let call = bench.begin(Connect);
    bench.speak_legacy("2025-11-25", None);
    bench.done(&call).unwrap();
    let (list, post) = listing(&mut bench);
    bench.says(&post, 400, &said("null", -32000, "no valid session"));
    assert_eq!(bench.error(&list).server_error().map(|error| error.code), Some(-32000));
    bench.quiet();
}
