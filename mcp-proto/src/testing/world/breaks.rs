//! What breaks off in the middle: answers, sessions, questions and rounds.

use super::World;
use super::faults::halves;
use super::fine::{EVENTS, JSON, event};
use crate::testing::peer::{self, CUT, Message, Via};
use crate::testing::{Answering, CallKind, Fault, Rule, Wire};
use crate::{CallId, ExchangeId, HttpFailureKind, Input, Sent};

/// How many deadlines a call gets to send its next round.
const PATIENCE: u8 = 3;

/// Where the rest of an answer is asked for.
#[derive(Debug)]
pub(super) struct Place {
    number: u64,
    session: Option<String>,
}

impl World {
    /// The stream of an answer ends before the answer, and with [`Fault::LostMidCall`] the session
    /// is gone with it.
    pub(super) fn cut_off(&mut self, fault: Fault, how: u8, id: ExchangeId, to: &Message) -> bool {
        let events = self.setup.wire == Wire::Events;
        let lost = fault == Fault::LostMidCall;
        if to.id.is_some() && self.setup.wire == Wire::Sse {
            return self.cut_events(fault, how, to);
        }
        if to.id.is_none() || (lost && to.session.is_none()) || !(events || lost) {
            return false;
        }
        self.peer.forgotten |= lost;
        self.head(id, 200, &self.welcome(to, if events { EVENTS } else { JSON }));
        if events {
            self.say_where(how, id, to);
        } else {
            let text = self.well(to).unwrap_or_default();
            self.body(id, halves(text.as_bytes(), how).0);
        }
        if how & 1 == 0 && events {
            self.end_exchange(id);
        } else {
            self.fail(id, HttpFailureKind::Closed, Sent::All);
        }
        true
    }

    /// Says where the rest of an answer will be, or says no more where it will be.
    fn say_where(&mut self, how: u8, id: ExchangeId, to: &Message) {
        let number = self.peer.cut.len() as u64 + 1;
        let retry = match how >> 5 {
            0 => "retry: 0\n",
            1..=4 => "retry: 50\n",
            5 => "retry: 3000\n",
            6 => "retry: 70000\n",
            _ => "",
        };
        // Some are cut off before they have said it, and some take it back.
        let all = match how >> 1 & 7 {
            0 => String::from(": nothing\n\n"),
            1 => format!("id: {CUT}{number}\n{retry}data:\n\nid:\ndata:\n\n"),
            2 => format!("{}id: {CUT}{number}\n{retry}data:\n\n", event(&peer::request(0))),
            _ => format!("id: {CUT}{number}\n{retry}data:\n\n"),
        };
        self.peer.cut.insert(number, to.clone());
        self.body(id, all.as_bytes());
        let heard = self.performer.exchanges.get(&id).is_some_and(|it| it.said.is_empty());
        let Some(call) = to.call.map(CallId::new) else { return };
        let session = to.session.clone();
        match how >> 1 & 7 {
            0 => {}
            2.. if heard => {
                self.places.insert(call, Place { number, session });
            }
            _ => {
                self.places.remove(&call);
            }
        }
    }

    /// The rest of an answer is asked for where its server has said last that it will be, in the
    /// session of the request.
    pub(super) fn check_rest(&mut self, call: CallId, last: &str, session: Option<&str>) {
        let Some(place) = self.places.get(&call) else { return };
        if last != format!("{CUT}{}", place.number) {
            let what = format!("{call} goes on at {last}, and not at {CUT}{}", place.number);
            return self.report(Rule::Messages, what);
        }
        if session != place.session.as_deref() {
            let what = format!("{call} goes on in {session:?}, and began in {:?}", place.session);
            self.report(Rule::Messages, what);
        }
    }

