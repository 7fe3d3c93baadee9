//! From the decision about the era to the first call: what a legacy server is told first, and the
//! stream on which it is heard.

use std::time::Duration;

use super::{Connection, Greeting, Phase};
use crate::config::STREAM_WAIT;
use crate::interface::ConnectionState;
use crate::transport::{Failure, Outgoing};
use crate::{DeprecatedFeature, HttpTransport, TimerReason};

impl Connection {
    /// Tells a legacy server that it may begin. Calls wait until that has arrived: a server may
    /// refuse what comes before (2025-11-25: basic/lifecycle).
    pub(super) fn greet(&mut self) {
        let method = "notifications/initialized";
        self.send_message(Outgoing::Notification { method, params: None });
    }

    pub(super) fn on_delivered(&mut self, outcome: Result<(), Failure>) {
        let Phase::Greeting(greeting) = &mut self.phase else { return };
        match outcome {
            _ if greeting.listens => {}
            Err(failure) if failure.is_transient() && !greeting.again => {
                greeting.again = true;
                self.greet();
            }
            // Servers that refuse the notification exist, and serve calls all the same.
            _ => self.begin_to_listen(),
        }
    }

    /// Asks a legacy server for the stream of what it says by itself, if anything can come on it
    /// that anybody hears. Calls wait until it is there, though not for long: what a server asks on
    /// it in answer to a call, and before it is there, is lost.
    fn begin_to_listen(&mut self) {
        let Phase::Greeting(greeting) = &mut self.phase else { return };
        let declared = &greeting.ready.declared;
        let hears = declared.iter().any(|hearing| hearing.is_of_server()) || !self.roots.is_empty();
        let happened = if hears { self.link.listen() } else { Vec::new() };
        if happened.is_empty() {
            return self.on_ready();
        }
        greeting.listens = true;
        self.set_timer(TimerReason::Stream, STREAM_WAIT);
        self.take_up(happened);
    }

    /// The stream is there, or will not be for now.
    pub(super) fn on_stream_settled(&mut self) {
        if matches!(&self.phase, Phase::Greeting(greeting) if greeting.listens) {
            self.timers.clear(TimerReason::Stream);
            self.on_ready();
        }
    }

    /// It is to be opened again after this time.
    pub(super) fn await_stream(&mut self, pause: Duration) {
        self.on_stream_settled();
        self.set_timer(TimerReason::Stream, pause);
    }

    /// Calls have waited long enough for it, or a pause is over.
    pub(super) fn on_stream_timer(&mut self) {
        if matches!(self.phase, Phase::Greeting(_)) {
            return self.on_ready();
        }
        let happened = self.link.listen_again();
        self.take_up(happened);
    }

    pub(super) fn on_ready(&mut self) {
        let phase = std::mem::replace(&mut self.phase, Phase::Idle);
        let Phase::Greeting(Greeting { ready, held, .. }) = phase else {
            self.phase = phase;
            return;
        };
        self.timers.clear(TimerReason::Start);
        self.phase = Phase::Ready(ready);
        self.set_state(ConnectionState::Ready);
        if self.link.http() == Some(HttpTransport::Sse) {
            self.deprecated(DeprecatedFeature::HttpSse);
        }
        for (message, from) in held {
            self.on_message(message, from);
        }
        self.send_waiting();
    }
}
