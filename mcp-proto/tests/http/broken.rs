//! Requests whose answer does not come: what is sent again, how often, and what the error says.

use std::time::Duration;

use mcp_proto::op::{CallTool, CustomRequest, ListTools};
use mcp_proto::{
    Call, ErrorKind, Event, HttpFailureKind, HttpFault, Input, Mailbox, Outcome, ResendReason,
    Sent, TransportError,
};
use serde_json::{Map, Value, json};

use crate::support::*;

fn calling(bench: &mut Bench) -> (Call<CallTool>, Posted) {
    let call = bench.begin(tool("x", json!({})));
    let post = bench.expect("tools/call");
    (call, post)
}

fn listing(bench: &mut Bench) -> (Call<ListTools>, Posted) {
    let call = bench.begin(ListTools);
    let post = bench.expect("tools/list");
    (call, post)
}

fn fault(kind: &ErrorKind) -> &HttpFault {
    let ErrorKind::Transport(TransportError::Http(fault)) = kind else { panic!("{kind}") };
    fault
}

/// How an event stream breaks.
#[derive(Clone, Copy, Debug)]
enum Break {
    Ends,
    Resets,
    /// It ends in the middle of the answer.
    Cuts,
    /// It breaks the rules of HTTP.
    Garbles,
}

const BREAKS: [Break; 4] = [Break::Ends, Break::Resets, Break::Cuts, Break::Garbles];

fn breaks(bench: &mut Bench, post: &Posted, how: Break) {
    bench.streams(post, ": hello\n\nid: 1\ndata:\n\n");
    breaks_off(bench, post, how);
}

fn breaks_off(bench: &mut Bench, post: &Posted, how: Break) {
    match how {
        Break::Ends => bench.ends(post),
        Break::Resets => bench.resets(post),
        Break::Cuts => {
            let message = bench.completion(post, json!({ "content": [], "tools": [] }));
            bench.body(post, message.get(..message.len() / 2).unwrap().as_bytes());
            bench.ends(post);
        }
        Break::Garbles => bench.breaks(post, HttpFailureKind::Malformed, Sent::All),
    }
}

/// M-RTRY-09, M-RTRY-10: a modern stream that breaks is asked for once more under a new id, at once,
/// a tool's included; and not a second time.
#[test]
fn a_broken_modern_stream_is_asked_for_once_more() {
    for how in BREAKS {
        for (method, second) in [
            ("tools/call", false),
            ("tools/list", false),
            ("tools/call", true),
            ("tools/list", true),
        ] {
            let mut bench = Bench::modern();
            let called = tool("x", json!({ "a": 1 }));
            let (call, list);
            let id = if method == "tools/call" {
                (call, list) = (Some(bench.begin(called)), None);
                call.as_ref().map(Call::id)
            } else {
                (call, list) = (None, Some(bench.begin(ListTools)));
                list.as_ref().map(Call::id)
            };
            let first = bench.expect(method);
            breaks(&mut bench, &first, how);
            let again = bench.expect(method);
            assert_ne!(again.id(), first.id());
            assert_eq!(again.params()["name"], first.params()["name"]);
            assert_eq!(again.params()["arguments"], first.params()["arguments"]);
            assert_eq!(bench.watch.resends(id.unwrap()), [ResendReason::BrokenModernStream]);
            if second {
                breaks(&mut bench, &again, how);
                let error = match (&call, &list) {
                    (Some(call), _) => bench.error(call),
                    (_, Some(list)) => bench.error(list),
                    _ => unreachable!(),
                };
                assert_eq!(*fault(error.kind()), HttpFault::StreamClosed, "{how:?}");
                assert!(error.is_transport());
                assert_eq!(error.outcome(), Outcome::Unknown);
            } else {
                let message = bench.completion(&again, json!({ "content": [], "tools": [] }));
                bench.streams(&again, &message);
                assert!(call.is_none_or(|call| bench.done(&call).is_ok()));
                assert!(list.is_none_or(|list| bench.done(&list).is_ok()));
            }
            bench.quiet();
            assert_eq!(bench.deadline(), None, "nothing is waited for");
        }
    }
}

