//! Launching a server and finding out what it speaks.

use alloc::sync::Arc;

use super::calls::{Past, Step};
use serde_json::{Map, Value};

use super::{Asked, Connection, Greeting, Opening, Phase, Ready, Waiter, request};
use crate::era::{Agreed, Answered, Start, Tries, Verdict};
use crate::error::{CloseReason, Outcome, Phase as TimePhase, Timeout};
use crate::interface::{Answer, ConnectionState, Hearing, Output, Owner, Question};
use crate::transport::{Failure, Outgoing};
use crate::wire::jsonrpc;
use crate::{Era, ErrorKind, Event, HttpTransport, ProtocolVersion, TimerReason, Transport};

impl Connection {
    /// Launches the server and asks it the first question, once it is known what the host knows.
    pub(super) fn launch(&mut self) {
        let start = self.new_start();
        let over = start.over();
        self.phase = Phase::Starting(start);
        self.set_state(ConnectionState::Starting);
        self.tell_of_configured();
        self.set_timer(TimerReason::Start, self.config.start_timeout);
        let happened = self.link.launch();
        self.take_up(happened);
        if let Some(over) = over {
            let happened = self.link.turn(over);
            self.take_up(happened);
        }
        if !self.load() {
            self.begin_start();
        }
    }

    /// Asks the first question, if that has not happened.
    pub(super) fn begin_start(&mut self) {
        let legacy_first = self.memory.legacy_first();
        let Some(start) = self.phase.start().filter(|start| start.has_not_begun()) else { return };
        let verdict = start.begin(legacy_first);
        self.follow(verdict);
    }

    /// The server died of the probe: it is launched once more, and greeted otherwise.
    fn relaunch(&mut self) {
        if let Some(process) = self.link.latest() {
            self.event(Event::ProbeKilled(process));
        }
        self.requests.clear();
        self.withdraw_openings();
        self.memory.probe_is_deadly();
        self.timers.clear(TimerReason::Discover);
        let happened = self.link.close();
        self.take_up(happened);
        self.relaunch_due = true;
    }

    /// The process that died of the probe is gone: its successor is launched.
    pub(super) fn launch_again(&mut self) {
        self.relaunch_due = false;
        let happened = self.link.launch();
        self.take_up(happened);
        let Some(start) = self.phase.start() else { return };
        let verdict = start.greet();
        self.follow(verdict);
    }

    pub(super) fn set_state(&mut self, state: ConnectionState) {
        self.owes_state = false;
        self.state = state.clone();
        self.outputs.push_back(Output::Connection(state));
    }

    /// Does what the era machine has decided.
    pub(super) fn follow(&mut self, verdict: Verdict) {
        match verdict {
            Verdict::Wait => {}
            Verdict::OpenEvents => {
                let happened = self.link.open_events();
                self.take_up(happened);
            }
            Verdict::Turn(transport) => self.turn(transport),
            Verdict::Discover => self.open(Opening::Discover),
            Verdict::Initialize(version) => self.open(Opening::Initialize(version)),
            Verdict::Agreed(agreed) => self.on_agreed(*agreed),
            Verdict::Relaunch => self.relaunch(),
            Verdict::Pause(time) => self.set_timer(TimerReason::StartRetry, time),
            Verdict::Fail(kind) => self.start_failed(kind),
        }
    }

    /// Asks a question of the start's, with the metadata that the host computes for it.
    fn open(&mut self, opening: Opening) {
        if self.hears.contains(&Hearing::RequestMeta) {
            self.withdraw_openings();
            let method = match opening {
                Opening::Discover => "server/discover",
                Opening::Initialize(_) => "initialize",
            };
            let question = Question::RequestMeta { method: String::from(method) };
            self.ask(Owner::Connection, Asked::Start(opening), question);
        } else {
            self.send_opening(opening, &Map::new());
        }
    }

    fn withdraw_openings(&mut self) {
        self.withdraw(|asked| matches!(asked, Asked::Start(_)).then_some(Owner::Connection));
    }

    /// The host has answered the question for metadata.
    pub(super) fn on_start_meta(&mut self, opening: Opening, answer: Answer) {
        match request::answered_meta(answer) {
            _ if !self.phase.starts() => {}
            Ok(meta) => self.send_opening(opening, &meta),
            Err(why) => self.start_failed(ErrorKind::Validation(why)),
        }
    }

