//! What a hundred servers leave behind. Alone in its program, since it counts what the whole
//! program has.
#![cfg(target_os = "linux")]

use std::time::{Duration, Instant};

use mcp_runtime_common::launch;
use mcp_runtime_common::proto::{Command, ExitStatus};
use rustix::io::Errno;
use rustix::process::{WaitId, WaitIdOptions, waitid};

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Whether there are any, zombies included.
fn children() -> bool {
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    !matches!(waitid(WaitId::All, look), Err(Errno::CHILD))
}

#[test]
fn a_hundred_servers_leave_neither_zombies_nor_descriptors() {
    let before = descriptors();
    for round in 0..100 {
        let mut server = launch(&Command::new("true")).unwrap();
        if round % 2 == 0 {
            let status = server.process.reap_within(Duration::MAX);
            assert_eq!(status, Some(ExitStatus::Code(0)));
        }
    }
    for _ in 0..10 {
        assert!(launch(&Command::new("/no/such/server")).is_err());
    }
    // On a busy machine a thread may reap the last ones after their drop.
    let begin = Instant::now();
    while (descriptors(), children()) != (before, false) {
        assert!(begin.elapsed() < Duration::from_secs(60));
        std::thread::yield_now();
    }
}