/// M-RTRY-09, M-ERR-08: once a stream has broken nobody can say that the tool did not run, however
/// the second attempt fails.
#[test]
fn a_broken_stream_leaves_a_doubt() {
    for how in 0..4 {
        let mut bench = Bench::modern();
        let (call, post) = calling(&mut bench);
        breaks(&mut bench, &post, Break::Resets);
        let again = bench.expect("tools/call");
        match how {
            0 => bench.breaks(&again, HttpFailureKind::Connect, Sent::None),
            1 => bench.whole(&again, 401, &[], b""),
            2 => bench.says(&again, 400, &refusal(&again, -32602)),
            _ => bench.whole(&again, 503, &[], b""),
        }
        assert_eq!(bench.error(&call).outcome(), Outcome::Unknown, "{how}");
        bench.quiet();
    }
}

/// M-RTRY-11, M-RTRY-12: what came before the break counts: progress at once, and a result even if
/// the line that ends its event did not come.
#[test]
fn a_result_that_has_arrived_is_a_result() {
    in_both_eras(|bench| {
        for (end, resets) in [("\n\n", true), ("\n", true), ("", true), ("\n", false), ("", false)]
        {
            let call = bench.begin_with(tool("x", json!({})), options(None, true));
            let post = bench.expect("tools/call");
            bench.input(Input::Pull(Mailbox::Call(call.id())));
            let token = &post.meta()["progressToken"];
            let params = json!({ "progressToken": token, "progress": 1 });
            let progress = json!({ "method": "notifications/progress", "params": params });
            bench.streams(&post, &event(&progress.to_string()));
            assert_eq!(bench.items.pop().map(|(id, _)| id), Some(call.id()));
            let message =
                bench.completion(&post, json!({ "content": [{ "type": "text", "text": "x" }] }));
            let message = message.trim_end().to_owned() + end;
            bench.body(&post, message.as_bytes());
            if resets {
                bench.resets(&post);
            } else {
                bench.ends(&post);
            }
            assert_eq!(bench.done(&call).unwrap().text(), "x", "{end:?}");
            bench.quiet();
        }
    });
}

/// M-RTRY-06, M-RTRY-13: on a legacy server the end of a stream cancels nothing, so a tool is never
/// called again. Without the id of an event there is nothing to resume either.
#[test]
fn a_broken_legacy_stream_fails_a_tool() {
    for how in BREAKS {
        let mut bench = Bench::legacy();
        let (call, post) = calling(&mut bench);
        bench.streams(&post, ": hello\n\nid: 1\ndata:\n\nid:\ndata:\n\n");
        breaks_off(&mut bench, &post, how);
        let error = bench.error(&call);
        assert_eq!(*fault(error.kind()), HttpFault::StreamClosed, "{how:?}");
        assert_eq!(error.outcome(), Outcome::Unknown);
        bench.quiet();
        assert_eq!(bench.deadline(), None);
    }
}

