//! What always holds of a connection, whatever the server, the performer and the host do.
//!
//! [`Invariants`] looks on from outside: it is told every input before it is handed in and every
//! output as it is polled, and it looks at the connection in between. What it finds first is kept.

mod calls;
mod exchanges;
mod held;
mod messages;
mod notifications;
mod processes;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use self::exchanges::Exchanges;
use self::held::Bounds;
use self::messages::Messages;
use self::notifications::Notifications;
use self::processes::Processes;
use crate::interface::HttpInput;
use crate::{
    CallId, Connection, ConnectionState, Event, Input, Now, Output, Owner, QuestionId,
    ResendReason, StdioInput, TimerReason,
};

/// The key of `_meta` under which a host may put the number of the call. With it the messages of
/// each call are counted alone over stdio too, where nothing else tells whose they are.
pub const CALL_KEY: &str = "test.host/call";

/// The key of a result's `_meta` under which a server may send back that number, and the number of
/// the page: `{"call":3,"page":0}`. With it answers are known to reach those who asked.
pub const ECHO_KEY: &str = "test.peer/echo";

/// The key of a notification's `_meta` under which a server may put its number. With it they are known
/// to reach the host in their order.
pub const NUMBER_KEY: &str = "test.peer/number";

/// A rule of [`Invariants`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Rule {
    /// A call ends once, and nothing of it comes afterwards.
    EndsOnce,
    /// A message is sent again only for a reason that is told, that allows it, and that has a
    /// bound: the `tools/call` messages of a call are 1 and its `Resend` outputs.
    Sends,
    /// Queues, caches and buffers stay within the bounds of the settings.
    Bounds,
    /// After the end there is nothing: no timer, and no output but the notifications that the host
    /// still takes.
    Closed,
    /// A deadline that was kept does not stay, and outputs are queued when there are some.
    NoBusyLoop,
    /// Nothing is kept of what has ended.
    NothingLeft,
    /// What a performer is told can be done, in this order.
    Order,
    /// A call that is cancelled ends at once.
    Cancel,
    /// The answer that a call ends with is its own, each page once.
    Answers,
    /// Notifications come one for each that was asked for, and say how many were lost before them:
    /// as many as events have told. They come in their order.
    Notifications,
    /// While a call is open there is something that will move it on.
    Progress,
    /// What is sent is what the protocol allows.
    Messages,
    /// However bytes are split that arrive at one moment, the outputs are the same.
    Split,
    /// A journal replays.
    Journal,
    /// With a server that behaves, every call has a result.
    Heals,
}

/// A rule that was broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Which rule.
    pub rule: Rule,
    /// What happened.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.rule, self.what)
    }
}

impl std::error::Error for Violation {}

/// Looks on while a connection works, and tells the first rule that is broken.
///
/// ```
/// use mcp_proto::testing::{Clock, Invariants};
/// use mcp_proto::{CallOptions, Connection, ConnectionConfig, Input, Output, Transport, op};
///
/// let config = std::sync::Arc::new(ConnectionConfig::default());
/// let mut clock = Clock::default();
/// let mut connection = Connection::new(config, Transport::Stream, [7; 32], clock.now());
/// let mut invariants = Invariants::of(&connection);
/// let call = connection.start(op::Ping, CallOptions::default(), clock.now())?;
/// invariants.begins(call.id(), &op::Ping, &CallOptions::default());
///
/// let mut inputs = [Input::Cancel(call.id()), Input::Close].into_iter();
/// loop {
///     invariants.queued(&connection, clock.now());
///     while let Some(output) = connection.poll_output() {
///         invariants.output(&output);
///         invariants.queued(&connection, clock.now());
///     }
///     invariants.drained(&connection, clock.now());
///     let Some(input) = inputs.next() else { break };
///     invariants.input(&input);
///     connection.handle(input, clock.now());
/// }
/// // A byte stream that does not end is let go of in time.
/// clock.advance(mcp_proto::CLOSE_GRACE);
/// invariants.input(&Input::Timeout);
/// connection.handle(Input::Timeout, clock.now());
/// invariants.queued(&connection, clock.now());
/// while let Some(output) = connection.poll_output() {
///     invariants.output(&output);
///     invariants.queued(&connection, clock.now());
/// }
/// invariants.drained(&connection, clock.now());
/// invariants.end(&connection);
/// assert_eq!(invariants.broken(), None);
/// # Ok::<(), mcp_proto::ApiMisuse>(())
/// ```
#[derive(Debug)]
pub struct Invariants {
    bounds: Bounds,
    retries: usize,
    calls: BTreeMap<CallId, Open>,
    ended: BTreeSet<CallId>,
    questions: BTreeMap<QuestionId, Owner>,
    last_question: u64,
    processes: Processes,
    exchanges: Exchanges,
    messages: Messages,
    notifications: Notifications,
    /// The era of the server, once it is decided.
    era: Option<crate::Era>,
    closed: bool,
    /// The connection said that an output is queued.
    announced: bool,
    /// What was handed in last.
    last: Last,
    broken: Option<Violation>,
}

