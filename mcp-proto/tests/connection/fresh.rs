//! What a modern server offers is judged by what it said lately (specification:
//! server/utilities/caching; server/discover).

use std::time::Duration;

use mcp_proto::model::{CompletionReference, LoggingLevel};
use mcp_proto::op::{Complete, Connect, Ping, SetLoggingLevel};
use mcp_proto::{
    Answer, Era, ErrorKind, Hearing, Input, Outcome, Owner, Question, Setting, TimerReason,
};
use serde_json::{Value, json};

use crate::support::*;

const VERSION: &str = "2026-07-28";

fn completion() -> Complete {
    Complete::new(CompletionReference::prompt("review"), "language", "py")
}

/// What a server says of itself; `null` where it says nothing of how long that counts.
fn says(capabilities: Value, ttl: Value) -> Value {
    let mut result = discovered(&[VERSION]);
    result["capabilities"] = capabilities;
    result["ttlMs"] = ttl;
    if result["ttlMs"].is_null() {
        result.as_object_mut().unwrap().remove("ttlMs");
    }
    result
}

fn connected(capabilities: Value, ttl: Value) -> Bench {
    let mut bench = Bench::stdio(config());
    let call = bench.begin(Connect);
    let probe = bench.expect("server/discover");
    bench.result(&probe, says(capabilities, ttl));
    bench.done(&call).unwrap();
    bench
}

fn offers() -> Value {
    json!({ "completions": {} })
}

/// M-ERA-24, M-CAP-04: what is not fresh is asked for again, and counts from then on.
#[test]
fn a_stale_offer_is_asked_for_again() {
    for ttl in [json!(0), json!(null), json!(-1), json!("60000"), json!(0.5), json!([])] {
        let mut bench = connected(json!({}), ttl.clone());
        let call = bench.begin(completion());
        let again = bench.expect("server/discover");
        assert_eq!(again.params().as_object().unwrap().len(), 1, "{:?}", again.params());
        assert_eq!(again.meta()["io.modelcontextprotocol/protocolVersion"], VERSION);
        bench.quiet();
        bench.result(&again, says(offers(), ttl));
        let sent = bench.expect("completion/complete");
        bench.completes(&sent, json!({ "completion": { "values": ["python"] } }));
        assert_eq!(bench.done(&call).unwrap().values, ["python"]);
        assert!(bench.connection.server().unwrap().capabilities.has(&["completions"]));
        // That it is stale at once again does not matter to the call that asked, but to the next.
        let call = bench.begin(completion());
        let again = bench.expect("server/discover");
        bench.result(&again, says(json!({}), json!(0)));
        let error = bench.error(&call);
        assert!(matches!(error.kind(), ErrorKind::Capability(name) if name == "completions"));
        assert_eq!(error.outcome(), Outcome::NotSent);
        bench.quiet();
    }
}

/// M-ERA-24: an offer that is fresh counts, to the millisecond, from when it came.
#[test]
fn a_fresh_offer_counts() {
    for ttl in [json!(60_000), json!(6e4)] {
        let mut bench = connected(offers(), ttl);
        bench.advance(Duration::from_millis(59_999));
        let call = bench.begin(completion());
        let sent = bench.expect("completion/complete");
        bench.completes(&sent, json!({}));
        bench.done(&call).unwrap();
        bench.advance(Duration::from_millis(1));
        let call = bench.begin(completion());
        let again = bench.expect("server/discover");
        bench.result(&again, says(json!({}), json!(u64::MAX)));
        assert!(matches!(bench.error(&call).kind(), ErrorKind::Capability(_)));
        bench.advance(Duration::from_secs(1 << 40));
        let call = bench.begin(completion());
        assert!(matches!(bench.error(&call).kind(), ErrorKind::Capability(_)));
        bench.quiet();
    }
}

