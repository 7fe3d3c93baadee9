//! What the driver does with a hub.

use core::task::{Context, Poll, Waker};
use std::collections::VecDeque;
use std::time::Duration;

use super::super::tickets::Ticket;
use super::{Exchanges, Hub, State, Turn, Work};
use crate::interface::{Input, Source};
use crate::{Error, ExchangeId};

impl Hub {
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
    /// as [`Step::Exchange`](crate::driver::Step::Exchange), the others are filed for
    /// [`take_tickets`](Self::take_tickets). What is no longer wanted is told to whoever performs
    /// it, by [`Ticket::wanted`].
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
        wake.extend(state.listener.take());
        drop(state);
        wake.into_iter().for_each(Waker::wake);
    }
}
