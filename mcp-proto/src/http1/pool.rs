//! Which connection a request goes out on: bookkeeping only, the sockets are the performer's.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::time::Duration;

/// The bounds of a [`Pool`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolLimits {
    /// How many connections one origin may have at once, those of long-lived streams included: 256
    /// by default. What goes beyond waits.
    pub max_open: usize,
    /// How many of them may be idle: 16 by default. Beyond it the one that is idle for the longest
    /// time is closed.
    pub max_idle: usize,
    /// How long a connection may be idle: 4 s by default. Servers commonly close theirs after 5 s,
    /// and a request that meets the close on its way is lost.
    pub idle: Duration,
    /// How long the rest of an answer may take, once what it was wanted for has arrived: 50 ms by
    /// default.
    pub drain: Duration,
}

impl Default for PoolLimits {
    fn default() -> Self {
        let (idle, drain) = (Duration::from_secs(4), Duration::from_millis(50));
        PoolLimits { max_open: 256, max_idle: 16, idle, drain }
    }
}

/// A connection to a server, opened or about to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SocketId(u64);

/// A request that wants a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(u64);

impl fmt::Display for SocketId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "socket#{}", self.0)
    }
}

/// What the pool has decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolOutput {
    /// The request goes out on an idle connection. Look first whether it is still open and silent,
    /// and [`refuse`](Pool::refuse) it otherwise.
    Use(Ticket, SocketId),
    /// The request goes out on a connection of its own, which is to be opened.
    Open(Ticket, SocketId),
    /// Close this connection. The pool has forgotten it.
    Close(SocketId),
}

/// The connections to all origins. `K` is what tells origins apart: scheme, host, port, proxy.
///
/// A request holds its connection from `Use` or `Open` on until [`release`](Self::release) or
/// [`gone`](Self::gone). The pool knows nothing of requests, so it can repeat none.
#[derive(Debug)]
pub struct Pool<K> {
    limits: PoolLimits,
    origins: BTreeMap<K, Origin>,
    outputs: VecDeque<PoolOutput>,
    next_id: u64,
}

#[derive(Debug, Default)]
struct Origin {
    /// The one that was released last stands last.
    sockets: Vec<(SocketId, Use)>,
    waiting: VecDeque<Ticket>,
    /// The last answer that drained did not end in time: this server leaves its streams open after
    /// the result, and a request that waits for such a connection waits in vain.
    leaves_open: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    Busy,
    /// The rest of an answer is read, until this time.
    Draining(Duration),
    /// Nothing is under way. It may be used until this time.
    Idle(Duration),
}

impl<K: Ord + Clone> Pool<K> {
    /// A pool without connections.
    #[must_use]
    pub fn new(limits: PoolLimits) -> Self {
        Pool { limits, origins: BTreeMap::new(), outputs: VecDeque::new(), next_id: 1 }
    }

    /// A request wants a connection to this origin. Which one it gets is an output, now or later.
    pub fn acquire(&mut self, origin: K, now: Duration) -> Ticket {
        let ticket = Ticket(self.next_id);
        self.next_id += 1;
        self.origins.entry(origin.clone()).or_default().waiting.push_back(ticket);
        self.serve(&origin, now);
        ticket
    }

    /// A request that waits wants no connection any more. `false` when it has one already.
    pub fn cancel(&mut self, ticket: Ticket) -> bool {
        let mut waited = false;
        self.origins.retain(|_, origin| {
            waited |= origin.waiting.contains(&ticket);
            origin.waiting.retain(|waiting| *waiting != ticket);
            !origin.is_unused()
        });
        waited
    }

    /// What the request was sent for has arrived, and the rest of the answer is read in the
    /// background. If its end comes in time, it is handed to [`release`](Self::release).
    pub fn drain(&mut self, socket: SocketId, now: Duration) {
        let until = now.saturating_add(self.limits.drain);
        if let Some((key, _)) = self.take(socket) {
            self.put(&key, socket, Use::Draining(until));
        }
    }

    /// The answer is complete. `reusable` is that of [`Part::End`](super::Part::End).
    pub fn release(&mut self, socket: SocketId, reusable: bool, now: Duration) {
        let Some((key, used)) = self.take(socket) else { return };
        if reusable {
            self.put(&key, socket, Use::Idle(now.saturating_add(self.limits.idle)));
        } else {
            self.outputs.push_back(PoolOutput::Close(socket));
        }
        if let (Use::Draining(_), Some(origin)) = (used, self.origins.get_mut(&key)) {
            origin.leaves_open = false;
        }
        self.serve(&key, now);
    }

