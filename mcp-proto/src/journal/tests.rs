//! A recorded conversation replays, and a journal that was changed does not.

use alloc::sync::Arc;
use std::time::Duration;

use super::{ReplayError, replay};
use crate::interface::{CallOptions, Input, StdioInput, StdioOutput};
use crate::op::{CallTool, ListTools};
use crate::{Command, Connection, ConnectionConfig, Now, Output, ProcessId, Transport};

fn at(ms: u64) -> Now {
    Now { mono: Duration::from_millis(ms), unix: Duration::from_secs(1_800_000_000) }
}

fn drain(connection: &mut Connection) -> Vec<Output> {
    std::iter::from_fn(|| connection.poll_output()).collect()
}

/// A modern server that lists one tool, answers a large result, and dies.
fn recorded() -> String {
    let config = ConnectionConfig { journal: true, ..ConnectionConfig::default() };
    let command = Command::new("server").env("API_KEY", "marked-secret");
    let transport = Transport::Stdio(command);
    let mut connection = Connection::new(Arc::new(config), transport, [7; 32], at(0));
    let stdout = |bytes| Input::Stdio(ProcessId::new(1), StdioInput::Stdout(bytes));
    connection.start(ListTools, CallOptions::default(), at(1)).unwrap();
    let spawned = drain(&mut connection);
    assert!(spawned.iter().any(|o| matches!(o, Output::Stdio(_, StdioOutput::Spawn(_)))));
    connection.handle(stdout(b"\xffbanner\n"), at(2));
    let discovered = br#"{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2026-07-28"]}}"#;
    connection.handle(stdout(discovered), at(3));
    connection.handle(stdout(b"\n"), at(4));
    drain(&mut connection);
    connection.handle(stdout(b"{\"id\":2,\"result\":{\"tools\":[{\"name\":\"a\"}]}}\n"), at(5));
    let call = CallTool::new("a", serde_json::Map::new());
    connection
        .start(call, CallOptions { progress: true, ..CallOptions::default() }, at(6))
        .unwrap();
    drain(&mut connection);
    let large = format!("{{\"id\":3,\"result\":{{\"x\":\"{}\"}}}}\n", "y".repeat(100_000));
    connection.handle(stdout(large.as_bytes()), at(7));
    connection.handle(Input::Close, at(8));
    drain(&mut connection);
    String::from_utf8(connection.take_journal()).unwrap()
}

#[test]
fn what_was_recorded_replays() {
    let journal = recorded();
    let replayed = replay(&journal).unwrap();
    assert_eq!(replayed.inputs, 8);
    assert!(replayed.outputs > 10, "{replayed:?}");
    assert!(!replayed.truncated);
    assert!(journal.contains("\"sha256\""), "large results stand as their digest");
}

#[test]
fn values_of_the_environment_are_masked() {
    let journal = recorded();
    assert!(journal.contains("API_KEY"));
    assert!(!journal.contains("marked-secret"));
}

#[test]
fn an_output_that_differs_is_told_with_the_input_before_it() {
    let journal = recorded();
    let changed =
        journal.replace("\\\"method\\\":\\\"tools/list\\\"", "\\\"method\\\":\\\"x/list\\\"");
    assert_ne!(journal, changed);
    let Err(ReplayError::Differs { recorded, replayed, input, .. }) = replay(&changed) else {
        panic!("the change was not noticed");
    };
    assert!(recorded.contains("x/list") && replayed.contains("tools/list"));
    assert!(input.contains("stdout"), "{input}");
}

#[test]
fn missing_and_additional_outputs_are_noticed() {
    let journal = recorded();
    let mut lines: Vec<_> = journal.lines().collect();
    let last = lines.pop().unwrap();
    assert!(last.contains("\"out\""));
    assert!(matches!(replay(&lines.join("\n")), Err(ReplayError::Differs { .. })));
    let doubled = format!("{journal}{last}\n");
    assert!(matches!(replay(&doubled), Err(ReplayError::Differs { .. })));
}

#[test]
fn lines_that_cannot_be_read_are_named() {
    let journal = recorded();
    let cut: String = journal.lines().take(3).map(|line| format!("{line}\n")).collect();
    let broken = format!("{cut}{{\"at\":[1,1],\"in\":\"dance\"}}\n");
    assert!(matches!(replay(&broken), Err(ReplayError::Unreadable { line: 4, .. })));
    assert!(matches!(replay(""), Err(ReplayError::Unreadable { line: 1, .. })));
    let truncated = format!("{cut}{{\"truncated\":\"x\"}}\nanything\n");
    assert!(replay(&truncated).unwrap().truncated);
}
