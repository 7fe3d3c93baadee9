//! Ending a server, and what waits for its end (specification: basic/transports/stdio, "Shutdown").

use std::time::Duration;

use mcp_proto::op::{Connect, ListTools, Ping};
use mcp_proto::{
    CloseReason, ConnectionState, ErrorKind, ExitStatus, Input, Outcome, Phase, StdioInput,
    TimerReason,
};
use serde_json::json;

use crate::support::*;

const GRACE: Duration = Duration::from_secs(2);

/// M-STD-05, M-STD-06: a server that ignores the end of its stdin is asked to end after two
/// seconds, and killed after two more.
#[test]
fn a_close_goes_in_stages() {
    in_both_eras(|bench| {
        bench.trace();
        let begun = bench.now;
        bench.input(Input::Close);
        assert_eq!(bench.trace(), ["process#1 close stdin"]);
        assert_eq!(bench.next_deadline(), TimerReason::Grace);
        assert_eq!(bench.now - begun, GRACE);
        assert_eq!(bench.trace(), ["process#1 terminate"]);
        assert_eq!(bench.next_deadline(), TimerReason::Grace);
        assert_eq!(bench.now - begun, 2 * GRACE);
        assert_eq!(bench.trace(), ["process#1 kill"]);
        assert_eq!(bench.deadline(), None, "a killed process ends");
        bench.signal(StdioInput::Exited(ExitStatus::Signal(9)));
        assert_eq!(bench.trace().last().unwrap(), "state closed (the host closed it)");
    });
}

/// M-STD-05, M-CONN-01: a server that ends with its stdin is not asked twice, at any stage.
#[test]
fn a_close_ends_with_the_process() {
    for stage in 0..3 {
        in_both_eras(|bench| {
            bench.input(Input::Close);
            for _ in 0..stage {
                bench.next_deadline();
            }
            bench.trace();
            bench.signal(StdioInput::Exited(ExitStatus::Code(0)));
            let trace = bench.trace();
            assert_eq!(trace.len(), 2, "{trace:?}");
            assert!(trace[0].starts_with("event Exited"), "{trace:?}");
            assert_eq!(trace[1], "state closed (the host closed it)");
            assert_eq!(bench.deadline(), None);
        });
    }
}

/// M-CONN-01: closing ends every call at once, and a closed connection refuses calls; closing
/// again, or disconnecting, changes nothing.
#[test]
fn closing_is_final() {
    in_both_eras(|bench| {
        let calls = [bench.begin(Ping), bench.begin(Ping)];
        bench.input(Input::Close);
        for call in calls {
            let error = bench.error(&call);
            assert!(matches!(error.kind(), ErrorKind::Closed(CloseReason::Closed)), "{error}");
            assert_eq!(error.outcome(), Outcome::Unknown);
        }
        assert!(matches!(bench.connection.state(), ConnectionState::Closed(_)));
        bench.trace();
        bench.input(Input::Close);
        bench.input(Input::Disconnect);
        assert_eq!(bench.trace(), [""; 0]);
        let late = bench.begin(ListTools);
        let error = bench.error(&late);
        assert!(matches!(error.kind(), ErrorKind::Closed(CloseReason::Closed)), "{error}");
        assert_eq!(error.outcome(), Outcome::NotSent);
        // The server's last words no longer count.
        bench.take_messages();
        bench.line(r#"{"jsonrpc":"2.0","id":9,"method":"ping"}"#);
        bench.quiet();
    });
}

/// M-CONN-01: whether anything runs, or is kept of any call, can be asked at any time.
#[test]
fn a_connection_knows_whether_it_rests() {
    let mut bench = Bench::stdio(config());
    let at = |bench: &Bench| (bench.connection.at_rest(), bench.connection.is_idle());
    assert_eq!(at(&bench), (true, true));
    let call = bench.begin(Connect);
    assert_eq!(at(&bench), (false, false));
    bench.cancel(&call);
    assert_eq!(at(&bench), (false, false), "the probe is still out");
    bench.speak_modern();
    assert_eq!(at(&bench), (false, true));
    let call = bench.begin(Ping);
    bench.next_message();
    assert_eq!(at(&bench), (false, false));
    bench.input(Input::Disconnect);
    bench.error(&call);
    assert_eq!(at(&bench), (false, true));
    bench.signal(StdioInput::Exited(ExitStatus::Code(0)));
    assert_eq!(at(&bench), (true, true));
}

/// M-CONN-01: what was never used closes too, and there is nothing to wait for.
#[test]
fn closing_before_the_first_call_is_told_at_once() {
    let mut bench = Bench::stdio(config());
    bench.input(Input::Disconnect);
    assert_eq!(bench.trace(), [""; 0]);
    bench.input(Input::Close);
    assert_eq!(bench.trace(), ["state closed (the host closed it)"]);
    let call = bench.begin(Connect);
    assert_eq!(bench.error(&call).outcome(), Outcome::NotSent);
}

/// M-STD-08: after a disconnect the next call waits for the old process to be gone; there are never
/// two at once.
#[test]
fn a_call_waits_for_the_end_of_the_process_before() {
    in_both_eras(|bench| {
        let era = bench.era();
        let lost = bench.begin(Ping);
        bench.take_messages();
        bench.input(Input::Disconnect);
        assert!(matches!(bench.error(&lost).kind(), ErrorKind::Closed(CloseReason::Disconnected)));
        bench.trace();
        let call = bench.begin(Ping);
        bench.next_deadline();
        bench.next_deadline();
        assert_eq!(bench.trace(), ["process#1 terminate", "process#1 kill"]);
        bench.signal(StdioInput::Exited(ExitStatus::Signal(9)));
        let trace = bench.trace();
        assert_eq!(trace[1], "state idle (the host disconnected it)");
        assert_eq!(trace[2], "state starting");
        assert_eq!(trace[3], "process#2 spawn server");
        bench.speak(era);
        let sent = bench.next_message();
        bench.completes(&sent, json!({ "supportedVersions": [] }));
        bench.done(&call).unwrap();
    });
}

/// M-TIME-02: a call whose own time ends while it waits for that says so, and starts nothing.
#[test]
fn waiting_for_the_process_before_may_take_too_long() {
    in_both_eras(|bench| {
        bench.input(Input::Disconnect);
        let call = bench.begin_with(Ping, options(Some(Duration::from_secs(1)), false));
        bench.advance(Duration::from_secs(1));
        let error = bench.error(&call);
        let ErrorKind::Timeout(timeout) = error.kind() else { panic!("{error}") };
        assert_eq!((timeout.phase, timeout.after), (Phase::Close, Duration::from_secs(1)));
        bench.signal(StdioInput::Exited(ExitStatus::Code(0)));
        assert_eq!(bench.process().number(), 1);
        assert_eq!(bench.deadline(), None);
    });
}
