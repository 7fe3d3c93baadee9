//! A script behind HTTP: what gateways do that put a stdio server on the network.
//!
//! Each message that is POSTed becomes a line that the script reads, and each line that the script
//! writes goes to the exchange that it belongs to: an answer to its request, progress to the owner
//! of its token, everything else to the request that is open for the longest time, or else to the
//! GET stream. What fits nowhere waits for the next of them. An answer to nobody has nowhere to go,
//! and neither has the progress of what is answered: both are dropped. (An error that names no
//! request belongs to the one whose stream it comes on, so that it goes where everything else does.)
//!
//! A request is answered as one JSON object or as an event stream in turn, and always as a stream
//! once something comes before its answer. Closing the stream of a modern request cancels it, which
//! the script is told by the notification that stdio has for it; of a probe nothing is left that
//! could be cancelled. A legacy client is given a session with the answer to `initialize`, and has
//! to name it from then on. When the script ends, so do all connections.

mod exchange;
mod lines;

use std::collections::VecDeque;
use std::io::{self, Write as _};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

use super::{Playing, Script};
use crate::http::{Conn, Head, Listener, Request};
use exchange::{Exchange, Kind, start_writer};
use lines::{Input, Output};

/// The session of every legacy client.
const SESSION: &str = "bridge-1";

/// The way from the network to a script. Dropping it ends the connections and the script's input.
#[derive(Debug)]
pub(super) struct Bridge {
    shared: Arc<Shared>,
    listener: Option<Listener>,
}

#[derive(Debug, Default)]
struct Shared(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// To the script; `None` once nobody will write any more.
    input: Option<Sender<Vec<u8>>>,
    /// The requests that are not answered yet, in order of their arrival.
    open: Vec<Exchange>,
    /// The GET stream.
    stream: Option<Exchange>,
    /// Lines that wait for an exchange.
    waiting: VecDeque<Vec<u8>>,
    /// How many requests have come: every other one is answered as JSON.
    count: usize,
    /// The tokens of requests that are answered.
    done: Vec<Value>,
    /// A legacy client has been given its session.
    in_session: bool,
    /// The script has closed its output.
    ended: bool,
    /// What of a long line has been sent ahead of its end goes to this exchange.
    ahead: Option<u64>,
}

