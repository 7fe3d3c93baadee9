//! What goes wrong, on each transport in its own way.

use std::time::Duration;

use super::World;
use super::fine::{EVENTS, JSON, event};
use crate::testing::peer::{self, Message, Via, Words};
use crate::testing::{CallKind, Fault, Split, Wire};
use crate::{CallId, ExchangeId, ExitStatus, HttpFailureKind, Input, IoFailure, Sent, StdioInput};

/// How many lines a flood has.
const FLOOD: u8 = 30;

impl World {
    /// Lets something go wrong, and counts whom it concerns.
    pub(super) fn fault(&mut self, fault: Fault, to: u8, how: u8) {
        let open: Vec<_> = self.calls.values().copied().collect();
        let concerned = match fault {
            Fault::Exit | Fault::Hang | Fault::SlowReader => self.of_the_server(fault, how),
            Fault::Garbage | Fault::Flood | Fault::Reset if !self.setup.wire.is_http() => {
                self.of_the_pipe(fault, how)
            }
            _ => return self.with_message(fault, to, how),
        };
        if concerned {
            self.met_by(fault, &open);
        }
    }

    pub(super) fn met_by(&mut self, fault: Fault, kinds: &[CallKind]) {
        for kind in kinds {
            *self.met.entry((fault, *kind)).or_default() += 1;
        }
    }

    /// Whose calls a message is for: one, or all that wait for the start.
    pub(super) fn concerned(&self, message: &Message) -> Vec<CallKind> {
        let of = message.call.map(|call| self.calls.get(&CallId::new(call)).copied());
        match of {
            Some(kind) => kind.into_iter().collect(),
            None => match &*message.method {
                "server/discover" | "initialize" | "notifications/initialized" => {
                    self.calls.values().copied().collect()
                }
                "GET" if self.opens_events(message) => self.calls.values().copied().collect(),
                _ => Vec::new(),
            },
        }
    }

    /// The server itself fails.
    fn of_the_server(&mut self, fault: Fault, how: u8) -> bool {
        let now = self.clock.now().mono;
        let until = |step| Some(now + Duration::from_millis(u64::from(how) * step + 1));
        match (fault, self.setup.wire.is_http()) {
            (Fault::Exit, true) => {
                self.peer.down = until(40);
                let all: Vec<_> = self.performer.exchanges.keys().copied().collect();
                for id in all {
                    self.fail(id, HttpFailureKind::Closed, Sent::All);
                }
            }
            (Fault::Exit, false) => {
                if self.performer.process.is_none() {
                    return false;
                }
                if how & 24 == 24 && self.is_new() && self.setup.wire == Wire::Stdio {
                    self.fail_to_spawn();
                    return true;
                }
                if how & 1 == 0 {
                    self.close_stdout();
                }
                if how & 2 == 0 {
                    self.close_stderr();
                }
                let status =
                    if how & 4 == 0 { ExitStatus::Code(1) } else { ExitStatus::Signal(11) };
                self.exit(status, how & 8 != 0);
            }
            (Fault::Hang, _) => self.peer.hung = until(80),
            (Fault::SlowReader, false) => self.peer.blind = until(80),
            // Over HTTP it stops within a request, which then breaks.
            _ => {
                let Some(Via::Exchange(id)) = self.peer.messages.first().map(|it| it.via) else {
                    return false;
                };
                self.peer.blind = until(20);
                self.fail(id, HttpFailureKind::Closed, Sent::Some);
            }
        }
        true
    }

    /// The pipe fails, or too much comes through it.
    fn of_the_pipe(&mut self, fault: Fault, how: u8) -> bool {
        let Some(process) = &self.performer.process else { return false };
        let id = process.id;
        match fault {
            Fault::Reset if how & 1 == 0 => self.close_stdout(),
            Fault::Reset => {
                let failure = IoFailure { kind: "BrokenPipe".into(), text: "Broken pipe".into() };
                self.hand(Input::Stdio(id, StdioInput::WriteFailed(failure)));
            }
            Fault::Garbage => {
                self.stdout(&[peer::garbage(how), b"\n"].concat());
            }
            _ => {
                let all: String = (0..FLOOD).map(|n| self.flood(how, n) + "\n").collect();
                self.stdout(all.as_bytes());
            }
        }
        true
    }

    /// One of too many messages.
    fn flood(&mut self, how: u8, n: u8) -> String {
        let message = self.peer.messages.iter().find(|message| message.token.is_some());
        match (how % 5, message) {
            (0, _) => peer::request(0),
            (1, _) => peer::request(1 + n % 3),
            (2, Some(message)) => peer::progress(&mut message.clone(), n % 4).unwrap_or_default(),
            (3, _) => String::from_utf8_lossy(peer::garbage(n)).into_owned(),
            (4, _) if n == 0 => "x".repeat(self.connection.config().max_message_bytes + 1),
            _ => {
                self.told += 1;
                peer::notification(n, self.told)
            }
        }
    }

