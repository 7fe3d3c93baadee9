//! Replaying a journal: the same inputs must give the same outputs.

use alloc::sync::Arc;
use std::collections::VecDeque;
use std::fmt;

use serde_json::Value;

use super::secrets::Secrets;
use super::{Entry, FORMAT, Header};
use crate::{Connection, ConnectionConfig};

/// What a replay went through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Replayed {
    /// How many inputs were handed in.
    pub inputs: usize,
    /// How many outputs were compared.
    pub outputs: usize,
    /// The recording was cut off, within a line or with one that says so. What came after is not
    /// known.
    pub truncated: bool,
}

/// Why a journal does not replay.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// A line cannot be read.
    #[error("line {line} of the journal cannot be read: {why}")]
    Unreadable {
        /// Its number, from 1.
        line: usize,
        /// What is wrong with it.
        why: String,
    },
    /// An output differs. The text shows long lines around the first difference only.
    #[error("{0}")]
    Differs(Box<Difference>),
}

/// The first output that differs, both sides of it, and the input that led there.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Difference {
    /// The line of the output, from 1; one past the end when the replay says more.
    pub line: usize,
    /// What the journal says.
    pub recorded: String,
    /// What the replay said.
    pub replayed: String,
    /// The line of the input that led there: the one from which the replay's output followed, or
    /// the last one before the output of the journal when the replay had nothing more to say.
    pub after: usize,
    /// That input, as it stands in the journal.
    pub input: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pairs = self.recorded.chars().zip(self.replayed.chars());
        let same = pairs.take_while(|(one, other)| one == other).count();
        write!(
            f,
            "line {}: the outputs differ\n  recorded: {}\n  replayed: {}\n  after the input of \
             line {}: {}",
            self.line,
            window(&self.recorded, same),
            window(&self.replayed, same),
            self.after,
            window(&self.input, 0)
        )
    }
}

/// A long line, around one of its characters.
fn window(line: &str, at: usize) -> String {
    const BEFORE: usize = 120;
    const SHOWN: usize = 480;
    let from = at.saturating_sub(BEFORE);
    let mut rest = line.chars().skip(from);
    let shown: String = rest.by_ref().take(SHOWN).collect();
    let before = if from > 0 { "…" } else { "" };
    let after = if rest.next().is_some() { "…" } else { "" };
    format!("{before}{shown}{after}")
}

const NOTHING: &str = "nothing";

/// Hands in the inputs of a journal to a new connection, and compares what comes out with the
/// outputs of the journal, in their order. Times of outputs are not compared.
///
/// ```
/// use mcp_proto::journal::{ReplayError, replay};
///
/// match replay(include_str!("../../tests/journals/demo-modern.jsonl")) {
///     Ok(replayed) => println!("{} inputs gave the same outputs", replayed.inputs),
///     Err(ReplayError::Differs(difference)) => println!("{difference}"),
///     Err(error) => println!("{error}"),
/// }
/// ```
///
/// # Errors
/// At the first line that cannot be read, and at the first output that differs.
pub fn replay(journal: &str) -> Result<Replayed, ReplayError> {
    let mut lines = journal.lines().enumerate().map(|(at, line)| (at + 1, line)).peekable();
    let mut replay = Replay::begin(lines.next())?;
    while let Some((number, line)) = lines.next() {
        if line.trim().is_empty() {
            continue;
        }
        let entry: Entry = match read(number, line) {
            Ok(entry) => entry,
            // Whoever wrote it ended in the middle of a line.
            Err(_) if lines.peek().is_none() && !journal.ends_with('\n') => {
                return Ok(replay.cut_off());
            }
            Err(error) => return Err(error),
        };
        if entry.truncated.is_some() {
            return Ok(replay.cut_off());
        }
        if let (Some(at), Some(record)) = (entry.at, &entry.input) {
            let input = record.input().map_err(|why| unreadable(number, why))?;
            replay.connection.handle(input, at.into());
            replay.input = (number, line);
            replay.seen.inputs += 1;
            replay.drain();
        } else if let Some(recorded) = &entry.output {
            replay.compare(number, recorded)?;
            replay.seen.outputs += 1;
        } else {
            return Err(unreadable(number, "it is neither an input nor an output".into()));
        }
        replay.last = number;
    }
    replay.end()
}

struct Replay<'a> {
    connection: Connection,
    /// None: what was recorded has none in it.
    secrets: Secrets,
    seen: Replayed,
    /// What the replay has said and the journal has not, each with the input that it followed from.
    said: VecDeque<(Value, (usize, &'a str))>,
    /// The last input.
    input: (usize, &'a str),
    /// The last line.
    last: usize,
}

impl<'a> Replay<'a> {
    fn begin(first: Option<(usize, &str)>) -> Result<Self, ReplayError> {
        let (number, line) = first.ok_or_else(|| unreadable(1, "the journal is empty".into()))?;
        let header: Header = read(number, line)?;
        if header.format != FORMAT {
            let why = format!("format {} is not {FORMAT}, the one that is known", header.format);
            return Err(unreadable(number, why));
        }
        let config = ConnectionConfig { journal: false, ..header.config };
        config.check().map_err(|misuse| unreadable(number, misuse.to_string()))?;
        // Nothing is drawn from the seed yet, so any seed will do.
        let at = header.at.into();
        let connection = Connection::new(Arc::new(config), header.transport, [0; 32], at);
        let (seen, input) = (Replayed::default(), (number, "(none yet)"));
        let (secrets, said) = (Secrets::default(), VecDeque::new());
        Ok(Replay { connection, secrets, seen, said, input, last: number })
    }

    /// A journal may hold several inputs before the outputs of the first: bytes may have been split
    /// since. So what is said waits for its line.
    fn drain(&mut self) {
        while let Some(output) = self.connection.poll_output() {
            self.said.push_back((super::outputs::record(&output, &self.secrets), self.input));
        }
    }

    fn compare(&mut self, line: usize, recorded: &Value) -> Result<(), ReplayError> {
        match self.said.pop_front() {
            Some((replayed, _)) if replayed == *recorded => Ok(()),
            Some((replayed, cause)) => {
                Err(differs(line, recorded.to_string(), replayed.to_string(), cause))
            }
            None => Err(differs(line, recorded.to_string(), NOTHING.into(), self.input)),
        }
    }

    fn end(mut self) -> Result<Replayed, ReplayError> {
        match self.said.pop_front() {
            None => Ok(self.seen),
            Some((more, cause)) => {
                Err(differs(self.last + 1, NOTHING.into(), more.to_string(), cause))
            }
        }
    }

    fn cut_off(mut self) -> Replayed {
        self.seen.truncated = true;
        self.seen
    }
}

fn differs(line: usize, recorded: String, replayed: String, cause: (usize, &str)) -> ReplayError {
    let (after, input) = (cause.0, String::from(cause.1));
    ReplayError::Differs(Box::new(Difference { line, recorded, replayed, after, input }))
}

fn read<'a, T: serde::Deserialize<'a>>(line: usize, text: &'a str) -> Result<T, ReplayError> {
    serde_json::from_str(text).map_err(|error| unreadable(line, crate::wire::json_trouble(&error)))
}

fn unreadable(line: usize, why: String) -> ReplayError {
    ReplayError::Unreadable { line, why }
}
