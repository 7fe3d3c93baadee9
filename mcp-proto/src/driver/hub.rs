//! One connection, its callers and its driver.

use core::task::{Context, Poll, Waker};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use super::calls::{Calls, Job, Step};
use super::handlers::HandlerFailure;
use super::sync::{Mutex, MutexGuard, PoisonError};
use super::tickets::{Ticket, Tickets, Want};
use crate::error::CloseReason;
use crate::interface::{
    Answer, CallOptions, ConnectionState, HttpFailure, HttpFailureKind, HttpInput, HttpOutput,
    Input, Mailbox, Output, Owner, Sent, Setting, Source, StdioOutput,
};
use crate::model::{Root, ServerInfo};
use crate::op::{Call, Operation};
use crate::{
    ApiMisuse, CallId, Connection, Error, Event, ExchangeId, Now, ProcessId, QuestionId, Reply,
};

/// What the surroundings of a hub provide.
pub trait Host: Send + Sync {
    /// The time.
    fn now(&self) -> Now;

    /// Something happened that a reader wants to see. Called outside of the lock.
    fn event(&self, event: Event);

    /// A handler of the host's has not answered. Called outside of the lock. The server is told
    /// that there is no answer, and never why.
    fn handler_failed(&self, failure: &HandlerFailure) {
        let _ = failure;
    }

    /// Bytes of the journal, in order. Called under the lock: it must not block, and it must not
    /// call the hub.
    fn record(&self, bytes: Vec<u8>);
}

/// What the driver is to do with server processes, in order.
pub type Work = VecDeque<(ProcessId, StdioOutput)>;

/// What is to be done with HTTP exchanges, in order.
pub type Exchanges = VecDeque<(ExchangeId, Owner, HttpOutput)>;

/// What the driver is told when it asks for work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Turn {
    /// When [`Input::Timeout`] is to be handed in, on the clock of [`Host::now`].
    pub deadline: Option<Duration>,
    /// No process runs and none is being closed: what is left of the last one can be let go.
    pub at_rest: bool,
    /// Nothing will ever happen again: the connection is closed and no process is left.
    pub finished: bool,
}

/// One connection, shared by its callers and its driver.
pub struct Hub {
    state: Mutex<State>,
    host: Box<dyn Host>,
}

struct State {
    connection: Connection,
    calls: Calls,
    work: Work,
    exchanges: Exchanges,
    /// In the place of `exchanges`, where each is performed by itself.
    tickets: Option<Tickets>,
    events: VecDeque<Event>,
    /// Whom to wake when there is work, and the deadline that it knows of.
    driver: Option<Waker>,
    told: Option<Duration>,
    /// Something was filed that the driver has to see.
    due: bool,
    observers: Vec<Waker>,
    /// Who wants to read on, when that may be.
    readers: Vec<Waker>,
    wake: Vec<Waker>,
    /// The driver has gone: nothing ends by itself any more.
    gone: bool,
}

impl std::fmt::Debug for Hub {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hub").finish_non_exhaustive()
    }
}

impl Hub {
    /// Puts a connection behind a lock.
    #[must_use]
    pub fn new(connection: Connection, host: Box<dyn Host>) -> Arc<Self> {
        let state = State {
            connection,
            calls: Calls::default(),
            work: VecDeque::new(),
            exchanges: VecDeque::new(),
            tickets: None,
            events: VecDeque::new(),
            driver: None,
            told: None,
            due: false,
            observers: Vec::new(),
            readers: Vec::new(),
            wake: Vec::new(),
            gone: false,
        };
        Arc::new(Hub { state: Mutex::new(state), host })
    }

    /// The time, by the host's clock.
    #[must_use]
    pub fn now(&self) -> Now {
        self.host.now()
    }

    // Callers