    /// Something goes wrong with one message.
    fn with_message(&mut self, fault: Fault, to: u8, how: u8) {
        let Some(at) = self.peer.find(to).filter(|_| !self.is_hung()) else { return };
        let Some(message) = self.peer.messages.get(at).cloned() else { return };
        let kinds = self.concerned(&message);
        if message.misplaced && !of_any_address(fault) {
            return;
        }
        let met = match (fault, message.via) {
            (Fault::Drop, _) => {
                self.peer.messages.remove(at);
                true
            }
            (Fault::Delay, _) => {
                self.peer.messages.remove(at);
                let after = Duration::from_millis(u64::from(how) * 50 + 1);
                self.peer.later.push((self.clock.now().mono + after, message));
                true
            }
            (Fault::Split | Fault::Duplicate | Fault::Truncate, Via::Exchange(id))
                if self.opens_events(&message) =>
            {
                self.spoilt_endpoint(fault, how, id);
                true
            }
            (Fault::Split | Fault::Duplicate | Fault::Truncate, via) => {
                let Some(text) = self.well(&message) else { return };
                self.peer.messages.remove(at);
                self.opens(&message);
                match via {
                    Via::Process(_) => self.spoilt_line(fault, how, &text),
                    Via::Exchange(_) => self.spoilt_body(fault, how, &message, &text),
                }
                true
            }
            (Fault::AskedInCancel, _) => return self.asked_in_cancel(how, &message),
            (Fault::WrongEra, _) => self.speaks_wrongly(how, &message),
            (Fault::Cut | Fault::LostMidCall, Via::Exchange(id)) => {
                self.cut_off(fault, how, id, &message)
            }
            (Fault::ErrorInRound, Via::Exchange(_)) => self.error_in_round(how, &message),
            (fault, Via::Exchange(id)) => self.of_the_exchange(fault, how, id, &message),
            (_, Via::Process(_)) => false,
        };
        if met {
            self.met_by(fault, &kinds);
        }
    }

    /// The text of the answer that would be right.
    pub(super) fn well(&self, message: &Message) -> Option<String> {
        let id = message.id.as_deref()?;
        match peer::good(&self.setup, self.peer.healed, message) {
            Words::Nothing | Words::Death => None,
            words => Some(words.text(id)),
        }
    }

    fn spoilt_line(&mut self, fault: Fault, how: u8, text: &str) {
        match fault {
            Fault::Duplicate => self.stdout(format!("{text}\n{text}\n").as_bytes()),
            Fault::Truncate => {
                let (head, _) = halves(text.as_bytes(), how);
                self.stdout(&[head, b"\n"].concat());
            }
            _ => {
                let line = format!("{text}\n");
                let (head, tail) = halves(line.as_bytes(), how);
                self.stdout(head);
                self.wait(Duration::from_millis(u64::from(how & 7)));
                self.stdout(tail);
            }
        }
    }

    fn spoilt_body(&mut self, fault: Fault, how: u8, to: &Message, text: &str) {
        let Some(Via::Exchange(id)) = self.taken(to).map(|taken| taken.via) else { return };
        let events = self.setup.wire.has_events();
        let headers = self.welcome(to, if events { EVENTS } else { JSON });
        self.head(id, 200, &headers);
        let text = if events { event(text) } else { String::from(text) };
        match fault {
            Fault::Duplicate if events => self.body(id, [&*text, &*text].concat().as_bytes()),
            Fault::Duplicate if how & 1 == 0 => {
                self.body(id, format!("[{text},{text}]").as_bytes());
            }
            Fault::Duplicate => self.body(id, format!("{text}\n{text}").as_bytes()),
            Fault::Truncate => {
                let (head, _) = halves(text.as_bytes(), how);
                self.body(id, head);
            }
            _ => {
                let (head, tail) = halves(text.as_bytes(), how);
                self.body_in(id, head, Split::Lengths([how, 1, 3]));
                self.wait(Duration::from_millis(u64::from(how & 7)));
                self.body(id, tail);
            }
        }
        // The one stream of HTTP+SSE rarely ends with an answer.
        let ends = how & if self.setup.wire == Wire::Sse { 56 } else { 8 } == 0;
        if !events || fault == Fault::Truncate || ends {
            self.end_exchange(id);
        }
    }

