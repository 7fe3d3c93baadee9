//! A network without sockets: what is sent lies in buffers, connections are made as the test says,
//! and time passes when it says so.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use mcp_proto::driver::{
    Address, AsyncClient, BoxFuture, Driver, Handlers, Host, Hub, Launched, Network, Parts,
    Runtime, Socket, Timer, Via,
};
use mcp_proto::{
    Command, Connection, ConnectionConfig, Event, HttpConfig, IoFailure, Now, Transport,
};

/// The other end of everything, and the clock.
#[derive(Clone, Default)]
pub(crate) struct Net(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    now: Duration,
    wakers: Vec<Waker>,
    hosts: Vec<SocketAddr>,
    /// Those that answer attempts to connect, and those that refuse.
    accepting: Vec<SocketAddr>,
    refusing: Vec<SocketAddr>,
    /// Addresses that were tried, in order, and how many attempts are under way.
    tried: Vec<SocketAddr>,
    trying: usize,
    lines: Vec<Line>,
    via: Option<Via>,
    /// TLS is never agreed on.
    insecure: bool,
}

/// A connection.
#[derive(Default)]
struct Line {
    sent: Vec<u8>,
    /// How many more bytes fit.
    room: Option<usize>,
    answer: VecDeque<u8>,
    /// The server has closed it.
    ended: bool,
    /// The client has.
    dropped: bool,
}

/// The address of a host of the test's.
pub(crate) fn address(last: u8) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, last], 80))
}

impl Net {
    /// A client of `http://server.test`, which has these addresses, and its driver.
    pub(crate) fn client(&self, url: &str, addresses: &[u8]) -> (AsyncClient, Task<Driver>) {
        self.lock().hosts = addresses.iter().map(|last| address(*last)).collect();
        let mut http = HttpConfig::new(url);
        http.retries = Some(0);
        let transport = Transport::Http(http);
        let now = self.lock().now();
        let mut config = ConnectionConfig::default();
        config.discover_timeout = config.start_timeout;
        let config = Arc::new(config);
        let connection = Connection::new(config, transport, [7; 32], now);
        let (client, driver) = AsyncClient::new(Parts {
            hub: Hub::new(connection, Box::new(self.clone())),
            handlers: Handlers::default(),
            runtime: Box::new(self.clone()),
            stream: None,
            end: Box::new(|| {}),
        });
        (client, Task::new(driver))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    fn change<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.lock();
        let value = act(&mut state);
        let wakers = std::mem::take(&mut state.wakers);
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
        value
    }

    /// Time passes.
    pub(crate) fn pass(&self, milliseconds: u64) {
        self.change(|state| state.now += Duration::from_millis(milliseconds));
    }

    /// An address answers with a refusal.
    pub(crate) fn refuse(&self, last: u8) {
        self.change(|state| state.refusing.push(address(last)));
    }

    /// Attempts to this address succeed from now on.
    pub(crate) fn accept(&self, last: u8) {
        self.change(|state| state.accepting.push(address(last)));
    }

    pub(crate) fn set_via(&self, host: &str) {
        let via = Via { host: String::from(host), port: 80, authorization: None };
        self.lock().via = Some(via);
    }

    pub(crate) fn set_insecure(&self) {
        self.lock().insecure = true;
    }

    /// The addresses that were tried, and how many of them are being tried.
    pub(crate) fn tried(&self) -> (Vec<SocketAddr>, usize) {
        let state = self.lock();
        (state.tried.clone(), state.trying)
    }

    /// How many connections there were, and how many are open.
    pub(crate) fn lines(&self) -> (usize, usize) {
        let state = self.lock();
        (state.lines.len(), state.lines.iter().filter(|line| !line.dropped).count())
    }

    /// What came over a connection since the last time; the first is 0.
    pub(crate) fn heard(&self, line: usize) -> String {
        String::from_utf8(std::mem::take(&mut self.lock().lines[line].sent)).unwrap()
    }

    /// The id of the request that came over a connection, of this method.
    pub(crate) fn heard_id(&self, line: usize, method: &str) -> String {
        let heard = self.heard(line);
        assert!(heard.contains(&format!("\"method\":\"{method}\"")), "{heard:?}");
        let (_, id) = heard.split_once("\"id\":").unwrap();
        String::from(id.split(',').next().unwrap())
    }

    /// The server writes bytes.
    pub(crate) fn say(&self, line: usize, bytes: &str) {
        self.change(|state| state.lines[line].answer.extend(bytes.as_bytes()));
    }

    /// The server closes the connection.
    pub(crate) fn hang_up(&self, line: usize) {
        self.change(|state| state.lines[line].ended = true);
    }

    /// How many more bytes the server takes.
    pub(crate) fn set_room(&self, line: usize, room: Option<usize>) {
        self.change(|state| state.lines[line].room = room);
    }
}

impl State {
    fn now(&self) -> Now {
        Now::at(self.now)
    }

    fn wait<T>(&mut self, cx: &Context<'_>) -> Poll<T> {
        if !self.wakers.iter().any(|waker| waker.will_wake(cx.waker())) {
            self.wakers.push(cx.waker().clone());
        }
        Poll::Pending
    }
}

