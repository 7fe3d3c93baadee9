//! What a connection keeps of how far it is, and of who waits for what.

use alloc::sync::Arc;
use std::collections::VecDeque;
use std::time::Duration;

use crate::era::{EarlyMessage, Start};
use crate::error::CloseReason;
use crate::interface::{Hearing, Owner};
use crate::model::ServerInfo;
use crate::question::Wanted;
use crate::{CallId, ProtocolVersion, Raw, SkipReason};

/// How far the connection is.
#[derive(Debug)]
pub(super) enum Phase {
    /// Nothing runs, or what ran is being closed. A call begins the next start once that is over.
    Idle,
    Starting(Start),
    /// A legacy server has forgotten the session, and a new one is begun. Calls may be out.
    Renewing(Start),
    /// The era is decided, and what a legacy server is to be told first is on its way.
    Greeting(Greeting),
    Ready(Ready),
    Closed(CloseReason),
}

/// `notifications/initialized` is on its way, or the stream of what the server says by itself is.
#[derive(Debug)]
pub(super) struct Greeting {
    pub(super) ready: Ready,
    /// What the server asked before; it is still to be answered.
    pub(super) held: VecDeque<EarlyMessage>,
    /// It was sent a second time.
    pub(super) again: bool,
    /// It has arrived, and calls wait for the stream.
    pub(super) listens: bool,
}

#[derive(Debug)]
pub(super) struct Ready {
    pub(super) info: Arc<ServerInfo>,
    /// What goes into the `_meta` of every request: empty for legacy servers.
    pub(super) protocol_meta: String,
    /// What was declared in `initialize`. A legacy server must not ask for anything else.
    pub(super) declared: Vec<Hearing>,
    /// From when on the server is asked again what it offers, before that counts. `None`: never.
    pub(super) stale_from: Option<Duration>,
}

impl Ready {
    pub(super) fn is_stale(&self, now: Duration) -> bool {
        self.stale_from.is_some_and(|time| now >= time)
    }
}

impl Phase {
    /// The start that is under way, of whatever.
    pub(super) fn start(&mut self) -> Option<&mut Start> {
        match self {
            Phase::Starting(start) | Phase::Renewing(start) => Some(start),
            _ => None,
        }
    }

    pub(super) fn starts(&self) -> bool {
        matches!(self, Phase::Starting(_) | Phase::Renewing(_))
    }

    /// What was agreed on with the server, once that is known.
    pub(super) fn agreed(&self) -> Option<&Ready> {
        match self {
            Phase::Greeting(Greeting { ready, .. }) | Phase::Ready(ready) => Some(ready),
            _ => None,
        }
    }
}

/// Who waits for the answer to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waiter {
    Discover,
    Initialize,
    Call(CallId),
}

/// A question of the start's to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Opening {
    Discover,
    Initialize(ProtocolVersion),
}

/// An open question to the host.
#[derive(Debug)]
pub(super) enum Asked {
    /// The metadata for the next request of this call.
    Meta(CallId),
    /// The metadata for this question of the start's.
    Start(Opening),
    /// What is stored of the server.
    Load,
    /// To store something. It outlives a rest.
    Save,
    /// A request of the server's, to be answered under this id.
    Server { id: Raw, owner: Owner, wanted: Wanted },
    /// What the server wants before it answers this call, under this key.
    Input { call: CallId, key: String, wanted: Wanted },
    /// How this call is to wait for its server.
    Wait(CallId),
}

/// Lines that were no messages, for the text of a later timeout.
#[derive(Debug, Default)]
pub(super) struct Skipped {
    pub(super) count: u64,
    pub(super) last: Option<SkipReason>,
}
