//! The client side of one server.
//!
//! This file holds the state and dispatches; each machine has a file of its own.

mod answer;
mod call;
mod calls;
#[cfg(feature = "testing")]
mod census;
mod closing;
mod deprecated;
mod dispatch;
mod end;
mod greeting;
mod judge;
mod mailbox;
mod memory;
mod notification;
mod peer;
mod phase;
mod question;
mod request;
mod retry;
mod rounds;
mod start;
mod timer;
mod tools;

#[cfg(feature = "testing")]
pub use census::Census;

use alloc::sync::Arc;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use serde_json::{Map, Value};

use self::calls::Calls;
use self::mailbox::Notifications;
use self::memory::Memory;
use self::peer::Served;
use self::phase::{Asked, Greeting, Opening, Phase, Ready, Skipped, Waiter};
use self::timer::Timers;
use self::tools::Tools;
use crate::error::{CloseReason, Outcome};
use crate::interface::{
    CallOptions, ConnectionState, Hearing, HttpInput, Input, Output, Setting, Source,
};
use crate::journal::Recorder;
use crate::model::{Root, ServerInfo};
use crate::op::{Call, ErasedCall, Operation};
use crate::transport::http::Http;
use crate::transport::stdio::Stdio;
use crate::transport::{Link, Outgoing};
use crate::{
    ApiMisuse, CallId, ConnectionConfig, Deadline, DeprecatedFeature, Era, Error, ErrorKind, Event,
    Now, QuestionId, Raw, TimerReason, Transport,
};

/// The client side of one server.
///
/// The run loop of every performer is the same: hand in what happened with
/// [`handle`](Self::handle), drain [`poll_output`](Self::poll_output), do what it says, wait for
/// the next thing to happen or for [`poll_timeout`](Self::poll_timeout).
#[derive(Debug)]
pub struct Connection {
    config: Arc<ConnectionConfig>,
    server: Arc<str>,
    transport: Transport,
    link: Link,
    phase: Phase,
    /// What the host was told last, and whether an `Idle` or `Closed` is still to be told.
    state: ConnectionState,
    owes_state: bool,
    calls: Calls,
    /// Who waits for the answer to which request.
    requests: BTreeMap<u64, Waiter>,
    next_request: u64,
    questions: BTreeMap<QuestionId, Asked>,
    /// Answers of the host's that wait until fewer answers are on their way, oldest first.
    held_answers: VecDeque<(Raw, Served)>,
    next_question: u64,
    next_call: u64,
    hears: Vec<Hearing>,
    roots: Vec<Root>,
    meta: Map<String, Value>,
    /// How much a modern server is to tell of itself, as members of `_meta`.
    level: Map<String, Value>,
    /// The notifications that wait for the host.
    notifications: Notifications,
    timers: Timers,
    outputs: VecDeque<Output>,
    skipped: Skipped,
    memory: Memory,
    /// What is known of the parameters of its tools.
    tools: Tools,
    /// The server, as it introduced itself last.
    known: Option<Arc<ServerInfo>>,
    /// When it was last told that too many answers to the server's requests are on their way.
    saturated: Option<Duration>,
    /// A process died of the probe, and its successor is launched once it is gone.
    relaunch_due: bool,
    /// The deprecated features whose use was told.
    deprecated: BTreeSet<DeprecatedFeature>,
    recorder: Option<Recorder>,
    now: Now,
}

fn link(config: &ConnectionConfig, transport: &Transport) -> Link {
    if let Transport::Http(http) = transport
        && let Ok(endpoint) = http.endpoint()
    {
        let http = Http::new(http.clone(), endpoint, config);
        return Link::Http(Box::new(http));
    }
    let (lines, replies) = (config.max_message_bytes, config.max_reply_bytes);
    Link::Stdio(Box::new(Stdio::new(transport.clone(), lines, replies)))
}

impl Connection {
    /// A connection at rest. Nothing happens before its first call.
    ///
    /// `seed` is all the entropy that the connection will ever have.
    #[must_use]
    pub fn new(
        config: Arc<ConnectionConfig>,
        transport: Transport,
        seed: [u8; 32],
        now: Now,
    ) -> Self {
        let recorder = config.journal.then(|| Recorder::new(&config, &transport, seed, now));
        Connection {
            server: Arc::from(config.name.as_str()),
            link: link(&config, &transport),
            transport,
            phase: Phase::Idle,
            state: ConnectionState::Idle(CloseReason::NotStarted),
            owes_state: false,
            calls: Calls::default(),
            requests: BTreeMap::new(),
            next_request: 0,
            questions: BTreeMap::new(),
            held_answers: VecDeque::new(),
            next_question: 0,
            next_call: 0,
            hears: config.hears.clone(),
            roots: config.roots.clone(),
            meta: config.meta.clone(),
            level: Map::new(),
            notifications: Notifications::default(),
            timers: Timers::default(),
            outputs: VecDeque::new(),
            skipped: Skipped::default(),
            memory: Memory::default(),
            tools: Tools::default(),
            known: None,
            saturated: None,
            relaunch_due: false,
            deprecated: BTreeSet::new(),
            recorder,
            now,
            config,
        }
    }

    // Commands

    /// Begins a call: allocates its id and hands in [`Input::Start`].
    ///
    /// # Errors
    /// When the operation or its options cannot be sent.
    pub fn start<O: Operation>(
        &mut self,
        operation: O,
        options: CallOptions,
        now: Now,
    ) -> Result<Call<O>, ApiMisuse> {
        let erased = ErasedCall::new(&operation, options)?;
        let id = CallId::new(self.next_call + 1);
        self.handle(Input::Start(id, erased), now);
        Ok(Call::new(id, operation))
    }

