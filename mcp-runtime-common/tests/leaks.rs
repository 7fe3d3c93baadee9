//! What a hundred servers leave behind. Alone in its program, since it counts what the whole
//! program has.
#![cfg(target_os = "linux")]

use mcp_runtime_common::launch;
use mcp_runtime_common::proto::{Command, ExitStatus};
use rustix::io::Errno;
use rustix::process::{WaitId, WaitIdOptions, waitid};

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

#[test]
fn a_hundred_servers_leave_neither_zombies_nor_descriptors() {
    let before = descriptors();
    for round in 0..100 {
        let mut server = launch(&Command::new("true")).unwrap();
        if round % 2 == 0 {
            let status = server.process.reap_within(std::time::Duration::MAX);
            assert_eq!(status, Some(ExitStatus::Code(0)));
        }
    }
    for _ in 0..10 {
        assert!(launch(&Command::new("/no/such/server")).is_err());
    }
    assert_eq!(descriptors(), before);
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    assert!(matches!(waitid(WaitId::All, look), Err(Errno::CHILD)));
}
