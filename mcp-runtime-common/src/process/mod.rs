//! Launching server processes, the same way for every adapter.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Stdio};
use std::time::Duration;

use mcp_proto::{Command, IoFailure, StderrPolicy};
#[cfg(unix)]
use rustix::io::Errno;

#[cfg(unix)]
pub use unix::{Process, read_now, set_nonblocking};
#[cfg(windows)]
pub use windows::Process;

/// How long dropping a [`Process`] waits for the server to end by itself.
pub const DROP_GRACE: Duration = Duration::from_millis(100);

/// After SIGKILL a process is gone within microseconds, unless the kernel itself holds it up: then
/// nobody waits for it.
const KILL_GRACE: Duration = Duration::from_millis(20);

/// A server process that runs, and the ends of its pipes.
///
/// The fields are dropped in this order: stdin closes first, which is how a server learns that it
/// is no longer wanted, and dropping the process then waits a little for it.
#[derive(Debug)]
pub struct Launched {
    /// Where the server reads messages from.
    pub stdin: ChildStdin,
    /// Where it writes them to.
    pub stdout: ChildStdout,
    /// Where it writes what is for people, if that is captured. It must be read all the time, or
    /// the server stops when the pipe is full.
    pub stderr: Option<ChildStderr>,
    /// Becomes readable when the process has ended: time for [`Process::try_reap`]. Do not read
    /// from it.
    #[cfg(unix)]
    pub exit: std::os::fd::OwnedFd,
    /// The process.
    pub process: Process,
}

/// Launches a server: no shell, a process group of its own, pipes for its stdin and stdout.
///
/// A variable `PATH` in the command's environment is the one in which the program is looked up.
///
/// # Errors
/// When the process cannot be launched. The text says what a person can do about it.
pub fn launch(command: &Command) -> Result<Launched, IoFailure> {
    start(command).map_err(|error| IoFailure {
        kind: format!("{:?}", error.kind()),
        text: explain(command, &error),
    })
}

fn start(command: &Command) -> io::Result<Launched> {
    check_env(command)?;
    let mut child = std::process::Command::new(program(command)?);
    child.args(&command.args).envs(&command.env);
    if let Some(dir) = &command.dir {
        child.current_dir(dir);
    }
    child.stdin(Stdio::piped()).stdout(Stdio::piped());
    child.stderr(match command.stderr {
        StderrPolicy::Capture => Stdio::piped(),
        StderrPolicy::Inherit => Stdio::inherit(),
        StderrPolicy::Null => Stdio::null(),
    });
    Process::spawn(&mut child)
}

/// The program as the system is to be asked for it. A relative path means a file below the host's
/// directory; the system would look for it below the server's.
fn program(command: &Command) -> io::Result<PathBuf> {
    let program = Path::new(&command.program);
    if is_path(command) {
        return match command.dir {
            Some(_) => std::path::absolute(program),
            None => Ok(program.to_path_buf()),
        };
    }
    match command.env.get("PATH") {
        // The standard library forks for a PATH of the command's own, which is slow, and panics if
        // the program is missing and the host ignores SIGCHLD.
        #[cfg(unix)]
        Some(path) => std::env::split_paths(path)
            .filter_map(|dir| std::path::absolute(dir.join(program)).ok())
            .find(|file| unix::is_executable(file))
            .ok_or_else(|| Errno::NOENT.into()),
        _ => Ok(program.to_path_buf()),
    }
}

fn is_path(command: &Command) -> bool {
    command.program.contains(std::path::is_separator)
}

/// The standard library would hand on a name with `=` as a shorter name and a longer value.
fn check_env(command: &Command) -> io::Result<()> {
    let wrong = |name: &&String| name.is_empty() || name.contains('=');
    command.env.keys().find(wrong).map_or(Ok(()), |name| {
        let text = format!("an environment variable cannot be named {name:?}");
        Err(io::Error::new(io::ErrorKind::InvalidInput, text))
    })
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.reap_within(DROP_GRACE).is_none() {
            self.kill();
            if self.reap_within(KILL_GRACE).is_none() {
                self.leave_to_thread();
            }
        }
    }
}

/// "Not found" may mean three things, of which the system does not say which.
fn explain(command: &Command, error: &io::Error) -> String {
    if error.kind() != io::ErrorKind::NotFound {
        return error.to_string();
    }
    match &command.dir {
        Some(dir) if !dir.is_dir() => {
            format!("{error}: there is no working directory {}", dir.display())
        }
        _ if !is_path(command) => {
            format!("{error}: no program of this name is in PATH; is it installed?")
        }
        _ if Path::new(&command.program).is_file() => {
            format!("{error}: the program is there, but not the interpreter that it asks for")
        }
        _ => error.to_string(),
    }
}

fn pipes(child: &mut Child) -> io::Result<(ChildStdin, ChildStdout)> {
    match (child.stdin.take(), child.stdout.take()) {
        (Some(stdin), Some(stdout)) => Ok((stdin, stdout)),
        _ => Err(io::Error::other("the process has no pipes")),
    }
}
