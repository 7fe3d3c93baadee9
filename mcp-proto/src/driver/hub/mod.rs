//! One connection, its callers and its driver.

mod callers;
mod filing;
mod work;

use core::task::Waker;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use super::calls::Calls;
use super::handlers::HandlerFailure;
use super::sync::{Mutex, MutexGuard, PoisonError};
use super::tickets::Tickets;
use crate::interface::{Hearing, HttpOutput, Owner, StdioOutput};
use crate::model::Notification;
use crate::{Connection, Event, ExchangeId, Now, ProcessId};

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
    /// When [`Input::Timeout`](crate::Input::Timeout) is to be handed in, on the clock of
    /// [`Host::now`].
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
    /// A notification that the host's callbacks have not begun with; the others wait in the
    /// connection.
    notification: Option<Box<Notification>>,
    /// Whom to wake when there is one.
    listener: Option<Waker>,
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
            notification: None,
            listener: None,
            driver: None,
            told: None,
            due: false,
            observers: Vec::new(),
            readers: Vec::new(),
            wake: Vec::new(),
            gone: false,
        };
        let hears = state.connection.config().hears.contains(&Hearing::Notifications);
        let hub = Arc::new(Hub { state: Mutex::new(state), host });
        if hears {
            hub.notification_done();
        }
        hub
    }

    /// The time, by the host's clock.
    #[must_use]
    pub fn now(&self) -> Now {
        self.host.now()
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
