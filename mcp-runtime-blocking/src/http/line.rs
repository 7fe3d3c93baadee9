//! What the thread that performs an exchange shares with those who stop it.
//!
//! A thread that performs an exchange blocks in the HTTP library, and there in a socket of ours: it
//! waits for the socket, and no longer than until the connection's next deadline, which it hands
//! in. So no thread has to watch over others. Whoever stops the exchange shuts the socket down,
//! which also wakes the thread.

use std::cell::RefCell;
use std::fmt;
use std::io::{self, ErrorKind};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Wake, Waker};
use std::thread;
use std::time::Duration;

use mcp_proto::driver::{Hub, Want, Wanted};
use mcp_proto::{ExchangeId, HttpFailure, HttpFailureKind, HttpInput, Input, Sent};
use mcp_runtime_common::HttpSettings;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::sockopt::set_socket_linger;

use crate::wake::lock;

thread_local! {
    /// What this thread performs right now, and until when it waits for bytes.
    static CURRENT: RefCell<Option<(Arc<Line>, Option<Duration>)>> = const { RefCell::new(None) };
}

/// An exchange under way, or the rest of an answer that is drained.
pub(crate) struct Line {
    hub: Arc<Hub>,
    /// Of the exchange, if the connection counts on it.
    exchange: Option<(ExchangeId, Arc<Wanted>)>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Nothing of it is wanted any more.
    stopped: bool,
    /// Its end was handed in.
    over: bool,
    /// It was woken since it looked last whether it may read on.
    woken: bool,
    /// Its thread is in the HTTP library, and will notice when it is stopped.
    busy: bool,
    /// The socket that it uses, or those that it tries to connect.
    sockets: Vec<Weak<TcpStream>>,
    /// The addresses that were looked up.
    found: Option<io::Result<Vec<SocketAddr>>>,
    sent: u64,
    sent_all: bool,
    received: u64,
    /// The head of the answer was read.
    head: bool,
    /// How the connection has failed, whatever the library makes of it.
    broken: Option<String>,
}

/// Puts back what was before, also when there is a panic.
struct Restore<'a> {
    line: &'a Line,
    busy: bool,
    before: Option<(Arc<Line>, Option<Duration>)>,
}

impl Drop for Restore<'_> {
    fn drop(&mut self) {
        lock(&self.line.state).busy = self.busy;
        let before = self.before.take();
        let _ = CURRENT.try_with(|current| current.replace(before));
    }
}

/// What is known about an exchange that failed.
pub(crate) struct Facts {
    pub(crate) stopped: bool,
    pub(crate) sent: Sent,
    pub(crate) answered: bool,
    pub(crate) broken: Option<String>,
}

/// The exchange was stopped.
#[derive(Debug)]
struct Stopped;

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("aborted")
    }
}

impl std::error::Error for Stopped {}

impl fmt::Debug for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Line").field(&self.exchange.as_ref().map(|(id, _)| id)).finish()
    }
}

impl Line {
    pub(crate) fn new(hub: Arc<Hub>, exchange: Option<(ExchangeId, Arc<Wanted>)>) -> Arc<Self> {
        let (state, changed) = (Mutex::default(), Condvar::new());
        let line = Arc::new(Line { hub, exchange, state, changed });
        if let Some((_, wanted)) = &line.exchange {
            wanted.watch(Arc::clone(&line).into());
            line.wake_by_ref();
        }
        line
    }

    /// What is still wanted of the exchange.
    pub(crate) fn want(&self) -> Want {
        self.exchange.as_ref().map_or(Want::Rest, |(_, wanted)| wanted.get())
    }

    /// Runs something that blocks in the HTTP library, waiting for bytes only `until` this moment.
    pub(crate) fn run<T>(self: &Arc<Self>, until: Option<Duration>, act: impl FnOnce() -> T) -> T {
        let busy = std::mem::replace(&mut lock(&self.state).busy, true);
        let before = CURRENT.with(|current| current.replace(Some((Arc::clone(self), until))));
        let _restore = Restore { line: self, busy, before };
        act()
    }