    /// The connection has failed, could not be opened, or was closed, by whomever. An idle one on
    /// which something came is to be closed, too.
    pub fn gone(&mut self, socket: SocketId, now: Duration) {
        if let Some((key, _)) = self.take(socket) {
            self.serve(&key, now);
        }
    }

    /// The connection that the request got is closed, or not silent, and nothing was sent on it. The
    /// request gets another one, before all that wait.
    pub fn refuse(&mut self, ticket: Ticket, socket: SocketId, now: Duration) {
        let Some((key, _)) = self.take(socket) else { return };
        self.outputs.push_back(PoolOutput::Close(socket));
        self.origins.entry(key.clone()).or_default().waiting.push_front(ticket);
        self.serve(&key, now);
    }

    /// Closes what was idle or drained for too long.
    pub fn handle_timeout(&mut self, now: Duration) {
        let origins: Vec<K> = self.origins.keys().cloned().collect();
        origins.iter().for_each(|origin| self.serve(origin, now));
    }

    /// When [`handle_timeout`](Self::handle_timeout) is to be called next.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Duration> {
        let sockets = self.origins.values().flat_map(|origin| &origin.sockets);
        sockets.filter_map(|(_, used)| used.until()).min()
    }

    /// The next decision. Take them all after each call.
    pub fn poll_output(&mut self) -> Option<PoolOutput> {
        self.outputs.pop_front()
    }

    fn take(&mut self, socket: SocketId) -> Option<(K, Use)> {
        self.origins.iter_mut().find_map(|(key, origin)| {
            let at = origin.sockets.iter().position(|(other, _)| *other == socket)?;
            Some((key.clone(), origin.sockets.remove(at).1))
        })
    }

    fn put(&mut self, key: &K, socket: SocketId, used: Use) {
        if let Some(origin) = self.origins.get_mut(key) {
            origin.sockets.push((socket, used));
        }
    }

    /// Closes what is out of date, and gives connections to those that wait: first come, first
    /// served.
    fn serve(&mut self, key: &K, now: Duration) {
        let Some(origin) = self.origins.get_mut(key) else { return };
        let outputs = &mut self.outputs;
        origin.sockets.retain(|(socket, used)| {
            let keep = used.until().is_none_or(|until| now < until);
            if !keep {
                outputs.push_back(PoolOutput::Close(*socket));
                origin.leaves_open |= matches!(used, Use::Draining(_));
            }
            keep
        });
        while let Some(&ticket) = origin.waiting.front() {
            let idle = origin.sockets.iter().rposition(|(_, used)| matches!(used, Use::Idle(_)));
            if let Some((socket, used)) = idle.and_then(|at| origin.sockets.get_mut(at)) {
                *used = Use::Busy;
                outputs.push_back(PoolOutput::Use(ticket, *socket));
            } else if origin.waits_for_drains() || origin.sockets.len() >= self.limits.max_open {
                break;
            } else {
                let socket = SocketId(self.next_id);
                self.next_id += 1;
                origin.sockets.push((socket, Use::Busy));
                outputs.push_back(PoolOutput::Open(ticket, socket));
            }
            origin.waiting.pop_front();
        }
        let idle = |(_, used): &(SocketId, Use)| matches!(used, Use::Idle(_));
        while origin.sockets.iter().filter(|it| idle(it)).count() > self.limits.max_idle {
            let Some(oldest) = origin.sockets.iter().position(idle) else { break };
            outputs.push_back(PoolOutput::Close(origin.sockets.remove(oldest).0));
        }
        if origin.is_unused() {
            self.origins.remove(key);
        }
    }
}

impl Origin {
    /// Whether there is a connection that drains for each request that waits.
    fn waits_for_drains(&self) -> bool {
        let draining = self.sockets.iter().filter(|(_, used)| matches!(used, Use::Draining(_)));
        !self.leaves_open && self.waiting.len() <= draining.count()
    }

    fn is_unused(&self) -> bool {
        self.sockets.is_empty() && self.waiting.is_empty()
    }
}

impl Use {
    fn until(self) -> Option<Duration> {
        match self {
            Use::Busy => None,
            Use::Draining(until) | Use::Idle(until) => Some(until),
        }
    }
}
