//! Server processes: how they are launched, and that nothing is left of them.
#![cfg(unix)]

use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use mcp_runtime_common::proto::{Command, ExitStatus, StderrPolicy};
use mcp_runtime_common::{Launched, Process, launch, set_nonblocking};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, WaitId, WaitIdOptions, pidfd_open, waitid};

/// Nothing here takes this long, unless it hangs.
const LONG: Duration = Duration::from_secs(60);

fn sh(script: &str) -> Command {
    Command::new("sh").args(["-c", script])
}

fn run(command: &Command) -> Launched {
    launch(command).unwrap_or_else(|failure| panic!("{command:?}: {failure:?}"))
}

fn readable(fd: impl AsFd, time: Duration) -> bool {
    let time = Timespec::try_from(time).unwrap();
    poll(&mut [PollFd::new(&fd, PollFlags::IN)], Some(&time)).unwrap() > 0
}

/// Whether the process ends; a zombie that waits for a parent which is not this program counts.
fn ends(pid: Pid) -> bool {
    match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(fd) => readable(fd, LONG),
        Err(error) => error == Errno::SRCH,
    }
}

fn pid_of(process: &Process) -> Pid {
    Pid::from_raw(process.pid().cast_signed()).unwrap()
}

/// Whether it becomes neither running nor a zombie, as far as this program is concerned. On a busy
/// machine a thread may reap it after the drop.
fn is_reaped(pid: Pid) -> bool {
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    let begin = Instant::now();
    while begin.elapsed() < LONG {
        if matches!(waitid(WaitId::Pid(pid), look), Err(Errno::CHILD)) {
            return true;
        }
        std::thread::yield_now();
    }
    false
}

/// Drops servers until a drop takes less than 150 ms: on a busy machine the scheduler adds its
/// own. Nothing may be left of any of them.
fn drops_in_time(mut launch: impl FnMut() -> Launched) {
    let mut in_time = || {
        let server = launch();
        let pid = pid_of(&server.process);
        let begin = Instant::now();
        drop(server);
        let took = begin.elapsed();
        assert!(is_reaped(pid));
        took < Duration::from_millis(150)
    };
    assert!((0..10).any(|_| in_time()));
}

/// The next line that the server writes, which is a process's number.
fn read_pid(stdout: &mut impl BufRead) -> Pid {
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    Pid::from_raw(line.trim().parse().unwrap()).unwrap()
}

/// M-STD-10
#[test]
fn arguments_environment_and_directory_arrive_byte_by_byte() {
    let dir = tempfile::tempdir().unwrap();
    let hard = ["a b", "c\"d", "", "%PATH%", "$HOME", "*", "é\n\\", "-"];
    let command = sh("cat /proc/$$/cmdline; printf '%s|' \"$X\" \"$HOME\"; pwd -P")
        .arg("zero")
        .args(hard)
        .env("X", "a \"b\" $HOME\n=é")
        .dir(dir.path());
    let mut server = run(&command);
    let mut out = String::new();
    server.stdout.read_to_string(&mut out).unwrap();

    let argv: String = std::iter::once(&command.program)
        .chain(&command.args)
        .flat_map(|word| [word.as_str(), "\0"])
        .collect();
    let home = std::env::var("HOME").unwrap_or_default();
    let dir = dir.path().canonicalize().unwrap();
    let rest = format!("a \"b\" $HOME\n=é|{home}|{}\n", dir.display());
    assert_eq!(out, argv + &rest);
    assert_eq!(
        server.process.reap_within(LONG),
        Some(ExitStatus::Code(0)),
        "the host's environment is kept, and variables are added to it"
    );
}

#[test]
fn a_relative_program_is_found_from_the_directory_of_the_host() {
    let depth = std::env::current_dir().unwrap().components().count();
    let program = format!("{}bin/sh", "../".repeat(depth - 1));
    // So deep that the same path leads nowhere from there.
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("d/".repeat(depth + 1));
    std::fs::create_dir_all(&dir).unwrap();
    for command in [
        Command::new(&program),
        Command::new(&program).dir(dir),
        Command::new("sh").dir(root.path()),
    ] {
        let mut server = run(&command);
        writeln!(server.stdin, "exit 7").unwrap();
        let status = server.process.reap_within(LONG);
        assert_eq!(status, Some(ExitStatus::Code(7)), "{command:?}");
    }
}

