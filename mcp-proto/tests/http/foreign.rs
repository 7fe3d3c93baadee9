//! Answers under ids that are not the request's. On a POST's own body or stream an error belongs to
//! that POST, and a result does not.

use mcp_proto::op::ListTools;
use mcp_proto::{ErrorKind, Outcome, PeerError};
use serde_json::json;

use crate::support::*;

/// The ways in which an answer comes.
#[derive(Clone, Copy, Debug)]
enum Way {
    Json(u16),
    Events,
}

const WAYS: [Way; 2] = [Way::Json(200), Way::Events];

fn send(bench: &mut Bench, to: &Posted, way: Way, message: &str) {
    match way {
        Way::Json(status) => bench.says(to, status, message),
        Way::Events => bench.streams(to, &event(message)),
    }
}

/// M-UNTR-13, M-BASE-06: an error without an id, or with one that means nothing, answers the request
/// on whose exchange it comes, and no other that is out.
#[test]
fn an_error_belongs_to_the_post_that_it_comes_on() {
    in_both_eras(|bench| {
        for way in [Way::Json(200), Way::Json(400), Way::Events] {
            let other = bench.begin(ListTools);
            let other_post = bench.expect("tools/list");
            let taken = other_post.id().to_string();
            for id in ["null", "\"server-error\"", "0", "-1", "\"\"", "999", "1.5", &taken] {
                let call = bench.begin(tool("x", json!({})));
                let post = bench.expect("tools/call");
                let error = r#"{"code":-32600,"message":"Bad Request: nobody knows why"}"#;
                let message = format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#);
                send(bench, &post, way, &message);
                let error = bench.error(&call);
                assert_eq!(error.server_error().map(|e| e.code), Some(-32600), "{way:?} {id}");
            }
            let call = bench.begin(tool("x", json!({})));
            let post = bench.expect("tools/call");
            send(bench, &post, way, r#"{"error":{"code":-32700,"message":"no id"}}"#);
            assert_eq!(bench.error(&call).server_error().map(|e| e.code), Some(-32700));
            assert!(bench.is_pending(&other));
            bench.completes(&other_post, json!({ "tools": [] }));
            bench.done(&other).unwrap();
            bench.quiet();
        }
    });
}

/// M-UNTR-13, M-RTRY-09: a result under another id is nobody's. It ends the call, since an answer
/// did come, and nothing is sent again.
#[test]
fn a_result_of_another_request_ends_the_call() {
    in_both_eras(|bench| {
        for way in WAYS {
            let other = bench.begin(ListTools);
            let other_post = bench.expect("tools/list");
            let taken = other_post.id().to_string();
            for id in ["null", "\"server-error\"", "0", "999", "\"x\"", &taken] {
                let call = bench.begin(tool("x", json!({})));
                let post = bench.expect("tools/call");
                let result = bench.complete(json!({ "content": [], "tools": [] }));
                let message = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
                send(bench, &post, way, &message);
                let error = bench.error(&call);
                let foreign = |kind: &_| matches!(kind, ErrorKind::Peer(PeerError::ForeignResult));
                assert!(foreign(error.kind()), "{way:?} {id}: {error}");
                assert_eq!(error.outcome(), Outcome::Unknown);
                assert!(!bench.watch.is_open(post.exchange), "its exchange is over");
            }
            assert!(bench.is_pending(&other));
            bench.completes(&other_post, json!({ "tools": [] }));
            bench.done(&other).unwrap();
            bench.quiet();
        }
    });
}

/// M-UNTR-13: the own id, spelled otherwise, is the own id.
#[test]
fn the_own_id_may_be_spelled_otherwise() {
    in_both_eras(|bench| {
        for way in WAYS {
            for spelled in [|id: u64| format!("\"{id}\""), |id: u64| format!("{id}.0")] {
                let call = bench.begin(tool("x", json!({})));
                let post = bench.expect("tools/call");
                let id = spelled(post.id().as_u64().unwrap());
                let result = bench.complete(json!({ "content": [] }));
                let message = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
                send(bench, &post, way, &message);
                bench.done(&call).unwrap();
            }
        }
    });
}

/// M-UNTR-02, M-UNTR-13, M-RTRY-09: an event that is broken and names a request was an answer: it
/// fails the call on whose stream it came, whichever it names, and no other.
#[test]
fn a_broken_answer_fails_the_call_of_its_stream() {
    in_both_eras(|bench| {
        let other = bench.begin(ListTools);
        let other_post = bench.expect("tools/list");
        let taken = other_post.id().to_string();
        for own in [true, false] {
            let call = bench.begin(tool("x", json!({})));
            let post = bench.expect("tools/call");
            let id = if own { post.id().to_string() } else { taken.clone() };
            bench.streams(&post, &event(&format!(r#"{{"id":{id},"result":{{"x":1}}"#)));
            let error = bench.error(&call);
            let malformed = |kind: &_| matches!(kind, ErrorKind::Peer(PeerError::Malformed(_)));
            assert!(malformed(error.kind()), "{id}: {error}");
            assert!(!bench.watch.is_open(post.exchange), "its exchange is over");
        }
        assert!(bench.is_pending(&other));
        bench.completes(&other_post, json!({ "tools": [] }));
        bench.done(&other).unwrap();
        bench.quiet();
    });
}
