//! A byte stream of the host's in the place of a process: the same messages, another end.

use std::time::Duration;

use mcp_proto::op::{Connect, ListTools, Ping};
use mcp_proto::{
    CloseReason, ConnectionState, Era, EraChoice, ErrorKind, Input, Outcome, StdioInput,
    TimerReason, TransportError,
};
use serde_json::json;

use crate::support::*;

fn ready(era: Era) -> Bench {
    let mut bench = Bench::stream(config());
    let call = bench.begin(Connect);
    bench.speak(era);
    bench.done(&call).unwrap();
    bench.trace();
    bench
}

/// M-BASE-14: both eras are found and spoken over a stream as over a process; nothing is launched.
#[test]
fn streams_carry_both_eras() {
    for era in [Era::Modern, Era::Legacy] {
        let mut bench = Bench::stream(config());
        let call = bench.begin(tool("x", json!({ "a": 1 })));
        bench.speak(era);
        let sent = bench.expect("tools/call");
        let version = sent.params().pointer("/_meta/io.modelcontextprotocol~1protocolVersion");
        assert_eq!(version.is_some(), era == Era::Modern);
        bench.completes(&sent, json!({ "content": [{ "type": "text", "text": "é" }] }));
        assert_eq!(bench.done(&call).unwrap().text(), "é");
        assert!(!bench.whole_trace().contains("spawn"));
    }
}

/// M-BASE-14, M-STD-09: the end of the stream is the end of the connection, at once and for good.
#[test]
fn the_end_of_a_stream_is_final() {
    for era in [Era::Modern, Era::Legacy] {
        let mut bench = ready(era);
        let call = bench.begin(tool("x", json!({})));
        bench.take_messages();
        bench.signal(StdioInput::StdoutClosed);
        let error = bench.error(&call);
        assert!(matches!(error.kind(), ErrorKind::Transport(TransportError::StreamEnded)));
        assert_eq!(error.outcome(), Outcome::Unknown);
        let trace = bench.trace();
        assert_eq!(trace.last().unwrap(), "state closed (the byte stream has ended)");
        assert_eq!(bench.deadline(), None);
        let late = bench.begin(ListTools);
        let error = bench.error(&late);
        let ErrorKind::Closed(CloseReason::Transport(_)) = error.kind() else { panic!("{error}") };
        assert_eq!(error.outcome(), Outcome::NotSent);
    }
}

/// M-ERA-19: a stream that ends at the probe cannot be had a second time.
#[test]
fn a_stream_that_ends_in_the_start_is_not_replaced() {
    let mut bench = Bench::stream(config());
    let call = bench.begin(Connect);
    bench.expect("server/discover");
    bench.signal(StdioInput::StdoutClosed);
    let error = bench.error(&call);
    assert!(matches!(error.kind(), ErrorKind::Transport(TransportError::StreamEnded)), "{error}");
    assert!(matches!(bench.connection.state(), ConnectionState::Closed(_)));
}

/// M-STD-05, M-STD-06: a stream is closed on this side first; it is let go of when the other side
/// closes too, or after two seconds.
#[test]
fn a_stream_is_closed_from_both_sides() {
    for answers in [true, false] {
        let mut bench = ready(Era::Modern);
        let begun = bench.now;
        bench.input(Input::Close);
        assert_eq!(bench.trace(), ["process#1 close stdin"]);
        if answers {
            bench.signal(StdioInput::StdoutClosed);
        } else {
            assert_eq!(bench.next_deadline(), TimerReason::Grace);
            assert_eq!(bench.now - begun, Duration::from_secs(2));
        }
        assert_eq!(bench.trace(), ["process#1 kill", "state closed (the host closed it)"]);
    }
}

/// M-CONN-01: a stream has one life; a disconnect ends it.
#[test]
fn a_disconnected_stream_is_not_opened_again() {
    let mut bench = ready(Era::Legacy);
    bench.input(Input::Disconnect);
    let call = bench.begin(Ping);
    assert!(matches!(bench.error(&call).kind(), ErrorKind::Closed(CloseReason::Disconnected)));
    bench.signal(StdioInput::StdoutClosed);
    assert_eq!(bench.trace().last().unwrap(), "state closed (the host disconnected it)");
}

/// M-ERA-07: a failed start ends a stream for good.
#[test]
fn a_failed_start_closes_a_stream() {
    let mut config = config();
    config.era = EraChoice::Modern;
    let mut bench = Bench::stream(config);
    let call = bench.begin(Connect);
    let probe = bench.expect("server/discover");
    bench.refuse(&probe, -32601, "no");
    assert!(matches!(bench.error(&call).kind(), ErrorKind::Incompatible(_)));
    let call = bench.begin(Connect);
    assert!(matches!(bench.error(&call).kind(), ErrorKind::Closed(CloseReason::Start(_))));
}

/// M-TIME-11, M-BASE-14: a call that begins while a stream shows signs of its end has no next one to
/// go to, and ends with it.
#[test]
fn a_call_that_waits_ends_with_its_stream() {
    let mut bench = ready(Era::Modern);
    bench.write_fails();
    let call = bench.begin(Ping);
    bench.quiet();
    assert!(bench.is_pending(&call));
    bench.signal(StdioInput::StdoutClosed);
    let error = bench.error(&call);
    assert!(matches!(error.kind(), ErrorKind::Transport(TransportError::StreamEnded)), "{error}");
    assert_eq!(error.outcome(), Outcome::NotSent);
}

/// M-STD-07: a stream whose other side takes nothing more is waited for a moment, for its answers.
#[test]
fn a_stream_that_takes_nothing_may_still_answer() {
    let mut bench = ready(Era::Legacy);
    let answered = bench.begin(Ping);
    let lost = bench.begin(Ping);
    let sent = bench.take_messages();
    bench.write_fails();
    bench.completes(&sent[0], json!({}));
    bench.done(&answered).unwrap();
    bench.next_deadline();
    let error = bench.error(&lost);
    assert!(matches!(error.kind(), ErrorKind::Transport(TransportError::StreamEnded)), "{error}");
}
