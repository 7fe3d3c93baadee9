//! What becomes of a call whose request has no answer: the few cases in which it is sent again, and
//! the error in all others.

use super::calls::Step;
use super::{Connection, Phase};
use crate::interface::{Output, ResendReason};
use crate::transport::Failure;
use crate::{CallId, Era, ErrorKind, Event, TimerReason, Transport, TransportError};

impl Connection {
    pub(super) fn on_call_failure(&mut self, id: CallId, failure: Failure) {
        let Some(call) = self.calls.get_mut(id) else { return };
        let idempotent = call.erased.spec.idempotent;
        let modern = self.known.as_ref().is_some_and(|info| info.era == Era::Modern);
        match failure {
            // The end of its stream cancels a modern request, and the server knows it.
            Failure::Ended | Failure::StreamBroken if modern && !call.reissued => {
                call.reissued = true;
                self.send_again(id, ResendReason::BrokenModernStream);
            }
            Failure::SessionGone if idempotent && !call.renewed => {
                call.renewed = true;
                self.renew_session();
                self.send_again(id, ResendReason::NewSession);
            }
            Failure::SessionGone => {
                // The next call finds a new session.
                self.renew_session();
                self.fail_call(id, failure);
            }
            _ if failure.is_transient() && idempotent => self.retry_later(id, failure),
            _ => self.fail_call(id, failure),
        }
    }

    fn fail_call(&mut self, id: CallId, failure: Failure) {
        let kind = match failure {
            Failure::TooLarge => self.too_large(),
            failure => ErrorKind::Transport(TransportError::Http(failure.fault())),
        };
        self.end_call(id, kind);
    }

    fn retry_later(&mut self, id: CallId, failure: Failure) {
        let (most, backoff) = match &self.transport {
            Transport::Http(http) => (http.retries, http.backoff),
            _ => (0, std::time::Duration::ZERO),
        };
        let Some(call) = self.calls.get_mut(id) else { return };
        if call.retries >= most {
            return self.fail_call(id, failure);
        }
        let after = backoff.saturating_mul(1 << call.retries.min(16));
        call.retries += 1;
        self.calls.advance(id, Step::Pausing);
        self.set_timer(TimerReason::Retry(id), after);
        self.event(Event::RetryScheduled { call: id, after });
    }

    pub(super) fn on_retry(&mut self, id: CallId) {
        if self.calls.get(id).is_some_and(|call| matches!(call.step, Step::Pausing)) {
            self.send_again(id, ResendReason::Retry);
        }
    }

    /// The call goes back to where it waits for the connection, and on from there.
    pub(super) fn send_again(&mut self, id: CallId, reason: ResendReason) {
        self.outputs.push_back(Output::Resend(id, reason));
        self.calls.advance(id, Step::Waiting);
        if matches!(self.phase, Phase::Ready(_)) {
            self.send_next(id);
        }
    }
}
