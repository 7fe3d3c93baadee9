//! Performing HTTP exchanges on any async runtime.
//!
//! [`http1`](crate::http1) knows the bytes and decides which connection a request goes out on; the
//! [`Network`] of a runtime opens connections. Between them, a [`Web`] carries out what the
//! connection wants of its exchanges, all side by side, and hands in what happened. Nothing here
//! sends a request twice: a connection that turns out to be closed before anything was sent on it is
//! left for another one, and everything else is told.

mod exchange;
mod network;
mod open;
mod target;
mod tunnel;

use core::task::{Context, Poll};
use std::sync::Arc;
use std::time::Duration;

use self::exchange::{Moved, Running};
pub(crate) use self::network::NoNetwork;
pub use self::network::{Address, Network, Socket, Via};
pub use self::open::{CONNECT_TIMEOUT, HANDSHAKE_TIMEOUT, NEXT_ADDRESS, alternate};
use self::open::{Opening, open};
use self::target::{Target, Targets};
use super::{Exchanges, Hub};
use crate::ExchangeId;
use crate::http1::{self, Headers, Pool, PoolLimits, PoolOutput, SocketId, Ticket};
use crate::interface::{
    HttpFailure, HttpFailureKind, HttpInput, HttpOutput, HttpRequest, Input, Sent, Source,
};

/// How many connections to one server may be idle: calls come in bursts.
pub const MAX_IDLE: usize = 64;

/// The exchanges of one connection, and the sockets that they use.
pub(super) struct Web {
    network: Arc<dyn Network>,
    pool: Pool<Arc<Address>>,
    targets: Targets,
    exchanges: Vec<Exchange>,
    idle: Vec<(SocketId, Box<dyn Socket>)>,
    /// An exchange may not have been looked at since it changed.
    again: bool,
}

struct Exchange {
    id: ExchangeId,
    target: Target,
    /// Until it goes out on a connection.
    request: Option<Box<HttpRequest>>,
    state: State,
    /// What was wanted has come; what is left is read for the sake of the connection.
    released: bool,
    /// Some of a body was handed in. Only then there may be a reason to read no further.
    said: bool,
    /// It is not to be read further for now.
    paused: bool,
}

enum State {
    /// The pool has yet to say on which connection it goes out.
    Waiting(Ticket),
    Opening(SocketId, Opening),
    Running(SocketId, Running),
}

/// What has become of an exchange.
enum Fate {
    Goes,
    /// It is complete, and whether its connection can be used again.
    Complete(bool),
    Failed(HttpFailure),
}

impl Web {
    pub(super) fn new(network: Arc<dyn Network>) -> Self {
        Web {
            network,
            pool: Pool::new(PoolLimits { max_idle: MAX_IDLE, ..PoolLimits::default() }),
            targets: Targets::default(),
            exchanges: Vec::new(),
            idle: Vec::new(),
            again: false,
        }
    }

    /// When [`handle_timeout`](Self::handle_timeout) is to be called.
    pub(super) fn poll_timeout(&self) -> Option<Duration> {
        self.pool.poll_timeout()
    }

    /// Closes what was idle or drained for too long. Another turn is due.
    pub(super) fn handle_timeout(&mut self, hub: &Hub) {
        self.pool.handle_timeout(hub.now().mono);
        self.decide(hub);
    }

    /// Does what is wanted, and moves what can be moved. Whether another turn is due; if not, the
    /// task is woken when there is more to move.
    pub(super) fn poll(
        &mut self,
        hub: &Hub,
        wanted: &mut Exchanges,
        buffer: &mut [u8],
        cx: &mut Context<'_>,
    ) -> bool {
        let mut due = false;
        while let Some((id, _, output)) = wanted.pop_front() {
            due |= match output {
                HttpOutput::Send(request) => self.send(hub, id, request),
                HttpOutput::Release => self.release(hub, id),
                HttpOutput::Abort => self.abort(hub, id),
            };
        }
        self.again = false;
        let mut at = 0;
        while let Some(exchange) = self.exchanges.get_mut(at) {
            let (fate, told) = exchange.advance(hub, buffer, cx);
            due |= told;
            match fate {
                Fate::Goes => at += 1,
                Fate::Complete(reusable) => due |= self.complete(hub, at, reusable),
                Fate::Failed(failure) => due |= self.fail(hub, at, failure),
            }
        }
        due | self.again
    }

