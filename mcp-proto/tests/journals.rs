//! Journals of real conversations, over stdio and over HTTP, replayed: as they were recorded, and
//! with the server's bytes split and joined at other places. `tests/record` makes them.

use std::fs;
use std::path::Path;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use mcp_proto::journal::{ReplayError, replay};
use proptest::prelude::*;
use serde_json::{Value, json};

/// The committed journals, by name.
#[allow(clippy::disallowed_methods, reason = "the core reads no files; its tests may")]
fn journals() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/journals");
    let mut journals: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|it| it == "jsonl"))
        .map(|path| {
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            (name, fs::read_to_string(&path).unwrap())
        })
        .collect();
    journals.sort();
    journals
}

/// One line of a journal, as far as these tests read it.
enum Line {
    /// Bytes of a server's stdout or of the body of an answer: where they are in the line, the
    /// whole line without them, and they.
    Bytes(&'static str, Value, Vec<u8>),
    /// An output.
    Output(String),
    /// Anything else.
    Other(String),
}

/// Where bytes are that may come in other pieces.
const BYTES: [&str; 2] = ["/in/stdio/1/stdout", "/in/http/1/body"];

fn read(line: &str) -> Line {
    let mut value: Value = serde_json::from_str(line).unwrap();
    if value.get("out").is_some() {
        return Line::Output(line.to_owned());
    }
    let found = BYTES.into_iter().find(|place| value.pointer(place).is_some());
    let Some(place) = found else { return Line::Other(line.to_owned()) };
    let bytes = match value.pointer_mut(place).unwrap().take() {
        Value::String(text) => text.into_bytes(),
        coded => BASE64_STANDARD.decode(coded["base64"].as_str().unwrap()).unwrap(),
    };
    Line::Bytes(place, value, bytes)
}

/// The line with other bytes in it.
fn with_bytes(place: &str, line: &Value, bytes: &[u8]) -> String {
    let mut line = line.clone();
    *line.pointer_mut(place).unwrap() = match std::str::from_utf8(bytes) {
        Ok(text) => json!(text),
        Err(_) => json!({ "base64": BASE64_STANDARD.encode(bytes) }),
    };
    line.to_string()
}

/// The journal with each stretch of bytes split where `cut` says, given how many there are.
fn split(journal: &str, mut cut: impl FnMut(usize) -> Vec<usize>) -> String {
    let mut lines = Vec::new();
    for line in journal.lines() {
        match read(line) {
            Line::Output(line) | Line::Other(line) => lines.push(line),
            Line::Bytes(place, line, bytes) => {
                let mut cuts = cut(bytes.len());
                cuts.sort_unstable();
                let mut from = 0;
                for to in cuts.into_iter().chain([bytes.len()]) {
                    lines.push(with_bytes(place, &line, &bytes[from..to]));
                    from = to;
                }
            }
        }
    }
    lines.join("\n")
}

/// Bytes of one source that have nothing but outputs between them, and those outputs.
struct Joined {
    place: &'static str,
    line: Value,
    bytes: Vec<u8>,
    outputs: Vec<String>,
}

impl Joined {
    /// Whether this line, which is without its bytes, is of the same source.
    fn is_of(&self, place: &str, line: &Value) -> bool {
        self.place == place && self.line["in"] == line["in"]
    }

