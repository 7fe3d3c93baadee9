//! Servers that die, fall silent or never come up while they are started.

use std::time::Duration;

use mcp_proto::op::{Connect, ListTools, Ping};
use mcp_proto::{
    Answer, Call, CallOptions, CloseReason, ConnectionState, EraChoice, Error, ErrorKind, Event,
    ExitStatus, Hearing, Input, IoFailure, Outcome, Phase, StdioInput, TimerReason, TransportError,
};
use serde_json::{Map, json};

use crate::support::*;

fn starting(era: EraChoice) -> (Bench, Call<Connect>) {
    let mut config = config();
    config.era = era;
    let mut bench = Bench::stdio(config);
    let call = bench.begin(Connect);
    (bench, call)
}

fn no_such_file() -> IoFailure {
    IoFailure { kind: "NotFound".into(), text: "No such file or directory".into() }
}

fn exit_of(error: &Error) -> (Option<ExitStatus>, &str) {
    match error.kind() {
        ErrorKind::Transport(TransportError::Exited { status, stderr, .. }) => (*status, stderr),
        other => panic!("{other}"),
    }
}

/// M-ERA-19, M-STD-07: a legacy server that ends at the probe is launched once more, and greeted
/// with `initialize`.
#[test]
fn a_server_that_dies_of_the_probe_is_launched_once_more() {
    let (mut bench, call) = starting(EraChoice::Auto);
    bench.expect("server/discover");
    bench.exit(ExitStatus::Code(1));
    assert!(bench.events.contains(&Event::ProbeKilled(mcp_proto::ProcessId::new(1))));
    let initialize = bench.expect("initialize");
    assert_eq!(initialize.process.number(), 2);
    bench.result(&initialize, initialized("2025-11-25"));
    bench.expect(INITIALIZED);
    bench.done(&call).unwrap();
    // The next launch spares it the probe.
    bench.exit(ExitStatus::Code(0));
    let call = bench.begin(Connect);
    let initialize = bench.expect("initialize");
    assert_eq!(initialize.process.number(), 3);
    bench.result(&initialize, initialized("2025-11-25"));
    bench.expect(INITIALIZED);
    bench.done(&call).unwrap();
}

/// M-ERA-19: so is one that answers the probe with an error and ends then, and one that ends while
/// both questions are out.
#[test]
fn dying_after_an_answer_to_the_probe_is_dying_of_the_probe() {
    for silent in [true, false] {
        let (mut bench, call) = starting(EraChoice::Auto);
        let probe = bench.expect("server/discover");
        if silent {
            bench.next_deadline();
        } else {
            bench.refuse(&probe, -32600, "expected initialize");
        }
        bench.expect("initialize");
        bench.exit(ExitStatus::Code(1));
        let initialize = bench.expect("initialize");
        assert_eq!(initialize.process.number(), 2);
        bench.result(&initialize, initialized("2025-11-25"));
        bench.expect(INITIALIZED);
        bench.done(&call).unwrap();
    }
}

/// M-ERA-19: the second death is the end, with both stories in the error.
#[test]
fn dying_twice_is_an_error() {
    let (mut bench, call) = starting(EraChoice::Auto);
    bench.expect("server/discover");
    bench.exit(ExitStatus::Code(3));
    bench.expect("initialize");
    bench.signal(StdioInput::Stderr(b"Error: API_KEY missing\n"));
    bench.exit(ExitStatus::Code(4));
    let error = bench.error(&call);
    assert_eq!(exit_of(&error), (Some(ExitStatus::Code(4)), "Error: API_KEY missing"));
    assert_eq!(error.outcome(), Outcome::NotSent);
    for part in ["status 4", "before answering `initialize`", "API_KEY missing", "status 3"] {
        assert!(error.to_string().contains(part), "{error}");
    }
    bench.quiet();
    assert!(!bench.watch.runs());
}

/// M-ERA-19: with a forced era, and after an answer that settled it, nobody is launched twice.
#[test]
fn a_death_in_a_forced_era_is_an_error_at_once() {
    for era in [EraChoice::Modern, EraChoice::Legacy] {
        let (mut bench, call) = starting(era);
        bench.next_message();
        bench.exit(ExitStatus::Signal(11));
        let error = bench.error(&call);
        assert_eq!(exit_of(&error), (Some(ExitStatus::Signal(11)), ""));
        assert!(error.to_string().contains("signal 11"), "{error}");
        bench.quiet();
    }
}

