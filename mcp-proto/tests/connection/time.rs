//! Timeouts and cancellation (specification: basic/patterns/cancellation).

use std::time::Duration;

use mcp_proto::op::{Connect, CustomRequest, ListTools, Ping};
use mcp_proto::{
    Answer, ErrorKind, Event, ExitStatus, Hearing, Input, Outcome, Phase, StdioInput, TimerReason,
};
use serde_json::{Map, Value, json};

use crate::support::*;

const CANCELLED: &str = "notifications/cancelled";

fn asking() -> mcp_proto::ConnectionConfig {
    let mut config = config();
    config.hears = vec![Hearing::RequestMeta];
    config
}

/// M-STD-11, M-TIME-12, M-TIME-04: a silent server is waited for for fifteen seconds; then the call
/// ends, and the server is told which request was given up and why.
#[test]
fn a_silent_server_runs_into_the_default_timeout() {
    in_both_eras(|bench| {
        let begun = bench.now;
        let call = bench.begin(tool("x", json!({})));
        let sent = bench.expect("tools/call");
        assert_eq!(bench.next_deadline(), TimerReason::Call(call.id()));
        assert_eq!(bench.now - begun, Duration::from_secs(15));
        let told = bench.expect(CANCELLED);
        let params = json!({ "requestId": sent.id(), "reason": "Request timed out" });
        assert_eq!(told.params(), &params);
        assert!(told.id().is_null());
        let error = bench.error(&call);
        let ErrorKind::Timeout(timeout) = error.kind() else { panic!("{error}") };
        assert_eq!((timeout.phase, timeout.after), (Phase::Answer, Duration::from_secs(15)));
        assert_eq!(error.outcome(), Outcome::Unknown);
        bench.quiet();
        assert_eq!(bench.deadline(), None);
    });
}

/// M-TIME-01: a server has a default, and a call its own, longer or shorter.
#[test]
fn timeouts_can_be_set() {
    let mut config = config();
    config.call_timeout = Some(Duration::from_secs(30));
    in_both_eras_with(config, |bench| {
        for (own, want) in [(None, 30), (Some(1), 1), (Some(300), 300)] {
            let begun = bench.now;
            let call = bench.begin_with(Ping, options(own.map(Duration::from_secs), false));
            bench.next_message();
            bench.next_deadline();
            assert_eq!(bench.now - begun, Duration::from_secs(want));
            assert!(bench.error(&call).is_timeout());
            bench.expect(CANCELLED);
        }
    });
}

/// M-TIME-02, M-TIME-03: expiry is a failure of the way to the server, and nothing is sent a second
/// time because of it.
#[test]
fn an_expired_call_is_not_repeated() {
    in_both_eras(|bench| {
        let calls = [bench.begin(tool("x", json!({}))), bench.begin(tool("y", json!({})))];
        bench.take_messages();
        bench.advance(Duration::from_secs(60));
        for call in calls {
            let error = bench.error(&call);
            assert!(error.is_timeout() && error.is_transport());
        }
        let methods: Vec<_> =
            bench.take_messages().iter().map(|sent| sent.method().to_owned()).collect();
        assert_eq!(methods, [CANCELLED, CANCELLED]);
    });
}

/// M-TIME-11: every kind of request has a time, each of its own.
#[test]
fn no_request_waits_for_ever() {
    in_both_eras(|bench| {
        let ping = bench.begin(Ping);
        bench.advance(Duration::from_secs(1));
        let list = bench.begin(ListTools);
        bench.advance(Duration::from_secs(1));
        let call = bench.begin(tool("x", json!({})));
        bench.advance(Duration::from_secs(1));
        let custom = bench.begin(CustomRequest::new("x/y", Map::new()));
        bench.advance(Duration::from_secs(12));
        assert!(bench.error(&ping).is_timeout() && bench.is_pending(&list));
        bench.advance(Duration::from_secs(1));
        assert!(bench.error(&list).is_timeout() && bench.is_pending(&call));
        bench.advance(Duration::from_secs(1));
        assert!(bench.error(&call).is_timeout() && bench.is_pending(&custom));
        bench.advance(Duration::from_secs(1));
        assert!(bench.error(&custom).is_timeout());
        bench.take_messages();
    });
}

/// M-STD-11: the default counts from the moment at which the connection is ready.
#[test]
fn a_slow_start_costs_a_call_none_of_its_time() {
    let mut bench = Bench::stdio(config());
    let call = bench.begin(tool("x", json!({})));
    let probe = bench.expect("server/discover");
    bench.advance(Duration::from_secs(40));
    bench.take_messages();
    bench.result(&probe, discovered(&["2026-07-28"]));
    bench.expect("tools/call");
    bench.advance(Duration::from_millis(14_999));
    assert!(bench.is_pending(&call));
    bench.advance(Duration::from_millis(1));
    let error = bench.error(&call);
    let ErrorKind::Timeout(timeout) = error.kind() else { panic!("{error}") };
    assert_eq!((timeout.phase, timeout.after), (Phase::Answer, Duration::from_secs(15)));
    bench.expect(CANCELLED);
}

