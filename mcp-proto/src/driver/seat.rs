//! Who moves the bytes: whoever waits for a call and is polled anyway, else the driver.
//!
//! A switch from the task that calls to a task that moves bytes, and back, costs more than the
//! rest of a call. So a caller that is polled moves the bytes itself, and *sits*: it is woken when
//! there is more to move. When it has its answer it leaves, and the driver is woken again. A
//! caller that is not polled although it sits (a future that waits its turn in a `select!`) does
//! not hold up the others for long: the driver watches, and takes its place.

use core::task::{Context, Poll, Waker};
use std::sync::Arc;
use std::task::Wake;
use std::time::Duration;

use super::performer::{Outcome, Performer, Who};
use super::runtime::Timer;
use super::sync::{Mutex, MutexGuard, PoisonError};
use super::{Hub, Step};
use crate::CallId;

/// How long a caller that sits may leave alone what it was woken for.
const PATIENCE: Duration = Duration::from_millis(25);

/// How often somebody looks again at once when more happened while they looked. Then other tasks
/// have their turn; some runtimes insist on it.
const LOOKS: usize = 2;

/// Where the performer is while nobody polls it. Whoever drops the last client finds it there: an
/// executor that has stopped never polls the driver again.
pub(super) struct Seat {
    bell: Arc<Bell>,
    /// Wakes whoever moves the bytes. All streams, timers and the hub know this one waker only.
    waker: Waker,
    end: Box<dyn Fn() + Send + Sync>,
}

struct Bell(Mutex<Place>);

struct Place {
    performer: Where,
    /// Something has happened since the performer was taken last. Then somebody was woken for it,
    /// or looks right now.
    rung: bool,
    /// Who sits.
    sitter: Option<(CallId, Waker)>,
    driver: Option<Waker>,
    /// There is work that only the driver may do.
    for_driver: bool,
    /// Whether the driver watches the one who sits.
    watched: bool,
    /// How often the performer was taken.
    looks: u64,
}

enum Where {
    Free(Box<Performer>),
    Taken,
    Over,
}

impl Bell {
    fn lock(&self) -> MutexGuard<'_, Place> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ring(&self) {
        let mut place = self.lock();
        let told = std::mem::replace(&mut place.rung, true);
        if !told && matches!(place.performer, Where::Free(_)) {
            wake(place);
        }
    }
}

/// Wakes whoever is to move bytes now.
fn wake(mut place: MutexGuard<'_, Place>) {
    let wake = place.whom_to_wake();
    // A waker may run what it wakes at once.
    drop(place);
    wake.into_iter().flatten().for_each(Waker::wake);
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.ring();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.ring();
    }
}

impl Place {
    fn whom_to_wake(&mut self) -> [Option<Waker>; 2] {
        match &self.sitter {
            Some((_, sitter)) if !self.for_driver => {
                let watched = std::mem::replace(&mut self.watched, true);
                [Some(sitter.clone()), self.driver.clone().filter(|_| !watched)]
            }
            _ => [None, self.driver.clone()],
        }
    }
}

impl Seat {
    pub(super) fn new(performer: Performer, end: Box<dyn Fn() + Send + Sync>) -> Arc<Self> {
        let place = Place {
            performer: Where::Free(Box::new(performer)),
            rung: false,
            sitter: None,
            driver: None,
            for_driver: true,
            watched: false,
            looks: 0,
        };
        let bell = Arc::new(Bell(Mutex::new(place)));
        Arc::new(Seat { waker: Waker::from(Arc::clone(&bell)), bell, end })
    }