    /// Hands in what happened, unless the end was handed in.
    pub(crate) fn hand_in(&self, input: HttpInput<'_>) {
        let Some((id, wanted)) = &self.exchange else { return };
        let ends = matches!(input, HttpInput::End | HttpInput::Failed(_));
        let mut state = lock(&self.state);
        let over = state.over;
        state.over |= ends;
        drop(state);
        if ends {
            wanted.unwatch();
        }
        if !over {
            self.hub.handle(Input::Http(*id, input));
        }
    }

    /// Ends it at once, wherever its thread is.
    pub(crate) fn stop(&self) {
        let mut state = lock(&self.state);
        state.stopped = true;
        let sockets = std::mem::take(&mut state.sockets);
        let (elsewhere, sending) = (!state.busy, !state.sent_all);
        drop(state);
        self.changed.notify_all();
        for socket in sockets.iter().filter_map(Weak::upgrade) {
            if sending {
                // Else what nobody wants any more would go out before the server sees an end.
                let _ = set_socket_linger(&*socket, Some(Duration::ZERO));
            }
            // An error says that it was shut down already.
            let _ = socket.shutdown(Shutdown::Both);
        }
        // Its thread may be in code of the host's for long.
        if elsewhere {
            self.fail(HttpFailureKind::Aborted, "aborted");
        }
    }

    /// Hands in that it has failed.
    pub(crate) fn fail(&self, kind: HttpFailureKind, text: &str) {
        let Facts { sent, answered, .. } = self.facts();
        self.hand_in(HttpInput::Failed(HttpFailure::new(kind, sent, answered, text)));
    }

    pub(crate) fn facts(&self) -> Facts {
        let state = lock(&self.state);
        let sent = match state.sent {
            _ if state.sent_all => Sent::All,
            0 => Sent::None,
            _ => Sent::Some,
        };
        let (answered, broken) = (state.received > 0, state.broken.clone());
        Facts { stopped: state.stopped, sent, answered, broken }
    }

    // What sockets tell

    /// A connection is there: what was sent and received so far was not the request.
    pub(crate) fn connected(&self) {
        let mut state = lock(&self.state);
        (state.sent, state.received) = (0, 0);
    }

    /// Bytes were handed to the network.
    pub(crate) fn sent(&self, bytes: usize) {
        lock(&self.state).sent += bytes as u64;
    }

    /// All of the request was handed to the network.
    pub(crate) fn sent_all(&self) {
        lock(&self.state).sent_all = true;
    }

    /// Bytes of the answer came. Gives how many there are by now without a head being complete.
    pub(crate) fn received(&self, bytes: usize) -> u64 {
        let mut state = lock(&self.state);
        state.received += bytes as u64;
        if state.head { 0 } else { state.received }
    }

    /// The head of the answer was read.
    pub(crate) fn has_head(&self) {
        lock(&self.state).head = true;
    }

    /// The connection has failed.
    pub(crate) fn broken(&self, error: &io::Error) {
        lock(&self.state).broken.get_or_insert_with(|| error.to_string());
    }

    /// This socket is used from now on, and no other. Fails when nothing is wanted any more.
    pub(crate) fn attach(&self, socket: &Arc<TcpStream>) -> io::Result<()> {
        let mut state = self.going()?;
        let known = state.sockets.first().is_some_and(|s| s.as_ptr() == Arc::as_ptr(socket));
        if !known || state.sockets.len() > 1 {
            state.sockets.clear();
            state.sockets.push(Arc::downgrade(socket));
        }
        Ok(())
    }

    /// This socket is tried, besides others. Fails when nothing is wanted any more.
    pub(crate) fn attempt(&self, socket: &Arc<TcpStream>) -> io::Result<()> {
        self.going()?.sockets.push(Arc::downgrade(socket));
        Ok(())
    }

    /// This socket goes back to where others find it. `None` when it is not the one in use;
    /// `false` when it was shut down.
    pub(crate) fn detach(&self, socket: &Arc<TcpStream>) -> Option<bool> {
        let mut state = lock(&self.state);
        let used = state.sockets.first().is_some_and(|s| s.as_ptr() == Arc::as_ptr(socket));
        if used {
            state.sockets.clear();
        }
        (used || state.stopped).then_some(!state.stopped)
    }