/// M-TIME-01, M-TIME-04: a call's own time bounds the whole, the start included; the handshake goes
/// on, and is never cancelled.
#[test]
fn a_calls_own_time_includes_the_start() {
    let mut bench = Bench::stdio(config());
    let short = bench.begin_with(Ping, options(Some(Duration::from_secs(7)), false));
    let patient = bench.begin(Connect);
    let probe = bench.expect("server/discover");
    bench.advance(Duration::from_secs(7));
    let error = bench.error(&short);
    let ErrorKind::Timeout(timeout) = error.kind() else { panic!("{error}") };
    assert_eq!((timeout.phase, timeout.after), (Phase::Start, Duration::from_secs(7)));
    assert_eq!(error.outcome(), Outcome::NotSent);
    let initialize = bench.expect("initialize");
    bench.quiet();
    bench.result(&initialize, initialized("2025-11-25"));
    bench.expect(INITIALIZED);
    bench.done(&patient).unwrap();
    bench.result(&probe, discovered(&["2026-07-28"]));
    bench.quiet();
}

/// M-TIME-02: the text of a timeout says how long, for what, and what was seen meanwhile.
#[test]
fn a_timeout_tells_what_was_seen() {
    in_both_eras(|bench| {
        let call = bench.begin(tool("x", json!({})));
        bench.line("debug: got a call");
        bench.signal(StdioInput::Stderr(b"waiting for the lock\n"));
        bench.advance(Duration::from_secs(15));
        let text = bench.error(&call).to_string();
        for part in [
            "`peer`",
            "`tools/call`",
            "did not answer",
            "15s",
            "1 line(s)",
            "not JSON",
            "waiting for the lock",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
        bench.take_messages();
    });
}

/// M-TIME-02, M-STD-07: what another process said before is none of that.
#[test]
fn a_timeout_tells_nothing_of_the_process_before() {
    in_both_eras(|bench| {
        let era = bench.era();
        bench.line("debug: old");
        bench.signal(StdioInput::Stderr(b"old words\n"));
        bench.exit(ExitStatus::Code(0));
        let call = bench.begin(tool("x", json!({})));
        bench.speak(era);
        bench.advance(Duration::from_secs(15));
        let text = bench.error(&call).to_string();
        assert!(!text.contains("line(s)") && !text.contains("old words"), "{text}");
        bench.take_messages();
    });
}

/// M-TIME-06, M-TIME-08: cancelling tells the server once, ends the call at once, and what comes
/// afterwards is ignored.
#[test]
fn a_cancelled_call_ends_at_once() {
    in_both_eras(|bench| {
        let call = bench.begin_with(tool("x", json!({})), options(None, true));
        let sent = bench.expect("tools/call");
        bench.cancel(&call);
        let told = bench.expect(CANCELLED);
        assert_eq!(told.params()["requestId"], *sent.id());
        assert!(told.params()["reason"].is_string());
        let error = bench.error(&call);
        assert!(matches!(error.kind(), ErrorKind::Cancelled), "{error}");
        assert_eq!(error.outcome(), Outcome::Unknown);
        assert!(bench.connection.is_idle(), "nothing is kept of its request");
        bench.trace();
        bench.cancel(&call);
        bench.line(&format!(
            r#"{{"method":"notifications/progress","params":{{"progressToken":{},"progress":1}}}}"#,
            sent.meta()["progressToken"]
        ));
        bench.completes(&sent, json!({ "content": [] }));
        bench.completes(&sent, json!({ "content": [] }));
        assert_eq!(bench.trace(), [""; 0]);
        assert_eq!(bench.deadline(), None);
    });
}

/// M-TIME-04, M-TIME-06: what was never sent is not cancelled at the server.
#[test]
fn a_call_that_was_not_sent_is_cancelled_in_silence() {
    let mut bench = Bench::stdio(asking());
    let starting = bench.begin(tool("x", json!({})));
    let probe = bench.expect("server/discover");
    bench.cancel(&starting);
    assert_eq!(bench.error(&starting).outcome(), Outcome::NotSent);
    bench.result(&probe, discovered(&["2026-07-28"]));
    bench.quiet();
    // The host was asked for its metadata: the question is taken back.
    let asked = bench.begin(tool("x", json!({})));
    let (question, ..) = bench.question();
    bench.trace();
    bench.cancel(&asked);
    assert!(bench.trace()[0].starts_with(&format!("withdraw {question}")));
    assert_eq!(bench.error(&asked).outcome(), Outcome::NotSent);
    bench.reply(question, Answer::RequestMeta(Map::new()));
    bench.quiet();
    // And so it is when the time ends.
    let asked = bench.begin(tool("x", json!({})));
    let (question, ..) = bench.question();
    bench.advance(Duration::from_secs(15));
    let error = bench.error(&asked);
    let ErrorKind::Timeout(timeout) = error.kind() else { panic!("{error}") };
    assert_eq!((timeout.phase, error.outcome()), (Phase::Host, Outcome::NotSent));
    bench.reply(question, Answer::RequestMeta(Map::new()));
    bench.quiet();
}

/// M-TIME-04: a list that is given up cancels the page that is out, and no other.
#[test]
fn a_list_is_cancelled_at_the_page_that_is_out() {
    in_both_eras(|bench| {
        let call = bench.begin(ListTools);
        let first = bench.expect("tools/list");
        bench.completes(&first, json!({ "tools": [], "nextCursor": "2" }));
        let second = bench.expect("tools/list");
        bench.cancel(&call);
        assert_eq!(bench.expect(CANCELLED).params()["requestId"], *second.id());
        bench.error(&call);
        bench.completes(&second, json!({ "tools": [], "nextCursor": "3" }));
        bench.quiet();
    });
}

/// M-TIME-09: an answer that was there before the cancellation or the timeout is handed on, even if
/// items before it were not taken yet.
#[test]
fn an_answer_that_was_first_counts() {
    for cancel in [true, false] {
        in_both_eras(|bench| {
            let call = bench.begin_with(tool("x", json!({})), options(None, true));
            let sent = bench.expect("tools/call");
            let token = sent.meta()["progressToken"].clone();
            bench.line(
                &json!({
                    "method": "notifications/progress",
                    "params": { "progressToken": token, "progress": 1 },
                })
                .to_string(),
            );
            bench.completes(&sent, json!({ "content": [{ "type": "text", "text": "first" }] }));
            assert!(bench.is_pending(&call), "the item before it waits");
            if cancel {
                bench.cancel(&call);
            } else {
                bench.advance(Duration::from_secs(15));
            }
            assert_eq!(bench.done(&call).unwrap().text(), "first");
            assert_eq!(bench.items, []);
            bench.quiet();
        });
    }
}

/// M-TIME-08, M-TIME-11: the end of a call's time at the very moment of its answer: either way it
/// ends once.
#[test]
fn an_answer_and_a_timeout_at_one_moment() {
    in_both_eras(|bench| {
        let call = bench.begin(Ping);
        let sent = bench.next_message();
        bench.now += Duration::from_secs(15);
        bench.completes(&sent, json!({}));
        bench.timeout();
        bench.done(&call).unwrap();
        bench.quiet();
        let call = bench.begin(Ping);
        let sent = bench.next_message();
        bench.now += Duration::from_secs(15);
        bench.timeout();
        bench.completes(&sent, json!({}));
        assert!(bench.error(&call).is_timeout());
        bench.expect(CANCELLED);
    });
}

/// M-TIME-10: a server cannot cancel what the client asked for.
#[test]
fn a_servers_cancellation_of_a_clients_request_is_ignored() {
    in_both_eras(|bench| {
        let call = bench.begin(Ping);
        let sent = bench.next_message();
        for id in [sent.id().clone(), Value::from("x"), Value::Null, json!({})] {
            let params = json!({ "requestId": id, "reason": "no more" });
            bench.line(&json!({ "method": CANCELLED, "params": params }).to_string());
        }
        assert!(bench.is_pending(&call));
        bench.quiet();
        bench.completes(&sent, json!({}));
        bench.done(&call).unwrap();
        assert!(!bench.events.iter().any(|event| matches!(event, Event::LineSkipped { .. })));
    });
}

/// M-TIME-11: a clock that goes back, and a timeout that comes too early or too late, do no harm.
#[test]
fn odd_clocks_do_no_harm() {
    in_both_eras(|bench| {
        let call = bench.begin_with(Ping, options(Some(Duration::from_secs(5)), false));
        bench.next_message();
        let begun = bench.now;
        bench.timeout();
        bench.advance(Duration::from_secs(4));
        bench.timeout();
        let early = mcp_proto::Now::at(Duration::ZERO);
        bench.connection.handle(Input::Timeout, early);
        assert_eq!(bench.deadline(), Some(begun + Duration::from_secs(5)));
        // A deadline that is set by a clock that went back is no earlier for that.
        let other = bench.connection.start(Ping, options(None, false), early).unwrap();
        bench.watch.call_begins(other.id(), false);
        bench.settle();
        bench.next_message();
        bench.cancel(&call);
        bench.expect(CANCELLED);
        let want = begun + Duration::from_secs(4) + Duration::from_secs(15);
        assert_eq!(bench.deadline(), Some(want));
        bench.cancel(&other);
        bench.expect(CANCELLED);
        let call = bench.begin(Ping);
        bench.next_message();
        bench.now += Duration::from_secs(3600);
        bench.timeout();
        assert!(bench.error(&call).is_timeout());
        bench.expect(CANCELLED);
    });
}
