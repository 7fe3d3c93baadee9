//! Processes on Unix: a group each, and a file descriptor that tells of the end.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::time::{Duration, Instant};

use mcp_proto::ExitStatus;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, waitid};

use super::Launched;

/// A server process and the group that it leads.
///
/// Signals go to the whole group, since a launcher such as `npx` or `sh -c` runs the server proper
/// as a child of its own. The rest of the group is killed before its leader is reaped: until then
/// the leader's number cannot belong to anybody else. A reaped process is never signalled again.
///
/// Dropping it ends the process in any state, without a runtime, within about 120 ms: it waits
/// [`DROP_GRACE`](super::DROP_GRACE) for an exit (so close stdin before), then kills and reaps. The graceful end,
/// which takes longer, is the core's to direct.
#[derive(Debug)]
pub struct Process {
    leader: Leader,
    /// Known once the leader has been reaped.
    status: Option<ExitStatus>,
}

/// The process that was launched, whose number is also that of its group.
#[derive(Debug)]
struct Leader {
    pid: Pid,
    /// A copy of [`Launched::exit`].
    exit: OwnedFd,
    kind: ExitFd,
}

/// What the exit descriptor is.
#[derive(Clone, Copy, Debug)]
enum ExitFd {
    /// It names the process itself, whatever becomes of its number.
    #[cfg(target_os = "linux")]
    Pid,
    /// The reading end of a pipe; a thread waits for the process and closes the other.
    Pipe,
}

/// What there is to know of a leader that was not reaped here.
enum State {
    Runs,
    Ended(ExitStatus),
    /// Somebody else reaped it: the host ignores SIGCHLD, or collects all its children.
    Gone,
}

impl Process {
    pub(super) fn spawn(command: &mut std::process::Command) -> io::Result<Launched> {
        let mut child = command.process_group(0).spawn()?;
        let pid = Pid::from_child(&child);
        match super::pipes(&mut child).and_then(|pipes| Ok((pipes, watch(pid)?))) {
            Ok(((stdin, stdout), (exit, leader))) => Ok(Launched {
                stdin,
                stdout,
                stderr: child.stderr.take(),
                exit,
                process: Process { leader, status: None },
            }),
            Err(error) => {
                // No descriptors are left to tell of its end, so it cannot stay.
                let _ = rustix::process::kill_process_group(pid, Signal::KILL);
                let _ = child.wait();
                Err(error)
            }
        }
    }

    /// The operating system's number of the process, and of its group.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.leader.pid.as_raw_nonzero().get().cast_unsigned()
    }

    /// Asks the group to end (SIGTERM).
    pub fn terminate(&mut self) {
        self.signal(Signal::TERM);
    }

    /// Ends the group (SIGKILL). The exit is still to be reaped.
    pub fn kill(&mut self) {
        self.signal(Signal::KILL);
    }

    /// Reaps the process if it has ended, and kills what is left of its group. Never blocks; asked
    /// again, it gives the same status.
    pub fn try_reap(&mut self) -> Option<ExitStatus> {
        if self.status.is_none() {
            self.status = match self.leader.look() {
                State::Runs => None,
                State::Ended(status) => {
                    self.leader.signal_group(Signal::KILL);
                    self.leader.wait(WaitIdOptions::empty());
                    Some(status)
                }
                State::Gone => {
                    self.leader.signal_orphans(Signal::KILL);
                    Some(ExitStatus::Unknown)
                }
            };
        }
        self.status
    }

    /// Waits at most this long for the end, and reaps. `None`: it still runs.
    pub fn reap_within(&mut self, time: Duration) -> Option<ExitStatus> {
        if self.status.is_none() {
            wait_readable(&self.leader.exit, Some(time));
        }
        self.try_reap()
    }

    /// For the case that it hangs in the kernel, or that the machine is very busy. A thread waits
    /// for it, so that no zombie stays; without a thread there is nothing left that could be done.
    pub(super) fn leave_to_thread(&self) {
        if let Ok(exit) = self.leader.exit.try_clone() {
            let leader = Leader { exit, ..self.leader };
            let wait = move || {
                wait_readable(&leader.exit, None);
                leader.wait(WaitIdOptions::empty());
            };
            let name = String::from("mcp-reaper");
            let _ = std::thread::Builder::new().name(name).spawn(wait);
        }
    }

    fn signal(&mut self, signal: Signal) {
        if self.status.is_some() {
            return;
        }
        match self.leader.look() {
            // Also after its end: it is not reaped, so that the number is still its own.
            State::Runs | State::Ended(_) => self.leader.signal_group(signal),
            State::Gone => self.leader.signal_orphans(signal),
        }
    }
}

impl Leader {
    fn look(&self) -> State {
        self.wait(WaitIdOptions::NOWAIT)
    }

