//! However a client ends, nothing is left of its server, and nobody waits for long.

mod support;

use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use mcp_runtime_blocking::proto::op::Ping;
use mcp_runtime_blocking::proto::{
    CloseReason, ConnectionState, ExitStatus, Outcome, Phase, TransportError,
};
use mcp_runtime_blocking::{Background, Client, Command, ErrorKind};
use mcp_tests::processes::{is_running, wait_gone};
use mcp_tests::script::{Script, Sink, behind_shell, ignoring_term};
use serde_json::json;
use support::{BACKGROUNDS, argv, command, connect, demo, echo, pid, serve, slow, telling_its_pid};

/// How long a drop may take.
const DROP: Duration = Duration::from_millis(150);
/// How long a test waits for what has to happen anyway.
const LONG: Duration = Duration::from_secs(30);

#[test]
fn server() {
    serve();
}

/// A server that neither reads nor ends by itself: it has to be killed.
fn stubborn() -> Script {
    Script::modern().expect("tools/call").text("$pid.string").hang()
}

/// Drops a client that this makes, at most three times: the machine may be busy.
fn drops_in_time(mut make: impl FnMut() -> (Client, Vec<u32>)) {
    let mut times = Vec::new();
    for _ in 0..3 {
        let (client, pids) = make();
        times.push(support::time(|| drop(client)));
        let left: Vec<_> = pids.iter().filter(|pid| is_running(**pid)).collect();
        assert!(left.is_empty(), "{left:?} are left");
        if times.last().is_some_and(|time| *time < DROP) {
            return;
        }
    }
    panic!("the drops took {times:?}");
}

#[test]
fn a_drop_kills_a_server_that_does_not_go() {
    for background in BACKGROUNDS {
        drops_in_time(|| {
            let client = connect(background, command(ignoring_term(argv()), &stubborn()));
            let pid = pid(&client);
            (client, vec![pid])
        });
    }
}

#[test]
fn a_drop_ends_what_a_shell_has_started() {
    drops_in_time(|| {
        let client = connect(Background::Helper, command(behind_shell(argv()), &telling_its_pid()));
        let server = pid(&client);
        let stat = std::fs::read_to_string(format!("/proc/{server}/stat")).unwrap();
        let shell = stat.rsplit(')').next().unwrap().split_whitespace().nth(1).unwrap();
        assert_ne!(shell, std::process::id().to_string());
        (client, vec![server, shell.parse().unwrap()])
    });
}

#[test]
fn a_close_ends_what_a_shell_has_started() {
    let client = connect(Background::Helper, command(behind_shell(argv()), &telling_its_pid()));
    let server = pid(&client);
    client.close();
    assert!(wait_gone(server, LONG));
}

/// The first launch is a good server; the second says that it runs, and nothing else.
#[test]
fn a_drop_during_the_handshake_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (mark, fifo) = (folder.path().join("mark"), folder.path().join("fifo"));
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let script = format!(
        r#"if [ -e '{mark}' ]; then echo $$ > '{fifo}'; exec sleep 300; fi; : > '{mark}'; exec "$0" "$@""#,
        mark = mark.display(),
        fifo = fifo.display()
    );
    drops_in_time(|| {
        let _ = std::fs::remove_file(&mark);
        let mut line = vec!["sh".into(), "-c".into(), script.clone()];
        line.extend(argv());
        let client = connect(Background::Helper, command(line, &Script::new().answer_rest()));
        client.disconnect();
        assert_eq!(client.closed(), CloseReason::Disconnected);
        let pending = client.begin(Ping).unwrap();
        let pid = std::fs::read_to_string(&fifo).unwrap().trim().parse().unwrap();
        assert!(is_running(pid));
        assert_eq!(client.state(), ConnectionState::Starting);
        drop(pending);
        (client, vec![pid])
    });
}

#[test]
fn a_connect_that_fails_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pid");
    let script = format!("echo $$ > '{}'; exec sleep 300", file.display());
    for background in BACKGROUNDS {
        let builder = Client::builder().background(background);
        let builder = builder.start_timeout(Duration::from_millis(300));
        let error = builder.connect(["sh", "-c", &script]).unwrap_err();
        let ErrorKind::Timeout(timeout) = error.kind() else { panic!("{error}") };
        assert_eq!(timeout.phase, Phase::Start);
        let pid = std::fs::read_to_string(&file).unwrap().trim().parse().unwrap();
        assert!(!is_running(pid));
    }
    assert!(Client::connect("").is_err());
    let error = Client::connect(Command::new("/nowhere/to/be/found")).unwrap_err();
    assert!(error.to_string().contains("/nowhere/to/be/found"), "{error}");
}

