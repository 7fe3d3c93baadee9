//! The session of a legacy server (2025-11-25: basic/transports, "Session Management").

use crate::interface::StatusCode;
use crate::wire::jsonrpc::{self, Message};

/// The session, from the offer to its end.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    /// What `initialize` opened; it counts once the era is decided.
    offered: Option<String>,
    current: Option<Session>,
    /// How many there were.
    count: u64,
}

/// A session. Two of them are told apart by their number: ids are masked in a journal.
#[derive(Debug)]
struct Session {
    number: u64,
    id: String,
}

impl Sessions {
    pub(super) fn offer(&mut self, id: Option<String>) {
        self.offered = id;
    }

    /// The era is decided, and what was offered counts, if that era has sessions.
    pub(super) fn settle(&mut self, legacy: bool) {
        let offered = self.offered.take().filter(|_| legacy);
        self.count += 1;
        self.current = offered.map(|id| Session { number: self.count, id });
    }

    pub(super) fn forget(&mut self) {
        (self.offered, self.current) = (None, None);
    }

    /// Takes the one that there is, even if it was only just opened.
    pub(super) fn take(&mut self) -> Option<String> {
        self.current.take().map(|session| session.id).or(self.offered.take())
    }

    pub(super) fn number(&self) -> Option<u64> {
        self.current.as_ref().map(|session| session.number)
    }

    /// The id that goes into a header. What a server asks before its answer to `initialize` is
    /// complete belongs to the session that the head of that answer has opened.
    pub(super) fn id(&self, reply: bool) -> Option<&str> {
        let offered = self.offered.as_deref().filter(|_| reply);
        self.current.as_ref().map(|session| &*session.id).or(offered)
    }
}

/// Whether an error answer to a request that named a session says that there is no such session.
///
/// The specification wants 404. A live endpoint that does not know the method says 404 as well, but
/// with an error of its own. Deployed servers say 400, and name the session or their missing
/// initialization in a text; what they say under the request's own id is about the request.
pub(super) fn is_gone(status: StatusCode, body: &str) -> bool {
    let read = jsonrpc::read(String::from(body)).map(|read| read.messages).unwrap_or_default();
    let own = read.into_iter().find_map(|message| match message {
        Message::Response { id, outcome: Err(error) } => {
            Some((id.is_some(), crate::ServerError::read(&error).code))
        }
        _ => None,
    });
    match (status.0, own) {
        (404, own) => own.is_none_or(|(_, code)| code != -32601),
        (400, Some((true, _))) => false,
        (400, Some((false, -32602..=-32601 | -32022..=-32020))) => false,
        (400, _) => {
            let text = body.to_ascii_lowercase();
            text.contains("session") || text.contains("not initialized")
        }
        _ => false,
    }
}
