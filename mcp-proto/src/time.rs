//! Time as the core sees it: handed in with every input, never read.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The moment at which an input happened.
///
/// Both clocks are durations, so that a journal can hold them: `mono` since any fixed moment of
/// the performer's choice (it never goes back), `unix` since 1970-01-01 UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Now {
    /// A clock that never goes back. All deadlines are on it.
    pub mono: Duration,
    /// The wall clock. Only tokens that expire at a date look at it.
    pub unix: Duration,
}

impl Now {
    /// A moment on the monotonic clock, with the wall clock at the epoch.
    #[must_use]
    pub fn at(mono: Duration) -> Self {
        Now { mono, unix: Duration::ZERO }
    }
}

/// When the connection wants [`Input::Timeout`](crate::Input::Timeout) next, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Deadline {
    /// The moment on the monotonic clock.
    pub at: Duration,
    /// What runs out then.
    pub reason: TimerReason,
}

/// What a timer waits for. One reason has at most one timer, a call's excepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum TimerReason {
    /// Outputs are queued: poll them now.
    Output,
    /// The server has not answered `server/discover` within `discover_timeout`.
    Discover,
    /// The host has not said what it has stored.
    Load,
    /// The server has not finished its start within `start_timeout`.
    Start,
    /// A question of the start's waits before it is asked again.
    StartRetry,
    /// A call has run out of its time.
    Call(crate::CallId),
    /// A call waits before its request is sent again.
    Retry(crate::CallId),
    /// The stream of a call's answer has ended before the answer, and its rest is asked for.
    Resume(crate::CallId),
    /// After an exit or the end of stdout: how long the other signs of the end are waited for.
    Exit,
    /// A process that is being closed has not gone within its grace period.
    Grace,
    /// An exchange over HTTP has not got on: a notification or an answer was not taken, the body of
    /// an error answer does not end, or a stream is silent.
    Exchange(crate::ExchangeId),
    /// The stream of what a legacy server says by itself is opened again.
    Stream,
}

impl fmt::Display for TimerReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TimerReason::Output => f.write_str("output"),
            TimerReason::Discover => f.write_str("discover"),
            TimerReason::Load => f.write_str("load"),
            TimerReason::Start => f.write_str("start"),
            TimerReason::StartRetry => f.write_str("start retry"),
            TimerReason::Call(id) => write!(f, "{id}"),
            TimerReason::Retry(id) => write!(f, "retry of {id}"),
            TimerReason::Resume(id) => write!(f, "resumption of {id}"),
            TimerReason::Exit => f.write_str("exit"),
            TimerReason::Grace => f.write_str("grace"),
            TimerReason::Exchange(id) => write!(f, "{id}"),
            TimerReason::Stream => f.write_str("stream"),
        }
    }
}
