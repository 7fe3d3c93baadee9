//! Processes that die, are replaced, and are ended.

use std::fs;
use std::path::Path;
use std::time::Duration;

use mcp_proto::{
    CloseReason, ConnectionState, ErrorKind, ExitStatus, Outcome, TransportError,
};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use tempfile::tempdir;

use super::Stage;
use super::conversation::echo;
use crate::client::{Client, Setup, within};
use crate::logs;
use crate::processes::{is_running, wait_gone};
use crate::script::{Script, Step, Transcript, behind_shell, ignoring_term};

/// Long enough for a process to end on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A modern server that tells its pid to whoever calls a tool.
fn telling_pid() -> Script {
    Script::modern().repeat(100, Script::new().expect("tools/call").text("$pid.string"))
}

/// The pid that such a server tells.
fn pid_of(client: &Client) -> u32 {
    echo(client, "").parse().unwrap()
}

/// Ends a process as nobody can refuse to.
pub(super) fn kill(pid: u32) {
    let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    kill_process(pid, Signal::KILL).unwrap();
}

/// How the process ended that an error tells of.
fn status(kind: &ErrorKind) -> Option<ExitStatus> {
    match kind {
        ErrorKind::Transport(TransportError::Exited { status, .. }) => *status,
        other => panic!("{other:?}"),
    }
}

/// A command that writes its pid to a file, and then is the other one.
fn noting_pid(argv: Vec<String>, file: &Path) -> Vec<String> {
    let shell = format!("echo $$ > {}; exec \"$0\" \"$@\"", file.display());
    ["sh".to_owned(), "-c".to_owned(), shell].into_iter().chain(argv).collect()
}

fn noted_pid(file: &Path) -> u32 {
    fs::read_to_string(file).unwrap().trim().parse().unwrap()
}

/// M-STD-07, M-STD-08
pub fn a_server_that_was_killed_is_replaced_by_the_next_call(on: &Stage) {
    let folder = tempdir().unwrap();
    let seen = folder.path().join("transcript");
    let program = on.program(telling_pid()).transcript(&seen);
    let client = on.connect(program.argv(), Setup::new()).unwrap();
    let first = pid_of(&client);
    kill(first);
    let reason = client.closed();
    let CloseReason::Transport(TransportError::Exited { status, .. }) = reason else {
        panic!("{reason:?}");
    };
    assert_eq!(status, Some(ExitStatus::Signal(9)));
    assert!(matches!(client.state(), ConnectionState::Idle(CloseReason::Transport(_))));
    assert!(client.server().is_none());
    let launched = || Transcript::load(&seen).unwrap().count("server/discover");
    assert_eq!(launched(), 1, "nobody has called since");
    let second = pid_of(&client);
    assert_ne!(first, second);
    assert_eq!(launched(), 2);
    assert!(matches!(client.state(), ConnectionState::Ready));
    client.close();
    assert!(!is_running(first) && !is_running(second));
}

/// M-STD-07, M-ERR-08
pub fn what_was_sent_to_a_server_that_died_is_lost(on: &Stage) {
    let script = Script::modern()
        .expect("tools/call")
        .text("$pid.string")
        .repeat(2, Script::new().expect("tools/call"))
        .hang();
    let client = on.launch(script, Setup::new());
    let first = pid_of(&client);
    let lost: Vec<_> = (0..2).map(|_| client.begin("x", json!({})).unwrap()).collect();
    kill(first);
    for call in lost {
        let error = call.wait().unwrap_err();
        assert_eq!(status(error.kind()), Some(ExitStatus::Signal(9)));
        assert_eq!(error.outcome(), Outcome::Unknown, "it may have run");
        assert!(error.is_transport());
    }
    assert_ne!(pid_of(&client), first);
}

/// M-ERR-01
pub fn an_exit_is_told_with_its_status_and_last_words(on: &Stage) {
    let script = Script::modern()
        .stderr("starting up\n")
        .repeat(2, Script::new().expect("tools/call"))
        .stderr("first trouble\nfatal: disk full\n")
        .exit(7);
    let client = on.launch(script, Setup::new().with(|config| config.name = "the disk".to_owned()));
    let calls: Vec<_> = (0..2).map(|_| client.begin("x", json!({})).unwrap()).collect();
    for call in calls {
        let error = call.wait().unwrap_err();
        assert_eq!(status(error.kind()), Some(ExitStatus::Code(7)));
        let text = error.to_string();
        for part in ["`the disk`", "`tools/call`", "status 7", "fatal: disk full"] {
            assert!(text.contains(part), "{text}");
        }
    }
    client.close();
}

