//! The life of a server process (specification: basic/transports/stdio, "Shutdown" and
//! "Unexpected Termination").

use std::time::Duration;

use mcp_proto::op::{ListTools, Ping};
use mcp_proto::{
    CloseReason, ConnectionState, ErrorKind, ExitStatus, Input, Outcome, ProcessId, StdioInput,
    TransportError,
};
use serde_json::json;

use crate::support::*;

const EXIT_WAIT: Duration = Duration::from_millis(250);

/// M-STD-07, M-STD-08, M-ERR-08: the calls of a process that dies are lost with it, and nobody
/// knows what became of them; the next call, and nothing before it, launches the next process.
#[test]
fn a_process_that_dies_is_replaced_at_the_next_call() {
    in_both_eras(|bench| {
        let era = bench.era();
        let calls = [bench.begin(tool("a", json!({}))), bench.begin(tool("b", json!({})))];
        bench.take_messages();
        bench.signal(StdioInput::Stderr(b"panic: oh\n"));
        bench.exit(ExitStatus::Code(101));
        for call in calls {
            let error = bench.error(&call);
            assert_eq!(error.outcome(), Outcome::Unknown);
            assert!(error.is_transport());
            for part in ["`peer`", "`tools/call`", "status 101", "panic: oh"] {
                assert!(error.to_string().contains(part), "{error}");
            }
        }
        let state = bench.connection.state();
        assert!(matches!(state, ConnectionState::Idle(CloseReason::Transport(_))), "{state:?}");
        bench.advance(Duration::from_secs(3600));
        assert_eq!((bench.process().number(), bench.deadline()), (1, None));

        let call = bench.begin(tool("c", json!({})));
        assert_eq!(bench.process().number(), 2);
        bench.speak(era);
        let sent = bench.expect("tools/call");
        assert_eq!((sent.process.number(), &sent.params()["name"]), (2, &json!("c")));
        bench.completes(&sent, json!({ "content": [] }));
        bench.done(&call).unwrap();
        bench.quiet();
    });
}

/// M-STD-08: a process that dies while nothing is asked of it is not replaced either.
#[test]
fn a_death_while_idle_is_noticed_and_nothing_more() {
    in_both_eras(|bench| {
        bench.exit(ExitStatus::Signal(9));
        assert!(matches!(bench.connection.state(), ConnectionState::Idle(_)));
        assert_eq!(bench.connection.server(), None);
        assert_eq!(bench.deadline(), None);
        bench.quiet();
        let trace = bench.trace();
        assert!(trace.last().unwrap().starts_with("state idle (the server was ended by signal 9"));
    });
}

/// M-STD-07, M-STD-09: an answer that is still in the pipe when the exit is seen counts; a call
/// fails when all that can come has come.
#[test]
fn an_exit_does_not_overtake_an_answer() {
    in_both_eras(|bench| {
        let first = bench.begin(Ping);
        let second = bench.begin(Ping);
        let sent = bench.take_messages();
        bench.signal(StdioInput::Exited(ExitStatus::Code(0)));
        bench.advance(Duration::from_millis(100));
        assert!(bench.is_pending(&first));
        bench.completes(&sent[0], json!({ "supportedVersions": [] }));
        bench.done(&first).unwrap();
        assert!(bench.is_pending(&second));
        bench.signal(StdioInput::StderrClosed);
        assert!(bench.is_pending(&second));
        bench.signal(StdioInput::StdoutClosed);
        assert!(bench.error(&second).is_transport());
    });
}

/// M-STD-07: pipes that somebody else keeps open are waited for for 250 ms after the exit.
#[test]
fn the_pipes_of_a_dead_process_are_not_waited_for_for_ever() {
    in_both_eras(|bench| {
        let call = bench.begin(Ping);
        bench.take_messages();
        // The first sign of the end may come long before the exit.
        bench.write_fails();
        bench.advance(EXIT_WAIT - Duration::from_millis(10));
        bench.signal(StdioInput::Exited(ExitStatus::Code(1)));
        bench.advance(EXIT_WAIT - Duration::from_millis(1));
        assert!(bench.is_pending(&call));
        bench.advance(Duration::from_millis(1));
        assert!(bench.error(&call).to_string().contains("status 1"));
    });
}

/// M-STD-09: a server that closes its stdout has ended, even if its process goes on for a while.
#[test]
fn a_server_that_closes_its_stdout_has_ended() {
    in_both_eras(|bench| {
        let call = bench.begin(Ping);
        bench.take_messages();
        bench.trace();
        bench.signal(StdioInput::StdoutClosed);
        bench.advance(EXIT_WAIT);
        let error = bench.error(&call);
        let ErrorKind::Transport(TransportError::Exited { status, .. }) = error.kind() else {
            panic!("{error}")
        };
        assert_eq!(*status, None);
        assert!(bench.trace().contains(&"process#1 close stdin".into()));
        bench.signal(StdioInput::Exited(ExitStatus::Code(0)));
        assert!(!bench.watch.runs());
        assert_eq!(bench.deadline(), None);
    });
}

