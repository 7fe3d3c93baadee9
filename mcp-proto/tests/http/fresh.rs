//! What a modern server offers, asked for again over HTTP before it counts.

use std::time::Duration;

use mcp_proto::model::CompletionReference;
use mcp_proto::op::Complete;
use mcp_proto::{ErrorKind, HttpFault, Outcome, ResendReason, TransportError};
use serde_json::{Value, json};

use crate::support::*;

fn completion() -> Complete {
    Complete::new(CompletionReference::prompt("review"), "language", "py")
}

fn offering() -> Value {
    let mut result = discovered(&["2026-07-28"]);
    result["capabilities"] = json!({ "completions": {} });
    result
}

/// M-ERA-24, M-CAP-04, M-HTTP-04: the question is a request like any other, with its own name in
/// the headers.
#[test]
fn a_stale_offer_is_asked_for_again() {
    let mut bench = Bench::modern();
    let call = bench.begin(completion());
    let again = bench.expect("server/discover");
    assert_eq!(again.header("mcp-method"), Some("server/discover"));
    assert_eq!(again.header("mcp-name"), None);
    bench.result(&again, offering());
    let sent = bench.expect("completion/complete");
    assert_eq!(sent.header("mcp-method"), Some("completion/complete"));
    bench.result(&sent, json!({ "resultType": "complete", "completion": { "values": ["a"] } }));
    assert_eq!(bench.done(&call).unwrap().values, ["a"]);
    assert!(bench.watch.resends(call.id()).is_empty());
}

/// M-RTRY-01, M-RTRY-03: the question is repeated when its server is in trouble, and the request
/// after it has tries of its own.
#[test]
fn both_requests_have_their_tries() {
    let mut bench = Bench::modern();
    let call = bench.begin(completion());
    for method in ["server/discover", "completion/complete"] {
        for pause in [1, 2, 4] {
            let post = bench.expect(method);
            bench.whole(&post, 503, &[], b"");
            bench.advance(Duration::from_secs(pause));
        }
        let post = bench.expect(method);
        bench.result(&post, offering());
    }
    bench.done(&call).unwrap();
    assert_eq!(bench.watch.resends(call.id()), [ResendReason::Retry; 6]);

    // When nobody answers the question, nothing else was sent.
    let call = bench.begin(completion());
    for pause in [1, 2, 4, 0] {
        let post = bench.expect("server/discover");
        bench.whole(&post, 503, &[], b"");
        bench.advance(Duration::from_secs(pause));
    }
    let error = bench.error(&call);
    let ErrorKind::Transport(TransportError::Http(HttpFault::Trouble { status: 503, .. })) =
        error.kind()
    else {
        panic!("{error}");
    };
    assert_eq!((error.outcome(), error.method()), (Outcome::NotSent, "server/discover"));
}