/// M-ERR-01, M-STD-03
pub fn a_server_that_dies_in_its_start_is_told_at_once(on: &Stage) {
    let script = Script::new().stderr("Error: API_KEY missing\n").exit(1);
    let error = on.connect(on.program(script).argv(), Setup::plain()).unwrap_err();
    assert_eq!(status(error.kind()), Some(ExitStatus::Code(1)));
    assert_eq!(error.outcome(), Outcome::NotSent);
    let text = error.to_string();
    assert!(text.contains("API_KEY missing") && text.contains("status 1"), "{text}");
    assert!(!error.is_timeout(), "the exit is told, not the time that it would have had");
}

/// M-TIME-11
pub fn a_start_that_takes_too_long_leaves_nothing(on: &Stage) {
    let folder = tempdir().unwrap();
    let pid = folder.path().join("pid");
    let script = Script::new().stderr("loading a model\n").expect("server/discover").hang();
    let argv = noting_pid(on.program(script).argv(), &pid);
    let setup = Setup::new().with(|config| config.start_timeout = Duration::from_secs(2));
    let error = on.connect(argv, setup).unwrap_err();
    let ErrorKind::Timeout(timeout) = error.kind() else { panic!("{error:?}") };
    assert_eq!((timeout.phase, timeout.after), (mcp_proto::Phase::Start, Duration::from_secs(2)));
    let text = error.to_string();
    assert!(text.contains("start") && text.contains("2s"), "{text}");
    assert!(text.contains("loading a model"), "{text}");
    assert!(wait_gone(noted_pid(&pid), PATIENCE));
}

/// M-STD-09
pub fn a_server_that_closes_its_output_has_ended(on: &Stage) {
    let script = Script::modern()
        .expect("tools/call")
        .text("$pid.string")
        .expect("tools/call")
        .close_stdout()
        .drain();
    let client = on.launch(script, Setup::new());
    let first = pid_of(&client);
    let error = client.call_tool("x", json!({})).unwrap_err();
    assert_eq!(status(error.kind()), None, "it still ran when the call was given up");
    assert_eq!(error.outcome(), Outcome::Unknown);
    let second = pid_of(&client);
    assert_ne!(first, second);
    assert!(!is_running(first));
    client.close();
}

/// M-STD-09
pub fn a_server_that_reads_no_more_fails_its_calls(on: &Stage) {
    let script = Script::modern().expect("tools/call").close_stdin().text("$pid.string").hang();
    let client = on.launch(script, Setup::new());
    let pid = pid_of(&client);
    // A child of another test may hold a copy of the pipe for the moment between its fork and its
    // exec, so that a write may still succeed.
    let error = loop {
        let options = within(Duration::from_secs(5));
        let error = client.call_tool_with("x", json!({}), options).unwrap_err();
        if !error.is_timeout() {
            break error;
        }
    };
    assert_eq!(status(error.kind()), None, "{error}");
    drop(client);
    assert!(wait_gone(pid, PATIENCE));
}

/// M-STD-05, M-STD-06
pub fn a_server_is_ended_step_by_step(on: &Stage) {
    let polite = Script::modern().expect("tools/call").text("$pid.string").drain();
    let deaf = || Script::modern().expect("tools/call").text("$pid.string").hang();
    let servers = [
        (on.program(polite).argv(), "status=Code(0)", Duration::ZERO),
        (on.program(deaf()).argv(), "status=Signal(15)", Duration::from_secs(2)),
        (ignoring_term(on.program(deaf()).argv()), "status=Signal(9)", Duration::from_secs(4)),
    ];
    let closing: Vec<_> = servers
        .into_iter()
        .map(|(argv, status, least)| {
            let setup = Setup::new();
            let name = setup.server_name().to_owned();
            let client = on.connect(argv, setup).unwrap();
            let pid = pid_of(&client);
            // Side by side, so that the waits of the steps are waited for once.
            let thread = std::thread::spawn(move || {
                let begin = std::time::Instant::now();
                client.close();
                assert!(!is_running(pid));
                logs::wait_for(&name, status);
                let took = begin.elapsed();
                assert!(took >= least, "{status} after {took:?}");
            });
            (thread, status)
        })
        .collect();
    for (thread, status) in closing {
        assert!(thread.join().is_ok(), "{status}");
    }
}

