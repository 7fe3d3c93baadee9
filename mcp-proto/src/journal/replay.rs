//! Replaying a journal: the same inputs must give the same outputs.

use alloc::sync::Arc;

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
    /// The recording was cut off, so what came after is not known.
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
    /// An output differs.
    #[error(
        "line {line}: the outputs differ\n  recorded: {recorded}\n  replayed: {replayed}\n  \
         after the input of line {after}: {input}"
    )]
    Differs {
        /// The line of the output, from 1; one past the end when the replay says more.
        line: usize,
        /// What the journal says.
        recorded: String,
        /// What the replay said.
        replayed: String,
        /// The line of the input that led there.
        after: usize,
        /// That input.
        input: String,
    },
}

const NOTHING: &str = "nothing";

/// Hands in the inputs of a journal to a new connection, and compares what comes out with the
/// outputs of the journal.
///
/// # Errors
/// At the first line that cannot be read, and at the first output that differs.
pub fn replay(journal: &str) -> Result<Replayed, ReplayError> {
    let mut lines = journal.lines().enumerate().map(|(at, line)| (at + 1, line));
    let mut replay = Replay::begin(lines.next())?;
    for (number, line) in lines {
        if line.trim().is_empty() {
            continue;
        }
        let entry: Entry = read(number, line)?;
        if entry.truncated.is_some() {
            replay.seen.truncated = true;
            return Ok(replay.seen);
        }
        if let (Some(at), Some(record)) = (entry.at, &entry.input) {
            let input = record.input().map_err(|why| unreadable(number, why))?;
            replay.connection.handle(input, at.into());
            replay.input = (number, line);
            replay.seen.inputs += 1;
        } else if let Some(recorded) = entry.output {
            replay.compare(number, &recorded)?;
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
    seen: Replayed,
    input: (usize, &'a str),
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
        // Nothing is drawn from the seed yet, so any seed will do.
        let at = header.at.into();
        let connection = Connection::new(Arc::new(config), header.transport, [0; 32], at);
        let seen = Replayed::default();
        Ok(Replay { connection, seen, input: (0, "(none yet)"), last: number })
    }

    fn compare(&mut self, line: usize, recorded: &serde_json::Value) -> Result<(), ReplayError> {
        match self.connection.poll_output().as_ref().map(super::outputs::record) {
            Some(replayed) if replayed == *recorded => Ok(()),
            other => {
                let replayed = other.map_or_else(|| NOTHING.into(), |value| value.to_string());
                Err(self.differs(line, recorded.to_string(), replayed))
            }
        }
    }

    fn end(mut self) -> Result<Replayed, ReplayError> {
        match self.connection.poll_output() {
            None => Ok(self.seen),
            Some(more) => {
                let replayed = super::outputs::record(&more).to_string();
                Err(self.differs(self.last + 1, NOTHING.into(), replayed))
            }
        }
    }

    fn differs(&self, line: usize, recorded: String, replayed: String) -> ReplayError {
        let (after, input) = (self.input.0, String::from(self.input.1));
        ReplayError::Differs { line, recorded, replayed, after, input }
    }
}

fn read<'a, T: serde::Deserialize<'a>>(line: usize, text: &'a str) -> Result<T, ReplayError> {
    serde_json::from_str(text).map_err(|error| unreadable(line, crate::wire::json_trouble(&error)))
}

fn unreadable(line: usize, why: String) -> ReplayError {
    ReplayError::Unreadable { line, why }
}
