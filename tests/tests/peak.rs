//! What a client takes of its host, measured in processes of their own.

#![cfg(target_os = "linux")]

use std::process::Command;

use mcp_tests::peak::Cost;

const MIB: u64 = 1024 * 1024;

#[cfg(feature = "tokio")]
const RUNTIMES: &[&str] = &["blocking", "smol", "tokio", "tokio-threads"];
#[cfg(not(feature = "tokio"))]
const RUNTIMES: &[&str] = &["blocking", "smol"];

/// Runs the program on each runtime.
fn measure(work: &[&str], judge: impl Fn(&str, Cost)) {
    for runtime in RUNTIMES {
        let mut peak = Command::new(env!("CARGO_BIN_EXE_peak"));
        let output = peak.args(["--runtime", runtime]).args(work).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{runtime}, {work:?}: {stderr}");
        let cost: Cost = serde_json::from_slice(&output.stdout).unwrap();
        println!("{runtime}, {work:?}: {cost:?}");
        judge(runtime, cost);
    }
}

/// M-UNTR-02, M-SIZE-02
#[test]
fn a_large_result_takes_two_and_a_half_times_its_size_at_most() {
    let payload = 32 * MIB;
    for work in ["blob", "blob-json", "blob-sse"] {
        measure(&[work, &payload.to_string()], |runtime, cost| {
            let peak = cost.peak;
            assert!(peak >= payload, "{runtime}, {work}: {peak} is less than the result itself");
            assert!(peak <= payload * 5 / 2, "{runtime}, {work}: {peak} for {payload}");
        });
    }
}

/// M-UNTR-14
#[test]
fn a_flood_of_pings_takes_bounded_memory() {
    measure(&["pings"], |runtime, cost| {
        // The answers may take 1 MiB in all; twice that while it is copied, and some for the rest.
        let grown = cost.peak - cost.before;
        assert!(grown <= 8 * MIB, "{runtime}: {grown} bytes");
    });
}

/// M-PROG-07
#[test]
fn a_flood_of_progress_takes_bounded_memory() {
    measure(&["progress"], |runtime, cost| {
        let grown = cost.peak - cost.before;
        assert!(grown <= 8 * MIB, "{runtime}: {grown} bytes");
    });
}

/// M-STD-07
#[test]
fn servers_that_exit_at_once_leave_neither_zombies_nor_descriptors() {
    measure(&["restarts", "100"], |runtime, cost| {
        assert_eq!(cost.zombies, 0, "{runtime}");
        // A runtime that is on its way out may still hold some of its own.
        assert!(cost.fds_after < cost.fds_before + 20, "{runtime}: {cost:?}");
    });
}
