//! Threads that wait without performing anything.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use mcp_proto::Input;

use super::Http;
use crate::seat::Manner;
use crate::wake::{OnWake, Parker, lock};

/// Who waits.
#[derive(Default)]
pub(super) struct Waiting {
    parked: Mutex<Vec<(Manner, Arc<Parker>)>>,
    /// There are jobs of the host's to run, and no thread of ours for them.
    errand: AtomicBool,
    /// Told when nobody waits who could.
    host: Option<OnWake>,
}

impl Waiting {
    pub(super) fn new(host: Option<OnWake>) -> Self {
        Waiting { host, ..Waiting::default() }
    }

    /// Something is due sooner than those who wait have seen. All of them look, since whoever keeps
    /// the time may leave before it is there.
    pub(super) fn tell_of_time(&self) {
        let parked = lock(&self.parked).iter().map(|(_, it)| Arc::clone(it)).collect::<Vec<_>>();
        match (&*parked, &self.host) {
            ([], Some(host)) => host(),
            (parked, _) => parked.iter().for_each(Wake::wake_by_ref),
        }
    }
}

impl Http {
    /// Waits until `poll` is ready. `None`: not within `until`, a moment on the hub's clock.
    ///
    /// `errand` runs the host's jobs, if there is no thread of ours for them.
    pub(crate) fn wait<T>(
        &self,
        manner: Manner,
        until: Option<Duration>,
        errand: impl Fn(),
        mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>,
    ) -> Option<T> {
        let (parker, waker) = Parker::new();
        let mut cx = Context::from_waker(&waker);
        lock(&self.waiting.parked).push((manner, Arc::clone(&parker)));
        let value = loop {
            parker.clear();
            if self.waiting.errand.swap(false, Ordering::SeqCst) {
                errand();
            }
            if let Poll::Ready(value) = poll(&mut cx) {
                break Some(value);
            }
            let (now, deadline) = (self.hub.now().mono, self.hub.deadline());
            if deadline.is_some_and(|at| at <= now) {
                self.hub.handle(Input::Timeout);
                continue;
            }
            if until.is_some_and(|at| at <= now) {
                break None;
            }
            let next = deadline.into_iter().chain(until).min();
            parker.park(next.map(|at| at - now));
        };
        lock(&self.waiting.parked).retain(|(_, other)| !Arc::ptr_eq(other, &parker));
        // Somebody may have counted on this thread.
        if self.waiting.errand.load(Ordering::SeqCst) {
            self.tell_of_errand();
        }
        value
    }

    /// Lets somebody who waits run the host's jobs, or tells the host.
    pub(crate) fn send_on_errand(&self) {
        self.waiting.errand.store(true, Ordering::SeqCst);
        self.tell_of_errand();
    }

    fn tell_of_errand(&self) {
        let someone = lock(&self.waiting.parked).first().map(|(_, parker)| Arc::clone(parker));
        match (someone, &self.waiting.host) {
            (Some(parker), _) => parker.wake(),
            (None, Some(host)) => host(),
            (None, None) => {}
        }
    }

    /// Something that was going on beside those who wait is over.
    pub(super) fn tell_guests(&self) {
        let parked = lock(&self.waiting.parked);
        let guests = parked.iter().filter(|(manner, _)| *manner == Manner::Guest);
        let guests: Vec<_> = guests.map(|(_, parker)| Waker::from(Arc::clone(parker))).collect();
        drop(parked);
        guests.into_iter().for_each(Waker::wake);
    }
}