/// M-STD-05, M-CONN-01
pub fn nothing_is_left_of_a_server_behind_a_shell(on: &Stage) {
    let folder = tempdir().unwrap();
    for closes in [true, false] {
        let shell = folder.path().join(format!("pid-{closes}"));
        let argv = noting_pid(behind_shell(on.program(telling_pid()).argv()), &shell);
        let client = on.connect(argv, Setup::new()).unwrap();
        let server = pid_of(&client);
        let shell = noted_pid(&shell);
        assert_ne!(server, shell, "the server is a grandchild");
        assert!(is_running(server) && is_running(shell));
        if closes {
            client.close();
        }
        drop(client);
        assert!(wait_gone(server, PATIENCE) && wait_gone(shell, PATIENCE), "closed: {closes}");
    }
}

/// M-STD-07, M-CONN-01
pub fn a_grandchild_that_keeps_the_pipes_open_holds_up_nobody(on: &Stage) {
    let folder = tempdir().unwrap();
    let file = folder.path().join("pid");
    let script = Script::modern()
        .expect("tools/call")
        .step(Step::Grandchild { pid_file: Some(file.clone()), keeps_pipes: true })
        .text("$pid.string")
        .expect("tools/call")
        .exit(5);
    let client = on.launch(script, Setup::new());
    let first = pid_of(&client);
    let orphan = noted_pid(&file);
    assert!(is_running(orphan));
    let error = client.call_tool("x", json!({})).unwrap_err();
    assert_eq!(status(error.kind()), Some(ExitStatus::Code(5)), "{error}");
    assert_ne!(pid_of(&client), first);
    assert!(wait_gone(orphan, PATIENCE), "what is left of a dead server goes with it");
    let orphan = noted_pid(&file);
    client.close();
    assert!(wait_gone(orphan, PATIENCE));
}

/// M-CONN-01, M-TIME-09
pub fn closing_is_final_and_does_no_harm_twice(on: &Stage) {
    let client = on.launch(Script::modern().answer("tools/call").drain(), Setup::new());
    assert_eq!(echo(&client, "hi"), "hi");
    let open = client.begin("x", json!({})).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| client.close());
        }
    });
    let error = open.wait().unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Closed(CloseReason::Closed)), "{error:?}");
    client.close();
    assert_eq!(client.closed(), CloseReason::Closed);
    assert!(matches!(client.state(), ConnectionState::Closed(CloseReason::Closed)));
    let error = client.call_tool("x", json!({})).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Closed(_)), "{error:?}");
    assert_eq!(error.outcome(), Outcome::NotSent);
    client.disconnect();
    assert!(client.list_tools().is_err());
}

/// M-STD-08, M-BASE-10
pub fn a_rest_ends_the_process_and_the_next_call_begins_another(on: &Stage) {
    let client = on.launch(telling_pid(), Setup::new());
    let first = pid_of(&client);
    assert_eq!(pid_of(&client), first, "one process serves all calls");
    client.disconnect();
    assert_eq!(client.closed(), CloseReason::Disconnected);
    assert!(!is_running(first));
    let second = pid_of(&client);
    assert_ne!(first, second);
    client.disconnect();
    client.disconnect();
    let third = pid_of(&client);
    assert_ne!(second, third);
    assert!(!is_running(second), "two processes of one server are never alive at once");
    client.close();
    assert!(!is_running(third));
}

/// M-STD-07
pub fn a_stream_that_ends_is_not_connected_anew(on: &Stage) {
    let script = Script::modern().expect("tools/call").exit(0);
    let (client, playing) = on.play(script);
    let error = client.call_tool("x", json!({})).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Transport(TransportError::StreamEnded)));
    assert_eq!(error.outcome(), Outcome::Unknown);
    let reason = client.closed();
    assert_eq!(reason, CloseReason::Transport(TransportError::StreamEnded));
    let error = client.call_tool("x", json!({})).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Closed(_)), "{error:?}");
    assert_eq!(error.outcome(), Outcome::NotSent);
    playing.finish().check();
}
