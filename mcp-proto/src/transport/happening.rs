//! What a transport says of its inputs.

use std::time::Duration;

use super::{Failure, Origin};
use crate::error::TransportError;
use crate::event::SkipReason;
use crate::interface::{HttpOutput, Owner, ResendReason, StdioOutput};
use crate::wire::lines::Line;
use crate::{CLOSE_GRACE, CallId, Event, ExchangeId, ProcessId};

/// What came of an input.
#[derive(Debug)]
pub(crate) enum Happening {
    /// The text of a message, or of something that should be one.
    Text(String, Option<Origin>),
    /// Something that cannot be a message.
    Bad { why: SkipReason, bytes: u64, answers: Option<u64> },
    /// Something for a reader.
    Event(Event),
    /// Do this with a process.
    Do(ProcessId, StdioOutput),
    /// Do this with an exchange.
    Http(ExchangeId, Owner, HttpOutput),
    /// A request was sent again, for this reason.
    Resent(u64, ResendReason),
    /// The request will have no answer.
    Failed(u64, Failure),
    /// `notifications/initialized` has reached the server, or not.
    Delivered(Result<(), Failure>),
    /// The server does not know the session any more.
    SessionLost,
    /// The stream of HTTP+SSE is there, and messages may be sent.
    EventsOpened,
    /// It is not to be had.
    EventsFailed(Failure),
    /// An exchange is to get on within this time; within the time of a call, if none is said.
    Await(ExchangeId, Option<Duration>),
    /// The connection for this request is being opened, or no longer.
    Connects(u64, bool),
    /// Open the stream of what the server says by itself again after this pause.
    AwaitStream(Duration),
    /// The stream is there, or the server does not offer it.
    StreamSettled,
    /// Ask for the rest of this call's answer after this pause, or not any more.
    AwaitResume(CallId, Option<Duration>),
    /// The exchange has ended.
    Ended(ExchangeId),
    /// Wait for the other signs of the end.
    AwaitExit,
    /// Wait for the next stage of closing.
    AwaitGrace(Duration),
    /// The server can be spoken with no more.
    Lost(TransportError),
    /// Nothing is left of it.
    Gone,
}

/// What came of a message: over pipes hardly ever more than the first.
pub(super) type Happened =
    std::iter::Chain<std::option::IntoIter<Happening>, std::vec::IntoIter<Happening>>;

impl From<Line> for Happening {
    fn from(line: Line) -> Self {
        match line {
            Line::Text(text) => Happening::Text(text, None),
            Line::Bad { why, bytes, answers } => Happening::Bad { why, bytes, answers },
        }
    }
}

/// How long each stage of closing a process waits.
pub(crate) fn close_stage() -> Happening {
    Happening::AwaitGrace(CLOSE_GRACE)
}