    /// Begins a call. Its items and questions come to the caller when `attached`, else to the
    /// handler. Its end always comes to the caller, who must take it or [`forget`](Self::forget)
    /// the call.
    ///
    /// # Errors
    /// When the operation or its options cannot be sent.
    pub fn begin<O: Operation>(
        &self,
        operation: O,
        options: CallOptions,
        attached: bool,
    ) -> Result<Call<O>, ApiMisuse> {
        let pull = options.progress;
        self.with(|state, now| {
            let call = state.connection.start(operation, options, now)?;
            state.calls.open(call.id(), attached);
            if pull {
                state.connection.handle(Input::Pull(Mailbox::Call(call.id())), now);
            }
            Ok(call)
        })
    }

    /// The next step of an attached call, if there is one.
    pub fn try_step(&self, id: CallId) -> Option<Step> {
        self.with(|state, now| state.next_step(id, now))
    }

    /// The next step of an attached call, if there is one. If not, nobody is woken for it any
    /// more.
    pub fn take_step(&self, id: CallId) -> Option<Step> {
        let mut state = self.lock();
        if state.calls.item_is_out(id) || state.gone {
            drop(state);
            return self.try_step(id);
        }
        state.calls.hush(id);
        state.calls.take(id)
    }

    /// Waits for the next step of an attached call.
    ///
    /// A call whose end was taken, or which was forgotten, has no more steps: then this stays
    /// pending for ever.
    pub fn poll_step(&self, id: CallId, cx: &mut Context<'_>) -> Poll<Step> {
        let mut state = self.lock();
        if !state.calls.item_is_out(id) && !state.gone {
            // The usual case: the connection is not concerned.
            return state.calls.poll(id, cx, Calls::take);
        }
        drop(state);
        self.with(|state, now| match state.next_step(id, now) {
            Some(step) => Poll::Ready(step),
            None => {
                state.calls.wait(id, cx.waker());
                Poll::Pending
            }
        })
    }

    /// The end of a call, whether or not its items and questions were dealt with.
    pub fn try_done(&self, id: CallId) -> Option<Result<Reply, Error>> {
        self.lock().calls.take_done(id)
    }

    /// Waits for the end of a call whose items and questions go to the handler. An item that came
    /// before the result, and that the handler has not begun with, comes first:
    /// [`item_done`](Self::item_done) says that it was dealt with.
    pub fn poll_last(&self, id: CallId, cx: &mut Context<'_>) -> Poll<Step> {
        self.lock().calls.poll(id, cx, Calls::take_last)
    }

    /// Whether a call has ended. If not, this waker is woken when it does.
    pub fn has_ended(&self, id: CallId, waker: &Waker) -> bool {
        self.lock().calls.has_ended(id, waker)
    }

    /// Hands in a handler's answer, or tells the host why there is none.
    pub fn answered(&self, id: QuestionId, answer: Result<Answer, HandlerFailure>) {
        let answer = answer.unwrap_or_else(|failure| {
            self.host.handler_failed(&failure);
            Answer::Failed
        });
        self.answer(id, answer);
    }

    /// Answers a question. An answer to a question that was withdrawn is ignored.
    pub fn answer(&self, question: QuestionId, answer: Answer) {
        self.handle(Input::Answer(question, answer));
    }

    /// Cancels a call: it ends with an error at once.
    pub fn cancel(&self, id: CallId) {
        self.handle(Input::Cancel(id));
    }

    /// Drops a call: it is cancelled if it has not ended, and nothing of it is kept.
    pub fn forget(&self, id: CallId) {
        self.with(|state, now| {
            if state.calls.forget(id) {
                state.connection.handle(Input::Cancel(id), now);
            }
        });
    }

    /// Changes a setting.
    ///
    /// # Errors
    /// When it cannot work.
    pub fn set(&self, setting: Setting) -> Result<(), ApiMisuse> {
        setting.check()?;
        self.handle(Input::Set(setting));
        Ok(())
    }

    /// Changes where servers may work.
    ///
    /// # Errors
    /// When one of the roots must not be told to a server; then nothing changes.
    pub fn set_roots(&self, roots: Vec<Root>) -> Result<(), Error> {
        let checked = roots.iter().try_for_each(Root::check);
        checked.map_err(|misuse| Error::validation(misuse.to_string()))?;
        self.handle(Input::Set(Setting::Roots(roots)));
        Ok(())
    }

