//! HTTP+SSE and plain HTTP: where each is served, and the one stream of the former.

use std::time::Duration;

use url::Url;

use super::World;
use super::faults::halves;
use super::fine::{EVENTS, event};
use crate::testing::peer::{Message, Via};
use crate::testing::{Fault, Wire};
use crate::{ExchangeId, HttpFailureKind, HttpRequest, Method, Sent};

/// Where messages go over HTTP+SSE.
const MESSAGES: &str = "/messages";

/// Where no server serves anything.
const NOTHING: &str = "/none";

impl World {
    /// Whether nothing is served at the address of a request.
    pub(super) fn is_misplaced(&self, request: &HttpRequest) -> bool {
        let url = Url::parse(&request.url).ok();
        let path = url.as_ref().map(Url::path).unwrap_or_default();
        if path == NOTHING {
            return true;
        }
        match self.setup.wire {
            Wire::Sse => path.starts_with(MESSAGES) != (request.method == Method::Post),
            // Where the address leaves it open, each transport is served at a place of its own.
            Wire::Plain => request.method == Method::Get || path == "/",
            _ => path == crate::PLAIN_ENDPOINT,
        }
    }

    /// The session that a request names: over HTTP+SSE in its address.
    pub(super) fn session_of(&self, request: &HttpRequest) -> Option<String> {
        if self.setup.wire == Wire::Sse {
            let url = Url::parse(&request.url).ok()?;
            let found = url.query_pairs().find(|(name, _)| name == "session");
            return found.map(|(_, value)| value.into_owned());
        }
        let mut headers = request.headers.iter();
        headers.find(|(name, _)| name == "mcp-session-id").map(|(_, value)| value.clone())
    }

    /// Whether a message asks for the one stream of HTTP+SSE.
    pub(super) fn opens_events(&self, message: &Message) -> bool {
        self.setup.wire == Wire::Sse && message.method == "GET" && !message.misplaced
    }

    /// There is nothing where this message went: each server says so in its own way.
    pub(super) fn refuse_place(&mut self, id: ExchangeId, message: &Message) {
        let (status, body) = match (self.setup.version % 4, message.method.as_str()) {
            // A page for people.
            (2, "GET") => (200, "<h1>Welcome</h1>"),
            (0, _) => (405, ""),
            (1, _) => (404, "Not Found"),
            _ => (400, "no"),
        };
        self.whole(id, status, "text/html", body.as_bytes());
    }

    /// The one stream is opened, and a session with it.
    pub(super) fn open_events(&mut self, id: ExchangeId, endpoint: &str) {
        self.peer.sessions += 1;
        self.peer.forgotten = false;
        if let Some(before) = self.peer.stream.filter(|before| *before != id) {
            self.end_exchange(before);
        }
        self.head(id, 200, &[(EVENTS.0, String::from(EVENTS.1))]);
        self.body(id, endpoint.as_bytes());
        let open = self.performer.exchanges.contains_key(&id);
        self.peer.messages.retain(|it| it.via != Via::Exchange(id));
        self.peer.stream = open.then_some(id);
    }

    /// The event that names the address for messages of the next session. Each server writes it
    /// in its own way.
    pub(super) fn endpoint(&self) -> String {
        let query = format!("{MESSAGES}?session=session-{}", self.peer.sessions + 1);
        let address = match self.setup.version % 5 {
            0 => format!("http://server.test{query}"),
            1 => String::from(query.trim_start_matches('/')),
            _ => query,
        };
        format!("event: endpoint\ndata: {address}\n\n")
    }