/// M-STD-07: a server that does not take what is written to it is lost, and so are its calls; one
/// that begins meanwhile goes to the next process.
#[test]
fn a_write_that_fails_is_a_sign_of_the_end() {
    in_both_eras(|bench| {
        let era = bench.era();
        let lost = bench.begin(tool("a", json!({})));
        bench.take_messages();
        bench.write_fails();
        let kept = bench.begin(tool("b", json!({})));
        bench.quiet();
        bench.exit(ExitStatus::Code(0));
        assert_eq!(bench.error(&lost).outcome(), Outcome::Unknown);
        bench.speak(era);
        let sent = bench.expect("tools/call");
        assert_eq!(sent.params()["name"], "b");
        bench.completes(&sent, json!({ "content": [] }));
        bench.done(&kept).unwrap();
        bench.quiet();
    });
}

/// M-STD-07: what a process of the past does touches nothing.
#[test]
fn a_stale_process_is_ignored() {
    in_both_eras(|bench| {
        let era = bench.era();
        bench.exit(ExitStatus::Code(0));
        let call = bench.begin(Ping);
        bench.speak(era);
        let sent = bench.next_message();
        bench.trace();
        for id in [1, 3] {
            let id = ProcessId::new(id);
            let answer = format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{{}}}}\n", sent.id());
            for input in [
                StdioInput::Stdout(answer.as_bytes()),
                StdioInput::Stderr(b"x\n"),
                StdioInput::StdoutClosed,
                StdioInput::StderrClosed,
                StdioInput::Written(1 << 40),
                StdioInput::Exited(ExitStatus::Code(1)),
            ] {
                bench.input(Input::Stdio(id, input));
            }
        }
        assert_eq!(bench.trace(), [""; 0]);
        assert!(bench.is_pending(&call));
        bench.completes(&sent, json!({ "supportedVersions": [] }));
        bench.done(&call).unwrap();
    });
}

/// M-BASE-10: unrelated calls share one process, also over a long time.
#[test]
fn one_process_serves_unrelated_calls() {
    in_both_eras(|bench| {
        for name in ["a", "b", "c"] {
            let call = bench.begin(tool(name, json!({})));
            let sent = bench.expect("tools/call");
            bench.completes(&sent, json!({ "content": [] }));
            bench.done(&call).unwrap();
            bench.advance(Duration::from_secs(3600));
        }
        assert_eq!(bench.process().number(), 1);
    });
}

/// M-STD-07, M-UNTR-14: a server that answers the probe and dies before it can be asked anything is
/// not launched again and again for the same call.
#[test]
fn a_crash_loop_ends_the_call_that_waits() {
    let mut bench = Bench::modern(config());
    bench.exit(ExitStatus::Code(0));
    let call = bench.begin(ListTools);
    while bench.is_pending(&call) && bench.process().number() < 10 {
        let probe = bench.expect("server/discover");
        // The exit is seen before the answer is read.
        bench.signal(StdioInput::Exited(ExitStatus::Code(7)));
        bench.result(&probe, discovered(&["2026-07-28"]));
        bench.signal(StdioInput::StdoutClosed);
        bench.signal(StdioInput::StderrClosed);
    }
    assert!(bench.process().number() <= 3, "launched {} times", bench.process().number());
    let error = bench.error(&call);
    assert!(error.to_string().contains("status 7"), "{error}");
    assert_eq!(error.outcome(), Outcome::NotSent);
}

/// M-STD-11, M-STD-07: a call that goes to the next process has its whole time there: the default
/// counts from the moment at which that one is ready.
#[test]
fn the_default_time_does_not_run_during_a_restart() {
    let mut bench = Bench::modern(config());
    bench.write_fails();
    let call = bench.begin(ListTools);
    bench.exit(ExitStatus::Code(0));
    let probe = bench.expect("server/discover");
    bench.advance(Duration::from_secs(30));
    bench.take_messages();
    assert!(bench.is_pending(&call), "only the start's time counts");
    bench.result(&probe, discovered(&["2026-07-28"]));
    bench.expect("tools/list");
    bench.advance(Duration::from_millis(14_999));
    assert!(bench.is_pending(&call));
    bench.advance(Duration::from_millis(1));
    assert!(bench.error(&call).is_timeout());
    bench.take_messages();
}
