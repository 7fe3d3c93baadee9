//! Journals: every input and output of a connection, as JSON lines.
//!
//! A connection whose [`ConnectionConfig::journal`] is set writes down what it hears and says;
//! [`Connection::take_journal`](crate::Connection::take_journal) hands it over, whole lines at a
//! time. Adapters have a builder method that does this, with a thread that writes. Since an input is
//! the only thing that changes a connection, [`replay`] is a loop over the lines: it hands in the
//! same inputs, and tells the first output that differs.
//!
//! # The format, version 1
//!
//! UTF-8, one JSON object a line, lines in the order in which things happened. Times are pairs of
//! nanoseconds, `[mono, unix]`, as in [`Now`]. Ids are numbers; texts that are no UTF-8 are
//! `{"base64":"…"}`. Who reads a journal should ignore members that it does not know.
//!
//! **The first line** is the header:
//!
//! | Member | What it is |
//! | --- | --- |
//! | `mcp-journal` | The version of the format, [`FORMAT`]. It grows when an old reader would err |
//! | `crate` | Which crate and version wrote it |
//! | `warning` | That tool arguments and results are readable in this file |
//! | `masked` | What is not, in words |
//! | `id_key` | The key for ids and jitter, derived from the seed. That for secrets is never written |
//! | `at` | When the connection was made |
//! | `config`, `transport` | The settings, without secrets |
//!
//! **Inputs** are `{"at":…,"in":…}`. What stands in `in` is a word or an object of one member:
//!
//! | `in` | The input |
//! | --- | --- |
//! | `"timeout"`, `"disconnect"`, `"close"` | themselves |
//! | `{"start":{"call","op","params","timeout","meta","progress"}}` | A call begins; `op` is the operation's name, `params.object` its parameters |
//! | `{"cancel":call}`, `{"pull":mailbox}` | |
//! | `{"answer":[question, …]}` | The host's answer |
//! | `{"set":…}` | A setting |
//! | `{"stdio":[process, …]}` | `{"spawned":pid}`, `{"spawn_failed":…}`, `{"stdout":bytes}`, `"stdout_closed"`, `{"stderr":bytes}`, `"stderr_closed"`, `{"written":total}`, `{"write_failed":…}`, `{"exited":…}` |
//! | `{"http":[exchange, …]}` | `{"head":[status,[[name,value],…]]}`, `{"body":bytes}`, `"end"`, `{"failed":…}` |
//!
//! They are complete: bytes of a server's are all there, cut as they came.
//!
//! **Outputs** are `{"at":…,"out":…}`, objects whose first member tells what they are: `process`,
//! `exchange`, `ask`, `withdraw`, `item`, `done`, `connection`, `resend`, `event`. A text of more
//! than 64 KiB, such as a large reply, is `{"sha256":…,"bytes":…}`: it follows from the inputs.
//!
//! **The last line** of a journal of which the rest is missing is `{"truncated":"why"}`. A journal
//! that ends within a line is cut off too.
//!
//! # What is masked
//!
//! The values of environment variables and of configured headers, credentials and queries of URLs,
//! session ids, the session in the address that HTTP+SSE names, and cookies. Each is the word
//! `masked` in its own place: in the settings, in the headers of requests and answers, in addresses.
//! Where a host or a server repeats one elsewhere,
//! in an argument, an error, a result, on stderr, it is covered with asterisks of the same number,
//! also when it came in several reads: the line with its beginning then waits for its rest, for two
//! seconds at most, and what follows waits too. Lengths and order stay, so a masked journal
//! replays.
//!
//! **Everything else is readable: tool arguments and results, command lines, what a server says.**
//! Not looked for are secrets of fewer than eight bytes, words of the protocol's own, what a server
//! cuts in the middle, and what is in a compressed body. The adapters' `redact` changes lines
//! before they are written.

mod held;
mod inputs;
mod outputs;
mod recorder;
mod replay;
mod secrets;
#[cfg(test)]
mod tests;

use std::time::Duration;

use serde::{Deserialize, Serialize};

pub(crate) use recorder::Recorder;
pub use replay::{Difference, ReplayError, Replayed, replay};

use crate::{ConnectionConfig, Now, Transport};

/// The version of the format.
pub const FORMAT: u32 = 1;

/// How many bytes wait for whoever takes the journal, at most. Beyond it the recording stops with
/// a line that says so.
pub const MAX_PENDING_BYTES: usize = 64 * 1024 * 1024;

/// The first line of a journal.
#[derive(Debug, Serialize, Deserialize)]
struct Header {
    #[serde(rename = "mcp-journal")]
    format: u32,
    #[serde(rename = "crate")]
    made_by: String,
    warning: String,
    masked: Vec<String>,
    /// The key for ids and jitter, derived from the seed. The key for secrets is never written.
    id_key: String,
    at: At,
    config: ConnectionConfig,
    transport: Transport,
}

/// A moment: nanoseconds on the monotonic and on the wall clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct At(u64, u64);

impl From<Now> for At {
    fn from(now: Now) -> Self {
        let nanos = |d: Duration| u64::try_from(d.as_nanos()).unwrap_or(u64::MAX);
        At(nanos(now.mono), nanos(now.unix))
    }
}

impl From<At> for Now {
    fn from(at: At) -> Self {
        Now { mono: Duration::from_nanos(at.0), unix: Duration::from_nanos(at.1) }
    }
}

/// One line after the header. One of the three is there.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Entry {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at: Option<At>,
    #[serde(rename = "in", default, skip_serializing_if = "Option::is_none")]
    input: Option<inputs::InputRecord>,
    #[serde(rename = "out", default, skip_serializing_if = "Option::is_none")]
    output: Option<serde_json::Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    truncated: Option<String>,
}
