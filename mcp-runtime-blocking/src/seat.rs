//! The seat: one thread at a time moves the bytes of a connection, for all who wait.
//!
//! A thread that waits for something takes the seat if it is free, and parks otherwise. Whoever
//! leaves the seat wakes one of those that are parked, who takes it over; and whoever was parked
//! and needs it no more passes that on. So as long as anybody waits, somebody sits, and no thread
//! has to be handed a result that it could have read itself.
//!
//! Callers keep the seat until they have what they wait for. Guests (the helper, hosts that wait
//! for the end of the connection) leave it to any caller that comes.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use crate::sync::{AtomicBool, AtomicU64, AtomicUsize, Mutex, Place, Taken, fence, lock};
use crate::wake::{Bell, Chime, Parker};

/// What moves the bytes, by the hands of whoever sits.
pub(crate) trait Poller: Send + Sync {
    /// What one thread at a time has.
    type Table: Send;
    /// What ends a [`sleep`](Self::sleep).
    type Chime: Chime;

    /// The time, for deadlines.
    fn now(&self) -> Duration;

    /// Does what is wanted now. The waker is told when there is more.
    fn work(&self, table: &mut Self::Table, waker: &Waker) -> Wanted;

    /// The deadline of the connection has come.
    fn time_out(&self);

    /// Waits at most this long for something to happen, and hands it in.
    fn sleep(&self, table: &mut Self::Table, bell: &Bell<Self::Chime>, time: Option<Duration>);

    /// Ends everything now.
    fn end(&self, table: &mut Self::Table);
}

/// What is wanted after all work is done.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    /// When there is more to do, if nothing happens before.
    pub(crate) deadline: Option<Duration>,
    /// Nothing will ever happen again.
    pub(crate) finished: bool,
}

/// How somebody sits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    /// Until they have what they wait for.
    Caller,
    /// Until a caller comes.
    Guest,
}

/// Why somebody left the seat.
pub(crate) enum Left<T> {
    /// They have what they waited for.
    With(T),
    /// Their time is over.
    TimedOut,
    /// There is an errand that is not run in the seat.
    Errand,
    /// A caller came.
    Asked,
    /// The connection has ended for good.
    Finished,
}

pub(crate) struct Seat<P: Poller> {
    poller: P,
    /// There is no helper.
    alone: bool,
    table: Place<P::Table>,
    bell: Arc<Bell<P::Chime>>,
    /// The bell's.
    waker: Waker,
    /// Who is parked; the number of them, and how many of them are callers.
    parked: Mutex<Vec<(Manner, Waker)>>,
    waiting: AtomicUsize,
    callers: AtomicUsize,
    /// Whether a guest sits.
    guest: AtomicBool,
    /// How often a caller has sat down.
    pub(crate) sittings: AtomicU64,
    /// Whether there is an errand for whoever sits.
    errand: AtomicBool,
}

impl<P: Poller> Seat<P> {
    pub(crate) fn new(poller: P, alone: bool, table: P::Table, bell: Bell<P::Chime>) -> Self {
        let bell = Arc::new(bell);
        Seat {
            poller,
            alone,
            table: Place::new(table),
            waker: Waker::from(Arc::clone(&bell)),
            bell,
            parked: Mutex::default(),
            waiting: AtomicUsize::new(0),
            callers: AtomicUsize::new(0),
            guest: AtomicBool::new(false),
            sittings: AtomicU64::new(0),
            errand: AtomicBool::new(false),
        }
    }

