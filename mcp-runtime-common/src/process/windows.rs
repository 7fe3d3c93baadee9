//! Processes on Windows. Nothing here has been tested: there are no groups (a job object would be
//! one), no descriptor that tells of the end, and no way to ask a process to end.

use std::io;
use std::os::windows::process::CommandExt;
use std::process::Child;
use std::time::{Duration, Instant};

use mcp_proto::ExitStatus;

use super::Launched;

const CREATE_NO_WINDOW: u32 = 0x0800_0000;

/// A server process. Dropping it ends it.
#[derive(Debug)]
pub struct Process {
    child: Child,
}

impl Process {
    pub(super) fn spawn(command: &mut std::process::Command) -> io::Result<Launched> {
        let mut child = command.creation_flags(CREATE_NO_WINDOW).spawn()?;
        let (stdin, stdout) = super::pipes(&mut child)?;
        Ok(Launched { stdin, stdout, stderr: child.stderr.take(), process: Process { child } })
    }

    /// The operating system's number of the process.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Ends the process, since it cannot be asked to.
    pub fn terminate(&mut self) {
        self.kill();
    }

    /// Ends the process. The exit is still to be reaped.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
    }

    /// The status of the process if it has ended. Never blocks.
    pub fn try_reap(&mut self) -> Option<ExitStatus> {
        match self.child.try_wait() {
            Ok(status) => status.map(|s| s.code().map_or(ExitStatus::Unknown, ExitStatus::Code)),
            Err(_) => Some(ExitStatus::Unknown),
        }
    }

    /// Waits at most this long for the end. `None`: it still runs.
    pub fn reap_within(&mut self, time: Duration) -> Option<ExitStatus> {
        let deadline = Instant::now().checked_add(time);
        loop {
            let status = self.try_reap();
            if status.is_some() || deadline.is_some_and(|at| at <= Instant::now()) {
                return status;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    pub(super) fn leave_to_thread(&self) {}
}