#[test]
fn a_path_of_the_commands_own_is_the_one_that_is_searched() {
    let dir = tempfile::tempdir().unwrap();
    let own = dir.path().join("own-server");
    std::os::unix::fs::symlink("/bin/sh", &own).unwrap();
    let (own, dir) = (Command::new("own-server"), dir.path().to_str().unwrap());
    assert_eq!(launch(&own).unwrap_err().kind, "NotFound");
    let mut server = run(&own.env("PATH", format!("/no/such:{dir}:/bin")));
    writeln!(server.stdin, "exit 7").unwrap();
    let status = server.process.reap_within(LONG);
    assert_eq!(status, Some(ExitStatus::Code(7)));

    let failure = launch(&sh("true").env("PATH", dir)).unwrap_err();
    assert!(failure.text.contains("in PATH"), "{failure:?}");
}

/// M-STD-03
#[test]
fn stderr_is_captured_unless_the_host_says_otherwise() {
    let command = sh("echo words >&2; readlink /proc/$$/fd/2");
    let mut server = run(&command);
    let mut words = String::new();
    let mut stderr = server.stderr.take().unwrap();
    stderr.read_to_string(&mut words).unwrap();
    assert_eq!(words, "words\n");

    let own = std::fs::read_link("/proc/self/fd/2").unwrap();
    for (policy, target) in
        [(StderrPolicy::Null, "/dev/null"), (StderrPolicy::Inherit, own.to_str().unwrap())]
    {
        let mut server = run(&sh("readlink /proc/$$/fd/2").stderr(policy));
        assert!(server.stderr.is_none());
        let mut out = String::new();
        server.stdout.read_to_string(&mut out).unwrap();
        assert_eq!(out.trim_end(), target);
    }
}

#[test]
fn failures_to_launch_say_what_can_be_done() {
    let dir = tempfile::tempdir().unwrap();
    let script = dir.path().join("script");
    std::fs::write(&script, "#!/no/such/interpreter\n").unwrap();
    let script = script.to_str().unwrap();
    let failure = |command: Command| launch(&command).expect_err("it cannot run");

    let cases = [
        (Command::new(script), "PermissionDenied", "ermission denied"),
        (Command::new("no-such-mcp-server"), "NotFound", "in PATH"),
        (Command::new("/no/such/server"), "NotFound", "No such file"),
        (sh("true").dir("/no/such/dir"), "NotFound", "/no/such/dir"),
        (sh("true").env("A=B", "c"), "InvalidInput", "\"A=B\""),
        (sh("true").env("", "c"), "InvalidInput", "\"\""),
        (sh("true").arg("a\0b"), "InvalidInput", "nul byte"),
        (Command::new(""), "NotFound", ""),
    ];
    for (command, kind, text) in cases {
        let failure = failure(command.clone());
        assert_eq!(failure.kind, kind, "{command:?}");
        assert!(failure.text.contains(text), "{command:?}: {failure:?}");
    }

    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(script, executable).unwrap();
    let failure = failure(Command::new(script));
    assert!(failure.text.contains("interpreter"), "{failure:?}");
}

#[test]
fn the_exit_descriptor_tells_of_the_end_and_the_status_stays() {
    let mut server = run(&sh("read line; exit 3"));
    assert!(!readable(&server.exit, Duration::ZERO));
    assert_eq!(server.process.try_reap(), None);
    drop(server.stdin);
    assert!(readable(&server.exit, LONG));
    for _ in 0..2 {
        assert_eq!(server.process.try_reap(), Some(ExitStatus::Code(3)));
        // The number may belong to somebody else by now.
        server.process.terminate();
        server.process.kill();
    }

    let mut server = run(&Command::new("cat"));
    server.process.terminate();
    assert!(readable(&server.exit, LONG));
    assert_eq!(server.process.try_reap(), Some(ExitStatus::Signal(15)));

    let mut server = run(&Command::new("cat"));
    server.process.kill();
    let status = server.process.reap_within(LONG);
    assert_eq!(status, Some(ExitStatus::Signal(9)));
}

/// M-STD-05
#[test]
fn signals_reach_the_whole_group() {
    for kill in [false, true] {
        let mut server = run(&sh("sleep 1000 & echo $!; wait"));
        let grandchild = read_pid(&mut BufReader::new(&mut server.stdout));
        if kill {
            server.process.kill();
        } else {
            server.process.terminate();
        }
        assert!(ends(grandchild));
        let signal = ExitStatus::Signal(if kill { 9 } else { 15 });
        assert_eq!(server.process.reap_within(LONG), Some(signal));
    }
}