#[test]
fn a_panic_of_the_caller_leaves_nothing() {
    let (send, receive) = channel();
    let caller = thread::spawn(move || {
        let client = connect(Background::Helper, command(argv(), &stubborn()));
        send.send(pid(&client)).unwrap();
        panic!("the caller's own");
    });
    let pid = receive.recv().unwrap();
    assert!(caller.join().is_err());
    assert!(!is_running(pid));
}

#[test]
fn a_killed_server_is_noticed_and_started_again_by_the_next_call() {
    for background in BACKGROUNDS {
        let client = connect(background, command(argv(), &telling_its_pid()));
        let first = pid(&client);
        let killed = rustix::process::Pid::from_raw(first.cast_signed()).unwrap();
        rustix::process::kill_process(killed, rustix::process::Signal::KILL).unwrap();
        let reason = client.closed();
        let CloseReason::Transport(TransportError::Exited { status, .. }) = reason else {
            panic!("{reason}");
        };
        assert_eq!(status, Some(ExitStatus::Signal(9)));
        assert!(matches!(client.state(), ConnectionState::Idle(_)));
        let second = pid(&client);
        assert_ne!(first, second);
        echo(&client, "again");
        client.close();
        assert!(!is_running(second));
    }
}

#[test]
fn a_call_fails_with_its_server() {
    let script = Script::modern().expect("tools/call").stderr("out of luck\n").exit(3);
    for background in BACKGROUNDS {
        let client = connect(background, command(argv(), &script));
        let error = client.call_tool("echo", json!({ "message": "x" })).unwrap_err();
        assert_eq!(error.outcome(), Outcome::Unknown);
        let text = error.to_string();
        assert!(text.contains("status 3") && text.contains("out of luck"), "{text}");
    }
}

#[test]
fn closing_twice_and_at_once_ends_calls_and_server_once() {
    for background in BACKGROUNDS {
        let client = connect(background, command(argv(), &telling_its_pid()));
        let server = pid(&client);
        let (send, receive) = channel();
        thread::scope(|scope| {
            let call = scope.spawn(|| {
                let endless = slow(json!({ "steps": 1, "until_cancelled": true }));
                let options = mcp_runtime_blocking::CallOptions::new()
                    .on_progress(move |_| send.send(()).unwrap());
                client.run(endless, options)
            });
            receive.recv().unwrap();
            for _ in 0..4 {
                scope.spawn(|| {
                    client.close();
                    assert!(!is_running(server));
                });
            }
            let error = call.join().unwrap().unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::Closed(_)), "{error}");
        });
        client.close();
        assert_eq!(client.closed(), CloseReason::Closed);
        let error = client.ping().unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Closed(_)), "{error}");
    }
}

/// M-STD: stdin is closed, SIGTERM follows after 2 s, and the rest is not needed.
#[test]
fn a_close_is_bounded_although_the_server_does_not_read() {
    let client = connect(Background::Never, command(argv(), &stubborn()));
    let server = pid(&client);
    let took = support::time(|| client.close());
    assert!(!is_running(server));
    assert!(took >= Duration::from_secs(2), "it was given time: {took:?}");
}

/// Pings are answered, stderr is drained and an exit is seen while nobody calls.
#[test]
fn the_helper_works_between_calls() {
    let script = Script::legacy("2025-11-25")
        .answer("tools/list")
        .filler(Sink::Stderr, b'x', 1 << 20)
        .ask(r#""p""#, "ping", "{}")
        .expect_response(r#""p""#)
        .exit(7);
    let client = connect(Background::Helper, command(argv(), &script));
    assert!(!client.list_tools().unwrap().is_empty());
    let reason = client.closed();
    let CloseReason::Transport(TransportError::Exited { status, stderr, .. }) = reason else {
        panic!("{reason}");
    };
    assert_eq!(status, Some(ExitStatus::Code(7)));
    assert!(stderr.ends_with("xxx"));
}

#[test]
fn a_pending_call_keeps_the_client_alive() {
    let client = connect(Background::Helper, demo());
    let pending = client.begin(slow(json!({ "steps": 2 }))).unwrap();
    let cancel = pending.cancel_handle();
    drop(client);
    assert_eq!(pending.wait().unwrap().text(), "Done after 2 steps.");
    cancel.cancel();
}
