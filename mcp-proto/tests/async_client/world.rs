//! A runtime without I/O: its pipes are buffers, its timers fire when the test says so, and its
//! tasks are polled by hand.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use mcp_proto::driver::{
    AsyncClient, Driver, Handlers, Host, Hub, Launched, Parts, ProcessHandle, ReadHalf, Runtime,
    Stream, Timer, WriteHalf,
};
use mcp_proto::{
    Command, Connection, ConnectionConfig, Event, ExitStatus, IoFailure, Now, Transport,
};
use serde_json::{Value, json};

/// The server's side of everything, and the clock.
#[derive(Clone, Default)]
pub(crate) struct World(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    now: Duration,
    launches: usize,
    /// What was written to the server and not been read by the test.
    written: Vec<u8>,
    /// How many more bytes fit into its stdin.
    room: Option<usize>,
    stdin_open: bool,
    stdin_broken: bool,
    stdout: VecDeque<u8>,
    stdout_open: bool,
    /// The reader says that it would block and wakes its task at once, as runtimes do whose tasks
    /// have worked for too long.
    tired: bool,
    /// The server answers what is written with this result, before the write is over.
    prompt: Option<Value>,
    /// The reads that brought something: whether nothing was waited for.
    glanced: Vec<bool>,
    exit: Option<ExitStatus>,
    signals: Vec<&'static str>,
    wakers: Vec<Waker>,
    timers: Vec<Arc<Mutex<Alarm>>>,
    ended: usize,
}

#[derive(Default)]
struct Alarm {
    at: Option<Duration>,
    waker: Option<Waker>,
}