/// The ambiguous failures that are not a broken event stream.
fn ambiguous(bench: &mut Bench, post: &Posted, how: u16) {
    match how {
        0 => bench.resets(post),
        1 => bench.breaks(post, HttpFailureKind::Closed, Sent::Some),
        2 => bench.breaks(post, HttpFailureKind::Connect, Sent::None),
        3 => {
            bench.head(post, 200, JSON);
            bench.body(post, br#"{"jsonrpc":"2.0","#);
            bench.resets(post);
        }
        4 => {
            bench.head(post, 200, JSON);
            bench.resets(post);
        }
        status => bench.whole(post, status, JSON, b"{}"),
    }
}

const AMBIGUOUS: [u16; 9] = [0, 1, 2, 3, 4, 500, 502, 503, 504];

/// M-RTRY-06, M-RTRY-13, M-ERR-08: a tool is called once, whatever goes wrong before or in the
/// answer.
#[test]
fn a_tool_is_called_once() {
    in_both_eras(|bench| {
        for how in AMBIGUOUS {
            let (call, post) = calling(bench);
            ambiguous(bench, &post, how);
            let error = bench.error(&call);
            let want = if how == 2 { Outcome::NotSent } else { Outcome::Unknown };
            assert_eq!(error.outcome(), want, "{how}: {error}");
            assert_eq!(bench.watch.resends(call.id()), []);
            let custom = bench.begin(CustomRequest::new("x/y", Map::new()));
            let post = bench.expect("x/y");
            ambiguous(bench, &post, how);
            bench.error(&custom);
            bench.quiet();
            assert_eq!(bench.deadline(), None);
        }
    });
}

/// M-RTRY-01, M-RTRY-03: what may be repeated is, after 1, 2 and 4 s, each time under a new id.
#[test]
fn what_may_be_repeated_is() {
    in_both_eras(|bench| {
        for how in AMBIGUOUS {
            let (list, mut post) = listing(bench);
            for pause in [1, 2, 4] {
                ambiguous(bench, &post, how);
                let after = Duration::from_secs(pause);
                assert_eq!(
                    bench.events.last(),
                    Some(&Event::RetryScheduled { call: list.id(), after })
                );
                bench.advance(after - Duration::from_millis(1));
                bench.quiet();
                bench.advance(Duration::from_millis(1));
                let again = bench.expect("tools/list");
                assert_ne!(again.id(), post.id());
                post = again;
            }
            assert_eq!(bench.watch.resends(list.id()), [ResendReason::Retry; 3]);
            if how.is_multiple_of(2) {
                bench.completes(&post, json!({ "tools": [] }));
                bench.done(&list).unwrap();
            } else {
                ambiguous(bench, &post, how);
                let error = bench.error(&list);
                let ErrorKind::Transport(TransportError::Http(_)) = error.kind() else {
                    panic!("{error}");
                };
            }
            bench.quiet();
        }
    });
}

/// M-RTRY-02, M-RTRY-01: how often and how fast is the host's to say; never is a number, too.
#[test]
fn the_host_says_how_often() {
    for (retries, backoff) in [(0, 1000), (1, 250), (5, 1)] {
        let mut target = target();
        target.retries = Some(retries);
        target.backoff = Duration::from_millis(backoff);
        let mut bench = Bench::new(config(), target);
        let list = bench.begin(ListTools);
        bench.speak_modern();
        for n in 0..retries {
            let post = bench.expect("tools/list");
            bench.whole(&post, 503, &[], b"");
            bench.advance(Duration::from_millis((backoff << n) - 1));
            bench.quiet();
            bench.advance(Duration::from_millis(1));
        }
        let post = bench.expect("tools/list");
        bench.whole(&post, 503, &[], b"");
        bench.error(&list);
        bench.quiet();
    }
}

/// M-RTRY-03, M-RTRY-04: 4xx, redirects and failures that will not pass are told at once.
#[test]
fn what_will_not_pass_is_not_repeated() {
    in_both_eras(|bench| {
        for status in [400, 401, 403, 405, 408, 409, 429, 499, 301, 304] {
            let (list, post) = listing(bench);
            bench.whole(&post, status, &[], b"no");
            let error = bench.error(&list);
            let said = match fault(error.kind()) {
                HttpFault::Status { status, .. }
                | HttpFault::Authorization { status, .. }
                | HttpFault::Redirect { status, .. } => *status,
                other => panic!("{other:?}"),
            };
            assert_eq!(said, status);
            bench.quiet();
        }
        for kind in [HttpFailureKind::Tls, HttpFailureKind::Proxy, HttpFailureKind::Malformed] {
            let (list, post) = listing(bench);
            bench.breaks(&post, kind, Sent::Some);
            assert!(
                matches!(fault(bench.error(&list).kind()), HttpFault::Exchange(f) if f.kind == kind)
            );
            bench.quiet();
        }
        assert_eq!(bench.deadline(), None);
    });
}

/// M-ERR-08, M-RTRY-14: only what the performer says counts for what was sent; and a call that was
/// never sent twice says so.
#[test]
fn the_outcome_is_what_was_sent() {
    in_both_eras(|bench| {
        for (kind, sent, outcome) in [
            (HttpFailureKind::Connect, Sent::None, Outcome::NotSent),
            (HttpFailureKind::Tls, Sent::None, Outcome::NotSent),
            (HttpFailureKind::Closed, Sent::None, Outcome::NotSent),
            (HttpFailureKind::Closed, Sent::Some, Outcome::Unknown),
            (HttpFailureKind::Closed, Sent::All, Outcome::Unknown),
            (HttpFailureKind::Malformed, Sent::All, Outcome::Unknown),
        ] {
            let (call, post) = calling(bench);
            bench.breaks(&post, kind, sent);
            assert_eq!(bench.error(&call).outcome(), outcome, "{kind:?} {sent:?}");
            bench.quiet();
        }
    });
}

/// M-RTRY-05, M-ERR-02: trouble that may pass is told apart by its type, and is the server's; no
/// other status is.
#[test]
fn trouble_that_may_pass_has_its_own_type() {
    in_both_eras(|bench| {
        for status in [500, 502, 503, 599] {
            let (call, post) = calling(bench);
            bench.whole(&post, status, &[], b"come back\nlater");
            let error = bench.error(&call);
            let HttpFault::Trouble { status: said, text } = fault(error.kind()) else {
                panic!("{error}");
            };
            assert_eq!((*said, &**text), (status, "come back\\nlater"));
            assert!(error.is_transient() && error.is_server() && error.is_transport());
            assert_eq!(error.outcome(), Outcome::Unknown);
            assert!(error.to_string().contains("may pass"), "{error}");
        }
        for status in [400, 401, 403, 429, 499] {
            let (call, post) = calling(bench);
            bench.whole(&post, status, &[], b"no");
            let error = bench.error(&call);
            assert!(!error.is_transient() && !error.is_server(), "{status}: {error}");
        }
        let (call, post) = calling(bench);
        let refusal = json!({ "jsonrpc": "2.0", "id": post.id(),
            "error": { "code": -32000, "message": "no", "data": [1] } });
        bench.whole(&post, 200, JSON, refusal.to_string().as_bytes());
        let error = bench.error(&call);
        assert!(error.is_server() && !error.is_transient() && !error.is_transport(), "{error}");
        let said = error.server_error().unwrap();
        assert_eq!((said.code, &said.data), (-32000, &Some(json!([1]))));
    });
}

/// M-RTRY-01, M-PAGE-04: each page has retries of its own.
#[test]
fn each_page_has_its_own_retries() {
    let mut bench = Bench::modern();
    let list = bench.begin_with(ListTools, options(Some(Duration::from_secs(600)), false));
    let mut post = bench.expect("tools/list");
    for n in 0..5 {
        for _ in 0..3 {
            bench.whole(&post, 503, &[], b"");
            bench.advance(Duration::from_secs(4));
            post = bench.expect("tools/list");
        }
        breaks(&mut bench, &post, Break::Ends);
        post = bench.expect("tools/list");
        let next = if n < 4 { json!(format!("{n}")) } else { Value::Null };
        bench.completes(&post, json!({ "tools": [{ "name": "x" }], "nextCursor": next }));
        if n < 4 {
            post = bench.expect("tools/list");
            assert_eq!(post.params()["cursor"], format!("{n}"));
        }
    }
    assert_eq!(bench.done(&list).unwrap().len(), 5);
    bench.quiet();
}