impl Host for Net {
    fn now(&self) -> Now {
        self.lock().now()
    }

    fn event(&self, _: Event) {}

    fn record(&self, _: Vec<u8>) {}
}

impl Runtime for Net {
    fn launch(&mut self, _: &Command) -> Result<Launched, IoFailure> {
        panic!("nothing is launched for HTTP")
    }

    fn timer(&mut self) -> Box<dyn Timer> {
        Box::new(Alarm { net: self.clone(), at: Duration::MAX })
    }

    fn network(&mut self) -> Arc<dyn Network> {
        Arc::new(self.clone())
    }
}

struct Alarm {
    net: Net,
    at: Duration,
}

impl Timer for Alarm {
    fn set(&mut self, after: Duration) {
        self.at = self.net.lock().now.saturating_add(after);
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = self.net.lock();
        if self.at <= state.now { Poll::Ready(()) } else { state.wait(cx) }
    }
}

impl Network for Net {
    fn proxy(&self, _: &Address) -> Result<Option<Via>, String> {
        Ok(self.lock().via.clone())
    }

    fn resolve(&self, _: &str, _: u16) -> BoxFuture<io::Result<Vec<SocketAddr>>> {
        let net = self.clone();
        Box::pin(std::future::poll_fn(move |_| Poll::Ready(Ok(net.lock().hosts.clone()))))
    }

    fn connect(&self, to: SocketAddr) -> BoxFuture<io::Result<Box<dyn Socket>>> {
        let mut state = self.lock();
        state.tried.push(to);
        state.trying += 1;
        Box::pin(Attempt { net: self.clone(), to })
    }

    fn secure(&self, socket: Box<dyn Socket>, _: &str) -> BoxFuture<io::Result<Box<dyn Socket>>> {
        if self.lock().insecure {
            // The socket is held for as long as TLS is being agreed on.
            return Box::pin(async move {
                let _socket = socket;
                std::future::pending().await
            });
        }
        Box::pin(std::future::ready(Ok(socket)))
    }

    fn sleep(&self, time: Duration) -> BoxFuture<()> {
        let mut alarm = Alarm { net: self.clone(), at: self.lock().now + time };
        Box::pin(std::future::poll_fn(move |cx| alarm.poll(cx)))
    }
}

struct Attempt {
    net: Net,
    to: SocketAddr,
}

impl Future for Attempt {
    type Output = io::Result<Box<dyn Socket>>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.net.lock();
        if state.refusing.contains(&self.to) {
            return Poll::Ready(Err(io::ErrorKind::ConnectionRefused.into()));
        }
        if !state.accepting.contains(&self.to) {
            return state.wait(cx);
        }
        state.lines.push(Line::default());
        let line = state.lines.len() - 1;
        Poll::Ready(Ok(Box::new(End { net: self.net.clone(), line })))
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        self.net.lock().trying -= 1;
    }
}

/// The client's end of a connection.
struct End {
    net: Net,
    line: usize,
}

impl Socket for End {
    fn poll_read(&mut self, cx: &mut Context<'_>, into: &mut [u8]) -> Poll<io::Result<usize>> {
        let mut state = self.net.lock();
        let line = &mut state.lines[self.line];
        if line.answer.is_empty() && !line.ended {
            return state.wait(cx);
        }
        Poll::Ready(io::Read::read(&mut line.answer, into))
    }

    fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let mut state = self.net.lock();
        let line = &mut state.lines[self.line];
        let taken = line.room.map_or(bytes.len(), |room| room.min(bytes.len()));
        if taken == 0 {
            return state.wait(cx);
        }
        line.room = line.room.map(|room| room - taken);
        line.sent.extend_from_slice(&bytes[..taken]);
        Poll::Ready(Ok(taken))
    }

    fn poll_flush(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn is_silent(&mut self) -> bool {
        let line = &self.net.lock().lines[self.line];
        line.answer.is_empty() && !line.ended
    }

    fn holds_back(&self) -> bool {
        false
    }
}

impl Drop for End {
    fn drop(&mut self) {
        self.net.lock().lines[self.line].dropped = true;
    }
}

/// A future that is polled by hand, and how often it was woken.
pub(crate) struct Task<F> {
    future: Pin<Box<F>>,
    woken: Arc<Woken>,
}

#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl<F: Future> Task<F> {
    pub(crate) fn new(future: F) -> Self {
        Task { future: Box::pin(future), woken: Arc::default() }
    }

    /// Polls it, and again for as long as it is woken.
    pub(crate) fn run(&mut self) -> Poll<F::Output> {
        for _ in 0..1000 {
            self.woken();
            let waker = Waker::from(Arc::clone(&self.woken));
            let polled = self.future.as_mut().poll(&mut Context::from_waker(&waker));
            if polled.is_ready() || self.woken.0.load(Ordering::SeqCst) == 0 {
                return polled;
            }
        }
        panic!("it does not come to rest");
    }

    /// How often it was woken since it was last asked or polled.
    pub(crate) fn woken(&self) -> usize {
        self.woken.0.swap(0, Ordering::SeqCst)
    }
}