    /// An exchange fails, or is answered with a status that is no success.
    fn of_the_exchange(&mut self, fault: Fault, how: u8, id: ExchangeId, to: &Message) -> bool {
        const CLIENT: [u16; 9] = [400, 401, 403, 404, 405, 406, 415, 422, 429];
        const SERVER: [u16; 4] = [500, 502, 503, 504];
        let begun = self.performer.exchanges.get(&id).is_none_or(|exchange| exchange.head);
        let at = usize::from(how);
        match fault {
            Fault::Reset | Fault::Garbage | Fault::Flood => {
                // What comes with the answer comes on the stream, where there is one.
                let there = self.setup.wire == Wire::Sse && to.id.is_some() && how & 16 == 0;
                let taken = if there { self.taken(to).map(|taken| taken.via) } else { None };
                let id = if let Some(Via::Exchange(stream)) = taken { stream } else { id };
                match fault {
                    Fault::Reset => self.reset(id, how, to),
                    Fault::Garbage => self.garbage(id, how),
                    _ => self.flood_of(id, how),
                }
            }
            _ if begun => return false,
            Fault::ClientError => {
                let status = CLIENT.get(at % CLIENT.len()).copied().unwrap_or(400);
                // With a session this would say that the session is gone.
                let status = if status == 404 && to.session.is_some() { 400 } else { status };
                self.whole(id, status, "application/json", &self.refusal(how, to));
            }
            Fault::ServerError => {
                let status = SERVER.get(at % SERVER.len()).copied().unwrap_or(500);
                self.whole(id, status, "text/html", b"<h1>Oops</h1>");
            }
            Fault::LostSession if to.session.is_some() => {
                self.peer.forgotten = true;
                self.whole(id, 404, "application/json", &self.refusal(how & 1, to));
            }
            Fault::Redirect => self.redirect(id, how, to),
            _ => return false,
        }
        true
    }

    /// The body of an error answer.
    fn refusal(&self, how: u8, to: &Message) -> Vec<u8> {
        let id = to.id.as_deref().unwrap_or("null");
        match how % 4 {
            0 => Vec::new(),
            1 => Words::Error(-32000).text(id).into_bytes(),
            2 => peer::error(id, how / 4).into_bytes(),
            _ => Vec::from(b"no"),
        }
    }

    fn reset(&mut self, id: ExchangeId, how: u8, to: &Message) {
        use HttpFailureKind::{Closed, Malformed, Proxy, Resolve, Tls};
        let whole = self.well(to);
        let (kind, sent) = match how % 8 {
            0 | 1 => (Closed, Sent::All),
            2 => (Closed, Sent::None),
            3 => (Malformed, Sent::All),
            4 => (Tls, Sent::None),
            5 => (Proxy, Sent::None),
            6 => (Resolve, Sent::None),
            _ => (Closed, Sent::Some),
        };
        if how % 2 == 1 && sent == Sent::All {
            let events = self.setup.wire.has_events();
            let headers = self.welcome(to, if events { EVENTS } else { JSON });
            self.head(id, 200, &headers);
            let text = whole.unwrap_or_default();
            let text = if events { event(&text) } else { text };
            let (head, _) = halves(text.as_bytes(), how);
            self.body(id, head);
        }
        self.fail(id, kind, sent);
    }

    fn garbage(&mut self, id: ExchangeId, how: u8) {
        let bytes = peer::garbage(how);
        if self.setup.wire.has_events() && how & 1 == 0 {
            self.head(id, 200, &[(EVENTS.0, String::from(EVENTS.1))]);
            let event = [b"data: ", bytes, b"\n\nid: \x00\nretry: x\n: \nevent: other\ndata\n\n"];
            self.body(id, &event.concat());
            return;
        }
        let kind = ["text/html", "application/json", "text/plain", ""][usize::from(how % 4)];
        let mut headers = vec![("content-type", String::from(kind))];
        if how >= 128 {
            let coding = ["gzip", "br", "identity"][usize::from(how % 3)];
            headers.push(("content-encoding", String::from(coding)));
        }
        self.head(id, 200, &headers);
        self.body(id, bytes);
        self.end_exchange(id);
    }

    fn flood_of(&mut self, id: ExchangeId, how: u8) {
        if self.setup.wire.has_events() {
            self.head(id, 200, &[(EVENTS.0, String::from(EVENTS.1))]);
            let all: String = (0..FLOOD).map(|n| event(&self.flood(how, n))).collect();
            return self.body(id, all.as_bytes());
        }
        let body = "x".repeat(self.connection.config().max_message_bytes + 1);
        self.whole(id, 200, JSON.1, format!(r#"{{"x":"{body}"}}"#).as_bytes());
    }

    fn redirect(&mut self, id: ExchangeId, how: u8, to: &Message) {
        let status = [307, 308, 307, 301, 302, 303][usize::from(how % 6)];
        let to = match how % 7 {
            4 => String::from("http://other.test/mcp"),
            5 if !to.misplaced => String::from("http://server.test/again#fragment"),
            0..=3 | 5 => self.elsewhere(to),
            _ => String::new(),
        };
        self.head(id, status, &[("location", to)]);
        self.end_exchange(id);
    }
}

/// Whether something can go wrong where nothing is served.
fn of_any_address(fault: Fault) -> bool {
    use Fault::{ClientError, Delay, Drop, Flood, Garbage, Redirect, Reset, ServerError};
    matches!(fault, ClientError | Delay | Drop | Flood | Garbage | Redirect | Reset | ServerError)
}

/// Cuts somewhere, by a number from 0 to 255.
pub(super) fn halves(bytes: &[u8], how: u8) -> (&[u8], &[u8]) {
    bytes.split_at(bytes.len() * usize::from(how) / 256)
}
