//! Journals: every input and output of a connection, as JSON lines.
//!
//! The first line is the header: the format's version, the settings, the transport, and what is
//! masked. Then comes a line for each input, `{"at":[mono,unix],"in":…}`, and for each output,
//! `{"at":[mono,unix],"out":…}`, in the order in which they happened; times are nanoseconds. Since
//! an input is the only thing that changes a connection, [`replay`] is a loop over the lines.
//!
//! Values of environment variables and of configured headers are masked, and so are session ids and
//! the queries of addresses.
//! **Tool arguments and results are readable**, as is everything else that a server says; the
//! header says so too.

mod inputs;
mod outputs;
mod replay;
#[cfg(test)]
mod tests;

use alloc::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

pub use replay::{Difference, ReplayError, Replayed, replay};

use crate::interface::{Input, Output};
use crate::wire::headers::is_session_id;
use crate::{ConnectionConfig, Now, Transport};

/// The version of the format.
pub const FORMAT: u32 = 1;

/// How many bytes wait for whoever takes the journal, at most. Beyond it the recording stops with
/// a line that says so.
pub const MAX_PENDING_BYTES: usize = 64 * 1024 * 1024;

/// What stands in the place of a secret.
const MASK: &str = "masked";

const WARNING: &str = "tool arguments and results are readable in this file";

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

/// Writes down what a connection hears and says.
#[derive(Debug)]
pub(crate) struct Recorder {
    buffer: Vec<u8>,
    stopped: bool,
}

impl Recorder {
    pub(crate) fn new(
        config: &Arc<ConnectionConfig>,
        transport: &Transport,
        seed: [u8; 32],
        now: Now,
    ) -> Self {
        let header = Header {
            format: FORMAT,
            made_by: concat!("mcp-proto ", env!("CARGO_PKG_VERSION")).into(),
            warning: WARNING.into(),
            masked: vec![
                "values of environment variables".into(),
                "queries of addresses, values of configured headers, and session ids".into(),
            ],
            id_key: base64::prelude::BASE64_STANDARD.encode(derive(seed, "ids")),
            at: now.into(),
            config: ConnectionConfig::clone(config),
            transport: transport.masked(),
        };
        let mut recorder = Recorder { buffer: Vec::new(), stopped: false };
        recorder.line(&header);
        recorder
    }

    pub(crate) fn input(&mut self, input: &Input<'_>, now: Now) {
        if !self.stopped {
            let input = Some(inputs::InputRecord::of(input));
            self.line(&Entry { at: Some(now.into()), input, ..Entry::default() });
        }
    }

    pub(crate) fn output(&mut self, output: &Output, now: Now) {
        if !self.stopped {
            let output = Some(outputs::record(output));
            self.line(&Entry { at: Some(now.into()), output, ..Entry::default() });
        }
    }

    fn line(&mut self, line: &impl Serialize) {
        if self.buffer.len() > MAX_PENDING_BYTES {
            self.stopped = true;
            let truncated = Some(String::from("nobody took the journal in time"));
            let last = Entry { truncated, ..Entry::default() };
            self.buffer.extend(serde_json::to_vec(&last).unwrap_or_default());
        } else {
            self.buffer.extend(serde_json::to_vec(line).unwrap_or_default());
        }
        self.buffer.push(b'\n');
    }

    pub(crate) fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.buffer)
    }
}

/// A key of its own for each purpose, so that one that is written down tells nothing of another.
fn derive(seed: [u8; 32], purpose: &str) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(b"mcp-proto ");
    hash.update(purpose.as_bytes());
    hash.update(seed);
    hash.finalize().into()
}

/// The headers of a request whose values are nobody's secret: the protocol's own. All others are
/// the host's.
const PLAIN: [&str; 6] =
    ["accept", "accept-encoding", "content-type", "mcp-method", "mcp-name", "mcp-protocol-version"];

/// The headers of a request, without the values that may be secrets. A replay has other values in
/// the same places, and the same text stands for them.
fn request_headers(headers: &[(String, String)]) -> Vec<(&str, &str)> {
    let plain = |name: &str| PLAIN.contains(&name);
    headers.iter().map(|(name, value)| (&**name, if plain(name) { value } else { MASK })).collect()
}

/// The headers of an answer, without the values that are secrets. A session id that cannot be one
/// becomes another that cannot: the replay has to refuse it as well.
fn answer_headers(headers: &[(String, String)]) -> Vec<(String, String)> {
    let masked = |(name, value): &(String, String)| {
        let is = |secret: &str| name.eq_ignore_ascii_case(secret);
        let value = if is("mcp-session-id") {
            if is_session_id(value.trim()) { MASK } else { "" }
        } else if is("location") {
            return (name.clone(), crate::config::mask_url(value));
        } else if is("set-cookie") || is("authorization") {
            MASK
        } else {
            value
        };
        (name.clone(), String::from(value))
    };
    headers.iter().map(masked).collect()
}