impl World {
    /// A client of a server process, and its driver.
    pub(crate) fn client(&self, handlers: Handlers) -> (AsyncClient, Task<Driver>) {
        let mut config = ConnectionConfig::default();
        config.name = String::from("peer");
        config.hears = handlers.hears();
        let transport = Transport::Stdio(Command::new("peer"));
        let now = self.lock().now();
        let connection = Connection::new(Arc::new(config), transport, [7; 32], now);
        let hub = Hub::new(connection, Box::new(self.clone()));
        let world = self.clone();
        let (client, driver) = AsyncClient::new(Parts {
            hub,
            handlers,
            runtime: Box::new(self.clone()),
            stream: None,
            end: Box::new(move || world.lock().ended += 1),
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

    /// The messages that were written since the last time.
    pub(crate) fn heard(&self) -> Vec<Value> {
        let written = std::mem::take(&mut self.lock().written);
        let lines = written.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        lines.map(|line| serde_json::from_slice(line).unwrap()).collect()
    }

    /// The one message that was written since the last time.
    pub(crate) fn heard_one(&self, method: &str) -> Value {
        let heard = self.heard();
        assert_eq!(heard.len(), 1, "{heard:?}");
        assert_eq!(heard[0]["method"], method);
        heard[0]["id"].clone()
    }

    /// The server writes a message.
    pub(crate) fn say(&self, message: &Value) {
        self.change(|state| state.stdout.extend(format!("{message}\n").into_bytes()));
    }

    /// The server answers a request.
    pub(crate) fn answer(&self, id: &Value, result: Value) {
        let mut result = result;
        result["resultType"] = json!("complete");
        self.say(&json!({ "jsonrpc": "2.0", "id": id, "result": result }));
    }

    /// The server answers the probe.
    pub(crate) fn discovered(&self, id: &Value) {
        self.answer(
            id,
            json!({ "supportedVersions": ["2026-07-28"], "capabilities": { "tools": {} } }),
        );
    }

    pub(crate) fn exits(&self) {
        self.change(|state| {
            state.stdout_open = false;
            state.exit = Some(ExitStatus::Code(3));
        });
    }

    pub(crate) fn breaks_stdin(&self) {
        self.change(|state| state.stdin_broken = true);
    }

    pub(crate) fn set_room(&self, room: Option<usize>) {
        self.change(|state| state.room = room);
    }

    /// The server answers each request with this result at once.
    pub(crate) fn set_prompt(&self, result: Value) {
        let mut state = self.lock();
        state.prompt = Some(result);
        state.glanced.clear();
    }

    /// Which of the reads that brought something waited for nothing.
    pub(crate) fn glanced(&self) -> Vec<bool> {
        self.lock().glanced.clone()
    }

    pub(crate) fn set_tired(&self, tired: bool) {
        self.lock().tired = tired;
    }

    /// Time passes, and timers fire.
    pub(crate) fn pass(&self, time: Duration) {
        let (now, timers) = {
            let mut state = self.lock();
            state.now += time;
            (state.now, state.timers.clone())
        };
        for timer in timers {
            let waker = {
                let mut alarm = timer.lock().unwrap();
                if alarm.at.is_some_and(|at| at <= now) { alarm.waker.take() } else { None }
            };
            waker.into_iter().for_each(Waker::wake);
        }
    }

    pub(crate) fn launches(&self) -> usize {
        self.lock().launches
    }

    pub(crate) fn signals(&self) -> Vec<&'static str> {
        self.lock().signals.clone()
    }

    /// Whether both pipes are closed, and the process was ended for good.
    pub(crate) fn is_over(&self) -> bool {
        let state = self.lock();
        !state.stdin_open && !state.stdout_open && state.ended > 0
    }

    pub(crate) fn stdin_is_open(&self) -> bool {
        self.lock().stdin_open
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

impl Host for World {
    fn now(&self) -> Now {
        self.lock().now()
    }

    fn event(&self, _: Event) {}

    fn record(&self, _: Vec<u8>) {}
}

impl Runtime for World {
    fn launch(&mut self, _: &Command) -> Result<Launched, IoFailure> {
        let mut state = self.lock();
        state.launches += 1;
        state.written.clear();
        state.stdout.clear();
        state.exit = None;
        (state.stdin_open, state.stdout_open, state.stdin_broken) = (true, true, false);
        let (read, write) = (Box::new(Stdout(self.clone())), Box::new(Stdin(self.clone())));
        let process = Box::new(Process(self.clone()));
        Ok(Launched { pid: 1, stdio: Stream { read, write }, stderr: None, process })
    }

    fn timer(&mut self) -> Box<dyn Timer> {
        let alarm = Arc::default();
        self.lock().timers.push(Arc::clone(&alarm));
        Box::new(Clock { world: self.clone(), alarm })
    }
}

struct Clock {
    world: World,
    alarm: Arc<Mutex<Alarm>>,
}

impl Timer for Clock {
    fn set(&mut self, after: Duration) {
        let at = self.world.lock().now + after;
        self.alarm.lock().unwrap().at = Some(at);
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let now = self.world.lock().now;
        let mut alarm = self.alarm.lock().unwrap();
        let at = alarm.at.expect("it is polled between set and ready only");
        if at <= now {
            alarm.at = None;
            return Poll::Ready(());
        }
        alarm.waker = Some(cx.waker().clone());
        Poll::Pending
    }
}

struct Stdout(World);

impl ReadHalf for Stdout {
    fn poll_read(&mut self, cx: &mut Context<'_>, into: &mut [u8]) -> Poll<io::Result<usize>> {
        let mut state = self.0.lock();
        if state.tired {
            drop(state);
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        if state.stdout.is_empty() && state.stdout_open {
            return state.wait(cx);
        }
        let read = io::Read::read(&mut state.stdout, into);
        state.glanced.push(false);
        Poll::Ready(read)
    }

    fn glance(&mut self, into: &mut [u8]) -> Option<usize> {
        let mut state = self.0.lock();
        let n = io::Read::read(&mut state.stdout, into).ok().filter(|n| *n > 0)?;
        state.glanced.push(true);
        Some(n)
    }
}

impl Drop for Stdout {
    fn drop(&mut self) {
        self.0.lock().stdout_open = false;
    }
}

struct Stdin(World);

impl WriteHalf for Stdin {
    fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let mut state = self.0.lock();
        if state.stdin_broken {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        let n = state.room.map_or(bytes.len(), |room| room.min(bytes.len()));
        if n == 0 {
            return state.wait(cx);
        }
        state.room = state.room.map(|room| room - n);
        match state.prompt.clone() {
            None => state.written.extend_from_slice(&bytes[..n]),
            Some(result) => {
                let asked: Value = serde_json::from_slice(&bytes[..n]).unwrap();
                let answer = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": result });
                state.stdout.extend(format!("{answer}\n").into_bytes());
            }
        }
        Poll::Ready(Ok(n))
    }

    fn poll_flush(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl Drop for Stdin {
    fn drop(&mut self) {
        self.0.lock().stdin_open = false;
    }
}

struct Process(World);

impl ProcessHandle for Process {
    fn terminate(&mut self) {
        self.0.lock().signals.push("TERM");
    }

    fn kill(&mut self) {
        self.0.change(|state| {
            state.signals.push("KILL");
            state.exit = Some(ExitStatus::Signal(9));
        });
    }

    fn poll_exit(&mut self, cx: &mut Context<'_>) -> Poll<ExitStatus> {
        let mut state = self.0.lock();
        match state.exit {
            Some(status) => Poll::Ready(status),
            None => state.wait(cx),
        }
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

    pub(crate) fn poll(&mut self) -> Poll<F::Output> {
        self.woken();
        let waker = Waker::from(Arc::clone(&self.woken));
        self.future.as_mut().poll(&mut Context::from_waker(&waker))
    }

    /// Polls it for as long as it is woken.
    pub(crate) fn run(&mut self) -> Poll<F::Output> {
        for _ in 0..1000 {
            let polled = self.poll();
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