    /// Takes the performer for a caller, if it is free.
    pub(super) fn take(&self) -> Option<Lease<'_>> {
        let mut place = self.bell.lock();
        if place.for_driver { None } else { self.lease(&mut place) }
    }

    fn lease(&self, place: &mut Place) -> Option<Lease<'_>> {
        match std::mem::replace(&mut place.performer, Where::Taken) {
            Where::Free(performer) => {
                place.looks += 1;
                let displaced = place.sitter.take();
                Some(Lease { seat: self, performer: Some(performer), _displaced: displaced })
            }
            other => {
                place.performer = other;
                None
            }
        }
    }

    /// Moves bytes for a call until there is a step for it, or nothing to move. Then the caller
    /// sits, if it can be woken.
    pub(super) fn serve(&self, hub: &Hub, id: CallId, waker: Option<&Waker>) -> Option<Step> {
        let mut lease = self.take()?;
        for _ in 0..LOOKS {
            let outcome = lease.look(Who::Caller);
            if let Some(step) = hub.take_step(id) {
                return Some(step);
            }
            if outcome == Outcome::ForDriver || !lease.has_rung() {
                break;
            }
        }
        if let Some(waker) = waker {
            lease.sit(id, waker);
        }
        None
    }

    /// A call that may sit is gone.
    pub(super) fn leave(&self, id: CallId) {
        let mut place = self.bell.lock();
        let left = place.sitter.take_if(|(sitter, _)| *sitter == id);
        if left.is_some() && place.rung {
            wake(place);
        } else {
            drop(place);
        }
        drop(left);
    }

    /// Closes all pipes and ends the process, in this order: a closed stdin is how a server learns
    /// that it may go. If the performer is polled right now, it closes the pipes in a moment.
    pub(super) fn end(&self) {
        let mut place = self.bell.lock();
        let performer = std::mem::replace(&mut place.performer, Where::Over);
        let (driver, sitter) = (place.driver.take(), place.sitter.take());
        drop(place);
        drop((performer, sitter));
        (self.end)();
        driver.into_iter().for_each(Waker::wake);
    }

    /// What the driver does when it is polled. Ready when all is over.
    pub(super) fn attend(&self, watch: &mut Watch, cx: &mut Context<'_>) -> Poll<()> {
        let patience_over = watch.poll(&self.bell, cx);
        let mut place = self.bell.lock();
        match &mut place.driver {
            Some(driver) => driver.clone_from(cx.waker()),
            none => *none = Some(cx.waker().clone()),
        }
        let mine = place.for_driver || (place.rung && place.sitter.is_none()) || patience_over;
        let lease = match place.performer {
            Where::Over => return Poll::Ready(()),
            Where::Free(_) if mine => self.lease(&mut place),
            _ => None,
        };
        place.for_driver &= lease.is_none();
        drop(place);
        let Some(mut lease) = lease else {
            return Poll::Pending;
        };
        if let (none @ None, Some(performer)) = (&mut watch.timer, &mut lease.performer) {
            *none = Some(performer.new_timer());
        }
        for _ in 0..LOOKS {
            if lease.look(Who::Driver) == Outcome::Finished {
                drop(lease);
                self.end();
                return Poll::Ready(());
            }
            if !lease.has_rung() {
                break;
            }
        }
        Poll::Pending
    }
}

/// The performer, taken. Dropping it puts it back.
pub(super) struct Lease<'a> {
    seat: &'a Seat,
    performer: Option<Box<Performer>>,
    /// Who sat before. Dropping a waker may drop a task, which must not happen under the lock.
    _displaced: Option<(CallId, Waker)>,
}

impl Lease<'_> {
    /// Performs what there is to do, and may be done, by whoever took it.
    fn look(&mut self, by: Who) -> Outcome {
        let Some(performer) = &mut self.performer else {
            return Outcome::Pending;
        };
        self.seat.bell.lock().rung = false;
        let outcome = performer.poll(by, &mut Context::from_waker(&self.seat.waker));
        if outcome == Outcome::ForDriver {
            let mut place = self.seat.bell.lock();
            place.for_driver = true;
            place.rung = true;
        }
        outcome
    }

    /// Whether something has happened since the last look began.
    fn has_rung(&self) -> bool {
        self.seat.bell.lock().rung
    }

    /// Puts it back. The caller is woken when there is more to do, also for what happened while it
    /// looked.
    fn sit(mut self, id: CallId, waker: &Waker) {
        self.put_back(Some((id, waker.clone())), true);
    }

    /// Puts it back and tells nobody what happened meanwhile: the caller takes it again at once.
    pub(super) fn for_a_moment(mut self) {
        self.put_back(None, false);
    }

    fn put_back(&mut self, sitter: Option<(CallId, Waker)>, tell: bool) {
        let Some(performer) = self.performer.take() else {
            return;
        };
        let mut place = self.seat.bell.lock();
        if matches!(place.performer, Where::Over) {
            drop(place);
            drop(performer);
            return;
        }
        place.performer = Where::Free(performer);
        place.sitter = sitter;
        if place.rung && tell {
            wake(place);
        }
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        self.put_back(None, true);
    }
}

/// How the driver watches whoever sits.
pub(super) struct Watch {
    timer: Option<Box<dyn Timer>>,
    armed: bool,
    /// How many looks had been taken when the timer was set.
    looks: u64,
}

impl Watch {
    pub(super) fn new() -> Self {
        Watch { timer: None, armed: false, looks: 0 }
    }

    /// Whether whoever sits has not looked for too long.
    fn poll(&mut self, bell: &Bell, cx: &mut Context<'_>) -> bool {
        let Some(timer) = &mut self.timer else {
            return false;
        };
        loop {
            let (watched, looks) = {
                let place = bell.lock();
                (place.watched, place.looks)
            };
            if !watched {
                return false;
            }
            if !std::mem::replace(&mut self.armed, true) {
                timer.set(PATIENCE);
                self.looks = looks;
            }
            if timer.poll(cx).is_pending() {
                return false;
            }
            self.armed = false;
            let mut place = bell.lock();
            if place.looks == self.looks {
                place.watched = false;
                return place.rung;
            }
        }
    }
}
