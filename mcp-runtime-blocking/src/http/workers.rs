//! The threads of exchanges that no caller performs: those of the connection, and those of calls
//! that nobody waits in.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use mcp_proto::driver::Ticket;
use mcp_proto::{HttpFailure, HttpFailureKind, HttpInput, Input, Sent};

use super::Http;
use crate::wake::lock;

/// As many threads as there are exchanges at once. Each stays for a moment, in case that another
/// exchange follows.
#[derive(Default)]
pub(super) struct Workers {
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Default)]
struct Queue {
    tickets: VecDeque<Ticket>,
    /// How many threads wait for a ticket.
    idle: usize,
    ended: bool,
}

impl Workers {
    /// Sees to it that an exchange is performed.
    pub(super) fn perform(&self, http: &Arc<Http>, ticket: Ticket) {
        let mut queue = lock(&self.queue);
        queue.tickets.push_back(ticket);
        if queue.idle >= queue.tickets.len() {
            drop(queue);
            return self.changed.notify_one();
        }
        drop(queue);
        let worker = Arc::clone(http);
        let thread = thread::Builder::new().name(String::from("mcp-http"));
        if let Err(error) = thread.spawn(move || worker.workers.work(&worker)) {
            let Some(ticket) = lock(&self.queue).tickets.pop_back() else { return };
            let text = format!("there is no thread for it: {error}");
            let failure = HttpFailure::new(HttpFailureKind::Connect, Sent::None, false, text);
            http.hub.handle(Input::Http(ticket.id, HttpInput::Failed(failure)));
        }
    }

    fn work(&self, http: &Arc<Http>) {
        while let Some(ticket) = self.next(http.linger) {
            let exchange = || {
                let mut exchange = http.exchange(ticket);
                while exchange.advance(http) {}
            };
            // A subscriber of the host's that panics must not take the others with it.
            let _ = catch_unwind(AssertUnwindSafe(exchange));
            http.tell_guests();
        }
    }

    fn next(&self, linger: Duration) -> Option<Ticket> {
        let mut queue = lock(&self.queue);
        if let Some(ticket) = queue.tickets.pop_front() {
            return Some(ticket);
        }
        if queue.ended || linger.is_zero() {
            return None;
        }
        queue.idle += 1;
        let nothing = |queue: &mut Queue| queue.tickets.is_empty() && !queue.ended;
        let waited = self.changed.wait_timeout_while(queue, linger, nothing);
        queue = waited.unwrap_or_else(PoisonError::into_inner).0;
        queue.idle -= 1;
        queue.tickets.pop_front()
    }

    /// Lets go of the threads that wait.
    pub(super) fn end(&self) {
        lock(&self.queue).ended = true;
        self.changed.notify_all();
    }
}