    /// The seat, if it is free.
    pub(crate) fn take(&self) -> Option<Taken<'_, P::Table>> {
        self.table.try_take()
    }

    /// Waits until `poll` is ready. `None`: not within `until`, a moment on the poller's clock.
    ///
    /// `errand` runs what is not run in the seat.
    pub(crate) fn wait<T>(
        &self,
        manner: Manner,
        until: Option<Duration>,
        errand: impl Fn(),
        mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>,
    ) -> Option<T> {
        let mut place = None;
        let mut asked = false;
        loop {
            if !asked && let Some(table) = self.take() {
                match self.sit(table, manner, until, &mut poll) {
                    Left::With(value) => return Some(value),
                    Left::TimedOut => return None,
                    Left::Errand => errand(),
                    Left::Asked => asked = true,
                    Left::Finished => {}
                }
                continue;
            }
            let (parker, waker) = place.get_or_insert_with(Parker::new);
            parker.clear();
            let done = match poll(&mut Context::from_waker(waker)) {
                Poll::Ready(value) => Some(Some(value)),
                Poll::Pending => {
                    self.park(manner, until, parker, waker, asked);
                    let over = until.is_some_and(|at| at <= self.poller.now());
                    over.then_some(None)
                }
            };
            asked = false;
            if let Some(done) = done {
                // It may have been woken to take the seat over.
                self.pass_on();
                return done;
            }
        }
    }

    /// Sits until there is a reason to leave, and leaves.
    pub(crate) fn sit<T>(
        &self,
        mut table: Taken<'_, P::Table>,
        manner: Manner,
        until: Option<Duration>,
        mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>,
    ) -> Left<T> {
        match manner {
            Manner::Caller => drop(self.sittings.fetch_add(1, Ordering::Relaxed)),
            Manner::Guest => {
                self.guest.store(true, Ordering::SeqCst);
                // Either a caller that comes sees the guest, or the guest sees the caller.
                fence(Ordering::SeqCst);
            }
        }
        let mut cx = Context::from_waker(&self.waker);
        let mut last_look = false;
        let left = loop {
            self.bell.look();
            if let Poll::Ready(value) = poll(&mut cx) {
                break Left::With(value);
            }
            if self.errand.swap(false, Ordering::SeqCst) {
                break Left::Errand;
            }
            if manner == Manner::Guest && self.callers.load(Ordering::SeqCst) > 0 {
                break Left::Asked;
            }
            let wanted = self.poller.work(&mut table, &self.waker);
            if wanted.finished && manner == Manner::Guest {
                break Left::Finished;
            }
            let now = self.poller.now();
            if wanted.deadline.is_some_and(|at| at <= now) {
                self.poller.time_out();
                continue;
            }
            // However late it is, what is there already is looked at.
            if last_look {
                break Left::TimedOut;
            }
            last_look = until.is_some_and(|at| at <= now);
            let next = wanted.deadline.into_iter().chain(until).min();
            let time = next.map(|at| at.saturating_sub(now));
            self.poller.sleep(&mut table, &self.bell, time);
        };
        if manner == Manner::Guest {
            self.guest.store(false, Ordering::SeqCst);
        }
        if self.alone {
            // Nobody may come for long: what is there to do is done, and the host is told of what
            // comes next.
            self.poller.work(&mut table, &self.waker);
        }
        let rung = self.bell.leave();
        drop(table);
        self.wake_next();
        if rung {
            self.bell.tell_host();
        }
        left
    }

    /// Does what is wanted of the server now, unless somebody sits, who does it.
    pub(crate) fn work(&self) {
        if let Some(mut table) = self.take() {
            self.poller.work(&mut table, &self.waker);
            drop(table);
            self.wake_next();
        }
    }

    /// Parks a thread that has said what it waits for, unless the seat is free.
    fn park(
        &self,
        manner: Manner,
        until: Option<Duration>,
        parker: &Parker,
        waker: &Waker,
        asked: bool,
    ) {
        let caller = usize::from(manner == Manner::Caller);
        lock(&self.parked).push((manner, waker.clone()));
        self.callers.fetch_add(caller, Ordering::SeqCst);
        self.waiting.fetch_add(1, Ordering::SeqCst);
        // Either whoever leaves the seat sees this thread in its place, or this thread sees that
        // the seat is free.
        fence(Ordering::SeqCst);
        let wanted = asked && self.callers.load(Ordering::SeqCst) > 0;
        let free = !wanted && self.take().is_some();
        if !free {
            if caller > 0 && self.guest.load(Ordering::SeqCst) {
                self.bell.ring();
            }
            parker.park(until.map(|at| at.saturating_sub(self.poller.now())));
        }
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        self.callers.fetch_sub(caller, Ordering::SeqCst);
        lock(&self.parked).retain(|(_, other)| !other.will_wake(waker));
    }

    /// Wakes somebody who is parked, callers before guests, after the seat was left.
    fn wake_next(&self) {
        fence(Ordering::SeqCst);
        if self.waiting.load(Ordering::SeqCst) == 0 {
            return;
        }
        let parked = lock(&self.parked);
        let caller = parked.iter().find(|(manner, _)| *manner == Manner::Caller);
        let next = caller.or(parked.first()).map(|(_, waker)| waker.clone());
        drop(parked);
        if let Some(next) = next {
            next.wake();
        }
    }

    /// Whoever was parked and goes leaves the seat to the next, if nobody sits there.
    fn pass_on(&self) {
        let free = self.take().is_some();
        if free {
            self.wake_next();
        }
    }

    /// Lets whoever sits, or sits next, run an errand.
    pub(crate) fn send_on_errand(&self) {
        self.errand.swap(true, Ordering::SeqCst);
        self.bell.ring();
    }

    /// Ends everything, when nobody waits any more. A guest that sits is asked to leave, and
    /// finds no reason to come again.
    pub(crate) fn end(&self) {
        self.callers.fetch_add(1, Ordering::SeqCst);
        self.bell.ring();
        self.poller.end(&mut self.table.take());
    }
}