#[test]
fn grandchildren_do_not_outlive_the_leader() {
    let mut server = run(&sh("trap '' TERM; sleep 1000 & echo $!; exit 5"));
    let grandchild = read_pid(&mut BufReader::new(&mut server.stdout));
    assert!(readable(&server.exit, LONG));
    assert_eq!(server.process.try_reap(), Some(ExitStatus::Code(5)));
    assert!(ends(grandchild));
}

#[test]
fn a_drop_ends_what_ignores_everything() {
    let script = "trap '' TERM; sleep 1000 & echo $!; while :; do wait; done";
    let mut grandchildren = Vec::new();
    drops_in_time(|| {
        let mut server = run(&sh(script));
        grandchildren.push(read_pid(&mut BufReader::new(&mut server.stdout)));
        server
    });
    assert!(grandchildren.into_iter().all(ends));
}

#[test]
fn a_drop_in_any_state_leaves_nothing() {
    let cat = || run(&Command::new("cat"));
    drops_in_time(cat);
    drops_in_time(|| {
        let mut killed = cat();
        killed.process.kill();
        killed
    });
    drops_in_time(|| {
        let mut ended = run(&sh("exit 1"));
        assert!(readable(&ended.exit, LONG));
        ended.process.terminate();
        ended
    });
    drops_in_time(|| {
        let mut reaped = run(&sh("exit 1"));
        assert!(reaped.process.reap_within(LONG).is_some());
        reaped
    });
    // Without a runtime, on another thread, while it panics.
    let server = cat();
    let pid = pid_of(&server.process);
    let thread = std::thread::spawn(move || {
        let _server = server;
        panic!("as a host may");
    });
    assert!(thread.join().is_err());
    assert!(is_reaped(pid));
}

#[test]
fn an_exit_that_somebody_else_has_reaped_has_no_status() {
    let mut server = run(&sh("sleep 1000 & echo $!; exit 5"));
    let grandchild = read_pid(&mut BufReader::new(&mut server.stdout));
    let pid = pid_of(&server.process);
    waitid(WaitId::Pid(pid), WaitIdOptions::EXITED).unwrap();
    assert!(readable(&server.exit, LONG));
    assert_eq!(server.process.try_reap(), Some(ExitStatus::Unknown));
    assert!(ends(grandchild), "its group is killed all the same");
    assert_eq!(server.process.try_reap(), Some(ExitStatus::Unknown));
}

/// Ignored signals are inherited, so this program runs once more below one that ignores it.
#[cfg(target_os = "linux")]
#[test]
fn a_host_may_ignore_sigchld() {
    let me = std::env::current_exe().unwrap();
    let status = std::process::Command::new("env")
        .arg("--ignore-signal=CHLD")
        .arg(me)
        .args(["--exact", "below_a_host_that_ignores_sigchld", "--ignored"])
        .stdout(std::process::Stdio::null())
        .status();
    assert!(status.unwrap().success());
}

#[test]
#[ignore = "a_host_may_ignore_sigchld runs it"]
fn below_a_host_that_ignores_sigchld() {
    for _ in 0..20 {
        // Some are gone before anybody can look at them.
        let mut server = run(&Command::new("true"));
        assert!(readable(&server.exit, LONG));
        assert_eq!(server.process.try_reap(), Some(ExitStatus::Unknown));
    }
    let mut server = run(&sh("sleep 1000 & echo $!; wait"));
    let grandchild = read_pid(&mut BufReader::new(&mut server.stdout));
    assert_eq!(server.process.try_reap(), None);
    server.process.kill();
    assert!(ends(grandchild));
    assert_eq!(server.process.reap_within(LONG), Some(ExitStatus::Unknown));
    drop(run(&Command::new("cat")));

    let missing = Command::new("no-such-mcp-server").dir("/");
    for command in [missing.clone(), missing.env("PATH", "/bin")] {
        assert_eq!(launch(&command).unwrap_err().kind, "NotFound");
    }
}

#[test]
fn non_blocking_pipes_return_at_once() {
    let mut server = run(&Command::new("cat"));
    set_nonblocking(&server.stdout).unwrap();
    let nothing = server.stdout.read(&mut [0; 1]).unwrap_err();
    assert_eq!(nothing.kind(), std::io::ErrorKind::WouldBlock);
}