    /// Where servers may work.
    #[must_use]
    pub fn roots(&self) -> Vec<Root> {
        self.lock().connection.roots().to_vec()
    }

    /// Ends what runs; the next call begins anew.
    pub fn disconnect(&self) {
        self.handle(Input::Disconnect);
    }

    /// Ends the connection for good.
    pub fn close(&self) {
        self.with(|state, now| {
            // A client that is closed and then dropped says so once, as its journal tells.
            if !matches!(state.connection.state(), ConnectionState::Closed(_)) {
                state.hand_in(Input::Close, now);
            }
        });
    }

    /// The state of the connection.
    #[must_use]
    pub fn state(&self) -> ConnectionState {
        self.lock().connection.state().clone()
    }

    /// The server, as it introduced itself, while the connection is ready.
    #[must_use]
    pub fn server(&self) -> Option<Arc<ServerInfo>> {
        self.lock().connection.server().cloned()
    }

    /// Waits until nothing runs any more, and says why. A connection that has not begun, or that
    /// has come to rest, is there already.
    pub fn poll_ended(&self, cx: &mut Context<'_>) -> Poll<CloseReason> {
        let mut state = self.lock();
        match state.connection.state() {
            ConnectionState::Idle(reason) | ConnectionState::Closed(reason)
                if state.connection.at_rest() =>
            {
                Poll::Ready(reason.clone())
            }
            _ if state.gone => Poll::Ready(CloseReason::Closed),
            _ => {
                if !state.observers.iter().any(|waker| waker.will_wake(cx.waker())) {
                    state.observers.push(cx.waker().clone());
                }
                Poll::Pending
            }
        }
    }

    // The handler

    /// Waits for the next job of the handler. `None` when there will be none any more.
    pub fn poll_job(&self, cx: &mut Context<'_>) -> Poll<Option<Job>> {
        let mut state = self.lock();
        if let Some(job) = state.calls.jobs.pop_front() {
            return Poll::Ready(Some(job));
        }
        if state.finished() {
            return Poll::Ready(None);
        }
        state.calls.handler = Some(cx.waker().clone());
        Poll::Pending
    }

    /// The handler has dealt with an item of this call.
    pub fn item_done(&self, id: CallId) {
        self.with(|state, now| {
            let waker = state.calls.item_shown(id);
            state.wake.extend(waker);
            state.connection.handle(Input::Pull(Mailbox::Call(id)), now);
        });
    }

    // The driver

    /// Hands in what happened. Anyone may; the driver is woken if it has work to do.
    pub fn handle(&self, input: Input<'_>) {
        self.with(|state, now| state.hand_in(input, now));
    }

    /// Hands in what the driver itself has met. It is awake, and not woken for what comes of it:
    /// when this returns `true`, it must take its next [`turn`](Self::turn) before it waits.
    pub fn drive(&self, input: Input<'_>) -> bool {
        let ((), due) = self.run(|state, now| state.hand_in(input, now), false);
        due
    }