    fn wait(&self, options: WaitIdOptions) -> State {
        let options = options | WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
        let mut id = match self.kind {
            #[cfg(target_os = "linux")]
            ExitFd::Pid => WaitId::PidFd(self.exit.as_fd()),
            ExitFd::Pipe => WaitId::Pid(self.pid),
        };
        loop {
            match waitid(id.clone(), options) {
                Ok(None) => return State::Runs,
                Ok(Some(end)) => {
                    let code = end.exit_status().map(ExitStatus::Code);
                    let status = code.or(end.terminating_signal().map(ExitStatus::Signal));
                    return State::Ended(status.unwrap_or(ExitStatus::Unknown));
                }
                Err(Errno::INTR) => {}
                Err(Errno::CHILD) => return State::Gone,
                // A kernel or a sandbox that knows the descriptor, but not how to wait for it.
                Err(_) if !matches!(id, WaitId::Pid(_)) => id = WaitId::Pid(self.pid),
                Err(_) => return State::Gone,
            }
        }
    }

    fn signal_group(&self, signal: Signal) {
        // It fails when nobody is left, which is as good.
        let _ = rustix::process::kill_process_group(self.pid, signal);
    }

    /// Signals the group of a leader that somebody else has reaped. The system gives a number to
    /// no new process while a group has it. So when a process has it, the group is no more, and
    /// nobody may be signalled.
    fn signal_orphans(&self, signal: Signal) {
        if rustix::process::test_kill_process(self.pid) == Err(Errno::SRCH) {
            self.signal_group(signal);
        }
    }
}

/// A descriptor that becomes readable when the process has ended, and what `Process` keeps.
fn watch(pid: Pid) -> io::Result<(OwnedFd, Leader)> {
    let (exit, kind) = exit_fd(pid)?;
    let leader = Leader { pid, exit, kind };
    Ok((leader.exit.try_clone()?, leader))
}

fn exit_fd(pid: Pid) -> io::Result<(OwnedFd, ExitFd)> {
    #[cfg(target_os = "linux")]
    if let Ok(exit) = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()) {
        return Ok((exit, ExitFd::Pid));
    }
    Ok((watch_by_thread(pid)?, ExitFd::Pipe))
}

/// For systems without such descriptors, and processes that are gone already because the host
/// ignores SIGCHLD.
fn watch_by_thread(pid: Pid) -> io::Result<OwnedFd> {
    let (exit, ended) = io::pipe()?;
    std::thread::Builder::new().name(String::from("mcp-exit")).spawn(move || {
        // Only looks: the process is reaped by its owner.
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while matches!(waitid(WaitId::Pid(pid), options), Err(Errno::INTR)) {}
        // A closed pipe alone counts as "hung up", which is "readable" not everywhere.
        let _ = io::Write::write(&mut &ended, b"!");
    })?;
    Ok(exit.into())
}

/// Whether the descriptor becomes readable within this time.
fn wait_readable(fd: &OwnedFd, time: Option<Duration>) -> bool {
    // A time beyond what the clock can say is no limit.
    let deadline = time.and_then(|time| Instant::now().checked_add(time));
    loop {
        let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
        let left = left.and_then(|left| Timespec::try_from(left).ok());
        match poll(&mut [PollFd::new(fd, PollFlags::IN)], left.as_ref()) {
            Ok(ready) => return ready > 0,
            Err(Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}

pub(super) fn is_executable(file: &Path) -> bool {
    file.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

/// Makes reads and writes of a pipe return at once instead of waiting.
///
/// # Errors
/// When the system refuses, which it does for no pipe.
pub fn set_nonblocking(fd: impl AsFd) -> io::Result<()> {
    Ok(rustix::io::ioctl_fionbio(fd, true)?)
}

/// Reads what is in a pipe that never blocks. `None` when there is nothing, or when it has ended.
pub fn read_now(fd: impl AsFd, into: &mut [u8]) -> Option<usize> {
    rustix::io::read(fd, into).ok().filter(|n| *n > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What other systems than Linux do: a thread waits, and the leader is known by its number.
    #[test]
    fn without_pidfd_a_thread_tells_of_the_end() {
        let mut command = std::process::Command::new("cat");
        command.process_group(0).stdin(std::process::Stdio::piped());
        let mut child = command.spawn().unwrap();
        let pid = Pid::from_child(&child);
        let (exit, kind) = (watch_by_thread(pid).unwrap(), ExitFd::Pipe);
        let leader = Leader { pid, exit, kind };
        let mut process = Process { leader, status: None };
        assert_eq!(process.try_reap(), None);
        assert_eq!(process.reap_within(Duration::ZERO), None);
        drop(child.stdin.take());
        let status = process.reap_within(Duration::from_secs(60));
        assert_eq!(status, Some(ExitStatus::Code(0)));
        assert!(child.wait().is_err(), "it is reaped by now");
    }
}