    fn going(&self) -> io::Result<MutexGuard<'_, State>> {
        let state = lock(&self.state);
        if state.stopped { Err(io::Error::other(Stopped)) } else { Ok(state) }
    }

    // Waiting

    /// How long to wait at most, after what is due was handed in.
    fn time(&self, until: Option<Duration>) -> io::Result<Option<Duration>> {
        loop {
            drop(self.going()?);
            let now = self.hub.now().mono;
            let deadline = self.hub.deadline();
            if deadline.is_some_and(|at| at <= now) {
                self.hub.handle(Input::Timeout);
                continue;
            }
            if until.is_some_and(|at| at <= now) {
                return Err(ErrorKind::WouldBlock.into());
            }
            let next = deadline.into_iter().chain(until).min();
            return Ok(next.map(|at| at.saturating_sub(now)));
        }
    }

    /// Waits until the connection wants the answer to be read further.
    pub(crate) fn wait_to_read(self: &Arc<Self>) {
        let Some((id, _)) = &self.exchange else { return };
        let waker = Waker::from(Arc::clone(self));
        loop {
            lock(&self.state).woken = false;
            let may = self.hub.poll_wants_read(*id, &mut Context::from_waker(&waker));
            if may.is_ready() || self.want() != Want::All {
                return;
            }
            let Ok(time) = self.time(None) else { return };
            let (state, time) = (lock(&self.state), time.unwrap_or(Duration::MAX));
            let asleep = |state: &mut State| !state.woken && !state.stopped;
            drop(self.changed.wait_timeout_while(state, time, asleep));
        }
    }

    /// Waits until one of these is ready, and gives the first that is.
    pub(crate) fn wait(
        &self,
        sockets: &[Arc<TcpStream>],
        flags: PollFlags,
        until: Option<Duration>,
    ) -> io::Result<usize> {
        let mut fds: Vec<_> = sockets.iter().map(|s| PollFd::new(&**s, flags)).collect();
        loop {
            // A time that the system cannot express is no limit.
            let time = self.time(until)?.and_then(|time| Timespec::try_from(time).ok());
            match poll(&mut fds, time.as_ref()) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            if let Some(at) = fds.iter().position(|fd| !fd.revents().is_empty()) {
                return Ok(at);
            }
        }
    }

    /// Looks up the addresses of a host. A lookup cannot be stopped, so it has a thread of its own,
    /// which nobody waits for once it is not wanted any more.
    pub(crate) fn look_up(
        self: &Arc<Self>,
        settings: &Arc<HttpSettings>,
        host: &str,
        port: u16,
        until: Duration,
    ) -> io::Result<Vec<SocketAddr>> {
        let (line, settings) = (Arc::clone(self), Arc::clone(settings));
        let host = String::from(host);
        let look = move || {
            let found = settings.resolve(&host, port);
            lock(&line.state).found = Some(found);
            line.changed.notify_all();
        };
        thread::Builder::new().name(String::from("mcp-resolve")).spawn(look)?;
        loop {
            let time = match self.time(Some(until)) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    return Err(ErrorKind::TimedOut.into());
                }
                time => time?,
            };
            let mut state = self.going()?;
            if let Some(found) = state.found.take() {
                return found;
            }
            let time = time.unwrap_or(Duration::MAX);
            let waited = self.changed.wait_timeout(state, time);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
            if let Some(found) = state.found.take() {
                return found;
            }
        }
    }

    pub(crate) fn now(&self) -> Duration {
        self.hub.now().mono
    }
}

/// The line that this thread works on, and until when it waits.
pub(crate) fn current() -> io::Result<(Arc<Line>, Option<Duration>)> {
    let current = CURRENT.with(|current| current.borrow().clone());
    current.ok_or_else(|| io::Error::other("no exchange is under way on this thread"))
}

impl Wake for Line {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    /// Less is wanted of the exchange, or it may be read further.
    fn wake_by_ref(self: &Arc<Self>) {
        lock(&self.state).woken = true;
        self.changed.notify_all();
        if self.want() == Want::Nothing && self.exchange.is_some() {
            self.stop();
        }
    }
}
