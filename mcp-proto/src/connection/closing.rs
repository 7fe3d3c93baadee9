//! The ends of a connection: rest, close, and the loss of its server.

use super::{Asked, Connection, Phase, Skipped};
use crate::error::CloseReason;
use crate::interface::{ConnectionState, Owner};
use crate::{ErrorKind, TimerReason, TransportError};

impl Connection {
    pub(super) fn on_disconnect(&mut self) {
        if !matches!(self.phase, Phase::Idle | Phase::Closed(_)) || !self.calls.is_empty() {
            let reason = CloseReason::Disconnected;
            self.end_calls(|_| ErrorKind::Closed(CloseReason::Disconnected));
            self.rest(reason);
        }
    }

    pub(super) fn on_close(&mut self) {
        if matches!(self.phase, Phase::Closed(_)) {
            return;
        }
        self.end_calls(|_| ErrorKind::Closed(CloseReason::Closed));
        self.withdraw(|asked| matches!(asked, Asked::Save).then_some(Owner::Connection));
        self.rest(CloseReason::Closed);
        self.tools.forget();
        self.notifications.clear();
        self.phase = Phase::Closed(CloseReason::Closed);
        self.state = ConnectionState::Closed(CloseReason::Closed);
    }

    /// The server was lost. What was sent to it is lost too; what was not goes to the next one.
    pub(super) fn on_lost(&mut self, error: TransportError) {
        if let Some(start) = self.phase.start() {
            let verdict = start.lost(error);
            return self.follow(verdict);
        }
        if !matches!(self.phase, Phase::Greeting(_) | Phase::Ready(_)) {
            return;
        }
        let stream = self.link.is_stream();
        self.end_calls(|call| {
            let ends = stream || call.ends_with_server();
            ends.then(|| ErrorKind::Transport(error.clone()))
        });
        self.hand_on_calls();
        self.rest(CloseReason::Transport(error));
    }

    /// Nothing is spoken with any more: what still runs is closed.
    pub(super) fn rest(&mut self, reason: CloseReason) {
        self.timers.clear(TimerReason::Start);
        self.timers.clear(TimerReason::Discover);
        self.timers.clear(TimerReason::StartRetry);
        self.timers.clear(TimerReason::Load);
        self.timers.clear(TimerReason::Stream);
        self.requests.clear();
        self.held_answers.clear();
        self.withdraw_all(Owner::Connection);
        // It may be the end, after which no event comes.
        self.tell_lost(true);
        self.skipped = Skipped::default();
        self.relaunch_due = false;
        // The next process is another server, whose tools nobody knows.
        if !self.link.is_http() {
            self.tools.forget();
        }
        (self.phase, self.state) = if self.link.is_spent() {
            (Phase::Closed(reason.clone()), ConnectionState::Closed(reason))
        } else {
            (Phase::Idle, ConnectionState::Idle(reason))
        };
        self.owes_state = true;
        let happened = self.link.close();
        self.take_up(happened);
    }

    /// Lets go of a request that nobody waits for any more, without telling the server more than
    /// its transport does by itself.
    pub(super) fn drop_request(&mut self, request: u64) {
        let dropped = self.link.drop_request(request);
        self.take_up(dropped);
    }
}