/// A call without an end.
#[derive(Debug, Default)]
struct Open {
    tool: bool,
    idempotent: bool,
    paged: bool,
    progress: bool,
    /// How often a request of it was sent, as far as can be told.
    sends: usize,
    resends: Vec<ResendReason>,
    /// How often the list of tools was asked for, page by page, on behalf of a tool's call.
    lists: usize,
    /// Its latest request was one of those.
    aside: bool,
    /// How often in a row the rest of its answer was asked for, and did not begin to come.
    rests: u32,
    /// Something was put into its request that tells its messages from others'.
    marked: bool,
}

/// What was handed in last, as far as it matters for what follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Last {
    Timeout,
    Cancel(CallId),
    Pull(CallId, usize),
    Other,
}

impl Invariants {
    /// Looks on while this connection works, from its beginning on.
    #[must_use]
    pub fn of(connection: &Connection) -> Self {
        let transport = connection.transport();
        let retries = match transport {
            crate::Transport::Http(http) => http.retries_over(http.transports()[0]) as usize,
            _ => 0,
        };
        Invariants {
            bounds: Bounds::of(connection.config()),
            retries,
            calls: BTreeMap::new(),
            ended: BTreeSet::new(),
            questions: BTreeMap::new(),
            last_question: 0,
            processes: Processes::new(matches!(transport, crate::Transport::Stream)),
            exchanges: Exchanges::new(transport),
            messages: Messages::default(),
            notifications: Notifications::default(),
            era: None,
            closed: false,
            announced: false,
            last: Last::Other,
            broken: None,
        }
    }

    /// The first rule that was broken.
    #[must_use]
    pub fn broken(&self) -> Option<&Violation> {
        self.broken.as_ref()
    }

    /// A rule was found to be broken.
    pub fn report(&mut self, rule: Rule, what: impl Into<String>) {
        if self.broken.is_none() {
            self.broken = Some(Violation { rule, what: what.into() });
        }
    }

    fn check(&mut self, holds: bool, rule: Rule, what: impl FnOnce() -> String) {
        if !holds {
            self.report(rule, what());
        }
    }

    /// This is about to be handed in.
    pub fn input(&mut self, input: &Input<'_>) {
        self.last = match input {
            Input::Timeout => Last::Timeout,
            Input::Cancel(id) if self.calls.contains_key(id) => Last::Cancel(*id),
            _ => Last::Other,
        };
        match input {
            Input::Start(id, call) => self.on_start(*id, call.spec, &call.params, &call.options),
            Input::Answer(id, _) => {
                self.questions.remove(id);
            }
            Input::Pull(crate::Mailbox::Call(id)) => self.last = Last::Pull(*id, 0),
            Input::Pull(crate::Mailbox::Host) => self.notifications.pulled(),
            Input::Stdio(id, StdioInput::Exited(_) | StdioInput::SpawnFailed(_)) => {
                self.processes.gone(*id, matches!(input, Input::Stdio(_, StdioInput::Exited(_))));
            }
            Input::Http(id, HttpInput::Head { status, .. }) => self.on_head(*id, *status),
            Input::Http(id, HttpInput::End | HttpInput::Failed(_)) => self.exchanges.gone(*id),
            _ => {}
        }
    }

