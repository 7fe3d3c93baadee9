//! Launching a server and finding out what it speaks.

use std::sync::Arc;

use super::calls::Step;
use super::{Connection, Phase, Ready, Waiter, request};
use crate::era::{Agreed, Answered, Start, Verdict};
use crate::error::{CloseReason, Outcome, Phase as TimePhase, Timeout};
use crate::interface::{ConnectionState, Output, Owner};
use crate::wire::jsonrpc;
use crate::{Era, ErrorKind, Event, ProtocolVersion, TimerReason};

impl Connection {
    /// Launches the server and asks it the first question.
    pub(super) fn launch(&mut self, legacy_first: bool) {
        self.phase = Phase::Starting(Start::new(self.config.era, self.config.max_server_requests));
        self.set_state(ConnectionState::Starting);
        self.set_timer(TimerReason::Start, self.config.start_timeout);
        let happened = self.transport.launch();
        self.take_up(happened);
        let Phase::Starting(start) = &mut self.phase else {
            return;
        };
        let verdict = start.begin(legacy_first);
        self.follow(verdict);
    }

    /// The server died of the probe: it is launched once more, and greeted otherwise.
    fn relaunch(&mut self) {
        self.event(Event::ProbeKilled(self.transport.latest()));
        self.requests.clear();
        self.legacy_first = true;
        self.timers.clear(TimerReason::Discover);
        let happened = self.transport.close();
        self.take_up(happened);
        self.relaunch_due = true;
    }

    /// The process that died of the probe is gone: its successor is launched.
    pub(super) fn launch_again(&mut self) {
        self.relaunch_due = false;
        let happened = self.transport.launch();
        self.take_up(happened);
        let Phase::Starting(start) = &mut self.phase else {
            return;
        };
        let verdict = start.begin(true);
        self.follow(verdict);
    }

    fn set_state(&mut self, state: ConnectionState) {
        self.owes_state = false;
        self.state = state.clone();
        self.outputs.push_back(Output::Connection(state));
    }

    /// Does what the era machine has decided.
    pub(super) fn follow(&mut self, verdict: Verdict) {
        match verdict {
            Verdict::Wait => {}
            Verdict::Discover => self.send_discover(),
            Verdict::Initialize(version) => self.send_initialize(version),
            Verdict::Agreed(agreed) => self.on_agreed(*agreed),
            Verdict::Relaunch => self.relaunch(),
            Verdict::Fail(kind) => self.start_failed(kind),
        }
    }

    fn send_discover(&mut self) {
        let version = ProtocolVersion::newest(Era::Modern);
        let protocol_meta = request::protocol_meta(&self.config, &self.hears, version);
        let host_meta = request::host_meta([&self.meta]).into_owned();
        let params = request::params("{}", None, &protocol_meta, &host_meta);
        let id = self.next_request(Waiter::Discover);
        self.write(jsonrpc::request_line(id, "server/discover", &params), false);
        if matches!(&self.phase, Phase::Starting(start) if start.probes()) {
            self.set_timer(TimerReason::Discover, self.config.discover_timeout);
        }
    }

    fn send_initialize(&mut self, version: ProtocolVersion) {
        let params = request::initialize(&self.config, &self.hears, version);
        let id = self.next_request(Waiter::Initialize);
        self.write(jsonrpc::request_line(id, "initialize", &params), false);
        // Pings that came before are answered from now on: the server is spoken with as legacy.
        let Phase::Starting(start) = &mut self.phase else {
            return;
        };
        for message in start.take_held() {
            self.on_message(message);
        }
    }

    pub(super) fn on_discover_timeout(&mut self) {
        let Phase::Starting(start) = &mut self.phase else {
            return;
        };
        let verdict = start.discover_unanswered();
        if !matches!(verdict, Verdict::Wait) {
            self.event(Event::ProbeUnanswered);
        }
        self.follow(verdict);
    }

    pub(super) fn on_start_timeout(&mut self) {
        if matches!(self.phase, Phase::Starting(_)) {
            let after = self.config.start_timeout;
            self.start_failed(ErrorKind::Timeout(Timeout { phase: TimePhase::Start, after }));
        }
    }

    pub(super) fn on_start_answer(&mut self, waiter: Waiter, answer: Answered) {
        let Phase::Starting(start) = &mut self.phase else {
            return;
        };
        let verdict = match waiter {
            Waiter::Discover => {
                self.timers.clear(TimerReason::Discover);
                start.discover_answered(answer)
            }
            Waiter::Initialize => start.initialize_answered(answer),
            Waiter::Call(_) => Verdict::Wait,
        };
        self.follow(verdict);
    }

    fn on_agreed(&mut self, agreed: Agreed) {
        let Phase::Starting(start) = &mut self.phase else {
            return;
        };
        let held = start.take_held();
        let info = agreed.info;
        let (era, version) = (info.era, info.version);
        // Whoever answers the probe takes it well.
        self.legacy_first &= era == Era::Legacy;
        let protocol_meta = match era {
            Era::Modern => request::protocol_meta(&self.config, &self.hears, version),
            Era::Legacy => String::new(),
        };
        self.timers.clear(TimerReason::Start);
        self.timers.clear(TimerReason::Discover);
        // The other question, if it is still out, is nobody's any more. It is not cancelled:
        // `initialize` must not be, and a legacy server never understood the other one.
        self.requests.retain(|_, waiter| matches!(waiter, Waiter::Call(_)));
        self.phase = Phase::Ready(Ready { info: Arc::new(info), protocol_meta });
        self.event(Event::EraDecided { era, version });
        if era == Era::Legacy {
            self.write(jsonrpc::notification_line("notifications/initialized", None), false);
        }
        self.set_state(ConnectionState::Ready);
        for message in held {
            self.on_message(message);
        }
        self.send_waiting();
    }

    /// The start has failed, and with it every call that waited for it.
    fn start_failed(&mut self, kind: ErrorKind) {
        let mut error = self.error(kind, Outcome::NotSent, "");
        if let Phase::Starting(start) = &self.phase {
            for note in start.notes() {
                error = error.note(note);
            }
        }
        if error.is_timeout() {
            error = self.with_hints(error);
        }
        for id in self.calls.ids(|call| !matches!(call.step, Step::Arrived(_))) {
            self.withdraw_all(Owner::Call(id));
            self.timers.clear(TimerReason::Call(id));
            if let Some(call) = self.calls.remove(id) {
                let error = error.clone().of(&self.server, &call.method);
                self.outputs.push_back(Output::Done(id, Err(error)));
            }
        }
        let reason = CloseReason::Start(error.kind().to_string());
        self.rest(reason);
    }
}
