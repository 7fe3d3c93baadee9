//! One exchange: what it carries to the server, for whom, and how far it is.

use super::response::Reader;
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
}

/// What an exchange carries to the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Carried {
    /// A request with this JSON-RPC id.
    Request { id: u64, initialize: bool },
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
        Exchange { carries, owner, request, session, redirects: 0, unsent: false, phase }
    }

    pub(super) fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Over)
    }

    /// Whether it carries this request.
    pub(super) fn asks(&self, request: u64) -> bool {
        matches!(self.carries, Carried::Request { id, .. } if id == request)
    }
}
