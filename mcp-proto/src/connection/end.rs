//! The one end of a call: its error, and what that says about the server.

use super::calls::{CallState, Past, Step};
use super::{Connection, Phase};
use crate::error::{Outcome, Phase as TimePhase, Timeout};
use crate::interface::{Output, Owner};
use crate::op::Spec;
use crate::{CallId, Error, ErrorKind, HttpFault, Sent, TimerReason, TransportError};

impl Connection {
    pub(super) fn on_cancel(&mut self, id: CallId) {
        if self.config.doctored(10) && self.is_modern() {
            return;
        }
        self.abandon(id, "The host cancelled the request", |_| ErrorKind::Cancelled);
    }

    pub(super) fn on_call_timeout(&mut self, id: CallId) {
        let now = self.now.mono;
        let starting = self.phase.starts() || matches!(self.phase, Phase::Greeting(_));
        self.abandon(id, "Request timed out", |call| {
            let phase = match call.step {
                Step::Waiting if starting => TimePhase::Start,
                Step::Waiting => TimePhase::Close,
                Step::Pausing(_) => TimePhase::Answer,
                Step::Meta | Step::Asking { .. } => TimePhase::Host,
                Step::Sent { .. } | Step::Arrived(_) => TimePhase::Answer,
            };
            ErrorKind::Timeout(Timeout { phase, after: now.saturating_sub(call.since) })
        });
    }

    /// Ends a call before its answer, and tells the server. A result that has arrived already is
    /// handed on instead: only the items before it are dropped.
    fn abandon(&mut self, id: CallId, reason: &str, kind: impl FnOnce(&CallState) -> ErrorKind) {
        let Some(call) = self.calls.get_mut(id) else {
            return;
        };
        if matches!(call.step, Step::Arrived(_)) {
            call.items.clear();
            return self.end_if_taken(id);
        }
        let kind = kind(call);
        if let Step::Sent { request, .. } = call.step {
            let told = self.link.abandon(request, reason, self.is_modern());
            self.take_up(told);
        }
        self.end_call(id, kind);
    }

    /// Ends calls, each with the error that is made for it; those without one go on. One whose
    /// result has arrived is handed that instead.
    pub(super) fn end_calls<K: Into<Option<ErrorKind>>>(&mut self, kind: impl Fn(&CallState) -> K) {
        for id in self.calls.ids(|_| true) {
            let Some(call) = self.calls.get_mut(id) else {
                continue;
            };
            let Some(kind) = kind(call).into() else {
                continue;
            };
            if matches!(call.step, Step::Arrived(_)) {
                call.items.clear();
                self.end_if_taken(id);
            } else {
                self.end_call(id, kind);
            }
        }
    }

    /// Ends a call with an error.
    pub(super) fn end_call(&mut self, id: CallId, kind: ErrorKind) {
        if !self.config.doctored(16) {
            self.withdraw_all(Owner::Call(id));
        }
        let Some(call) = self.calls.remove(id) else {
            return;
        };
        let mut unsent = false;
        if let Step::Sent { request, .. } = call.step {
            unsent = self.link.is_unsent(request);
            if !self.config.doctored(3) {
                self.requests.remove(&request);
            }
            self.drop_request(request);
        }
        self.clear_timers_of(id);
        let outcome = match call.past {
            Past::Sent if unsent => Outcome::NotSent,
            _ => call.outcome(&kind),
        };
        let mut error = self.error(kind, outcome, call.method());
        if error.is_timeout() {
            error = self.with_hints(error);
        }
        let error = call.with_continuation(error);
        if self.config.doctored(2) {
            self.outputs.push_back(Output::Done(id, Err(error.clone())));
        }
        self.outputs.push_back(Output::Done(id, Err(error)));
    }

    /// No time runs for a call that has ended.
    pub(super) fn clear_timers_of(&mut self, id: CallId) {
        self.timers.clear(TimerReason::Retry(id));
        if !self.config.doctored(24) {
            self.timers.clear(TimerReason::Resume(id));
        }
        if !self.config.doctored(7) {
            self.timers.clear(TimerReason::Call(id));
        }
    }

    /// What may explain that no answer came.
    pub(super) fn with_hints(&self, mut error: Error) -> Error {
        if let Some(last) = self.skipped.last {
            let http = self.link.is_http();
            let what = if http { "event(s) of its streams" } else { "line(s) of its stdout" };
            let count = self.skipped.count;
            error = error.note(format!(
                "{count} {what} were no messages and were skipped (the last: {last})"
            ));
        }
        match self.link.last_words() {
            words if words.is_empty() => error,
            words => error.note(format!("its last words on stderr: {words}")),
        }
    }
}

/// Whether the server may have done what a call asked for, by how the call ended.
pub(super) fn outcome_of(kind: &ErrorKind, spec: &Spec) -> Outcome {
    let fault = match kind {
        // A tool that ran may have said what does not fit its schema: servers that check that say
        // of it that parameters are wrong.
        ErrorKind::Server(error) if error.code == -32602 && !spec.idempotent => {
            return Outcome::Unknown;
        }
        ErrorKind::Server(error) if proves_nothing_ran(error.code) => return Outcome::NotRun,
        ErrorKind::Transport(TransportError::Http(fault)) => fault,
        _ => return Outcome::Unknown,
    };
    match fault {
        HttpFault::Exchange(failure) if failure.sent == Sent::None => Outcome::NotSent,
        HttpFault::Authorization { .. } | HttpFault::Redirect { .. } | HttpFault::SessionGone => {
            Outcome::NotRun
        }
        HttpFault::Status { status: 404..=406 | 415, .. } => Outcome::NotRun,
        _ => Outcome::Unknown,
    }
}

/// The codes that say that the request was not understood, or was refused before it ran.
fn proves_nothing_ran(code: i64) -> bool {
    matches!(code, -32700 | -32602..=-32600 | -32022..=-32020)
}