    fn send_opening(&mut self, opening: Opening, meta: &Map<String, Value>) {
        match opening {
            Opening::Discover => self.send_discover(meta),
            Opening::Initialize(version) => self.send_initialize(version, meta),
        }
    }

    fn send_discover(&mut self, meta: &Map<String, Value>) {
        let version = ProtocolVersion::newest(Era::Modern);
        let protocol_meta = request::protocol_meta(&self.config, &self.hears, &self.roots, version);
        let host_meta = request::host_meta([&self.level, &self.meta, meta]).into_owned();
        self.tell_of_meta(&host_meta);
        let params = request::params("{}", None, &protocol_meta, &host_meta);
        self.send_start(Waiter::Discover, "server/discover", &params, true);
        if self.phase.start().is_some_and(|start| start.probes()) {
            self.set_timer(TimerReason::Discover, self.config.discover_timeout);
        }
    }

    fn send_initialize(&mut self, version: ProtocolVersion, meta: &Map<String, Value>) {
        let host_meta = request::host_meta([&self.meta, meta]).into_owned();
        self.tell_of_meta(&host_meta);
        // A server that can ask nothing is told of nothing that it could ask for.
        let declared = self.link.is_heard().then_some(&*self.hears);
        let params = request::initialize(&self.config, declared, &self.roots, version, host_meta);
        let declared = declared.map(<[_]>::to_vec).unwrap_or_default();
        if let Some(start) = self.phase.start() {
            start.declared = declared;
        }
        self.send_start(Waiter::Initialize, "initialize", &params, false);
        // Pings that came before are answered from now on: the server is spoken with as legacy.
        let Some(start) = self.phase.start() else { return };
        for (message, from) in start.held.take() {
            self.on_message(message, from);
        }
    }

    fn send_start(&mut self, waiter: Waiter, method: &str, params: &str, modern: bool) {
        let id = self.next_request(waiter);
        let owner = Owner::Connection;
        let line = jsonrpc::request_line(id, method, params);
        let request =
            Outgoing::Request { id, method, name: None, mirrored: &[], line, owner, modern };
        self.send_message(request);
    }

    fn new_start(&self) -> Start {
        let config = &self.config;
        let tries = match &self.transport {
            Transport::Http(http) => {
                let found = self.memory.over();
                let all = found.as_ref().map_or(http.transports(), std::slice::from_ref);
                Some(Tries::new(all, http))
            }
            _ => None,
        };
        Start::new(config.era, config.max_server_requests, tries)
    }

    /// The server does not speak the transport that was tried: the next one is tried.
    fn turn(&mut self, transport: HttpTransport) {
        self.event(Event::TransportTried(transport));
        self.withdraw_openings();
        self.timers.clear(TimerReason::Discover);
        let happened = self.link.turn(transport);
        self.take_up(happened);
        self.begin_start();
    }

    /// The stream of HTTP+SSE is there.
    pub(super) fn on_events_opened(&mut self) {
        let Some(start) = self.phase.start() else { return };
        let verdict = start.events_opened();
        self.follow(verdict);
    }

    /// The stream of HTTP+SSE is not to be had.
    pub(super) fn on_events_failed(&mut self, failure: Failure) {
        let Some(start) = self.phase.start() else { return };
        let verdict = start.events_failed(failure);
        self.follow(verdict);
    }

    /// The server has forgotten the session: a new one is begun, once for all who noticed.
    pub(super) fn renew_session(&mut self) {
        if matches!(self.phase, Phase::Ready(_)) {
            let mut start = self.new_start();
            let verdict = start.begin(true);
            self.phase = Phase::Renewing(start);
            self.set_state(ConnectionState::Starting);
            self.set_timer(TimerReason::Start, self.config.start_timeout);
            self.timers.clear(TimerReason::Stream);
            let stopped = self.link.listen_no_more();
            self.take_up(stopped);
            self.event(Event::SessionReplaced);
            self.follow(verdict);
        }
    }

    /// The way to the server is being opened, or open. The time of the probe is the server's, and
    /// begins when there is one.
    pub(super) fn on_connects(&mut self, request: u64, connects: bool) {
        let Some(start) = self.phase.start() else { return };
        let probes = start.probes();
        if self.requests.get(&request) != Some(&Waiter::Discover) || !probes {
            return;
        }
        if connects {
            self.timers.clear(TimerReason::Discover);
        } else {
            self.set_timer(TimerReason::Discover, self.config.discover_timeout);
        }
    }

