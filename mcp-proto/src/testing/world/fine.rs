//! The bytes of answers, as each transport has them.

use super::World;
use crate::testing::Wire;
use crate::testing::peer::{Message, Via};
use crate::{ExchangeId, HttpInput, Input, StatusCode};

pub(super) const JSON: (&str, &str) = ("content-type", "application/json");
pub(super) const EVENTS: (&str, &str) = ("content-type", "text/event-stream");

/// An event of a stream.
pub(super) fn event(text: &str) -> String {
    format!("event: message\ndata: {text}\n\n")
}

impl World {
    /// Says this text in answer to a message, as the transport has it.
    pub(super) fn say_to(&mut self, message: &Message, text: &str) {
        match message.via {
            Via::Process(_) => self.stdout(format!("{text}\n").as_bytes()),
            Via::Exchange(_) if self.setup.wire == Wire::Sse => self.say_on_stream(message, text),
            Via::Exchange(id) if self.setup.wire == Wire::Events => {
                self.head(id, 200, &self.welcome(message, EVENTS));
                self.body(id, event(text).as_bytes());
            }
            Via::Exchange(id) => {
                self.head(id, 200, &self.welcome(message, JSON));
                self.body(id, text.as_bytes());
                self.end_exchange(id);
            }
        }
    }

    /// Says something that answers nothing. Over HTTP it needs an event stream to be on.
    pub(super) fn say_beside(&mut self, to: u8, text: &str) {
        if self.is_hung() {
            return;
        }
        match self.setup.wire {
            Wire::Stdio | Wire::Stream => self.stdout(format!("{text}\n").as_bytes()),
            Wire::Json | Wire::Plain => {}
            Wire::Sse => {
                if let Some(stream) = self.peer.stream {
                    self.body(stream, event(text).as_bytes());
                }
            }
            Wire::Events => {
                let at = self.peer.find(to);
                let message = at.and_then(|at| self.peer.messages.get(at)).cloned();
                let hears = |it: &Message| it.id.is_some() || it.method == "GET";
                let Some(message) = message.filter(hears) else { return };
                let Via::Exchange(id) = message.via else { return };
                self.head(id, 200, &self.welcome(&message, EVENTS));
                self.body(id, event(text).as_bytes());
            }
        }
    }

    /// The headers of an answer. That to `initialize` opens the session.
    pub(super) fn welcome(
        &self,
        message: &Message,
        kind: (&'static str, &'static str),
    ) -> Vec<(&'static str, String)> {
        let mut headers = vec![(kind.0, String::from(kind.1))];
        if message.method == "initialize" && self.setup.sessions && !self.setup.modern {
            headers.push(("mcp-session-id", self.peer.session_id()));
        }
        headers
    }

    /// The head of an answer, unless it was handed in already.
    pub(super) fn head(&mut self, id: ExchangeId, status: u16, headers: &[(&str, String)]) {
        let Some(exchange) = self.performer.exchanges.get_mut(&id) else { return };
        if !std::mem::replace(&mut exchange.head, true) {
            let headers = headers.iter().map(|(name, value)| (String::from(*name), value.clone()));
            let (status, headers) = (StatusCode(status), headers.collect());
            self.hand(Input::Http(id, HttpInput::Head { status, headers }));
        }
    }

    /// Bytes of a body.
    pub(super) fn body(&mut self, id: ExchangeId, bytes: &[u8]) {
        let split = self.setup.split;
        self.body_in(id, bytes, split);
    }

    /// A whole answer with this status and body.
    pub(super) fn whole(&mut self, id: ExchangeId, status: u16, kind: &str, body: &[u8]) {
        self.head(id, status, &[("content-type", String::from(kind))]);
        self.body(id, body);
        self.end_exchange(id);
    }
}