    /// The next output is about to be polled, if there is one: the connection must say so. To be told
    /// before each poll.
    pub fn queued(&mut self, connection: &Connection, now: Now) {
        let at_once = |it: &crate::Deadline| it.reason == TimerReason::Output && it.at <= now.mono;
        self.announced = connection.poll_timeout().is_some_and(|deadline| at_once(&deadline));
    }

    /// This was polled.
    pub fn output(&mut self, output: &Output) {
        let announced = std::mem::take(&mut self.announced);
        self.check(announced, Rule::NoBusyLoop, || {
            format!("nothing was said to be queued, and there is {output:?}")
        });
        let ends = matches!(output, Output::Done(..));
        let shows = matches!(output, Output::Item(crate::Mailbox::Host, _));
        self.check(!self.closed || ends || shows, Rule::Closed, || {
            format!("after the end came {output:?}")
        });
        match output {
            Output::Stdio(id, what) => self.on_process(*id, what),
            Output::Http(id, owner, what) => self.on_exchange(*id, *owner, what),
            Output::Ask(id, owner, _) => self.on_ask(*id, *owner),
            Output::Withdraw(id, owner) => {
                let open = self.questions.remove(id) == Some(*owner);
                self.check(open, Rule::Order, || format!("{id} is withdrawn, but not open"));
            }
            Output::Item(crate::Mailbox::Call(id), _) => self.on_item(*id),
            Output::Item(crate::Mailbox::Host, item) => self.on_notification(item),
            Output::Done(id, done) => self.on_done(*id, done),
            Output::Resend(id, reason) => self.on_resend(*id, *reason),
            Output::Connection(ConnectionState::Idle(_)) => self.on_rest("idle"),
            Output::Connection(ConnectionState::Closed(_)) => {
                self.on_rest("closed");
                let open = self.calls.len();
                self.check(open == 0, Rule::NothingLeft, || format!("closed with {open} calls"));
                self.closed = true;
            }
            Output::Event(Event::NotificationsLost { lost }) => self.notifications.told(*lost),
            Output::Event(Event::EraDecided { era, .. }) => self.era = Some(*era),
            Output::Connection(_) | Output::Event(_) => {}
        }
    }

    fn on_ask(&mut self, id: QuestionId, owner: Owner) {
        let new = id.number() > self.last_question;
        self.check(new, Rule::Order, || format!("{id} is asked twice"));
        self.last_question = id.number();
        self.questions.insert(id, owner);
        if let Owner::Call(call) = owner {
            let open = self.calls.contains_key(&call);
            self.check(open, Rule::EndsOnce, || format!("{id} is asked of {call}, which is over"));
        }
    }

    fn on_rest(&mut self, state: &str) {
        let runs = self.processes.runs();
        self.check(!runs, Rule::Order, || format!("{state} while a process runs"));
        let open = self.exchanges.open();
        self.check(open == 0, Rule::Order, || format!("{state} with {open} open exchanges"));
    }

    /// Whether the connection has told its end.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// The calls without an end.
    pub fn open_calls(&self) -> impl ExactSizeIterator<Item = CallId> + '_ {
        self.calls.keys().copied()
    }

    /// A question of this call without an answer.
    #[must_use]
    pub fn question_of(&self, call: CallId) -> Option<QuestionId> {
        let of = self.questions.iter().find(|(_, owner)| **owner == Owner::Call(call));
        of.map(|(id, _)| *id)
    }

    /// The questions without an answer.
    pub fn open_questions(&self) -> impl ExactSizeIterator<Item = QuestionId> + '_ {
        self.questions.keys().copied()
    }
}
