//! What the server does, from honest to hostile.

use super::World;
use super::fine::EVENTS;
use crate::testing::peer::{self, Message, Via, Words};
use crate::testing::{Manner, Wire};
use crate::{Input, StdioInput};

impl World {
    /// The server answers one of the messages that it has.
    pub(super) fn reply(&mut self, to: u8, manner: Manner) {
        if self.is_hung() {
            return;
        }
        let Some(message) = self.peer.take(to) else { return };
        if message.misplaced {
            return self.answer_well(&message);
        }
        let max = self.connection.config().max_message_bytes;
        let text = match (&message.id, manner) {
            (Some(id), Manner::Page) => match peer::page(&message, true) {
                words if message.method.ends_with("/list") => words.text(id),
                _ => return self.answer_well(&message),
            },
            (Some(id), Manner::Ask(what)) => peer::input(id, what),
            (Some(id), Manner::Refuse(how)) => peer::error(id, how),
            (Some(_), Manner::Odd(how)) => peer::odd(&message, how, max),
            (None, Manner::Odd(how)) if self.opens_events(&message) => {
                let Via::Exchange(id) = message.via else { return };
                return self.odd_endpoint(how, id);
            }
            (_, Manner::Odd(how)) => {
                return self.accept(&message, [200, 204, 299][usize::from(how % 3)]);
            }
            _ => return self.answer_well(&message),
        };
        self.opens(&message);
        self.say_to(&message, &text);
    }

    /// The server answers as it should.
    pub(super) fn answer_well(&mut self, message: &Message) {
        if let (Via::Exchange(id), true) = (message.via, message.misplaced) {
            return self.refuse_place(id, message);
        }
        let begins = message.method == "initialize" && self.setup.wire != Wire::Sse;
        let known = self.peer.knows(message) || begins;
        if let (Via::Exchange(id), false) = (message.via, known) {
            return self.whole(id, 404, "text/plain", b"no such session");
        }
        if let (Via::Exchange(id), true) = (message.via, self.opens_events(message)) {
            return self.open_events(id, &self.endpoint());
        }
        if message.method == "GET" {
            return self.stream(message);
        }
        let Some(id) = &message.id else { return self.accept(message, 202) };
        let words = peer::good(&self.setup, self.peer.healed, message);
        self.opens(message);
        match (&words, message.via) {
            (Words::Nothing, _) => {}
            (Words::Death, _) => self.exit(crate::ExitStatus::Code(1), false),
            (Words::Error(_), Via::Exchange(exchange))
                if message.call.is_none() && self.setup.wire != Wire::Sse =>
            {
                // How a server over HTTP refuses what it does not know.
                let status = if self.setup.version.is_multiple_of(2) { 400 } else { 200 };
                self.whole(exchange, status, "application/json", words.text(id).as_bytes());
            }
            _ => self.say_to(message, &words.text(id)),
        }
    }

    /// The answer to `initialize` opens a session.
    pub(super) fn opens(&mut self, message: &Message) {
        if message.method == "initialize" && self.setup.wire != Wire::Sse {
            self.peer.sessions += 1;
            self.peer.forgotten = false;
        }
    }

    /// The stream of what the server says by itself: some offer none, others open it, and end it at
    /// some time.
    fn stream(&mut self, message: &Message) {
        let Via::Exchange(id) = message.via else { return };
        if self.setup.version.is_multiple_of(3) || self.setup.modern {
            return self.whole(id, 405, "text/plain", b"");
        }
        if self.performer.exchanges.get(&id).is_some_and(|exchange| exchange.head) {
            return self.end_exchange(id);
        }
        self.head(id, 200, &[(EVENTS.0, String::from(EVENTS.1))]);
        self.body(id, format!("id: {}\nretry: 200\ndata:\n\n", self.next_call).as_bytes());
        if !self.peer.healed {
            self.peer.messages.push(message.clone());
        }
    }

    /// What is no request is taken, and no more is said.
    fn accept(&mut self, message: &Message, status: u16) {
        if status == 202 && self.taken(message).is_none() {
            return;
        }
        if let Via::Exchange(id) = message.via {
            self.whole(id, status, "text/plain", b"");
        }
    }

    pub(super) fn tell_progress(&mut self, to: u8, how: u8) {
        let Some(at) = self.peer.find(to) else { return };
        let text = self.peer.messages.get_mut(at).and_then(|it| peer::progress(it, how));
        if let Some(text) = text {
            self.say_beside(to, &text);
        }
    }

    pub(super) fn ask(&mut self, to: u8, what: u8) {
        self.say_beside(to, &peer::request(what));
    }

    pub(super) fn notify(&mut self, to: u8, what: u8) {
        // Numbered, so that their order can be told.
        self.told += 1;
        self.say_beside(to, &peer::notification(what, self.told));
    }

    pub(super) fn write_stderr(&mut self, what: u8) {
        let Some(process) = self.performer.process.as_ref().filter(|it| it.stderr_open) else {
            return;
        };
        let id = process.id;
        let words = match what % 4 {
            0 => vec![b'x'; usize::from(what) * 40],
            1 => vec![what, 0xff, b'\n'],
            2 => Vec::from(b"warning: \x1b[31mred\x1b[0m\r\nand more"),
            _ => format!("listening {what}\n").into_bytes(),
        };
        for piece in self.setup.split.cut(&words) {
            self.hand(Input::Stdio(id, StdioInput::Stderr(piece)));
        }
    }
}