    /// The same for several inputs of one moment.
    pub fn drive_all<'a>(&self, inputs: impl IntoIterator<Item = Input<'a>>) -> bool {
        let hand_in = |state: &mut State, now| {
            inputs.into_iter().for_each(|input| state.hand_in(input, now));
        };
        self.run(hand_in, false).1
    }

    /// Takes the work that was filed, and remembers whom to wake when there is more or when the
    /// deadline comes nearer. Without a waker only a look is taken.
    pub fn turn(&self, waker: Option<&Waker>, work: &mut Work) -> Turn {
        let mut state = self.lock();
        if work.is_empty() {
            std::mem::swap(work, &mut state.work);
        } else {
            work.append(&mut state.work);
        }
        let deadline = state.connection.poll_timeout().map(|deadline| deadline.at);
        state.told = deadline;
        match (&mut state.driver, waker) {
            (Some(known), Some(waker)) => known.clone_from(waker),
            (driver, waker) => *driver = waker.cloned(),
        }
        Turn { deadline, at_rest: state.connection.at_rest(), finished: state.finished() }
    }

    /// Takes what was filed for HTTP exchanges.
    pub fn take_exchanges(&self, into: &mut Exchanges) {
        into.append(&mut self.lock().exchanges);
    }

    /// From now on each HTTP exchange is performed by itself: those of attached calls come to them
    /// as [`Step::Exchange`], the others are filed for [`take_tickets`](Self::take_tickets). What is
    /// no longer wanted is told to whoever performs it, by [`Ticket::wanted`].
    pub fn use_tickets(&self) {
        self.lock().tickets.get_or_insert_default();
    }

    /// Takes the HTTP exchanges that belong to no attached call.
    pub fn take_tickets(&self, into: &mut VecDeque<Ticket>) {
        if let Some(tickets) = &mut self.lock().tickets {
            tickets.take(into);
        }
    }

    /// When [`Input::Timeout`] is to be handed in, for those who wait without being the driver.
    #[must_use]
    pub fn deadline(&self) -> Option<Duration> {
        self.lock().connection.poll_timeout().map(|deadline| deadline.at)
    }

    /// Whether bytes of this source may be read and handed in now.
    #[must_use]
    pub fn wants_read(&self, from: Source) -> bool {
        self.lock().connection.wants_read(from)
    }

    /// Waits until bytes of an HTTP exchange may be read and handed in.
    pub fn poll_wants_read(&self, id: ExchangeId, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = self.lock();
        if state.gone || state.connection.wants_read(Source::Exchange(id)) {
            return Poll::Ready(());
        }
        state.readers.push(cx.waker().clone());
        Poll::Pending
    }

    /// The driver has gone for good: all calls end, and no call will be served any more.
    pub fn driver_gone(&self) {
        let mut state = self.lock();
        state.gone = true;
        let mut wake = state.calls.end_all(|| Error::driver_gone(true));
        wake.append(&mut state.observers);
        wake.append(&mut state.readers);
        wake.extend(state.driver.take());
        drop(state);
        wake.into_iter().for_each(Waker::wake);
    }

    /// Runs something under the lock, files what comes out, and tells the surroundings after the
    /// lock was released.
    fn with<T>(&self, act: impl FnOnce(&mut State, Now) -> T) -> T {
        self.run(act, true).0
    }

    /// The same, and whether there is something for the driver, which is woken for it or not.
    fn run<T>(&self, act: impl FnOnce(&mut State, Now) -> T, wake: bool) -> (T, bool) {
        let now = self.host.now();
        let mut state = self.lock();
        let value = act(&mut state, now);
        state.file_outputs(now);
        let due = state.is_due();
        if due && let Some(driver) = state.driver.take().filter(|_| wake) {
            state.wake.push(driver);
        }
        let journal = state.connection.take_journal();
        if !journal.is_empty() {
            self.host.record(journal);
        }
        let wake = std::mem::take(&mut state.wake);
        let events = std::mem::take(&mut state.events);
        drop(state);
        wake.into_iter().for_each(Waker::wake);
        events.into_iter().for_each(|event| self.host.event(event));
        (value, due)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic under the lock can only be this crate's own. What the state machine holds then
        // is still a state; refusing to close the processes of a panicking host would be worse.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn next_step(&mut self, id: CallId, now: Now) -> Option<Step> {
        if self.calls.item_dealt_with(id) {
            self.connection.handle(Input::Pull(Mailbox::Call(id)), now);
            self.file_outputs(now);
        }
        if let Some(step) = self.calls.take(id) {
            return Some(step);
        }
        if self.gone && self.calls.is_open(id) {
            self.calls.forget(id);
            return Some(Step::Done(Err(Error::driver_gone(false))));
        }
        None
    }

    fn hand_in(&mut self, input: Input<'_>, now: Now) {
        if let Input::Http(_, HttpInput::End | HttpInput::Failed(_)) = &input {
            self.wake.append(&mut self.readers);
        }
        if let (Some(tickets), Input::Http(id, HttpInput::End | HttpInput::Failed(_))) =
            (&mut self.tickets, &input)
        {
            tickets.close(*id);
        }
        self.connection.handle(input, now);
    }

    fn finished(&self) -> bool {
        let closed = matches!(self.connection.state(), ConnectionState::Closed(_));
        self.gone || (closed && self.connection.at_rest())
    }

    /// Whether the driver has to take a turn.
    fn is_due(&mut self) -> bool {
        let deadline = self.connection.poll_timeout().map(|deadline| deadline.at);
        let nearer = deadline.is_some_and(|at| self.told.is_none_or(|told| at < told));
        std::mem::take(&mut self.due) || nearer
    }

    fn file_outputs(&mut self, now: Now) {
        while let Some(output) = self.connection.poll_output() {
            match output {
                Output::Stdio(process, output) => {
                    self.due = true;
                    self.file_work(process, output);
                }
                Output::Http(id, owner, output) if self.tickets.is_some() => {
                    self.file_ticket(id, owner, output, now);
                }
                Output::Http(id, owner, output) => {
                    self.due = true;
                    self.exchanges.push_back((id, owner, output));
                }
                Output::Ask(question, owner, what) => {
                    let waker = match owner {
                        Owner::Call(id) => self.calls.file(id, Step::Ask(question, what)),
                        Owner::Stream | Owner::Connection => {
                            self.calls.job(Job::Ask(None, question, what))
                        }
                    };
                    self.wake.extend(waker);
                }
                Output::Withdraw(question, owner) => {
                    let waker = match owner {
                        Owner::Call(id) => self.calls.file(id, Step::Withdrawn(question)),
                        Owner::Stream | Owner::Connection => self.calls.withdraw(question),
                    };
                    self.wake.extend(waker);
                }
                Output::Item(Mailbox::Call(id), item) => {
                    self.wake.extend(self.calls.file(id, Step::Item(item)));
                }
                Output::Done(id, done) => {
                    self.wake.extend(self.calls.file(id, Step::Done(done)));
                }
                Output::Connection(_) => {
                    self.wake.append(&mut self.observers);
                    self.wake.extend(self.calls.handler.take());
                    self.due = true;
                }
                Output::Resend(..) => {}
                Output::Event(event) => self.events.push_back(event),
            }
        }
    }

    /// Files what is to be done with an exchange where each is performed by itself.
    fn file_ticket(&mut self, id: ExchangeId, owner: Owner, output: HttpOutput, now: Now) {
        let Some(tickets) = &mut self.tickets else { return };
        let want = match output {
            HttpOutput::Send(request) => {
                let ticket = tickets.open(id, owner, request);
                match owner {
                    Owner::Call(call) if self.calls.is_attached(call) => {
                        self.wake.extend(self.calls.file(call, Step::Exchange(ticket)));
                    }
                    _ => {
                        tickets.queue(ticket);
                        self.due = true;
                    }
                }
                return;
            }
            HttpOutput::Release => Want::Rest,
            HttpOutput::Abort => Want::Nothing,
        };
        if let Owner::Call(call) = owner {
            self.calls.drop_exchange(call, id);
        }
        if let Ok(waker) = tickets.reduce(id, want) {
            self.wake.extend(waker);
        } else {
            // Nobody had begun it, or whoever had is gone: then it is over by now.
            let failure = HttpFailure::new(HttpFailureKind::Aborted, Sent::None, false, "");
            self.hand_in(Input::Http(id, HttpInput::Failed(failure)), now);
        }
    }

    /// Bytes that follow bytes of the same process are joined, so that one write takes them all.
    fn file_work(&mut self, process: ProcessId, output: StdioOutput) {
        if let StdioOutput::Write(bytes) = &output
            && let Some((last, StdioOutput::Write(queued))) = self.work.back_mut()
            && *last == process
        {
            queued.extend_from_slice(bytes);
            return;
        }
        self.work.push_back((process, output));
    }
}