/// M-CAP-05, M-ERA-24: a call that waited for the start is judged by what the start has heard.
#[test]
fn the_start_has_just_asked() {
    let mut bench = Bench::stdio(config());
    let call = bench.begin(completion());
    let probe = bench.expect("server/discover");
    bench.result(&probe, says(offers(), json!(0)));
    let sent = bench.expect("completion/complete");
    bench.completes(&sent, json!({}));
    bench.done(&call).unwrap();
}

/// M-ERA-24: a server that does not say anew what it offers is judged by what it said before.
#[test]
fn an_offer_that_is_not_renewed_is_the_old_one() {
    for refuses in [true, false] {
        let mut bench = connected(offers(), json!(0));
        let call = bench.begin(completion());
        let again = bench.expect("server/discover");
        if refuses {
            bench.refuse(&again, -32603, "not now");
        } else {
            bench.result(&again, json!({ "supportedVersions": 7, "capabilities": {} }));
        }
        let sent = bench.expect("completion/complete");
        bench.completes(&sent, json!({}));
        bench.done(&call).unwrap();
    }
}

/// M-ERA-10, M-ERA-24: a ping brings the same result, and renews it.
#[test]
fn a_ping_renews_it_too() {
    let mut bench = connected(json!({}), json!(0));
    let ping = bench.begin(Ping);
    let sent = bench.expect("server/discover");
    bench.result(&sent, says(offers(), json!(1000)));
    bench.done(&ping).unwrap();
    let call = bench.begin(completion());
    bench.expect("completion/complete");
    bench.cancel(&call);
}

/// M-TIME-01, M-TIME-04, M-TIME-06: the question is part of its call, and ends with it.
#[test]
fn the_question_has_the_time_of_its_call() {
    let mut bench = connected(offers(), json!(0));
    let call = bench.begin_with(completion(), options(Some(Duration::from_secs(3)), false));
    let again = bench.expect("server/discover");
    let since = bench.now;
    assert_eq!(bench.next_deadline(), TimerReason::Call(call.id()));
    assert_eq!(bench.now - since, Duration::from_secs(3));
    let error = bench.error(&call);
    assert!(error.is_timeout());
    assert_eq!(error.outcome(), Outcome::NotSent, "it has never asked for a completion");
    let cancelled = bench.expect("notifications/cancelled");
    assert_eq!(&cancelled.params()["requestId"], again.id());
    bench.result(&again, says(json!({}), json!(0)));
    bench.quiet();
}

/// M-ERA-06: the host computes metadata for this request as well.
#[test]
fn the_host_is_asked_for_its_metadata() {
    let mut bench = connected(offers(), json!(0));
    bench.input(Input::Set(Setting::Hear(Hearing::RequestMeta)));
    let call = bench.begin(completion());
    for (method, members) in [("server/discover", 1), ("completion/complete", 3)] {
        let (id, owner, question) = bench.question();
        assert_eq!(owner, Owner::Call(call.id()));
        assert_eq!(question, Question::RequestMeta { method: method.to_owned() });
        let meta = json!({ "com.example/n": method });
        bench.reply(id, Answer::RequestMeta(meta.as_object().unwrap().clone()));
        let sent = bench.expect(method);
        assert_eq!(sent.meta()["com.example/n"], method);
        assert_eq!(sent.params().as_object().unwrap().len(), members);
        bench.result(&sent, says(offers(), json!(0)));
    }
    bench.done(&call).unwrap();
}

/// M-ERA-24, M-ERA-11: what is kept on this side needs the offer as well; what a legacy server said
/// holds for the session.
#[test]
fn only_modern_offers_age() {
    let mut bench = connected(json!({}), json!(0));
    let level = bench.begin(SetLoggingLevel(LoggingLevel::Error));
    let again = bench.expect("server/discover");
    bench.result(&again, says(json!({ "logging": {} }), json!(0)));
    bench.done(&level).unwrap();
    bench.quiet();

    in_both_eras_offering(&offers(), |bench| {
        if bench.connection.server().unwrap().era == Era::Legacy {
            bench.advance(Duration::from_secs(1 << 30));
            let call = bench.begin(completion());
            bench.expect("completion/complete");
            bench.cancel(&call);
        }
    });
}