/// M-ERA-22: a server that was greeted with `initialize` and refuses it is probed after all, and
/// its next process begins with the probe again.
#[test]
fn what_was_learned_of_a_server_is_corrected() {
    let (mut bench, call) = starting(EraChoice::Auto);
    bench.expect("server/discover");
    bench.exit(ExitStatus::Code(1));
    let initialize = bench.expect("initialize");
    bench.result(&initialize, initialized("2025-11-25"));
    bench.expect(INITIALIZED);
    bench.done(&call).unwrap();
    // Meanwhile somebody installs a newer release of it.
    bench.exit(ExitStatus::Code(0));
    let call = bench.begin(Connect);
    let initialize = bench.expect("initialize");
    bench.refuse(&initialize, -32601, "Method not found");
    bench.speak_modern();
    bench.done(&call).unwrap();
    bench.exit(ExitStatus::Code(0));
    let call = bench.begin(Connect);
    bench.speak_modern();
    bench.done(&call).unwrap();
}

/// M-STD-10, M-ERR-01: a program that cannot be launched is an error that names it, at once.
#[test]
fn a_launch_that_fails_is_told_at_once() {
    let (mut bench, call) = starting(EraChoice::Auto);
    bench.signal(StdioInput::SpawnFailed(no_such_file()));
    let error = bench.error(&call);
    assert!(matches!(error.kind(), ErrorKind::Transport(TransportError::Spawn { .. })));
    assert!(error.is_transport());
    assert_eq!(error.outcome(), Outcome::NotSent);
    for part in ["`peer`", "`server`", "No such file"] {
        assert!(error.to_string().contains(part), "{error}");
    }
    // The program may be there by the next call.
    let call = bench.begin(Connect);
    bench.take_messages();
    assert_eq!(bench.process().number(), 2);
    bench.signal(StdioInput::SpawnFailed(no_such_file()));
    bench.error(&call);
}

/// M-STD-03, M-ERR-01: an exit in the handshake comes with status and last words, not with the
/// timeout.
#[test]
fn an_exit_in_the_handshake_is_told_at_once() {
    let (mut bench, call) = starting(EraChoice::Legacy);
    bench.expect("initialize");
    let begun = bench.now;
    bench.signal(StdioInput::Stderr(b"warning\x1b[0m: old\nfatal: no key\n"));
    bench.exit(ExitStatus::Code(1));
    assert_eq!(bench.now, begun);
    let error = bench.error(&call);
    assert_eq!(exit_of(&error).0, Some(ExitStatus::Code(1)));
    assert!(error.to_string().contains("fatal: no key"), "{error}");
    assert!(!error.to_string().contains('\x1b'), "{error}");
    let state = bench.connection.state();
    assert!(matches!(state, ConnectionState::Idle(CloseReason::Start(_))), "{state:?}");
}

/// M-TIME-02, M-TIME-11: the start has a time of its own, and the error tells what came instead of
/// an answer.
#[test]
fn a_start_that_takes_too_long_is_told_with_what_was_seen() {
    let (mut bench, call) = starting(EraChoice::Auto);
    let other = bench.begin(ListTools);
    bench.expect("server/discover");
    bench.line("Welcome to the server!");
    bench.line("Listening on stdio");
    bench.signal(StdioInput::Stderr(b"downloading...\n"));
    bench.next_deadline();
    bench.expect("initialize");
    assert_eq!(bench.next_deadline(), TimerReason::Start);
    for error in [bench.error(&call), bench.error(&other)] {
        let ErrorKind::Timeout(timeout) = error.kind() else { panic!("{error}") };
        assert_eq!((timeout.phase, timeout.after), (Phase::Start, Duration::from_secs(60)));
        assert!(error.is_timeout() && error.is_transport());
        assert_eq!(error.outcome(), Outcome::NotSent);
        for part in ["start", "60s", "2 line(s)", "not JSON", "downloading..."] {
            assert!(error.to_string().contains(part), "{part} in {error}");
        }
    }
    // `initialize` must never be cancelled.
    bench.quiet();
    assert!(bench.trace().contains(&"process#1 close stdin".into()));
}