    fn send(&mut self, hub: &Hub, id: ExchangeId, request: Box<HttpRequest>) -> bool {
        let Some(target) = self.targets.find(&request.url) else {
            let failure = unsent(HttpFailureKind::Resolve, "the URL names no server");
            return tell(hub, id, HttpInput::Failed(failure));
        };
        let ticket = self.pool.acquire(Arc::clone(&target.address), hub.now().mono);
        let (request, state) = (Some(request), State::Waiting(ticket));
        self.exchanges.push(Exchange {
            id,
            target,
            request,
            state,
            released: false,
            said: false,
            paused: false,
        });
        self.decide(hub)
    }

    fn release(&mut self, hub: &Hub, id: ExchangeId) -> bool {
        let Some(at) = self.exchanges.iter().position(|exchange| exchange.id == id) else {
            return false;
        };
        match self.exchanges.get_mut(at) {
            Some(Exchange { state: State::Running(socket, _), released, .. }) => {
                *released = true;
                self.pool.drain(*socket, hub.now().mono);
                self.decide(hub)
            }
            _ => self.abort(hub, id),
        }
    }

    fn abort(&mut self, hub: &Hub, id: ExchangeId) -> bool {
        let Some(at) = self.exchanges.iter().position(|exchange| exchange.id == id) else {
            return false;
        };
        let (kind, text) = (HttpFailureKind::Aborted, "the exchange was aborted");
        let failure = match self.exchanges.get(at).map(|exchange| &exchange.state) {
            Some(State::Running(_, running)) => running.failure(kind, text),
            _ => unsent(kind, text),
        };
        self.fail(hub, at, failure)
    }

    /// The answer is complete.
    fn complete(&mut self, hub: &Hub, at: usize, reusable: bool) -> bool {
        // Its end was told with the last bytes of it.
        let Exchange { state, .. } = self.exchanges.swap_remove(at);
        self.again |= self.exchanges.iter().any(|exchange| exchange.paused);
        if let State::Running(socket, running) = state {
            if reusable {
                self.idle.push((socket, running.into_socket()));
            }
            self.pool.release(socket, reusable, hub.now().mono);
        }
        self.decide(hub)
    }

    /// Ends an exchange, and closes its connection.
    fn fail(&mut self, hub: &Hub, at: usize, failure: HttpFailure) -> bool {
        let Exchange { id, state, .. } = self.exchanges.swap_remove(at);
        self.again = true;
        match state {
            State::Waiting(ticket) => {
                self.pool.cancel(ticket);
            }
            State::Opening(socket, _) | State::Running(socket, _) => {
                self.pool.gone(socket, hub.now().mono);
            }
        }
        tell(hub, id, HttpInput::Failed(failure)) | self.decide(hub)
    }

    /// Does what the pool has decided. Whether another turn is due.
    fn decide(&mut self, hub: &Hub) -> bool {
        let mut due = false;
        while let Some(output) = self.pool.poll_output() {
            due |= match output {
                PoolOutput::Use(ticket, socket) => self.go_on(hub, ticket, socket),
                PoolOutput::Open(ticket, socket) => self.open(hub, ticket, socket),
                PoolOutput::Close(socket) => self.close(hub, socket),
            };
        }
        due
    }

    fn waiting(&mut self, ticket: Ticket) -> Option<usize> {
        let waits = |it: &Exchange| matches!(it.state, State::Waiting(of) if of == ticket);
        self.exchanges.iter().position(waits)
    }

    /// An exchange goes out on a connection that was used before.
    fn go_on(&mut self, hub: &Hub, ticket: Ticket, id: SocketId) -> bool {
        let idle = self.idle.iter().position(|(idle, _)| *idle == id);
        let socket = idle.map(|at| self.idle.swap_remove(at).1);
        let (Some(at), Some(mut socket)) = (self.waiting(ticket), socket) else {
            self.pool.gone(id, hub.now().mono);
            return false;
        };
        if !socket.is_silent() {
            self.pool.refuse(ticket, id, hub.now().mono);
            return false;
        }
        self.again = true;
        let begun = self.exchanges.get_mut(at).map(|exchange| exchange.begin(id, socket, true));
        match begun {
            Some(Err(failure)) => self.fail(hub, at, failure),
            _ => false,
        }
    }