    /// The host gives up a call just as the server asks something, in the way of its era, and the
    /// server goes on to ask.
    pub(super) fn asked_in_cancel(&mut self, how: u8, to: &Message) {
        let Some(id) = to.id.as_deref() else { return };
        let of = to.call.map(CallId::new).or_else(|| {
            // All wait for the start: those that wait for nothing else, more often than others.
            let connects = self.calls.iter().find(|(_, kind)| **kind == CallKind::Connect);
            let other = usize::from(how / 4).checked_rem(self.calls.len())?;
            let connects = connects.filter(|_| how < 160);
            connects.or_else(|| self.calls.iter().nth(other)).map(|(id, _)| *id)
        });
        let Some(call) = of.filter(|call| self.calls.contains_key(call)) else { return };
        let kind = self.calls.get(&call).copied();
        let asks = |n: u8| match self.setup.modern {
            true => peer::input(id, n),
            false => peer::request(1 + 7 * (n % 3)),
        };
        let (first, then) = (asks(how / 4), asks(how / 4 + 1));
        match how % 4 {
            // It asks before, after, or both.
            0 => {
                self.hand(Input::Cancel(call));
                self.ask_on(to, &first);
            }
            1 => {
                self.ask_on(to, &first);
                self.hand(Input::Cancel(call));
            }
            _ => {
                self.ask_on(to, &first);
                self.hand(Input::Cancel(call));
                self.ask_on(to, &then);
            }
        }
        if let Some(kind) = kind {
            self.met_by(Fault::AskedInCancel, &[kind]);
        }
    }

    /// Asks in answer to a message, or beside it. An answer that is one JSON text holds nothing
    /// more.
    fn ask_on(&mut self, to: &Message, text: &str) {
        self.say_to(to, text);
        if self.setup.modern && !matches!(self.setup.wire, Wire::Json | Wire::Plain) {
            self.peer.messages.retain(|it| it != to);
        }
    }

    /// A server asks for input, gets it, and fails.
    pub(super) fn error_in_round(&mut self, how: u8, to: &Message) -> bool {
        let (Some(id), Some(call)) = (to.id.as_deref(), to.call.map(CallId::new)) else {
            return false;
        };
        let asks = self.calls.get(&call).is_some_and(|kind| CallKind::may_be_asked(*kind));
        if !self.setup.modern || !asks {
            return false;
        }
        self.peer.messages.retain(|it| it != to);
        self.say_to(to, &peer::input(id, how % 5));
        let next = |world: &World| {
            let of = |it: &&Message| it.call == to.call && it.id != to.id;
            world.peer.messages.iter().find(of).cloned()
        };
        for _ in 0..=PATIENCE {
            while let Some(question) = self.invariants.question_of(call) {
                self.answer_one(question, how | 7, Answering::Fitting);
            }
            self.connected();
            self.settle();
            self.connected();
            if next(self).is_some() || !self.calls.contains_key(&call) || self.broken().is_some() {
                break;
            }
            self.next_moment();
        }
        let Some(Message { via: Via::Exchange(exchange), .. }) = next(self) else { return false };
        let status = [500, 502, 503, 504][usize::from(how / 5 % 4)];
        self.whole(exchange, status, "text/html", b"<h1>Oops</h1>");
        true
    }

    /// The server answers as if it were of the other era.
    pub(super) fn speaks_wrongly(&mut self, how: u8, to: &Message) -> bool {
        let Some(id) = to.id.as_deref() else { return false };
        self.peer.messages.retain(|it| it != to);
        let modern = self.setup.modern;
        match (how % 8, to.via) {
            (0, _) if modern => {
                self.say_to(to, &peer::request(1));
                self.say_to(to, &self.well(to).unwrap_or_default());
            }
            (0, _) => self.say_to(to, &peer::input(id, how / 8)),
            (1 | 2, Via::Exchange(exchange)) => {
                let text = peer::of_the_other_era(modern, id, how / 8 % 3);
                let status = if how % 8 == 1 { 400 } else { 404 };
                // With a session the latter would say that it is gone.
                let status = if to.session.is_some() { 400 } else { status };
                self.whole(exchange, status, "application/json", text.as_bytes());
            }
            _ => self.say_to(to, &peer::of_the_other_era(modern, id, how / 8)),
        }
        true
    }
}
