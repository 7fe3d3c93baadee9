//! Secrets are masked, in whatever pieces they come, and the journal replays all the same.

use alloc::sync::Arc;
use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::Value;

use super::super::held::{Held, Lines, Stream};
use super::super::secrets::Secrets;
use super::super::{At, MAX_PENDING_BYTES, replay};
use super::{at, drain};
use crate::interface::{CallOptions, ExitStatus, Input, StdioInput};
use crate::op::CallTool;
use crate::{Command, Connection, ConnectionConfig, ProcessId, Transport};

const SECRETS: [(&str, &str); 4] = [
    ("API_KEY", "mark-1-abcabcab"),
    ("PASSWORD", "mark-2 \"quoted\" \\ and more"),
    ("DATABASE", "postgres://me:mark-3-word@db.test/x"),
    ("UMLAUT", "mark-4-äöü-ß"),
];

fn transport() -> Transport {
    let command = Command::new("server");
    Transport::Stdio(SECRETS.into_iter().fold(command, |command, (name, value)| {
        command.env(name, value).env("SHORT", "1").env("MODE", "structuredContent")
    }))
}

/// A server repeats its environment on stderr, in errors and in results, however it is cut.
fn repeated(pieces: usize) -> String {
    let config =
        ConnectionConfig { journal: true, name: SECRETS[0].1.into(), ..Default::default() };
    let mut connection = Connection::new(Arc::new(config), transport(), [7; 32], at(0));
    let call = |connection: &mut Connection, ms| {
        let mut arguments = serde_json::Map::new();
        arguments.insert("key".into(), Value::from(SECRETS[1].1));
        arguments.insert("readable".into(), Value::from(12_345_678_901_234_567_890_u64));
        connection.start(CallTool::new("t", arguments), CallOptions::default(), at(ms)).unwrap();
        drain(connection);
    };
    let id = ProcessId::new(1);
    let says = |connection: &mut Connection, stderr: bool, text: &str, ms| {
        for piece in text.as_bytes().chunks(pieces) {
            let input = if stderr { StdioInput::Stderr(piece) } else { StdioInput::Stdout(piece) };
            connection.handle(Input::Stdio(id, input), at(ms));
            drain(connection);
        }
    };
    let all = SECRETS.map(|(name, value)| format!("{name}={value}")).join("; ");
    let json = serde_json::to_string(&all).unwrap();
    let readable = "\"structuredContent\":{\"readable\":1}";
    call(&mut connection, 1);
    says(&mut connection, true, &format!("starting with {all}\nand {}", &all[..10]), 2);
    let discovered = r#"{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2026-07-28"]}}"#;
    says(&mut connection, false, &format!("{all}\n{discovered}\n"), 3);
    let result = format!("{{\"id\":2,\"result\":{{\"content\":[{json}],{readable}}}}}\n");
    says(&mut connection, false, &result, 4);
    call(&mut connection, 5);
    let error = format!("{{\"id\":3,\"error\":{{\"code\":1,\"message\":{json}}}}}\n");
    says(&mut connection, false, &error, 6);
    call(&mut connection, 7);
    says(&mut connection, false, &format!("{{\"id\":4,\"result\":{{\"large\":[{json}"), 8);
    let large = format!("{},{json}]}}}}\n", format!(",{json}").repeat(1000));
    // In pieces that are larger, for the sake of time.
    for piece in large.as_bytes().chunks(pieces * 100) {
        connection.handle(Input::Stdio(id, StdioInput::Stdout(piece)), at(9));
        drain(&mut connection);
    }
    call(&mut connection, 10);
    says(&mut connection, true, &format!("dying of {all}"), 11);
    for input in [StdioInput::StdoutClosed, StdioInput::StderrClosed] {
        connection.handle(Input::Stdio(id, input), at(12));
    }
    let exited = StdioInput::Exited(ExitStatus::Code(1));
    connection.handle(Input::Stdio(id, exited), at(12));
    connection.handle(Input::Close, at(13));
    drain(&mut connection);
    String::from_utf8(connection.take_journal()).unwrap()
}

