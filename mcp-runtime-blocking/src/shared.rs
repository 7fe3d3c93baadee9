//! What all clones of a client share, and the two threads that work for it.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::sync::{Arc, Mutex, Weak};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use mcp_proto::driver::{Hub, Job, OnProgress, Step};
use mcp_proto::{Answer, CallId, CloseReason, Error, Input, Mailbox, Reply};

use crate::Background;
use crate::callbacks::{Callbacks, show};
use crate::seat::{Left, Manner, Seat};
use crate::stream::Stream;
use crate::table::Table;
use crate::wake::{Bell, OnWake, Parker, lock};

/// How long the seat stays empty before the helper takes it: long enough that callers who come one
/// after the other never meet it, and short for a server that waits for a pong.
const IDLE: Duration = Duration::from_millis(2);

pub(crate) struct Shared {
    pub(crate) hub: Arc<Hub>,
    pub(crate) seat: Seat,
    pub(crate) callbacks: Callbacks,
    pub(crate) background: Background,
    /// The host's function, for calls that nobody waits in.
    pub(crate) on_wake: Option<Waker>,
    helper: Helper,
    /// The thread that runs jobs, once there was one.
    handler: Mutex<Option<Waker>>,
    /// Tells of jobs while there is no such thread.
    bell: Waker,
}

#[derive(Default)]
struct Helper {
    parker: Arc<Parker>,
    /// It sleeps until it is woken, because a caller sits for long.
    asleep: AtomicBool,
    ended: AtomicBool,
}

impl Shared {
    pub(crate) fn new(
        hub: Arc<Hub>,
        stream: Option<Stream>,
        callbacks: Callbacks,
        background: Background,
        on_wake: Option<OnWake>,
    ) -> io::Result<Arc<Self>> {
        let alone = background == Background::Never;
        let bell = Bell::new(on_wake.clone().filter(|_| alone))?;
        let seat = Seat::new(Arc::clone(&hub), alone, Table::new(stream), bell);
        let shared = Arc::new_cyclic(|shared| Shared {
            hub,
            seat,
            callbacks,
            background,
            on_wake: on_wake.map(|host| Waker::from(Arc::new(HostWake(host)))),
            helper: Helper::default(),
            handler: Mutex::default(),
            bell: Waker::from(Arc::new(JobBell(Weak::clone(shared)))),
        });
        shared.look_for_jobs();
        if background == Background::Helper {
            let helper = Arc::clone(&shared);
            thread::Builder::new().name(String::from("mcp-helper")).spawn(move || helper.help())?;
        }
        Ok(shared)
    }