    fn open(&mut self, hub: &Hub, ticket: Ticket, id: SocketId) -> bool {
        let at = self.waiting(ticket);
        let Some(exchange) = at.and_then(|at| self.exchanges.get_mut(at)) else { return false };
        exchange.state = State::Opening(id, open(&self.network, &exchange.target.address));
        self.again = true;
        tell(hub, exchange.id, HttpInput::Connecting)
    }

    /// A connection is closed: an idle one, or one whose answer has not ended in time.
    fn close(&mut self, hub: &Hub, id: SocketId) -> bool {
        self.idle.retain(|(idle, _)| *idle != id);
        let runs = |it: &Exchange| matches!(it.state, State::Running(of, _) if of == id);
        let Some(at) = self.exchanges.iter().position(runs) else { return false };
        self.again = true;
        tell(hub, self.exchanges.swap_remove(at).id, HttpInput::End)
    }
}

impl Exchange {
    /// Goes out on a connection.
    fn begin(
        &mut self,
        id: SocketId,
        socket: Box<dyn Socket>,
        reused: bool,
    ) -> Result<(), HttpFailure> {
        let Some(request) = self.request.take() else { return Ok(()) };
        let headers: Headers =
            request.headers.iter().map(|(name, value)| (&**name, &**value)).collect();
        let target = http1::Request {
            method: request.method.as_str(),
            target: &self.target.path,
            authority: &self.target.authority,
            headers: &headers,
        };
        let body = (!request.body.is_empty()).then_some(request.body);
        let exchange = http1::Exchange::new(&target, body, reused)
            .map_err(|error| unsent(HttpFailureKind::Malformed, &error.to_string()))?;
        self.state = State::Running(id, Running::new(socket, exchange));
        Ok(())
    }

    /// Moves what can be moved. What has become of it, and whether another turn is due.
    fn advance(&mut self, hub: &Hub, buffer: &mut [u8], cx: &mut Context<'_>) -> (Fate, bool) {
        if let State::Opening(id, opening) = &mut self.state {
            let id = *id;
            let begun = match opening.as_mut().poll(cx) {
                Poll::Pending => return (Fate::Goes, false),
                Poll::Ready(opened) => opened.and_then(|socket| self.begin(id, socket, false)),
            };
            if let Err(failure) = begun {
                return (Fate::Failed(failure), false);
            }
            // It may have been given up by now, and then it must not be sent.
            tell(hub, self.id, HttpInput::Connected);
            return (Fate::Goes, true);
        }
        let State::Running(_, running) = &mut self.state else { return (Fate::Goes, false) };
        let mut due = false;
        let (id, released) = (self.id, self.released);
        self.paused = self.said && !released && !hub.wants_read(Source::Exchange(id));
        let moved = running.advance(!self.paused, buffer, cx, |read| {
            self.said |= read.iter().any(|input| matches!(input, HttpInput::Body(_)));
            // Of an answer that is not wanted only its end is told.
            let wanted = |input: &HttpInput<'_>| !released || matches!(input, HttpInput::End);
            let told = read.into_iter().filter(wanted).map(|input| Input::Http(id, input));
            due |= hub.drive_all(told);
        });
        let fate = match moved {
            Moved::All => Fate::Goes,
            Moved::Some => return (Fate::Goes, true),
            Moved::Complete { reusable } => Fate::Complete(reusable),
            Moved::Failed(failure) => Fate::Failed(failure),
        };
        (fate, due)
    }
}

/// Hands in what happened. Whether another turn is due.
fn tell(hub: &Hub, id: ExchangeId, input: HttpInput<'_>) -> bool {
    hub.drive(Input::Http(id, input))
}

fn unsent(kind: HttpFailureKind, text: &str) -> HttpFailure {
    HttpFailure::new(kind, Sent::None, false, text)
}