    /// The beginning of a stream as it should not be.
    pub(super) fn odd_endpoint(&mut self, how: u8, id: ExchangeId) {
        let right = self.endpoint();
        let named = |address: &str| format!("event: endpoint\ndata: {address}\n\n");
        let all = match how % 10 {
            0 => named("http://other.test/messages?session=session-1"),
            1 => named("//other.test/messages"),
            2 => named(""),
            3 => named("javascript:alert(1)"),
            4 => named(&format!("/messages?{}", "x".repeat(9000))),
            5 => right.replace("event: endpoint\n", ""),
            6 => format!("{}{right}", event(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#)),
            7 => format!("{right}{}", named("http://other.test/messages")),
            8 => format!(": nothing\n\nevent: other\ndata: 1\n\n{right}"),
            _ => named("http://user:secret@server.test/messages"),
        };
        self.open_events(id, &all);
        if how >= 200 {
            self.end_exchange(id);
        }
    }

    /// The beginning of the stream, not quite as it should come.
    pub(super) fn spoilt_endpoint(&mut self, fault: Fault, how: u8, id: ExchangeId) {
        let endpoint = self.endpoint();
        let (head, tail) = halves(endpoint.as_bytes(), how);
        match fault {
            Fault::Duplicate => self.open_events(id, &[&*endpoint, &*endpoint].concat()),
            Fault::Truncate => {
                self.open_events(id, &String::from_utf8_lossy(head));
                self.end_exchange(id);
            }
            _ => {
                self.open_events(id, &String::from_utf8_lossy(head));
                self.wait(Duration::from_millis(u64::from(how & 7)));
                self.body(id, tail);
            }
        }
    }

    /// Where else a request may go.
    pub(super) fn elsewhere(&self, message: &Message) -> String {
        match (&message.session, self.setup.wire) {
            (Some(session), Wire::Sse) => format!("{MESSAGES}/elsewhere?session={session}"),
            _ if message.misplaced => String::from(NOTHING),
            _ => String::from("/mcp/elsewhere"),
        }
    }

    /// The server takes a message: over HTTP+SSE its answer will come on the stream. `None` when it
    /// will not, since there is no such session.
    pub(super) fn taken(&mut self, message: &Message) -> Option<Message> {
        let Via::Exchange(id) = message.via else { return Some(message.clone()) };
        if self.setup.wire != Wire::Sse || self.peer.stream == Some(id) {
            return Some(message.clone());
        }
        let known = self.peer.knows(message) && message.session.is_some();
        let Some(stream) = self.peer.stream.filter(|_| known) else {
            self.whole(id, 404, "text/plain", b"no such session");
            return None;
        };
        let taken = Message { via: Via::Exchange(stream), ..message.clone() };
        for it in self.peer.messages.iter_mut().filter(|it| *it == message) {
            *it = taken.clone();
        }
        self.whole(id, 202, "text/plain", b"Accepted");
        Some(taken)
    }

    /// An answer of HTTP+SSE. Some servers say on the stream what they have not yet taken.
    pub(super) fn say_on_stream(&mut self, message: &Message, text: &str) {
        let early = message.id.as_deref().is_some_and(|id| id.ends_with(['0', '3', '6']));
        if let (true, Some(stream), true) = (early, self.peer.stream, self.peer.knows(message)) {
            self.body(stream, event(text).as_bytes());
            self.taken(message);
        } else if self.taken(message).is_some()
            && let Some(stream) = self.peer.stream
        {
            self.body(stream, event(text).as_bytes());
        }
    }

    /// The one stream ends, or breaks, before an answer.
    pub(super) fn cut_events(&mut self, fault: Fault, how: u8, message: &Message) -> bool {
        if how & 2 == 0 {
            self.taken(message);
        }
        let Some(stream) = self.peer.stream else { return false };
        self.peer.forgotten |= fault == Fault::LostMidCall;
        if how & 4 == 0
            && let Some(text) = self.well(message)
        {
            self.body(stream, halves(event(&text).as_bytes(), how).0);
        }
        if how & 1 == 0 {
            self.end_exchange(stream);
        } else {
            self.fail(stream, HttpFailureKind::Closed, Sent::All);
        }
        true
    }
}
