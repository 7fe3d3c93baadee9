//! Callers, a helper and whoever sits in the seat, in every order in which their threads can go
//! (loom). A wake-up that is lost is a deadlock, which loom finds.
//!
//! The bytes are moved by a [`Poller`] of the tests: a server that answers each call when somebody
//! sleeps for it, at once or when another thread lets it.
//!
//! `RUSTFLAGS="--cfg interleaved" cargo test --release -p mcp-runtime-blocking --lib interleavings`

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use loom::sync::{Condvar, Mutex};
use loom::thread;

use crate::pipes::Pipes;
use crate::seat::{Manner, Poller, Seat, Wanted};
use crate::sync::{AtomicUsize, lock};
use crate::wake::{Bell, Chime};

/// Tries every order with at most this many switches that no thread asked for.
fn model(test: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(test);
}

/// What the kernel knows: whether the chime rang, and which calls have an answer to be read.
#[derive(Default)]
struct Kernel {
    ready: Mutex<Ready>,
    changed: Condvar,
}

#[derive(Default)]
struct Ready {
    rang: bool,
    answers: Vec<usize>,
}

impl Kernel {
    fn tell(&self, what: impl FnOnce(&mut Ready)) {
        what(&mut lock(&self.ready));
        self.changed.notify_one();
    }
}

/// The chime, as one more source that is polled.
struct Rings(Arc<Kernel>);

impl Chime for Rings {
    fn ring(&self) {
        self.0.tell(|ready| ready.rang = true);
    }

    fn silence(&self) {
        lock(&self.0.ready).rang = false;
    }
}

/// What a hub would hold.
#[derive(Default)]
struct Calls {
    /// What is to be written.
    queued: Vec<usize>,
    /// Whom to wake when there is more of it.
    driver: Option<Waker>,
    /// Which calls have ended, and who waits for the others.
    ended: Vec<usize>,
    waiting: Vec<(usize, Waker)>,
    finished: bool,
}

struct Wires {
    calls: Mutex<Calls>,
    kernel: Arc<Kernel>,
    /// Answers come when a test lets them.
    slow: bool,
}

impl Poller for Arc<Wires> {
    /// How often something was written.
    type Table = usize;
    type Chime = Rings;

    fn now(&self) -> Duration {
        Duration::ZERO
    }

    fn work(&self, table: &mut usize, waker: &Waker) -> Wanted {
        let mut calls = lock(&self.calls);
        let written = std::mem::take(&mut calls.queued);
        calls.driver = Some(waker.clone());
        let finished = calls.finished;
        drop(calls);
        *table += written.len();
        if !self.slow && !written.is_empty() {
            self.kernel.tell(|ready| ready.answers.extend(written));
        }
        Wanted { deadline: None, finished }
    }

    fn time_out(&self) {}

    fn sleep(&self, _: &mut usize, bell: &Bell<Rings>, time: Option<Duration>) {
        let sleeps = bell.fall_asleep() && time.is_none();
        let mut ready = lock(&self.kernel.ready);
        while sleeps && !ready.rang && ready.answers.is_empty() {
            ready = self.kernel.changed.wait(ready).unwrap();
        }
        let (rang, answers) = (ready.rang, std::mem::take(&mut ready.answers));
        drop(ready);
        bell.awake(rang);
        answers.into_iter().for_each(|call| self.end_call(call));
    }

    fn end(&self, _: &mut usize) {}
}

impl Wires {
    fn end_call(&self, call: usize) {
        let mut calls = lock(&self.calls);
        calls.ended.push(call);
        let (woken, others) =
            std::mem::take(&mut calls.waiting).into_iter().partition(|it| it.0 == call);
        calls.waiting = others;
        drop(calls);
        let woken: Vec<(usize, Waker)> = woken;
        woken.into_iter().for_each(|(_, waker)| waker.wake());
    }

    /// Nothing will happen any more.
    fn finish(&self) {
        let mut calls = lock(&self.calls);
        calls.finished = true;
        let driver = calls.driver.take();
        drop(calls);
        driver.into_iter().for_each(Waker::wake);
    }

    fn begin(&self, call: usize) {
        let mut calls = lock(&self.calls);
        calls.queued.push(call);
        let driver = calls.driver.take();
        drop(calls);
        driver.into_iter().for_each(Waker::wake);
    }

