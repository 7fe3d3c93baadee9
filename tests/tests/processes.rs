//! The programs `demo` and `scripted` as child processes.

#![cfg(target_os = "linux")]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, ChildStdout, Command, ExitStatus, Output, Stdio};
use std::time::Duration;

use mcp_tests::processes::{is_running, wait_gone};
use mcp_tests::script::{
    Ending, Program, Script, Sink, Step, Transcript, behind_shell, ignoring_term,
};
use serde_json::{Value, json};

const SCRIPTED: &str = env!("CARGO_BIN_EXE_scripted");
const DEMO: &str = env!("CARGO_BIN_EXE_demo");

fn spawn(argv: &[String]) -> Child {
    Command::new(&argv[0])
        .args(&argv[1..])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Plays a script for a client that writes the input and closes its end.
fn play(script: Script, input: &str) -> Output {
    let mut child = spawn(&Program::new(SCRIPTED, script).argv());
    // The script may end before it has read everything.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

fn first_line(child: &mut Child) -> (BufReader<ChildStdout>, Value) {
    let mut reader = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    let value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line:?}"));
    (reader, value)
}

/// Sends a signal by the shell's own `kill`, whose status tells whether there is such a process.
fn kill(signal: &str, pid: u64) -> bool {
    let line = format!("kill -{signal} {pid}");
    let status = Command::new("sh").args(["-c", &line]).stderr(Stdio::null()).status();
    status.unwrap().success()
}

const REQUEST: &str = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"}\n";

#[test]
fn a_script_plays_over_the_standard_streams() {
    let script = Script::new().expect("a").bytes(b"\xff\n").result("{}").stderr("a word\n").exit(5);
    let output = play(script, REQUEST);
    assert_eq!(output.status.code(), Some(5));
    assert_eq!(output.stdout, b"\xff\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
    assert_eq!(output.stderr, b"a word\n");
}

#[test]
fn the_exit_status_tells_a_failed_play() {
    let output = play(Script::new().expect("b"), REQUEST);
    assert_eq!(output.status.code(), Some(97));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("expected `b`"), "{stderr}");
    assert_eq!(play(Script::new(), REQUEST).status.code(), Some(0));
    assert_eq!(play(Script::new().gate("go"), "").status.code(), Some(97));
    let mut deserted =
        spawn(&Program::new(SCRIPTED, Script::new().filler(Sink::Stdout, b'x', 1 << 20)).argv());
    drop(deserted.stdout.take());
    assert_eq!(deserted.wait().unwrap().code(), Some(96));
}

#[test]
fn a_command_line_that_makes_no_sense_is_refused() {
    for arguments in
        [&[][..], &["--inline"], &["--inline", "{}"], &["--script", "/none"], &["-x", "y"]]
    {
        let output = Command::new(SCRIPTED).args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(!output.stderr.is_empty());
    }
}

#[test]
fn a_script_may_come_from_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("script.json");
    let script = Script::new().expect("a").exit(4);
    fs::write(&path, serde_json::to_string(&script).unwrap()).unwrap();
    let argv = [SCRIPTED.to_owned(), "--script".to_owned(), path.display().to_string()];
    let mut child = spawn(&argv);
    child.stdin.take().unwrap().write_all(REQUEST.as_bytes()).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(4));
}