impl Script {
    /// Plays on a thread of its own behind HTTP; returns the URL too.
    ///
    /// # Panics
    /// When no loopback address can be listened at.
    pub fn over_http(self) -> (String, Playing) {
        let (sender, receiver) = channel();
        let state = State { input: Some(sender), ..State::default() };
        let shared = Arc::new(Shared(Mutex::new(state)));
        let playing = self.spawn(Input::new(receiver), Output::new(shared.clone()));
        let serving = shared.clone();
        let at = (std::net::Ipv4Addr::LOCALHOST, 0).into();
        let serve = move |conn| serving.serve(conn);
        let listener = Listener::start(at, serve).expect("a loopback address");
        let url = format!("http://{}/mcp", listener.address());
        (url, playing.behind(Bridge { shared, listener: Some(listener) }))
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.find_closed();
        // What ends from here on was not ended by the client.
        state.input = None;
        drop(state);
        self.listener = None;
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn serve(&self, mut conn: Conn) {
        let mut exchange = None;
        while let Ok(Some(request)) = Request::read(&mut conn) {
            exchange = match self.take(&request, &mut conn) {
                Ok(exchange) => exchange,
                Err(_) => break,
            };
        }
        if let Some(number) = exchange {
            self.lock().closed(number);
        }
    }

    /// Takes a request; returns its exchange if its answer comes later.
    fn take(&self, request: &Request, conn: &mut Conn) -> io::Result<Option<u64>> {
        let is_modern = request.header("mcp-protocol-version") == Some("2026-07-28");
        let message: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        let is_start = matches!(message["method"].as_str(), Some("initialize" | "server/discover"));
        let session = request.header("mcp-session-id");
        let fits = session == self.lock().in_session.then_some(SESSION);
        let status = match &*request.method {
            _ if !(is_modern || is_start || fits) => 400,
            "GET" if is_modern => 405,
            "GET" => return self.get(conn).map(Some),
            "POST" if message.is_object() => return self.post(request, &message, is_modern, conn),
            "DELETE" => 204,
            _ => 400,
        };
        conn.write_all(&Head::new(status).body(b""))?;
        Ok(None)
    }

    fn get(&self, conn: &Conn) -> io::Result<u64> {
        let mut exchange = Exchange::new(Kind::Stream, start_writer(conn), conn.handle());
        let number = exchange.number;
        let mut state = self.lock();
        exchange.begin_stream();
        for line in std::mem::take(&mut state.waiting) {
            exchange.event(&line);
        }
        state.stream = Some(exchange);
        Ok(number)
    }

    fn post(
        &self,
        request: &Request,
        message: &Value,
        is_modern: bool,
        conn: &mut Conn,
    ) -> io::Result<Option<u64>> {
        let mut state = self.lock();
        if state.ended {
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        // A client that has closed one exchange before it began this one is told in that order.
        state.find_closed();
        let is_request = message.get("id").is_some() && message.get("method").is_some();
        let exchange = is_request.then(|| {
            state.count += 1;
            let kind = if state.count % 2 == 1 { Kind::Json } else { Kind::Stream };
            let mut exchange = Exchange::new(kind, start_writer(conn), conn.handle());
            exchange.id = message["id"].clone();
            exchange.token = message["params"]["_meta"]["progressToken"].clone();
            state.done.retain(|token| *token != exchange.token);
            exchange.is_cancelled_by_close = is_modern && message["method"] != "server/discover";
            exchange.opens_session = message["method"] == "initialize";
            for line in std::mem::take(&mut state.waiting) {
                exchange.event(&line);
            }
            let number = exchange.number;
            state.open.push(exchange);
            number
        });
        let mut line = request.body.clone();
        line.push(b'\n');
        state.tell(line);
        drop(state);
        if exchange.is_none() {
            conn.write_all(&Head::new(202).body(b""))?;
        }
        Ok(exchange)
    }
}

impl State {
    fn tell(&self, line: Vec<u8>) {
        if let Some(input) = &self.input {
            // A script that has closed its input hears nothing any more.
            let _ = input.send(line);
        }
    }

    /// The client has closed the connection of this exchange.
    fn closed(&mut self, number: u64) {
        self.stream = self.stream.take().filter(|stream| stream.number != number);
        let Some(at) = self.open.iter().position(|it| it.number == number) else { return };
        let exchange = self.open.remove(at);
        if exchange.is_cancelled_by_close {
            let params = json!({ "requestId": exchange.id });
            let method = "notifications/cancelled";
            let told = json!({ "jsonrpc": "2.0", "method": method, "params": params });
            self.tell(format!("{told}\n").into_bytes());
        }
    }

    /// Looks for exchanges whose connection the client has closed by now.
    fn find_closed(&mut self) {
        let closed = self.open.iter().filter(|it| it.is_closed()).map(|it| it.number);
        for number in closed.collect::<Vec<_>>() {
            self.closed(number);
        }
    }

    /// The script has written a line.
    fn route(&mut self, line: &[u8]) {
        if let Some(number) = self.ahead.take() {
            let exchange = self.open.iter().position(|it| it.number == number);
            if let Some(at) = exchange {
                self.open.remove(at).end_ahead(line);
            }
            return;
        }
        let messages = lines::read(line);
        let answered = messages.iter().filter(|it| it.is_answer());
        let at = answered.flat_map(|it| it.find(&self.open)).next();
        if let Some(at) = at {
            if self.open[at].is_closed() {
                // The client has wanted it no more before it came.
                return self.closed(self.open[at].number);
            }
            let exchange = self.open.remove(at);
            self.in_session |= exchange.opens_session;
            self.done.extend(Some(exchange.token.clone()).filter(|token| !token.is_null()));
            return exchange.answer(line);
        }
        let token = messages.iter().find_map(|it| it.token());
        let is_late = token.as_ref().is_some_and(|token| self.done.contains(token));
        if is_late || messages.iter().any(|it| it.is_answer() && it.names_a_request()) {
            return;
        }
        let owner = self.open.iter().position(|it| token.as_ref() == Some(&it.token));
        match (self.open.get_mut(owner.unwrap_or(0)), &mut self.stream) {
            (Some(exchange), _) | (None, Some(exchange)) => exchange.event(line),
            (None, None) if messages.iter().any(|it| it.is_answer()) => {}
            (None, None) => self.waiting.push_back(line.to_vec()),
        }
    }

    /// The script has written much of a line, and not its end yet.
    fn route_ahead(&mut self, part: &[u8]) -> bool {
        let ahead = self.ahead.is_some();
        let number = self.ahead.or_else(|| lines::id_ahead(part, &self.open));
        let exchange = self.open.iter_mut().find(|it| Some(it.number) == number);
        if let Some(exchange) = exchange {
            exchange.ahead(part, !ahead);
            self.ahead = number;
        }
        // Once it has begun it goes on, whether or not anybody is there to read it.
        ahead || number.is_some()
    }

    /// The script has closed its output.
    fn end(&mut self) {
        self.ended = true;
        let streams = self.open.drain(..).chain(self.stream.take());
        streams.for_each(Exchange::cut);
    }
}

#[cfg(test)]
mod tests;