    fn poll(&self, call: usize, cx: &mut Context<'_>) -> Poll<()> {
        let mut calls = lock(&self.calls);
        if calls.ended.contains(&call) {
            return Poll::Ready(());
        }
        calls.waiting.retain(|(of, _)| *of != call);
        calls.waiting.push((call, cx.waker().clone()));
        Poll::Pending
    }
}

struct World {
    wires: Arc<Wires>,
    pipes: Pipes<Arc<Wires>>,
    errands: AtomicUsize,
}

impl World {
    fn new(slow: bool) -> Arc<Self> {
        let kernel = Arc::new(Kernel::default());
        let bell = Bell::new(Rings(Arc::clone(&kernel)), None);
        let wires = Arc::new(Wires { calls: Mutex::default(), kernel, slow });
        let seat = Seat::new(Arc::clone(&wires), false, 0, bell);
        Arc::new(World { wires, pipes: Pipes::around(seat), errands: AtomicUsize::new(0) })
    }

    /// Makes a call, and waits for its end.
    fn call(&self, call: usize) {
        self.wires.begin(call);
        self.wait(Manner::Caller, call);
    }

    fn wait(&self, manner: Manner, call: usize) {
        let errand = || _ = self.errands.fetch_add(1, Ordering::SeqCst);
        let ended = self.pipes.wait(manner, None, errand, |cx| self.wires.poll(call, cx));
        assert_eq!(ended, Some(()));
    }

    /// What the helper does, who never waits before he sits.
    fn help(&self) {
        while self.pipes.sit_or_doze() == ControlFlow::Continue(()) {
            thread::yield_now();
        }
    }
}

#[test]
fn two_callers_share_the_seat() {
    model(|| {
        let world = World::new(false);
        let other = Arc::clone(&world);
        let other = thread::spawn(move || other.call(2));
        world.call(1);
        other.join().unwrap();
    });
}

#[test]
fn answers_come_while_one_sits_and_one_is_parked() {
    model(|| {
        let world = World::new(true);
        let (other, server) = (Arc::clone(&world), Arc::clone(&world));
        let other = thread::spawn(move || other.call(2));
        let server = thread::spawn(move || {
            // Each in a read of its own, in the order that fits least.
            server.wires.kernel.tell(|ready| ready.answers.push(1));
            server.wires.kernel.tell(|ready| ready.answers.push(2));
        });
        world.call(1);
        other.join().unwrap();
        server.join().unwrap();
    });
}

#[test]
fn the_helper_makes_room_for_a_caller_and_comes_back() {
    model(|| {
        let world = World::new(false);
        let helper = Arc::clone(&world);
        let helper = thread::spawn(move || helper.help());
        world.call(1);
        // Now the helper does what is wanted, and hears of the end.
        world.wires.finish();
        helper.join().unwrap();
    });
}

#[test]
fn the_end_comes_through_to_a_helper_that_sits_or_dozes() {
    model(|| {
        let world = World::new(false);
        let helper = Arc::clone(&world);
        let helper = thread::spawn(move || {
            while !helper.pipes.has_ended() && helper.pipes.sit_or_doze().is_continue() {
                thread::yield_now();
            }
        });
        let caller = Arc::clone(&world);
        let caller = thread::spawn(move || caller.call(1));
        caller.join().unwrap();
        world.pipes.end();
        helper.join().unwrap();
    });
}

#[test]
fn a_guest_that_waits_leaves_the_seat_to_a_caller() {
    model(|| {
        let world = World::new(false);
        let guest = Arc::clone(&world);
        let guest = thread::spawn(move || guest.wait(Manner::Guest, 1));
        world.call(1);
        guest.join().unwrap();
    });
}

#[test]
fn an_errand_is_run_by_whoever_sits() {
    model(|| {
        let world = World::new(true);
        let host = Arc::clone(&world);
        let host = thread::spawn(move || {
            host.pipes.send_on_errand();
            host.wires.kernel.tell(|ready| ready.answers.push(1));
        });
        world.call(1);
        host.join().unwrap();
        assert!(world.errands.load(Ordering::SeqCst) <= 1);
        // What nobody has run is there for the next who sits.
        if world.errands.load(Ordering::SeqCst) == 0 {
            world.wires.kernel.tell(|ready| ready.answers.push(2));
            world.call(2);
        }
        assert_eq!(world.errands.load(Ordering::SeqCst), 1);
    });
}