    /// Waits until `poll` is ready. `None`: not within `until`, a moment on the hub's clock.
    pub(crate) fn wait<T>(
        &self,
        manner: Manner,
        until: Option<Duration>,
        poll: impl FnMut(&mut Context<'_>) -> Poll<T>,
    ) -> Option<T> {
        let value = self.seat.wait(manner, until, || _ = self.run_jobs(), poll);
        self.rouse_helper();
        value
    }

    /// Sees a call through to its end, on the thread that made it.
    pub(crate) fn follow(
        &self,
        id: CallId,
        mut progress: Option<OnProgress>,
    ) -> Result<Reply, Error> {
        loop {
            let step = self.wait(Manner::Caller, None, |cx| self.hub.poll_step(id, cx));
            match step {
                Some(Step::Done(done)) => return done,
                Some(Step::Item(item)) => show(&mut progress, *item),
                Some(Step::Ask(id, question)) => {
                    self.hub.answer(id, self.callbacks.answer(question));
                }
                // A handler that runs cannot be stopped, and has run by now.
                Some(_) => {}
                None => return Err(Error::driver_gone(true)),
            }
        }
    }

    /// Waits until nothing runs any more.
    pub(crate) fn wait_for_end(&self) -> CloseReason {
        let (parker, waker) = Parker::new();
        loop {
            // Where there is a helper it stays out of the way of the callers.
            let poll = |cx: &mut Context<'_>| self.hub.poll_ended(cx);
            let ended = match self.background {
                Background::Never => self.wait(Manner::Guest, None, poll),
                Background::Helper => {
                    parker.clear();
                    match poll(&mut Context::from_waker(&waker)) {
                        Poll::Ready(reason) => Some(reason),
                        Poll::Pending => {
                            parker.park(None);
                            None
                        }
                    }
                }
            };
            if let Some(reason) = ended {
                return reason;
            }
        }
    }

    /// Runs the jobs that wait, without a thread for it.
    pub(crate) fn run_jobs(&self) -> bool {
        let mut cx = Context::from_waker(&self.bell);
        let mut any = false;
        while let Poll::Ready(Some(job)) = self.hub.poll_job(&mut cx) {
            self.callbacks.run(&self.hub, job);
            any = true;
        }
        any
    }

    /// Sees to it that a job that waits is run.
    fn look_for_jobs(self: &Arc<Self>) {
        if self.background == Background::Never {
            return self.seat.send_on_errand();
        }
        let mut thread = lock(&self.handler);
        if let Some(thread) = &*thread {
            return thread.wake_by_ref();
        }
        let Poll::Ready(Some(job)) = self.hub.poll_job(&mut Context::from_waker(&self.bell)) else {
            return;
        };
        let (parker, waker) = Parker::new();
        *thread = Some(waker.clone());
        drop(thread);
        // What is handed in when the system gives no thread: the job has failed.
        let failed = match &job {
            Job::Item(id, _) => Input::Pull(Mailbox::Call(*id)),
            Job::Ask(_, id, _) => Input::Answer(*id, Answer::Failed),
            _ => Input::Timeout,
        };
        let shared = Arc::clone(self);
        let handler = thread::Builder::new().name(String::from("mcp-handler"));
        if handler.spawn(move || shared.handle_jobs(job, &parker, &waker)).is_err() {
            *lock(&self.handler) = None;
            self.hub.handle(failed);
        }
    }

    /// The handler's thread.
    fn handle_jobs(&self, first: Job, parker: &Parker, waker: &Waker) {
        self.callbacks.run(&self.hub, first);
        loop {
            parker.clear();
            match self.hub.poll_job(&mut Context::from_waker(waker)) {
                Poll::Ready(Some(job)) => self.callbacks.run(&self.hub, job),
                Poll::Ready(None) => return,
                Poll::Pending => parker.park(None),
            }
        }
    }

    /// The helper's thread: it sits while nobody else does.
    fn help(&self) {
        let helper = &self.helper;
        while !helper.ended.load(Ordering::SeqCst) {
            let before = self.seat.sittings.load(Ordering::Relaxed);
            helper.parker.park(Some(IDLE));
            if self.seat.sittings.load(Ordering::Relaxed) != before {
                continue;
            }
            let Some(table) = self.seat.take() else {
                self.doze();
                continue;
            };
            let never = |_: &mut Context<'_>| Poll::<()>::Pending;
            let sit = || self.seat.sit(table, Manner::Guest, None, never);
            // A subscriber of the host's that panics must not take the helper with it.
            if let Ok(Left::Finished) = catch_unwind(AssertUnwindSafe(sit)) {
                return;
            }
        }
    }

    /// A caller sits for long: sleeps until it leaves.
    fn doze(&self) {
        let helper = &self.helper;
        helper.parker.clear();
        helper.asleep.store(true, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        let free = self.seat.take().is_some();
        if !free && !helper.ended.load(Ordering::SeqCst) {
            helper.parker.park(None);
        }
        helper.asleep.store(false, Ordering::SeqCst);
        helper.parker.clear();
    }

    fn rouse_helper(&self) {
        fence(Ordering::SeqCst);
        if self.helper.asleep.load(Ordering::SeqCst) {
            self.helper.parker.wake_by_ref();
        }
    }

    /// Ends everything: the last client is dropped.
    pub(crate) fn end(&self) {
        self.helper.ended.store(true, Ordering::SeqCst);
        self.helper.parker.wake_by_ref();
        self.hub.close();
        self.seat.end();
        self.hub.driver_gone();
    }
}

/// Tells the host that a call which nobody waits in has got further.
struct HostWake(OnWake);

impl Wake for HostWake {
    fn wake(self: Arc<Self>) {
        (self.0)();
    }
}

/// Tells that there are jobs.
struct JobBell(Weak<Shared>);

impl Wake for JobBell {
    fn wake(self: Arc<Self>) {
        if let Some(shared) = self.0.upgrade() {
            shared.look_for_jobs();
        }
    }
}
