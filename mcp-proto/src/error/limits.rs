//! Times and bounds that ran out, and why nothing runs.

use std::fmt;
use std::time::Duration;

use super::TransportError;

/// Which time ran out.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Timeout {
    /// In which phase.
    pub phase: Phase,
    /// How long was waited.
    pub after: Duration,
}

impl fmt::Display for Timeout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.phase {
            Phase::Start => "the server did not finish its start",
            Phase::Answer => "the server did not answer",
            Phase::Host => "the host did not answer a question of this call's",
            Phase::Close => "the previous server process did not end",
        };
        write!(f, "{what} within {:?}", self.after)
    }
}

/// A phase of a call's life in which a time can run out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Phase {
    /// Waiting for the server to start and to decide the era.
    Start,
    /// Waiting for the server's answer.
    Answer,
    /// Waiting for an answer of the host's.
    Host,
    /// Waiting for the previous process to end, before a new one is launched.
    Close,
}

/// A bound that was reached.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} is larger than the limit of {limit} ({setting})")]
#[non_exhaustive]
pub struct Limit {
    /// What was too large.
    pub what: &'static str,
    /// The bound.
    pub limit: usize,
    /// The setting that changes the bound.
    pub setting: &'static str,
}

/// What is wrong with a paginated list.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PaginationFault {
    /// A cursor came a second time.
    #[error("the list repeats a cursor, so it has no end")]
    RepeatedCursor,
    /// There are more pages than `max_pages`.
    #[error("the list has more than {0} pages (max_pages)")]
    TooManyPages(usize),
    /// The pages have more bytes than `max_list_bytes`.
    #[error("the list has more than {0} bytes (max_list_bytes)")]
    TooManyBytes(usize),
}

/// Why nothing runs.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CloseReason {
    /// Nothing has run yet.
    #[error("nothing was started yet")]
    NotStarted,
    /// The host asked for a rest.
    #[error("the host disconnected it")]
    Disconnected,
    /// The host closed it.
    #[error("the host closed it")]
    Closed,
    /// The way to the server failed.
    #[error("{0}")]
    Transport(TransportError),
    /// The start failed.
    #[error("its start failed: {0}")]
    Start(String),
}
