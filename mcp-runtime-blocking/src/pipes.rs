//! What moves the bytes of server processes and byte streams: the seat, and the helper that sits
//! in it while nobody else does.

use std::io;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, Wake};
use std::thread;
use std::time::Duration;

use mcp_proto::driver::Hub;

use crate::Background;
use crate::seat::{Left, Manner, Poller, Seat};
use crate::stream::Stream;
use crate::sync::{AtomicBool, fence};
use crate::table::{Pump, Table};
use crate::wake::{Bell, OnWake, Parker, Pipe};

/// How long the seat stays empty before the helper takes it: long enough that callers who come one
/// after the other never meet it, and short for a server that waits for a pong.
const IDLE: Duration = Duration::from_millis(2);

pub(crate) struct Pipes<P: Poller = Pump> {
    seat: Seat<P>,
    helper: Arc<Parker>,
    /// It sleeps until it is woken, because a caller sits for long.
    asleep: AtomicBool,
    ended: AtomicBool,
}

impl Pipes {
    pub(crate) fn new(
        hub: Arc<Hub>,
        stream: Option<Stream>,
        background: Background,
        host: Option<OnWake>,
    ) -> io::Result<Arc<Self>> {
        let alone = background == Background::Never;
        let bell = Bell::new(Pipe::new()?, host.filter(|_| alone));
        let seat = Seat::new(Pump(hub), alone, Table::new(stream), bell);
        let pipes = Arc::new(Pipes::around(seat));
        if !alone {
            let helper = Arc::clone(&pipes);
            thread::Builder::new().name(String::from("mcp-helper")).spawn(move || helper.help())?;
        }
        Ok(pipes)
    }
}

impl<P: Poller> Pipes<P> {
    /// Those of this seat, without a helper.
    pub(crate) fn around(seat: Seat<P>) -> Self {
        Pipes {
            seat,
            helper: Arc::default(),
            asleep: AtomicBool::new(false),
            ended: AtomicBool::new(false),
        }
    }

    /// Waits until `poll` is ready. `None`: not within `until`, a moment on the poller's clock.
    ///
    /// `errand` runs what is not run in the seat.
    pub(crate) fn wait<T>(
        &self,
        manner: Manner,
        until: Option<Duration>,
        errand: impl Fn(),
        poll: impl FnMut(&mut Context<'_>) -> Poll<T>,
    ) -> Option<T> {
        let value = self.seat.wait(manner, until, errand, poll);
        self.rouse_helper();
        value
    }

    /// Does what is wanted of the server now, unless somebody sits, who does it.
    pub(crate) fn work(&self) {
        self.seat.work();
    }

    /// Lets whoever sits, or sits next, run an errand.
    pub(crate) fn send_on_errand(&self) {
        self.seat.send_on_errand();
    }

    /// The helper's thread: it sits while nobody else does.
    fn help(&self) {
        while !self.has_ended() {
            let before = self.seat.sittings.load(Ordering::Relaxed);
            self.helper.park(Some(IDLE));
            if self.seat.sittings.load(Ordering::Relaxed) != before {
                continue;
            }
            if self.sit_or_doze().is_break() {
                return;
            }
        }
    }

    /// Sits until a caller comes, or sleeps until the one that sits leaves. `Break`: there is nothing
    /// more to do.
    pub(crate) fn sit_or_doze(&self) -> ControlFlow<()> {
        let Some(table) = self.seat.take() else {
            self.doze();
            return ControlFlow::Continue(());
        };
        let never = |_: &mut Context<'_>| Poll::<()>::Pending;
        let sit = || self.seat.sit(table, Manner::Guest, None, never);
        // A subscriber of the host's that panics must not take the helper with it.
        match catch_unwind(AssertUnwindSafe(sit)) {
            Ok(Left::Finished) => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }

    /// A caller sits for long: sleeps until it leaves.
    fn doze(&self) {
        self.helper.clear();
        self.asleep.store(true, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        let free = self.seat.take().is_some();
        if !free && !self.has_ended() {
            self.helper.park(None);
        }
        self.asleep.store(false, Ordering::SeqCst);
        self.helper.clear();
    }

    fn rouse_helper(&self) {
        fence(Ordering::SeqCst);
        if self.asleep.load(Ordering::SeqCst) {
            self.helper.wake_by_ref();
        }
    }

    /// Whether [`end`](Self::end) was called.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::SeqCst)
    }

    /// Ends everything, when nobody waits any more.
    pub(crate) fn end(&self) {
        self.ended.store(true, Ordering::SeqCst);
        self.helper.wake_by_ref();
        self.seat.end();
    }
}