    pub(super) fn on_discover_timeout(&mut self) {
        let Some(start) = self.phase.start() else { return };
        if self.link.is_http() {
            // Silence over HTTP is an outage, and says nothing about the era.
            let after = self.config.discover_timeout;
            let phase = TimePhase::Start;
            return self.start_failed(ErrorKind::Timeout(Timeout { phase, after }));
        }
        let verdict = start.discover_unanswered();
        if !matches!(verdict, Verdict::Wait) {
            self.event(Event::ProbeUnanswered);
        }
        self.follow(verdict);
    }

    pub(super) fn on_start_timeout(&mut self) {
        if self.phase.starts() || matches!(self.phase, Phase::Greeting(_)) {
            let after = self.config.start_timeout;
            self.start_failed(ErrorKind::Timeout(Timeout { phase: TimePhase::Start, after }));
        }
    }

    /// A question of the start's has no answer, although the server can be reached.
    pub(super) fn on_start_failure(&mut self, waiter: Waiter, failure: Failure) {
        let Some(start) = self.phase.start() else { return };
        self.timers.clear(TimerReason::Discover);
        let verdict = start.http_failed(waiter == Waiter::Initialize, failure);
        self.follow(verdict);
    }

    pub(super) fn on_start_retry(&mut self) {
        let Some(start) = self.phase.start() else { return };
        let verdict = start.ask_again();
        self.follow(verdict);
    }

    /// The server has answered a question of the start's; `refused` is the status, if it is no
    /// success.
    pub(super) fn on_start_answer(
        &mut self,
        waiter: Waiter,
        answer: Answered,
        refused: Option<u16>,
    ) {
        let Some(start) = self.phase.start() else { return };
        start.refused(refused);
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
        let Some(start) = self.phase.start() else { return };
        let (held, declared) = (start.held.take(), std::mem::take(&mut start.declared));
        let stale_from = agreed.fresh_for.map(|time| self.now.mono.saturating_add(time));
        let info = agreed.info;
        let (era, version) = (info.era, info.version);
        self.learn(version);
        self.memory.found(self.link.http());
        self.withdraw_openings();
        let protocol_meta = match era {
            Era::Modern => request::protocol_meta(&self.config, &self.hears, &self.roots, version),
            Era::Legacy => String::new(),
        };
        self.timers.clear(TimerReason::Discover);
        self.timers.clear(TimerReason::StartRetry);
        // The other question, if it is still out, is nobody's any more. It is not cancelled:
        // `initialize` must not be, and a legacy server never understood the other one.
        let out: Vec<_> =
            self.requests.iter().filter(|(_, w)| !matches!(w, Waiter::Call(_))).collect();
        for request in out.into_iter().map(|(id, _)| *id).collect::<Vec<_>>() {
            self.requests.remove(&request);
            self.drop_request(request);
        }
        self.link.agreed(era, version);
        let info = Arc::new(info);
        self.known = Some(Arc::clone(&info));
        self.event(Event::EraDecided { era, version });
        let ready = Ready { info, protocol_meta, declared, stale_from };
        self.phase = Phase::Greeting(Greeting { ready, held, again: false, listens: false });
        match era {
            Era::Modern => self.on_ready(),
            Era::Legacy => self.greet(),
        }
    }

    /// The start has failed, and with it every call that waited for it.
    fn start_failed(&mut self, kind: ErrorKind) {
        self.memory.forget();
        let mut error = self.error(kind, Outcome::NotSent, "");
        if let Phase::Starting(start) | Phase::Renewing(start) = &self.phase {
            for note in start.notes() {
                error = error.note(note);
            }
        }
        if error.is_timeout() {
            error = self.with_hints(error);
        }
        for id in self.calls.ids(|call| !matches!(call.step, Step::Arrived(_))) {
            self.withdraw_all(Owner::Call(id));
            self.clear_timers_of(id);
            if let Some(call) = self.calls.remove(id) {
                // Over HTTP calls may be out while a new session is begun.
                let outcome = match call.past {
                    Past::Unsent => Outcome::NotSent,
                    Past::Sent if call.is_asked() => Outcome::NotRun,
                    Past::Refused => Outcome::NotRun,
                    Past::Sent | Past::InDoubt => Outcome::Unknown,
                };
                let error = error.clone().of(&self.server, call.method()).with(outcome);
                let error = call.with_continuation(error);
                self.outputs.push_back(Output::Done(id, Err(error)));
            }
        }
        let reason = CloseReason::Start(error.kind().to_string());
        self.rest(reason);
    }
}