#[test]
fn the_server_can_tell_how_it_was_started() {
    let script = Script::new().expect("a").result(r#"[$argv,$env.SCRIPTED_WORD,$cwd,$pid]"#);
    let arguments = ["a b", "c\"d", "", "%PATH%", "--", "$id"];
    let argv = Program::new(SCRIPTED, script).arguments(arguments).argv();
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().canonicalize().unwrap();
    let mut child = Command::new(&argv[0])
        .args(&argv[1..])
        .env("SCRIPTED_WORD", "wörd")
        .current_dir(&folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(REQUEST.as_bytes()).unwrap();
    let (_, answer) = first_line(&mut child);
    let expected = json!([arguments, "wörd", folder.to_str().unwrap(), child.id()]);
    assert_eq!(answer["result"], expected);
    assert!(child.wait().unwrap().success());
}

#[test]
fn the_command_line_survives_a_shell() {
    let script = Script::new().expect("a").result("$argv").exit(0);
    let line = Program::new(SCRIPTED, script).arguments(["it's", "a \"b\""]).line();
    let mut child = spawn(&["sh".to_owned(), "-c".to_owned(), line]);
    child.stdin.take().unwrap().write_all(REQUEST.as_bytes()).unwrap();
    assert_eq!(first_line(&mut child).1["result"], json!(["it's", "a \"b\""]));
    child.wait().unwrap();
}

#[test]
fn what_was_received_is_in_the_transcript_also_after_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("transcript");
    let script = Script::new().expect("a").result("$pid").hang();
    let argv = Program::new(SCRIPTED, script).transcript(&path).argv();
    let mut child = spawn(&argv);
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(REQUEST.as_bytes()).unwrap();
    let (_reader, answer) = first_line(&mut child);
    assert!(kill("KILL", answer["result"].as_u64().unwrap()));
    assert_eq!(child.wait().unwrap().signal(), Some(9));
    let transcript = Transcript::load(&path).unwrap();
    assert_eq!(transcript.methods(), ["a"]);
    assert_eq!(transcript.ending(), None);

    let argv = Program::new(SCRIPTED, Script::new()).transcript(&path).argv();
    let mut child = spawn(&argv);
    child.stdin.take().unwrap().write_all(b"\xff\n").unwrap();
    assert!(child.wait().unwrap().success());
    let transcript = Transcript::load(&path).unwrap();
    assert_eq!(transcript.lines(), [REQUEST.as_bytes(), b"\xff\n"], "appended");
    assert_eq!(transcript.ending(), Some(&Ending::Finished));
}

#[test]
fn a_server_dies_by_the_signal_of_the_script() {
    let status = |script| -> ExitStatus { play(script, "").status };
    assert_eq!(status(Script::new().die_by(9)).signal(), Some(9));
    assert_eq!(status(Script::new().die_by(15)).signal(), Some(15));
    assert_eq!(status(Script::new().abort()).signal(), Some(6));
}

#[test]
fn a_server_can_close_one_of_its_streams_and_live() {
    let script = Script::new().close_stdout().expect("a").exit(7);
    let mut child = spawn(&Program::new(SCRIPTED, script).argv());
    let mut rest = Vec::new();
    child.stdout.take().unwrap().read_to_end(&mut rest).unwrap();
    assert_eq!(rest, b"", "the end of the stream, while the process waits for input");
    child.stdin.take().unwrap().write_all(REQUEST.as_bytes()).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(7));

    let script = Script::new().close_stdin().send("1").hang();
    let mut child = spawn(&Program::new(SCRIPTED, script).argv());
    let (_reader, closed) = first_line(&mut child);
    assert_eq!(closed, 1);
    // Another test's child may hold a copy of the pipe for the moment between its fork and its
    // exec, so that the first writes may still succeed.
    let mut stdin = child.stdin.take().unwrap();
    let error = loop {
        if let Err(error) = stdin.write_all(b"x") {
            break error;
        }
    };
    assert_eq!(error.kind(), std::io::ErrorKind::BrokenPipe);
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_grandchild_outlives_the_server_and_can_be_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pid");
    let script = Script::new()
        .step(Step::Grandchild { pid_file: Some(path.clone()), keeps_pipes: false })
        .grandchild()
        .send("$grandchild")
        .exit(0);
    let output = play(script, "");
    let stdout = String::from_utf8(output.stdout).unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    let first: u64 = fs::read_to_string(&path).unwrap().parse().unwrap();
    let second: u64 = stdout.trim().parse().unwrap();
    assert_eq!(stderr, format!("grandchild {second}\n"));
    assert_ne!(first, second);
    for pid in [first, second] {
        let pid = u32::try_from(pid).unwrap();
        assert!(is_running(pid));
        assert!(kill("KILL", u64::from(pid)));
        assert!(wait_gone(pid, Duration::from_secs(30)));
    }
}

#[test]
fn a_grandchild_may_keep_the_pipes_open() {
    let script = Script::new()
        .step(Step::Grandchild { pid_file: None, keeps_pipes: true })
        .send("$grandchild")
        .exit(0);
    let mut child = spawn(&Program::new(SCRIPTED, script).argv());
    let (mut reader, pid) = first_line(&mut child);
    assert!(child.wait().unwrap().success());
    // Its stdout ends only with the grandchild: read in another thread, this is still waiting.
    let reading = std::thread::spawn(move || reader.read_to_end(&mut Vec::new()).unwrap());
    assert!(kill("KILL", pid.as_u64().unwrap()));
    assert_eq!(reading.join().unwrap(), 0);
}

#[test]
fn a_shell_makes_it_deaf_to_sigterm() {
    let script = Script::new().send("$pid").drain().exit(3);
    let mut child = spawn(&ignoring_term(Program::new(SCRIPTED, script).argv()));
    let (_reader, pid) = first_line(&mut child);
    assert_eq!(pid, child.id(), "the shell has become the server");
    assert!(kill("TERM", u64::from(child.id())));
    drop(child.stdin.take());
    assert_eq!(child.wait().unwrap().code(), Some(3), "it lived to see its input end");
}

#[test]
fn a_shell_in_front_passes_everything_on() {
    let script = Script::new().expect("a").result("$pid").drain();
    let mut child = spawn(&behind_shell(Program::new(SCRIPTED, script).argv()));
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(REQUEST.as_bytes()).unwrap();
    let (mut reader, answer) = first_line(&mut child);
    let pid = answer["result"].as_u64().unwrap();
    assert_ne!(pid, u64::from(child.id()), "the server is a grandchild");
    drop(stdin);
    assert_eq!(reader.read_to_end(&mut Vec::new()).unwrap(), 0);
    assert!(child.wait().unwrap().success());
}

#[test]
fn the_demo_server_is_a_program() {
    let argv = [DEMO, "stdio", "--era", "legacy", "--page-size", "1"];
    let argv: Vec<String> = argv.map(str::to_owned).to_vec();
    let mut child = spawn(&argv);
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n").unwrap();
    assert_eq!(first_line(&mut child).1["result"], json!({}));
    drop(stdin);
    assert!(child.wait().unwrap().success(), "it ends with its input");

    let output = Command::new(DEMO).args(["http", "port"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stderr).unwrap().contains("a port is a number"));
}
