//! Which threads a client has. It is the only test of its program, so that it can count them.

mod support;

use std::time::{Duration, Instant};

use mcp_runtime_blocking::Background;
use mcp_runtime_blocking::proto::op::Ping;

#[test]
fn server() {
    support::serve();
}

/// The names of the threads that are a client's.
fn threads() -> Vec<String> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let names = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok());
    let names = names.map(|name| name.trim().to_owned());
    names.filter(|name| name.starts_with("mcp-")).collect()
}

#[test]
fn without_a_background_there_is_no_thread() {
    let client = support::connect(Background::Never, support::demo());
    // A thread names itself once it runs, for which it has all this time.
    for _ in 0..100 {
        assert!(client.begin(Ping).unwrap().wait().is_ok());
    }
    assert_eq!(threads(), Vec::<String>::new());
    let client = support::connect(Background::Helper, support::demo());
    assert!(client.begin(Ping).unwrap().wait().is_ok());
    let begin = Instant::now();
    while threads().is_empty() && begin.elapsed() < Duration::from_secs(30) {
        std::thread::yield_now();
    }
    assert_eq!(threads(), ["mcp-helper"]);
}
