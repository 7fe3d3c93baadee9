//! A whole world: a connection, its host, its performer, a server, and time.

mod breaks;
mod faults;
mod fine;
#[cfg(test)]
mod found;
mod heal;
mod host;
mod older;
mod performer;
mod server;

use std::collections::BTreeMap;
use std::time::Duration;

use self::performer::Performer;
use super::peer::Peer;
use super::{CallKind, Clock, Fault, Invariants, Rule, Setup, Step, Violation, trace};
use crate::{CallId, Connection, ConnectionConfig, Input};

/// A connection with everything around it, in which [`Step`]s happen.
///
/// The performer keeps its promises, the server and the host do whatever the steps say, and
/// [`Invariants`] looks on. At the end, [`finish`](Self::finish) heals the server and the way to
/// it: then every call must end, and new ones must have results.
///
/// ```
/// use mcp_proto::testing::{CallKind, Fault, Manner, Setup, Step, World};
///
/// let mut world = World::new(Setup { modern: true, lets_go: true, ..Setup::default() });
/// let steps = [
///     Step::Begin { kind: CallKind::CallTool, progress: false, timeout: None },
///     Step::Reply { to: 0, manner: Manner::Good },
///     Step::Fault { fault: Fault::Exit, to: 0, how: 0 },
/// ];
/// for step in steps {
///     world.apply(step);
/// }
/// let end = world.finish();
/// assert_eq!(end.violation, None);
/// assert!(end.inputs > 10);
/// ```
#[derive(Debug)]
pub struct World {
    setup: Setup,
    connection: Connection,
    clock: Clock,
    invariants: Invariants,
    peer: Peer,
    performer: Performer,
    calls: BTreeMap<CallId, CallKind>,
    next_call: u64,
    /// How many notifications the server has sent.
    told: u64,
    /// The calls after this one must have results.
    sure: u64,
    journal: Vec<u8>,
    digest: u64,
    inputs: u64,
    trace: Option<Vec<String>>,
    met: BTreeMap<(Fault, CallKind), u32>,
    /// Where the answers of calls go on: after the event with this number, in this session.
    places: BTreeMap<CallId, breaks::Place>,
}

/// How it went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct End {
    /// The first rule that was broken.
    pub violation: Option<Violation>,
    /// A number that stands for all outputs in their order.
    pub digest: u64,
    /// How many inputs were handed in.
    pub inputs: u64,
    /// How often which fault was met while a call of which kind was open and concerned.
    pub met: BTreeMap<(Fault, CallKind), u32>,
    /// All inputs and outputs, where they were wanted.
    pub trace: Vec<String>,
}

impl World {
    /// A world in which nothing has happened.
    #[must_use]
    pub fn new(setup: Setup) -> Self {
        World::with(setup, ConnectionConfig::clone(&setup.possible().config()))
    }

    /// The same with a journal, which must replay in the end.
    #[must_use]
    pub fn recorded(setup: Setup) -> Self {
        let config = ConnectionConfig::clone(&setup.possible().config());
        let config = ConnectionConfig { journal: true, ..config };
        World::with(setup, config)
    }

    fn with(setup: Setup, config: ConnectionConfig) -> Self {
        let setup = setup.possible();
        let clock = Clock::default();
        let config = alloc::sync::Arc::new(config);
        let connection = Connection::new(config, setup.transport(), [7; 32], clock.now());
        let mut world = World {
            invariants: Invariants::of(&connection),
            setup,
            connection,
            clock,
            peer: Peer::new(),
            performer: Performer::default(),
            calls: BTreeMap::new(),
            next_call: 0,
            told: 0,
            sure: u64::MAX,
            journal: Vec::new(),
            digest: 0xcbf2_9ce4_8422_2325,
            inputs: 0,
            trace: None,
            met: BTreeMap::new(),
            places: BTreeMap::new(),
        };
        if setup.ready {
            world.come_up();
        }
        world
    }

    /// Keeps all inputs and outputs, for a person to read.
    #[must_use]
    pub fn traced(mut self) -> Self {
        self.trace.get_or_insert_default();
        self
    }

    /// How it is set up.
    #[must_use]
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// The first rule that was broken.
    #[must_use]
    pub fn broken(&self) -> Option<&Violation> {
        self.invariants.broken()
    }

    /// How many calls are open.
    #[must_use]
    pub fn open_calls(&self) -> usize {
        self.calls.len()
    }

    /// Whether a call of this kind is open.
    #[must_use]
    pub fn has_open(&self, kind: CallKind) -> bool {
        self.calls.values().any(|open| *open == kind)
    }

    /// The first message without an answer that an open call of this kind waits for, by the number
    /// that steps name it with.
    #[must_use]
    pub fn message_for(&self, kind: CallKind) -> Option<u8> {
        let at = self.peer.messages.iter().position(|it| self.concerned(it).contains(&kind))?;
        u8::try_from(at).ok()
    }

    /// How many questions are open.
    #[must_use]
    pub fn open_questions(&self) -> usize {
        self.invariants.open_questions().len()
    }

    /// How many messages the server has not answered.
    #[must_use]
    pub fn messages(&self) -> usize {
        self.peer.messages.len()
    }