    fn end(self, lines: &mut Vec<String>) {
        lines.push(with_bytes(self.place, &self.line, &self.bytes));
        lines.extend(self.outputs);
    }
}

/// The journal with stretches of bytes joined that have nothing but outputs between them. The
/// outputs follow, in their order.
fn join(journal: &str) -> String {
    let mut lines = Vec::new();
    let mut open: Option<Joined> = None;
    for line in journal.lines() {
        match (read(line), &mut open) {
            (Line::Bytes(place, line, more), Some(joined)) if joined.is_of(place, &line) => {
                joined.bytes.extend(more);
            }
            (Line::Bytes(place, line, bytes), _) => {
                let outputs = Vec::new();
                let next = open.replace(Joined { place, line, bytes, outputs });
                next.into_iter().for_each(|joined| joined.end(&mut lines));
            }
            (Line::Output(line), Some(joined)) => joined.outputs.push(line),
            (Line::Output(line) | Line::Other(line), _) => {
                open.take().into_iter().for_each(|joined| joined.end(&mut lines));
                lines.push(line);
            }
        }
    }
    open.into_iter().for_each(|joined| joined.end(&mut lines));
    lines.join("\n")
}

/// How often a piece of text is in the journals of this kind.
fn count(journals: &[(String, String)], kind: &str, text: &str) -> usize {
    let of_kind = journals.iter().filter(|(name, _)| name.contains(kind));
    of_kind.map(|(_, journal)| journal.matches(text).count()).sum()
}

#[test]
fn every_journal_replays() {
    let journals = journals();
    for (name, journal) in &journals {
        let replayed = replay(journal).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(!replayed.truncated, "{name}");
        assert!(replayed.inputs >= 15 && replayed.outputs >= 15, "{name}: {replayed:?}");
        assert!(journal.len() <= 64 * 1024, "{name}: {} bytes", journal.len());
    }
    for (kind, server) in [("demo", "mcp-demo"), ("everything", "Echo"), ("sdk", "real-servers")] {
        assert!(count(&journals, kind, server) > 0, "{kind}");
    }
    let over_http: Vec<_> = journals.iter().filter(|(name, _)| name.contains("http")).collect();
    assert_eq!(over_http.len(), 5, "both eras, servers of our own and of others");
    assert!(over_http.iter().all(|(_, journal)| journal.contains(r#"{"http":"#)));
    assert!(count(&journals, "http", "text/event-stream") > 5);
    assert!(count(&journals, "modern", "server/discover") > 0);
    assert!(count(&journals, "legacy", "notifications/initialized") > 0);
}

#[test]
fn a_journal_that_was_changed_does_not_replay() {
    for (name, journal) in journals() {
        let changed = journal.replacen("tools/list", "tools/lisp", 1);
        assert_ne!(changed, journal, "{name}");
        assert!(replay(&changed).is_err(), "{name}: another operation");
        let answer = r#"\"tools\":["#;
        let changed = journal.replacen(answer, r#"\"tool5\":["#, 1);
        assert_ne!(changed, journal, "{name}");
        let error = replay(&changed).unwrap_err();
        assert!(matches!(error, ReplayError::Differs(_)), "{name}: {error}");
        let shorter = journal.trim_end().rsplit_once("\n").map(|(head, _)| head);
        let cut_off = journal.lines().rev().find(|line| line.contains("\"out\"")).unwrap();
        let without = journal.replace(&format!("{cut_off}\n"), "");
        assert!(shorter.is_some() && replay(&without).is_err(), "{name}: an output is missing");
    }
}

#[test]
fn single_bytes_and_joined_lines_give_the_same_outputs() {
    for (name, journal) in journals() {
        let joined = join(&journal);
        for (how, journal) in [
            ("byte by byte", split(&journal, |length| (1..length).collect())),
            ("joined", joined.clone()),
            ("joined, then byte by byte", split(&joined, |length| (1..length).collect())),
        ] {
            replay(&journal).unwrap_or_else(|error| panic!("{name}, {how}: {error}"));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..Default::default() })]

    #[test]
    fn any_split_gives_the_same_outputs(
        places in proptest::collection::vec(any::<prop::sample::Index>(), 0..24),
        joins in any::<bool>(),
    ) {
        for (name, journal) in journals() {
            let journal = if joins { join(&journal) } else { journal };
            let journal = split(&journal, |length| {
                places.iter().map(|place| place.index(length + 1)).collect()
            });
            if let Err(error) = replay(&journal) {
                prop_assert!(false, "{}: {}", name, error);
            }
        }
    }
}
