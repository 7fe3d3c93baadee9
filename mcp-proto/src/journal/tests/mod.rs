//! A recorded conversation replays, and a journal that was changed does not.

mod masking;

use alloc::sync::Arc;
use std::time::Duration;

use super::{Difference, ReplayError, replay};
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
    let Err(ReplayError::Differs(difference)) = replay(&changed) else {
        panic!("the change was not noticed");
    };
    let Difference { recorded, replayed, input, .. } = &*difference;
    assert!(recorded.contains("x/list") && replayed.contains("tools/list"));
    assert!(input.contains("stdout"), "{input}");
    let text = difference.to_string();
    assert!(text.contains("recorded: ") && text.contains("replayed: "), "{text}");
}

/// The output that came first is told, not the input that happened to be last.
#[test]
fn the_input_that_led_there_is_the_one_that_the_output_followed_from() {
    let journal = recorded();
    let lines: Vec<_> = journal.lines().collect();
    let of = |text: &str| lines.iter().position(|line| line.contains(text)).unwrap();
    // Without the outputs of the first input the replay's first output has no line.
    let (first, second) = (of("\"start\""), of("base64"));
    let without: Vec<_> = lines[..=first].iter().chain(&lines[second..]).copied().collect();
    let Err(ReplayError::Differs(difference)) = replay(&without.join("\n")) else {
        panic!("the change was not noticed");
    };
    assert_eq!(difference.after, first + 1);
    assert!(difference.input.contains("\"start\""), "{difference}");
    assert!(difference.replayed.contains("starting"), "{difference}");
}

#[test]
fn long_outputs_are_shown_around_their_difference() {
    let (recorded, replayed) = ("x".repeat(5000) + "left", "x".repeat(5000) + "right");
    let input = String::from("input");
    let difference = Difference { line: 3, recorded, replayed, after: 2, input };
    let text = difference.to_string();
    assert!(text.contains("xleft") && text.contains("xright") && text.len() < 1200, "{text}");
}

#[test]
fn missing_and_additional_outputs_are_noticed() {
    let journal = recorded();
    let mut lines: Vec<_> = journal.lines().collect();
    let last = lines.pop().unwrap();
    assert!(last.contains("\"out\""));
    assert!(matches!(replay(&lines.join("\n")), Err(ReplayError::Differs(_))));
    let doubled = format!("{journal}{last}\n");
    assert!(matches!(replay(&doubled), Err(ReplayError::Differs(_))));
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
    let torn = format!("{cut}{{\"at\":[1,1],\"i");
    assert!(replay(&torn).unwrap().truncated, "the host ended while it wrote");
    assert!(replay(&format!("{torn}\n")).is_err(), "a whole line that is none");
}

/// A journal is a file, and a file may say anything.
#[test]
fn settings_that_cannot_work_are_named() {
    let journal = recorded();
    let broken = journal.replace("\"max_pages\":1000", "\"max_pages\":0");
    let Err(ReplayError::Unreadable { line: 1, why }) = replay(&broken) else { panic!("taken") };
    assert!(why.contains("max_pages"), "{why}");
}
