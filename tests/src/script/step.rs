//! The steps of a script, as they are written to JSON for a child process.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::demo;

/// One step. The methods of [`Script`](super::Script) that add them say what each is for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the fields are the arguments of Script's methods")]
pub enum Step {
    /// The next line is of this method.
    Expect { method: String, label: Option<String> },
    /// A later line is of this method.
    WaitFor { method: String, label: Option<String> },
    /// The next line is the client's answer to this id.
    ExpectResponse { id: String },
    /// The next line is answered by the demo server.
    Answer { method: Option<String> },
    /// All further lines are answered by the demo server.
    AnswerRest,
    /// The demo server that answers is one with these options, to which nobody has spoken yet.
    Demo { options: demo::Options },
    /// `initialize`, answered with this revision, and `notifications/initialized`.
    Handshake { version: String },
    /// A line of text with names.
    Line { text: String, chunk: Option<usize> },
    /// Text with names, and no newline after it.
    Part { text: String },
    /// Bytes as they are.
    Bytes {
        #[serde(with = "base64_bytes")]
        bytes: Vec<u8>,
        chunk: Option<usize>,
    },
    /// Bytes for stderr.
    Stderr {
        #[serde(with = "base64_bytes")]
        bytes: Vec<u8>,
    },
    /// The same byte, many times.
    Filler { to: Sink, byte: u8, count: u64 },
    /// A block, several times.
    Repeat { times: u64, steps: Vec<Step> },
    /// The client sees the end of the server's output.
    CloseStdout,
    /// The client's next write fails.
    CloseStdin,
    /// Record until the client closes its end.
    Drain,
    /// The client closes its end now.
    ExpectEnd,
    /// End with a status.
    Exit { status: i32 },
    /// End by abort.
    Abort,
    /// End by a signal.
    Die { signal: i32 },
    /// Do nothing any more.
    Hang,
    /// Let time pass.
    Pause { millis: u64 },
    /// Wait for the test.
    Gate { name: String },
    /// A process that sleeps for five minutes, in the server's process group. Its pid goes into
    /// the file, or else as a line to stderr. One that keeps the pipes holds the server's stdout
    /// and stderr open after the server is gone.
    Grandchild { pid_file: Option<PathBuf>, keeps_pipes: bool },
}

/// Where filler goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sink {
    /// To the client's reader of messages.
    Stdout,
    /// To the client's reader of diagnostics.
    Stderr,
}

/// A JSON string cannot hold every byte, so bytes travel as base64.
mod base64_bytes {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&STANDARD.encode(bytes))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
        let text = String::deserialize(from)?;
        STANDARD.decode(text).map_err(D::Error::custom)
    }
}
