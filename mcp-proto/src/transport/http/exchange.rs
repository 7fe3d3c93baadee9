//! One exchange: what it carries to the server, for whom, and how far it is.

use super::response::Reader;
use super::resume::Rest;
use crate::interface::{HttpRequest, Owner};

/// One HTTP exchange.
#[derive(Debug)]
pub(super) struct Exchange {
    pub(super) carries: Carried,
    pub(super) owner: Owner,
    /// What was sent; its body only until the answer begins.
    pub(super) request: HttpRequest,
    /// The number of the session that the request named.
    pub(super) session: Option<u64>,
    pub(super) redirects: u8,
    /// The performer has told that nothing was sent yet.
    pub(super) unsent: bool,
    pub(super) phase: Phase,
    /// Where the stream of its answer goes on.
    pub(super) rest: Rest,
}

/// What an exchange carries to the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Carried {
    /// A request with this JSON-RPC id.
    Request { id: u64, initialize: bool },
    /// A request with this JSON-RPC id, whose answer comes on the stream of HTTP+SSE.
    Posted { id: u64 },
    /// Nothing: it asks for the stream of HTTP+SSE.
    Events,
    /// Nothing: it asks for the rest of the answer to the request with this id.
    Rest { id: u64 },
    /// `notifications/initialized`: calls wait until it was taken.
    Initialized,
    /// Another notification.
    Notification,
    /// The answer to a request of the server's.
    Reply,
    /// Nothing: it asks for what a legacy server says outside of any answer.
    Stream,
    /// The end of the session.
    Delete,
}

impl Carried {
    pub(super) fn is_rest(&self) -> bool {
        matches!(self, Carried::Rest { .. })
    }
}

#[derive(Debug)]
pub(super) enum Phase {
    /// Waiting for the head of the answer.
    Head,
    /// Reading its body.
    Body(Box<Reader>),
    /// Nothing of it is wanted any more; its end is waited for.
    Over,
}

impl Exchange {
    pub(super) fn new(
        carries: Carried,
        owner: Owner,
        request: HttpRequest,
        session: Option<u64>,
    ) -> Self {
        let phase = Phase::Head;
        let rest = Rest::default();
        Exchange { carries, owner, request, session, redirects: 0, unsent: false, phase, rest }
    }

    pub(super) fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Over)
    }

    /// The request whose answer it brings.
    pub(super) fn request_id(&self) -> Option<u64> {
        match self.carries {
            Carried::Request { id, .. } | Carried::Rest { id } | Carried::Posted { id } => Some(id),
            _ => None,
        }
    }

    /// Whether it brings the answer to this request.
    pub(super) fn asks(&self, request: u64) -> bool {
        self.request_id() == Some(request)
    }

    /// Whether the server cannot know of what it carries: its connection is still being opened.
    pub(super) fn is_unsent(&self) -> bool {
        let asks = matches!(self.carries, Carried::Request { .. } | Carried::Posted { .. });
        self.unsent && self.redirects == 0 && asks
    }
}