    /// How many messages the server has not read.
    #[must_use]
    pub fn unread(&self) -> usize {
        self.performer.unread()
    }

    /// Whether the connection was closed, and is gone.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.invariants.is_closed()
    }

    /// Lets a step happen.
    pub fn apply(&mut self, step: Step) {
        self.say(|| format!("# {step:?}"));
        self.connected();
        match step {
            Step::Begin { kind, progress, timeout } => {
                let timeout = timeout.map(|ms| Duration::from_millis(u64::from(ms)));
                self.begin(kind, progress, timeout);
            }
            Step::Cancel(which) => self.with_call(which, Input::Cancel),
            Step::Pull(which) => {
                self.with_call(which, |id| Input::Pull(crate::Mailbox::Call(id)));
            }
            Step::PullNotification => self.hand(Input::Pull(crate::Mailbox::Host)),
            Step::Answer(which, how) => self.answer(which, how),
            Step::Hear { elicitation } => self.hear(elicitation),
            Step::Meta(what) => self.set_meta(what),
            Step::Disconnect => self.hand(Input::Disconnect),
            Step::Close => self.hand(Input::Close),
            Step::Wait(ms) => self.wait(Duration::from_millis(u64::from(ms))),
            Step::Sleep(ms) => {
                self.clock.advance(Duration::from_millis(u64::from(ms)));
                self.hand(Input::Timeout);
                self.comes_late();
            }
            Step::Deadline => self.next_moment(),
            Step::Early => self.hand(Input::Timeout),
            Step::Reply { to, manner } => self.reply(to, manner),
            Step::Progress { to, how } => self.tell_progress(to, how),
            Step::Request { to, what } => self.ask(to, what),
            Step::Notify { to, what } => self.notify(to, what),
            Step::Stderr(what) => self.write_stderr(what),
            Step::Read => self.read(),
            Step::LetGo => self.let_go(),
            Step::Fault { fault, to, how } => self.fault(fault, to, how),
        }
        self.settle();
    }

    /// Whether the server does nothing at the moment.
    fn is_hung(&self) -> bool {
        self.peer.hung.is_some() && !self.peer.healed
    }

    // Time

    /// Time passes, and everything on the way happens at its moment.
    fn wait(&mut self, by: Duration) {
        let end = self.clock.now().mono.saturating_add(by);
        while let Some(at) = self.moment().filter(|at| *at <= end) {
            self.reach(at);
            if self.broken().is_some() {
                return;
            }
        }
        self.clock.reach(end);
    }

    fn next_moment(&mut self) {
        if let Some(at) = self.moment() {
            self.reach(at);
        }
    }

    fn moment(&self) -> Option<Duration> {
        let deadline = self.connection.poll_timeout().map(|deadline| deadline.at);
        deadline.into_iter().chain(self.peer.next()).min()
    }

    fn reach(&mut self, at: Duration) {
        self.clock.reach(at);
        let now = self.clock.now().mono;
        if self.connection.poll_timeout().is_some_and(|deadline| deadline.at <= now) {
            self.hand(Input::Timeout);
        }
        self.comes_late();
        self.settle();
    }

    fn comes_late(&mut self) {
        let now = self.clock.now().mono;
        self.peer.wakes(now);
        while let Some(message) = self.peer.due(now) {
            self.answer_well(&message);
        }
    }

    // The door and the queue

    /// Hands in what happened, and does what follows.
    fn hand(&mut self, input: Input<'_>) {
        self.say(|| format!("> {}", told(&input)));
        self.invariants.input(&input);
        self.inputs += 1;
        self.connection.handle(input, self.clock.now());
        self.drain();
    }

    fn drain(&mut self) {
        loop {
            let now = self.clock.now();
            self.invariants.queued(&self.connection, now);
            let Some(output) = self.connection.poll_output() else {
                break;
            };
            self.invariants.output(&output);
            let line = trace::line(&output);
            self.count(line.as_bytes());
            self.say(|| format!("< {line}"));
            self.take(output);
        }
        self.invariants.drained(&self.connection, self.clock.now());
        self.journal.extend(self.connection.take_journal());
    }

    /// The digest is that of FNV-1a, with a line end after each output.
    fn count(&mut self, line: &[u8]) {
        for byte in line.iter().chain(b"\n") {
            self.digest = (self.digest ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        }
    }

    fn say(&mut self, line: impl FnOnce() -> String) {
        if let Some(trace) = &mut self.trace {
            trace.push(line());
        }
    }

    fn report(&mut self, rule: Rule, what: String) {
        self.invariants.report(rule, what);
    }
}

fn told(input: &Input<'_>) -> String {
    use crate::{HttpInput, StdioInput};
    match input {
        Input::Stdio(id, StdioInput::Stdout(bytes)) => {
            format!("{id} stdout {:?}", String::from_utf8_lossy(bytes))
        }
        Input::Http(id, HttpInput::Body(bytes)) => {
            format!("{id} body {:?}", String::from_utf8_lossy(bytes))
        }
        Input::Start(id, call) => format!("start {id}: {}", call.spec.name),
        other => format!("{other:?}"),
    }
}
