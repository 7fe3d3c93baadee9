//! Server processes: what happens to them, and what is wanted of them.

use serde::{Deserialize, Serialize};

use crate::Command;

/// What happens to a server process, or to the byte stream that stands for one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StdioInput<'a> {
    /// The process runs. Not needed for anything to begin; bytes may be written before.
    Spawned {
        /// The operating system's number of it.
        pid: u32,
    },
    /// The process could not be launched. Nothing else follows for it.
    SpawnFailed(IoFailure),
    /// Bytes of its stdout.
    Stdout(&'a [u8]),
    /// Its stdout has ended.
    StdoutClosed,
    /// Bytes of its stderr.
    Stderr(&'a [u8]),
    /// Its stderr has ended, or was never captured.
    StderrClosed,
    /// How many bytes in all it has taken from [`StdioOutput::Write`].
    Written(u64),
    /// Its stdin takes no more bytes. What was queued for it is dropped.
    WriteFailed(IoFailure),
    /// It has ended and was reaped. After [`StdioOutput::Kill`] exactly one of these follows.
    Exited(ExitStatus),
}

/// An error of the operating system, in a form that a journal can hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IoFailure {
    /// The name of the [`std::io::ErrorKind`], such as `NotFound`.
    pub kind: String,
    /// The system's own words.
    pub text: String,
}

impl From<&std::io::Error> for IoFailure {
    fn from(error: &std::io::Error) -> Self {
        IoFailure { kind: format!("{:?}", error.kind()), text: error.to_string() }
    }
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ExitStatus {
    /// With this status.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// It is gone, but nobody knows how: the host collects its children itself, or the transport
    /// is a byte stream.
    Unknown,
}

/// What is wanted of a server process.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StdioOutput {
    /// Launch it.
    Spawn(Command),
    /// Write these bytes to its stdin: whole lines.
    Write(Vec<u8>),
    /// Close its stdin, after what was queued for it.
    CloseStdin,
    /// Ask the process group to end (SIGTERM).
    Terminate,
    /// End the process group (SIGKILL).
    Kill,
}