/// M-UNTR-19: no secret of the environment is written down, wherever a server repeats it.
#[test]
fn what_a_server_repeats_is_masked_in_whatever_pieces_it_comes() {
    for pieces in [1, 2, 3, 7, 64, 100_000] {
        let journal = repeated(pieces);
        for mark in ["mark-", "quoted", "and more", "äöü"] {
            let line = journal.lines().position(|line| line.contains(mark));
            assert_eq!(line, None, "{mark}, in pieces of {pieces}");
        }
        assert!(journal.contains("readable") && journal.contains("12345678901234567890"));
        assert!(journal.contains("\"sha256\"") && journal.contains("its last words on stderr"));
        let replayed = replay(&journal).unwrap_or_else(|error| panic!("{pieces}: {error}"));
        assert!(replayed.inputs > 10 && replayed.outputs > 15, "{replayed:?}");
    }
}

/// The bytes of each stream in a journal, joined.
fn streams(journal: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::<String, Vec<u8>>::new();
    for line in journal.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let line: Value = serde_json::from_slice(line).unwrap();
        if let Some(text) = line["in"]["stdio"][1]["stdout"].as_str() {
            all.entry(line["in"]["stdio"][0].to_string()).or_default().extend(text.as_bytes());
        }
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// However the bytes of two streams are cut and mixed, each is masked as if it came in one
    /// piece; no line is lost, and none overtakes another.
    #[test]
    fn cut_and_mixed_streams_are_masked_as_whole_ones(
        chunks in prop::collection::vec(
            (1u64..3, prop::collection::vec("ab|abc|abcabcab|cab|x|abcabcabcabcab|bcabcabx", 0..4)),
            0..40,
        ),
    ) {
        let mut transport = Command::new("server").env("A", "abcabcabc").env("B", "cabcabxa");
        transport = transport.env("C", "bxabcabca");
        let secrets = Secrets::of(&Transport::Stdio(transport));
        let mut lines = Lines::default();
        let mut whole = BTreeMap::<String, Vec<u8>>::new();
        for (moment, (process, words)) in chunks.iter().enumerate() {
            let bytes = words.concat().into_bytes();
            whole.entry(process.to_string()).or_default().extend(&bytes);
            let stream = Stream::Stdout(ProcessId::new(*process));
            lines.bytes(Held { at: At(moment as u64, 0), stream, bytes }, &secrets, false);
            lines.line(&serde_json::json!({ "at": [moment, 1] }));
        }
        lines.end(Stream::Stdout(ProcessId::new(1)));
        lines.end(Stream::Stdout(ProcessId::new(2)));
        let journal = lines.take();
        for bytes in whole.values_mut() {
            let mut text = String::from_utf8(std::mem::take(bytes)).unwrap();
            secrets.mask(&mut text);
            *bytes = text.into_bytes();
        }
        prop_assert_eq!(streams(&journal), whole);
        let moments: Vec<Value> = String::from_utf8(journal).unwrap().lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap()["at"].take()).collect();
        let expected: Vec<Value> = (0..chunks.len())
            .flat_map(|moment| [serde_json::json!([moment, 0]), serde_json::json!([moment, 1])])
            .collect();
        prop_assert_eq!(moments, expected);
    }
}

/// What looks like the beginning of a secret is not waited for for ever.
#[test]
fn a_journal_does_not_wait_long_for_the_rest_of_a_secret() {
    let config = ConnectionConfig { journal: true, ..ConnectionConfig::default() };
    let mut connection = Connection::new(Arc::new(config), transport(), [7; 32], at(0));
    connection.start(crate::op::Ping, CallOptions::default(), at(0)).unwrap();
    drain(&mut connection);
    let stderr = |bytes| Input::Stdio(ProcessId::new(1), StdioInput::Stderr(bytes));
    connection.handle(stderr(b"password: mark-"), at(1));
    let journal = connection.take_journal();
    assert!(!String::from_utf8(journal).unwrap().contains("password: "), "its rest may come");
    connection.handle(Input::Timeout, at(5000));
    let journal = connection.take_journal();
    assert!(String::from_utf8(journal).unwrap().contains("password: mark-"));
    // The same when very much follows.
    let much = vec![b'x'; 100_000];
    connection.handle(stderr(b"mark-"), at(5001));
    connection.take_journal();
    for _ in 0..MAX_PENDING_BYTES / (1024 * 1024) {
        connection.handle(stderr(&much), at(5002));
        connection.handle(stderr(b"mark-"), at(5002));
        drain(&mut connection);
        let journal = String::from_utf8(connection.take_journal()).unwrap();
        assert!(!journal.contains("truncated"));
    }
}
