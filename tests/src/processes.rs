//! Whether a process is gone: how a test knows that nothing was left behind.

use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

/// Whether the process has not ended yet. One that has, and that nobody has waited for, is gone:
/// in a container without an init that collects orphans, such a pid stays for ever.
pub fn is_running(pid: u32) -> bool {
    !wait_gone(pid, Duration::ZERO)
}

/// Waits for the end of any process, a child or not, at most this long; says whether it is gone.
pub fn wait_gone(pid: u32, limit: Duration) -> bool {
    let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else {
        return true;
    };
    let process = match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(process) => process,
        Err(Errno::SRCH) => return true,
        Err(error) => panic!("cannot watch process {pid:?}: {error}"),
    };
    let limit = Timespec::try_from(limit).expect("a limit that a test can wait for");
    let mut watched = [PollFd::new(&process, PollFlags::IN)];
    loop {
        match poll(&mut watched, Some(&limit)) {
            Ok(ended) => return ended > 0,
            Err(Errno::INTR) => {}
            Err(error) => panic!("cannot watch process {pid:?}: {error}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_process_is_running_until_it_ends() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        assert!(is_running(child.id()));
        drop(child.stdin.take());
        assert!(wait_gone(child.id(), Duration::from_secs(30)));
        assert!(!is_running(child.id()), "although nobody has waited for it");
        child.wait().unwrap();
        assert!(!is_running(child.id()));
        assert!(is_running(std::process::id()));
        assert!(!is_running(0));
    }
}
