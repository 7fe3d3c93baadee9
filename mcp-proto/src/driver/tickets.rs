//! HTTP exchanges for adapters that give each a thread of its own, instead of doing all of them in
//! one place.

use core::sync::atomic::{AtomicU8, Ordering};
use core::task::Waker;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::ExchangeId;
use crate::interface::{HttpRequest, Owner};

/// An HTTP exchange to perform. Whoever has it hands in what happens to it, up to exactly one
/// `End` or `Failed`.
#[derive(Debug)]
#[non_exhaustive]
pub struct Ticket {
    /// The exchange.
    pub id: ExchangeId,
    /// Whom it serves.
    pub owner: Owner,
    /// What to send.
    pub request: Box<HttpRequest>,
    /// What is still wanted of it. It is to be kept until the exchange is over.
    pub wanted: Arc<Wanted>,
}

/// How much of an exchange is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Want {
    /// The whole answer.
    All,
    /// What was wanted has come ([`HttpOutput::Release`](crate::HttpOutput::Release)).
    Rest,
    /// It is to end at once ([`HttpOutput::Abort`](crate::HttpOutput::Abort)).
    Nothing,
}

/// What is still wanted of an exchange, as its performer sees it from any thread.
#[derive(Debug, Default)]
pub struct Wanted {
    want: AtomicU8,
    waker: Mutex<Option<Waker>>,
}

impl Wanted {
    /// What is wanted now.
    #[must_use]
    pub fn get(&self) -> Want {
        match self.want.load(Ordering::SeqCst) {
            0 => Want::All,
            1 => Want::Rest,
            _ => Want::Nothing,
        }
    }

    /// Remembers whom to wake, outside of all locks of the hub's, each time that less is wanted.
    /// What was wanted less before is to be looked at afterwards.
    pub fn watch(&self, waker: Waker) {
        *self.waker.lock().unwrap_or_else(PoisonError::into_inner) = Some(waker);
    }

    /// Wakes nobody any more.
    pub fn unwatch(&self) {
        drop(self.waker.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    fn reduce(&self, want: Want) -> Option<Waker> {
        self.want.fetch_max(want as u8, Ordering::SeqCst);
        self.waker.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The exchanges that have begun, and those that nobody has taken yet.
#[derive(Debug, Default)]
pub(super) struct Tickets {
    open: BTreeMap<ExchangeId, Weak<Wanted>>,
    queue: VecDeque<Ticket>,
}

impl Tickets {
    pub(super) fn open(
        &mut self,
        id: ExchangeId,
        owner: Owner,
        request: Box<HttpRequest>,
    ) -> Ticket {
        let wanted = Arc::new(Wanted::default());
        self.open.insert(id, Arc::downgrade(&wanted));
        Ticket { id, owner, request, wanted }
    }

    /// Queues an exchange that belongs to nobody who waits.
    pub(super) fn queue(&mut self, ticket: Ticket) {
        self.queue.push_back(ticket);
    }

    /// Takes those that were queued.
    pub(super) fn take(&mut self, into: &mut VecDeque<Ticket>) {
        into.append(&mut self.queue);
    }

    /// Less is wanted of an exchange. `Err` when nobody performs it.
    pub(super) fn reduce(&mut self, id: ExchangeId, want: Want) -> Result<Option<Waker>, ()> {
        self.queue.retain(|ticket| ticket.id != id);
        match self.open.get(&id).and_then(Weak::upgrade) {
            Some(wanted) => Ok(wanted.reduce(want)),
            None => Err(()),
        }
    }

    /// The exchange is over.
    pub(super) fn close(&mut self, id: ExchangeId) {
        self.open.remove(&id);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    use super::*;
    use crate::interface::{HttpRequest, Method};

    fn ticket(tickets: &mut Tickets, number: u64) -> Ticket {
        let url = String::from("http://127.0.0.1/mcp");
        let request =
            HttpRequest { method: Method::Post, url, headers: Vec::new(), body: Vec::new() };
        tickets.open(ExchangeId::new(number), Owner::Connection, Box::new(request))
    }

    fn queued(tickets: &mut Tickets) -> Vec<u64> {
        let mut taken = VecDeque::new();
        tickets.take(&mut taken);
        taken.iter().map(|ticket| ticket.id.number()).collect()
    }

    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn less_is_wanted_and_never_more() {
        let mut tickets = Tickets::default();
        let ticket = ticket(&mut tickets, 1);
        assert_eq!(ticket.wanted.get(), Want::All);
        for (told, seen) in [
            (Want::All, Want::All),
            (Want::Rest, Want::Rest),
            (Want::All, Want::Rest),
            (Want::Nothing, Want::Nothing),
            (Want::Rest, Want::Nothing),
        ] {
            assert!(tickets.reduce(ticket.id, told).is_ok());
            assert_eq!(ticket.wanted.get(), seen, "after {told:?}");
        }
    }

    #[test]
    fn what_nobody_has_taken_is_not_taken_any_more() {
        let mut tickets = Tickets::default();
        for number in 1..=3 {
            let ticket = ticket(&mut tickets, number);
            tickets.queue(ticket);
        }
        // Whoever reduces it has to tell the end of it: nobody else will.
        assert!(tickets.reduce(ExchangeId::new(2), Want::Nothing).is_err());
        assert_eq!(queued(&mut tickets), [1, 3]);
        assert!(queued(&mut tickets).is_empty());
    }

    #[test]
    fn an_exchange_that_nobody_performs_is_nobodys() {
        let mut tickets = Tickets::default();
        assert!(tickets.reduce(ExchangeId::new(1), Want::Rest).is_err(), "it has not begun");
        let kept = ticket(&mut tickets, 1);
        assert!(tickets.reduce(ExchangeId::new(1), Want::Rest).is_ok());
        drop(kept);
        assert!(tickets.reduce(ExchangeId::new(1), Want::Nothing).is_err(), "it was let go of");
        let closed = ticket(&mut tickets, 2);
        tickets.close(ExchangeId::new(2));
        assert!(tickets.reduce(ExchangeId::new(2), Want::Nothing).is_err(), "it is over");
        assert_eq!(closed.wanted.get(), Want::All);
        assert!(tickets.open.len() <= 1, "what is over is forgotten");
    }

    #[test]
    fn who_watches_is_woken_by_the_caller() {
        let mut tickets = Tickets::default();
        let ticket = ticket(&mut tickets, 1);
        assert!(tickets.reduce(ticket.id, Want::Rest).unwrap().is_none(), "nobody watches yet");
        let count = Arc::new(Count(AtomicUsize::new(0)));
        ticket.wanted.watch(Waker::from(Arc::clone(&count)));
        let waker = tickets.reduce(ticket.id, Want::Nothing).unwrap().unwrap();
        assert_eq!(count.0.load(Ordering::SeqCst), 0, "a lock may be held here");
        waker.wake();
        assert_eq!(count.0.load(Ordering::SeqCst), 1);
        ticket.wanted.unwatch();
        assert!(tickets.reduce(ticket.id, Want::Nothing).unwrap().is_none());
    }
}
