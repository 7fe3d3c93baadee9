//! What becomes of a call whose request has no answer: the few cases in which it is sent again, and
//! the error in all others.

use std::time::Duration;

use super::calls::{Fetch, Pages, Past, Step};
use super::{Connection, Phase};
use crate::interface::{Output, ResendReason};
use crate::transport::Failure;
use crate::{CallId, ErrorKind, Event, Outcome, TimerReason, Transport, TransportError};

impl Connection {
    pub(super) fn on_call_failure(&mut self, id: CallId, failure: Failure) {
        let modern = self.is_modern() || self.config.doctored(26);
        let kind = self.error_kind(failure.clone());
        let once = 1 + u32::from(self.config.doctored(15));
        let Some(call) = self.calls.get_mut(id) else { return };
        if matches!(call.fetch, Fetch::Out(_)) {
            return self.fetch_failed(id);
        }
        let idempotent = call.erased.spec.idempotent || self.config.doctored(4);
        let past = match call.outcome(&kind) {
            Outcome::Unknown => Past::InDoubt,
            _ => call.past,
        };
        match failure {
            // The end of its stream cancels a modern request, and the server knows it. That counts
            // once, for any request.
            Failure::Ended | Failure::StreamBroken
                if modern && call.spent.resend(ResendReason::BrokenModernStream, once) =>
            {
                call.past = past;
                self.send_again(id, ResendReason::BrokenModernStream);
            }
            Failure::StreamBroken if modern => self.end_call(id, kind),
            _ if failure.is_lost_session()
                && idempotent
                && call.spent.resend(ResendReason::NewSession, 1) =>
            {
                // Cursors of the old session mean nothing in the new one.
                call.pages = Pages::default();
                self.send_again(id, ResendReason::NewSession);
            }
            _ if failure.is_transient() && idempotent => {
                call.past = past;
                self.retry_later(id, kind);
            }
            _ => self.end_call(id, kind),
        }
    }

    fn error_kind(&self, failure: Failure) -> ErrorKind {
        match failure {
            Failure::TooLarge => self.too_large(),
            failure => ErrorKind::Transport(TransportError::Http(failure.fault())),
        }
    }

    fn retry_later(&mut self, id: CallId, kind: ErrorKind) {
        let (most, backoff) = match &self.transport {
            Transport::Http(http) => {
                let over = self.link.http().unwrap_or(crate::HttpTransport::Streamable);
                (http.retries_over(over), http.backoff)
            }
            _ => (0, Duration::ZERO),
        };
        let Some(call) = self.calls.get_mut(id) else { return };
        let before = call.spent.resends(ResendReason::Retry);
        if !call.spent.resend(ResendReason::Retry, most) {
            return self.end_call(id, kind);
        }
        let after = crate::era::backoff(backoff, before);
        self.calls.advance(id, Step::Pausing(ResendReason::Retry));
        self.set_timer(TimerReason::Retry(id), after);
        self.event(Event::RetryScheduled { call: id, after });
    }

    /// The rest of an answer is asked for after a pause, or not any more. The request is not sent
    /// again, and the time of the call goes on.
    pub(super) fn await_resume(&mut self, call: CallId, after: Option<Duration>) {
        match after {
            Some(after) => {
                self.set_timer(TimerReason::Resume(call), after);
                self.event(Event::ResumeScheduled { call, after });
            }
            None => self.timers.clear(TimerReason::Resume(call)),
        }
    }

    pub(super) fn on_retry(&mut self, id: CallId) {
        match self.calls.get(id).map(|call| &call.step) {
            Some(Step::Pausing(ResendReason::InputRequired)) => self.pause_for_input_is_over(id),
            Some(Step::Pausing(reason)) => {
                let reason = *reason;
                self.send_again(id, reason);
            }
            _ => {}
        }
    }

    /// The call goes back to where it waits for the connection, and on from there.
    pub(super) fn send_again(&mut self, id: CallId, reason: ResendReason) {
        if !self.config.doctored(5) {
            self.outputs.push_back(Output::Resend(id, reason));
        }
        self.calls.advance(id, Step::Waiting);
        if matches!(self.phase, Phase::Ready(_)) {
            self.start_clock(id);
            self.send_next(id);
        }
    }
}
