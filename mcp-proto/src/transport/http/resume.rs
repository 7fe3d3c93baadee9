//! Answers that go on in another stream (2025-11-25: basic/transports, "Resumability and
//! Redelivery").
//!
//! A legacy server may end the stream of an answer before the answer: its end, and that of the
//! connection, is no cancellation. Where an event has said an id, the rest is asked for by GET, after
//! the pause that the server wants. That repeats nothing: the request itself is never sent again for
//! it. It goes on until the answer is there or the call has run out of its time; only an asking that
//! fails is bounded by a number.

use super::Http;
use super::exchange::{Carried, Exchange};
use super::place::Place;
use crate::config::{RESUME_ATTEMPTS, RESUME_PAUSE_MIN};
use crate::interface::Owner;
use crate::transport::{Failure, Happening};
use crate::{CallId, Era};

/// A request whose answer is on its way to another stream.
#[derive(Debug)]
pub(super) struct Resuming {
    pub(super) request: u64,
    pub(super) session: Option<u64>,
    pub(super) rest: Rest,
}

/// What is known of an answer's stream, as long as it may go on.
#[derive(Debug, Default)]
pub(super) struct Rest {
    pub(super) place: Place,
    /// How often in a row asking for it has failed.
    failed: u32,
}

impl Http {
    /// An exchange brings no answer. When the answer may still come in another stream, tells what is
    /// done for that; else why it will not come.
    pub(super) fn resume(
        &mut self,
        mut it: Resuming,
        owner: Owner,
        resumes: bool,
        failure: Failure,
    ) -> Result<Happening, Failure> {
        let legacy = self.agreed.is_some_and(|(era, _)| era == Era::Legacy);
        let current = it.session == self.sessions.number() || self.doctored(25);
        let ended = matches!(failure, Failure::Ended | Failure::StreamBroken);
        it.rest.failed = if ended || self.doctored(23) { 0 } else { it.rest.failed + 1 };
        let tries = resumes && failure.is_transient() && it.rest.failed < RESUME_ATTEMPTS;
        let goes_on = legacy && current && self.open && it.rest.place.is_known();
        if let Owner::Call(call) = owner
            && goes_on
            && (ended || tries)
        {
            let pause = it.rest.place.pause(RESUME_PAUSE_MIN);
            self.resuming.insert(call, it);
            return Ok(Happening::AwaitResume(call, Some(pause)));
        }
        Err(if resumes { Failure::NotResumed(Box::new(failure)) } else { failure })
    }

    /// The pause is over: asks for the rest.
    pub(crate) fn resume_now(&mut self, call: CallId) -> Vec<Happening> {
        let Some(Resuming { request, session, rest }) = self.resuming.remove(&call) else {
            return Vec::new();
        };
        if session != self.sessions.number() && !self.doctored(25) {
            let gone = Failure::NotResumed(Box::new(Failure::SessionGone));
            return vec![Happening::Failed(request, gone)];
        }
        let carries = Carried::Rest { id: request };
        let get = self.get(&rest.place);
        let mut exchange = Exchange::new(carries, Owner::Call(call), get, session);
        exchange.rest = rest;
        self.exchange(exchange)
    }

    /// Nobody waits for the rest any more.
    pub(super) fn resume_no_more(&mut self, request: u64) -> Option<Happening> {
        let (call, _) = self.resuming.iter().find(|(_, it)| it.request == request)?;
        let call = *call;
        self.resuming.remove(&call);
        Some(Happening::AwaitResume(call, None))
    }
}
