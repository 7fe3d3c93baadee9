//! The server: the messages that it has, and what it knows.

mod odd;
mod words;

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use crate::{ExchangeId, ProcessId};

pub(super) use odd::{error, garbage, input, notification, odd, of_the_other_era, request};
pub(super) use words::{Words, good, page, progress};

/// How a message came to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Via {
    /// Over the stdin of a process, or a stream.
    Process(ProcessId),
    /// On an HTTP exchange.
    Exchange(ExchangeId),
}

/// A message that wants an answer.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Message {
    /// How it came.
    pub via: Via,
    /// The text of its id. Notifications and answers have none, and want one over HTTP only.
    pub id: Option<String>,
    /// Its method; `DELETE` for the end of a session, and nothing for an answer.
    pub method: String,
    /// The number of the host's call, where the message tells it.
    pub call: Option<u64>,
    /// The text of the token under which its progress is told.
    pub token: Option<String>,
    /// Which page of a list it asks for, counted from 0, if it is one that an honest server has.
    pub page: Option<usize>,
    /// The session that it names.
    pub session: Option<String>,
    /// Whether nothing is served where it went.
    pub(super) misplaced: bool,
    /// Whether it lacks the header of a parameter that the server wants there.
    pub(super) lacks_header: bool,
    /// How often progress was told.
    pub(super) told: u32,
}

impl Message {
    /// Reads what a client has sent. `None` for what is no message.
    #[must_use]
    pub fn read(via: Via, bytes: &[u8], session: Option<&str>) -> Option<Message> {
        let value: Value = serde_json::from_slice(bytes).ok()?;
        let text = |value: &Value| value.as_str().map(String::from);
        let meta = value.pointer("/params/_meta");
        let of_meta = |key: &str| meta.and_then(|meta| meta.get(key));
        let method = value.get("method").and_then(text);
        let cursor = value.pointer("/params/cursor").and_then(text);
        Some(Message {
            via,
            id: value.get("id").filter(|_| method.is_some()).map(Value::to_string),
            method: method.unwrap_or_default(),
            call: of_meta(super::CALL_KEY).and_then(Value::as_u64),
            token: of_meta(crate::meta::PROGRESS_TOKEN).map(Value::to_string),
            page: match cursor {
                None => Some(0),
                Some(cursor) => cursor.strip_prefix('p').and_then(|page| page.parse().ok()),
            },
            session: session.map(String::from),
            misplaced: false,
            lacks_header: false,
            told: 0,
        })
    }
}

/// How the ids of events begin after which an answer is cut off.
pub(super) const CUT: &str = "cut-";

/// What the server has and knows.
#[derive(Debug)]
pub(super) struct Peer {
    /// Messages without an answer, the oldest first.
    pub(super) messages: Vec<Message>,
    /// Answers that come later.
    pub(super) later: Vec<(Duration, Message)>,
    /// Answers whose streams were cut off, under the number in the id of the event that they ended
    /// with.
    pub(super) cut: BTreeMap<u64, Message>,
    /// How many sessions it has opened. It knows the last of them, unless it has forgotten.
    pub(super) sessions: u64,
    pub(super) forgotten: bool,
    /// Over HTTP+SSE: the exchange that brings what it says, in the last of its sessions.
    pub(super) stream: Option<ExchangeId>,
    /// Until when it does nothing.
    pub(super) hung: Option<Duration>,
    /// Until when it does not read.
    pub(super) blind: Option<Duration>,
    /// Over HTTP: until when nobody is at its address.
    pub(super) down: Option<Duration>,
    /// From now on it does everything as it should, whatever it is.
    pub(super) healed: bool,
}

impl Peer {
    pub(super) fn new() -> Self {
        Peer {
            messages: Vec::new(),
            later: Vec::new(),
            cut: BTreeMap::new(),
            sessions: 0,
            forgotten: false,
            stream: None,
            hung: None,
            blind: None,
            down: None,
            healed: false,
        }
    }

    /// The message that a step means: one of those that there are.
    pub(super) fn find(&self, to: u8) -> Option<usize> {
        usize::from(to).checked_rem(self.messages.len())
    }

    pub(super) fn take(&mut self, to: u8) -> Option<Message> {
        let at = self.find(to)?;
        Some(self.messages.remove(at))
    }

    /// The message whose answer goes on after the event with this id, which comes from this exchange
    /// now.
    pub(super) fn rest(&self, event: &str, via: Via, session: Option<&str>) -> Option<Message> {
        let number = event.strip_prefix(CUT)?.parse().ok()?;
        let session = session.map(String::from);
        self.cut.get(&number).map(|cut| Message { via, session, ..cut.clone() })
    }

    /// The answers whose time has come.
    pub(super) fn due(&mut self, now: Duration) -> Option<Message> {
        let at = self.later.iter().position(|(at, _)| *at <= now)?;
        Some(self.later.remove(at).1)
    }

    /// The next moment at which something comes to an end, or comes late.
    pub(super) fn next(&self) -> Option<Duration> {
        let later = self.later.iter().map(|(at, _)| *at);
        later.chain(self.hung).chain(self.blind).chain(self.down).min()
    }

    /// What has had its time is over.
    pub(super) fn wakes(&mut self, now: Duration) {
        for until in [&mut self.hung, &mut self.blind, &mut self.down] {
            *until = until.filter(|at| *at > now);
        }
    }

    pub(super) fn session_id(&self) -> String {
        format!("session-{}", self.sessions)
    }

    /// Whether the server knows the session that a message names.
    pub(super) fn knows(&self, message: &Message) -> bool {
        let current = !self.forgotten || self.healed;
        let known = |id: &String| current && (self.healed || *id == self.session_id());
        message.session.as_ref().is_none_or(known)
    }

    /// Nothing is left of what was sent to one that is gone.
    pub(super) fn forget(&mut self, via: Via) {
        self.stream = self.stream.filter(|id| Via::Exchange(*id) != via);
        self.messages.retain(|message| message.via != via);
        self.later.retain(|(_, message)| message.via != via);
    }
}