/// M-TIME-11: the second process of a start has no more time than is left.
#[test]
fn a_second_launch_does_not_begin_the_time_anew() {
    let (mut bench, call) = starting(EraChoice::Auto);
    let begun = bench.now;
    bench.expect("server/discover");
    bench.advance(Duration::from_secs(4));
    bench.exit(ExitStatus::Code(1));
    bench.expect("initialize");
    while bench.is_pending(&call) {
        bench.next_deadline();
    }
    assert_eq!(bench.now - begun, Duration::from_secs(60));
    assert!(bench.error(&call).is_timeout());
}

/// M-ERA-19, M-STD-09: a server that closes its stdout at the probe and stays is put to an end
/// before it is launched once more.
#[test]
fn a_server_that_falls_mute_at_the_probe_is_replaced() {
    let (mut bench, call) = starting(EraChoice::Auto);
    bench.expect("server/discover");
    bench.signal(StdioInput::StdoutClosed);
    bench.quiet();
    assert_eq!(bench.next_deadline(), TimerReason::Exit);
    assert_eq!(bench.next_deadline(), TimerReason::Grace);
    assert!(bench.trace().contains(&"process#1 terminate".into()));
    bench.quiet();
    bench.signal(StdioInput::Exited(ExitStatus::Signal(15)));
    let initialize = bench.expect("initialize");
    assert_eq!(initialize.process.number(), 2);
    bench.result(&initialize, initialized("2025-11-25"));
    bench.expect(INITIALIZED);
    bench.done(&call).unwrap();
}

/// M-CONN-01, M-STD-05: close and disconnect in the middle of each step of a start end it: nothing
/// is launched afterwards, and nothing is left.
#[test]
fn a_start_can_be_ended_at_any_step() {
    let reach: [fn(&mut Bench); 4] = [
        |_| (),
        |bench| {
            bench.next_deadline();
        },
        |bench| {
            let probe = bench.expect("server/discover");
            bench.refuse(&probe, -32601, "no");
        },
        // It waits for the end of the first process, to launch the second.
        |bench| {
            bench.signal(StdioInput::StdoutClosed);
            bench.next_deadline();
        },
    ];
    for (step, reach) in reach.iter().enumerate() {
        for close in [true, false] {
            let (mut bench, call) = starting(EraChoice::Auto);
            reach(&mut bench);
            bench.input(if close { Input::Close } else { Input::Disconnect });
            let error = bench.error(&call);
            assert!(matches!(error.kind(), ErrorKind::Closed(_)), "{step}: {error}");
            assert_eq!(error.outcome(), Outcome::NotSent);
            bench.take_messages();
            bench.exit(ExitStatus::Code(0));
            bench.quiet();
            assert!(!bench.watch.runs());
            assert_eq!(bench.deadline(), None);
            let last = bench.trace().pop().unwrap();
            let want = if close { "state closed" } else { "state idle" };
            assert!(last.starts_with(want), "{step}: {last}");
        }
    }
}

/// M-ERA-06, M-TIME-11: a question that is open when the connection is lost is taken back when the
/// call that waits for it ends with the next start.
#[test]
fn a_question_ends_with_its_call_when_a_start_fails() {
    let mut config = config();
    config.hears = vec![Hearing::RequestMeta];
    let mut bench = Bench::modern(config);
    let asked = bench.begin(Ping);
    let (question, ..) = bench.question();
    bench.exit(ExitStatus::Code(0));
    let other = bench.begin(Connect);
    bench.signal(StdioInput::SpawnFailed(no_such_file()));
    bench.take_messages();
    bench.error(&other);
    assert!(bench.error(&asked).is_transport());
    assert!(bench.trace().iter().any(|line| line.starts_with(&format!("withdraw {question}"))));
    bench.reply(question, Answer::RequestMeta(Map::new()));
    bench.quiet();
    assert!(bench.connection.is_idle());
}

/// M-TIME-11: a disconnect ends every call, also one that waits for its host alone.
#[test]
fn a_disconnect_ends_calls_that_wait_for_the_host() {
    let mut config = config();
    config.hears = vec![Hearing::RequestMeta];
    let mut bench = Bench::modern(config);
    let asked = bench.begin_with(tool("x", json!({})), CallOptions::default());
    let (question, ..) = bench.question();
    bench.exit(ExitStatus::Code(0));
    assert!(bench.is_pending(&asked));
    bench.input(Input::Disconnect);
    assert!(matches!(bench.error(&asked).kind(), ErrorKind::Closed(CloseReason::Disconnected)));
    bench.reply(question, Answer::RequestMeta(Map::new()));
    assert!(!bench.watch.runs(), "nothing is launched for it");
}