    /// Hands in what happened. It is the only thing that changes the connection, and it never
    /// fails, whatever the server sent.
    pub fn handle(&mut self, input: Input<'_>, now: Now) {
        let forgets = self.config.doctored(18) && matches!(input, Input::Set(_));
        // What names the address for messages is recorded once it is known what in it is secret.
        let named = match &input {
            Input::Http(id, HttpInput::Body(bytes)) if self.link.brings_endpoint(*id) => {
                Some((*id, *bytes))
            }
            _ => None,
        };
        if let Some(recorder) = self.recorder.as_mut().filter(|_| !forgets && named.is_none()) {
            recorder.input(&input, now);
        }
        // A clock that goes back must not move a deadline.
        self.now = Now { mono: self.now.mono.max(now.mono), unix: now.unix };
        match input {
            Input::Timeout => self.on_timers(),
            Input::Start(id, call) => self.on_start(id, call),
            Input::Cancel(id) => self.on_cancel(id),
            Input::Answer(id, answer) => self.on_answer(id, answer),
            Input::Set(Setting::Hear(hearing)) => self.on_hear(hearing),
            Input::Set(Setting::Meta(mut meta)) => {
                // A setting that breaks the rules does not come this far through a hub.
                meta.retain(|key, _| crate::meta::check_key(key).is_ok());
                self.meta = meta;
            }
            Input::Set(Setting::Roots(roots)) => self.on_roots(roots),
            Input::Pull(mailbox) => self.on_pull(mailbox),
            Input::Disconnect => self.on_disconnect(),
            Input::Close => self.on_close(),
            Input::Stdio(id, input) => self.on_stdio(id, input),
            Input::Http(id, input) => self.on_http(id, input),
        }
        self.settle();
        if let (Some((id, bytes)), Some(recorder)) = (named, &mut self.recorder) {
            let awaited = self.link.brings_endpoint(id);
            recorder.endpoint(id, bytes, self.link.messages_to(), awaited, now);
        }
    }

    // Polls

    /// The next thing to do. Poll until `None` after every input.
    pub fn poll_output(&mut self) -> Option<Output> {
        let output = self.outputs.pop_front()?;
        if let Some(recorder) = &mut self.recorder {
            recorder.output(&output, self.now);
        }
        Some(output)
    }

    /// When [`Input::Timeout`] is wanted next: at once while outputs are queued.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Deadline> {
        if self.outputs.is_empty() || self.config.doctored(1) {
            self.timers.next()
        } else {
            Some(Deadline { at: self.now.mono, reason: TimerReason::Output })
        }
    }

    /// Whether bytes of this source may be read and handed in now. It is `false` only while a
    /// server does not read the answers that it asked for; over HTTP that concerns event streams,
    /// and the end of any exchange may change it.
    #[must_use]
    pub fn wants_read(&self, from: Source) -> bool {
        self.link.wants_read(from)
    }

    // Getters

    /// The state.
    #[must_use]
    pub fn state(&self) -> &ConnectionState {
        &self.state
    }

    /// Whether no process runs and none is being closed.
    #[must_use]
    pub fn at_rest(&self) -> bool {
        self.link.at_rest()
    }

    /// The server, as it introduced itself, while the connection is ready.
    #[must_use]
    pub fn server(&self) -> Option<&Arc<ServerInfo>> {
        match &self.phase {
            Phase::Ready(ready) => Some(&ready.info),
            _ => None,
        }
    }

    /// Where servers may work.
    #[must_use]
    pub fn roots(&self) -> &[Root] {
        &self.roots
    }

    /// The transport.
    #[must_use]
    pub fn transport(&self) -> &Transport {
        &self.transport
    }

    /// The settings.
    #[must_use]
    pub fn config(&self) -> &Arc<ConnectionConfig> {
        &self.config
    }

    /// Whether nothing is kept of any call, question or request. For tests.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.calls.is_empty() && self.requests.is_empty() && self.questions.is_empty()
    }

    /// The bytes of the journal that were recorded since the last time.
    pub fn take_journal(&mut self) -> Vec<u8> {
        self.recorder.as_mut().map(Recorder::take).unwrap_or_default()
    }

    // Small things

    /// Whether the server, as it introduced itself last, is of the modern era.
    fn is_modern(&self) -> bool {
        self.known.as_ref().is_some_and(|info| info.era == Era::Modern)
    }

    /// How long a call may take that brings no timeout of its own.
    fn call_timeout(&self) -> Duration {
        self.config.call_timeout.unwrap_or(self.transport.call_timeout())
    }

    fn set_timer(&mut self, reason: TimerReason, after: Duration) {
        self.timers.set(reason, self.now.mono.saturating_add(after));
    }

    fn event(&mut self, event: Event) {
        self.outputs.push_back(Output::Event(event));
    }

    fn error(&self, kind: ErrorKind, outcome: Outcome, method: &str) -> Error {
        Error::new(kind, outcome).of(&self.server, method)
    }

    /// Sends a message. `false` when it cannot be sent now.
    fn send_message(&mut self, message: Outgoing<'_>) -> bool {
        let sent = self.link.send(message);
        let done = sent.is_some();
        self.take_up(sent.into_iter().flatten());
        done
    }

    fn next_request(&mut self, waiter: Waiter) -> u64 {
        self.next_request += 1;
        self.requests.insert(self.next_request, waiter);
        self.next_request
    }
}
