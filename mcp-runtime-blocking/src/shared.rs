//! What all clones of a client share.

use std::io;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use mcp_proto::driver::{Hub, OnProgress, Step};
use mcp_proto::{CallId, CloseReason, Error, Reply};
use mcp_runtime_common::{DROP_GRACE, HttpSettings};

use crate::Background;
use crate::callbacks::{Callbacks, show};
use crate::desk::{Desk, Duty};
use crate::http::{Exchange, Http};
use crate::pipes::Pipes;
use crate::seat::Manner;
use crate::stream::Stream;
use crate::wake::{OnWake, Parker};

pub(crate) struct Shared {
    pub(crate) hub: Arc<Hub>,
    way: Way,
    pub(crate) callbacks: Callbacks,
    pub(crate) background: Background,
    /// The host's function, for calls that nobody waits in.
    pub(crate) on_wake: Option<Waker>,
    jobs: Desk,
    notifications: Desk,
}

/// What moves the bytes.
enum Way {
    Pipes(Arc<Pipes>),
    Http(Arc<Http>),
}

/// How the server is reached.
pub(crate) enum Reach {
    Process,
    Stream(Stream),
    Http(HttpSettings),
}

impl Shared {
    pub(crate) fn new(
        hub: Arc<Hub>,
        reach: Reach,
        callbacks: Callbacks,
        background: Background,
        on_wake: Option<OnWake>,
    ) -> io::Result<Arc<Self>> {
        let host = on_wake.clone();
        let to = Arc::clone(&hub);
        let way = match reach {
            Reach::Process => Way::Pipes(Pipes::new(to, None, background, host)?),
            Reach::Stream(stream) => Way::Pipes(Pipes::new(to, Some(stream), background, host)?),
            Reach::Http(settings) => Way::Http(Http::new(to, settings, background, host)?),
        };
        let shared = Arc::new_cyclic(|shared| Shared {
            hub,
            way,
            callbacks,
            background,
            on_wake: on_wake.map(|host| Waker::from(Arc::new(HostWake(host)))),
            jobs: Desk::new(Duty::Jobs, shared),
            notifications: Desk::new(Duty::Notifications, shared),
        });
        shared.jobs.look(&shared);
        if shared.callbacks.notified() {
            shared.notifications.look(&shared);
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
        let errand = || _ = self.run_jobs();
        match &self.way {
            Way::Pipes(pipes) => pipes.wait(manner, until, errand, poll),
            Way::Http(http) => http.wait(manner, until, errand, poll),
        }
    }

    /// Does at once what is wanted of the server, where nobody else would do so soon.
    pub(crate) fn work(&self) {
        if let Way::Pipes(pipes) = &self.way {
            pipes.work();
        }
    }

    /// Sees a call through to its end, on the thread that made it.
    pub(crate) fn follow(
        &self,
        id: CallId,
        mut progress: Option<OnProgress>,
    ) -> Result<Reply, Error> {
        let mut exchange = None;
        loop {
            match self.next_step(id, &mut exchange) {
                Some(Step::Done(done)) => return done,
                Some(Step::Item(item)) => show(&mut progress, *item),
                Some(Step::Ask(id, question)) => self.callbacks.answer(&self.hub, id, question),
                Some(Step::Exchange(ticket)) => {
                    if let Way::Http(http) = &self.way {
                        exchange = Some(http.exchange(ticket));
                    }
                }
                // A handler that runs cannot be stopped, and has run by now.
                Some(_) => {}
                None => return Err(Error::driver_gone(true)),
            }
        }
    }

    /// The next step of a call. What comes before it is performed here, if it is this thread's.
    fn next_step(&self, id: CallId, exchange: &mut Option<Exchange>) -> Option<Step> {
        if let Way::Http(http) = &self.way {
            loop {
                let step = self.hub.take_step(id);
                if step.is_some() {
                    return step;
                }
                let Some(running) = exchange else { break };
                if !running.advance(http) {
                    *exchange = None;
                }
            }
        }
        self.wait(Manner::Caller, None, |cx| self.hub.poll_step(id, cx))
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

    /// Runs the jobs and shows the notifications that wait, without a thread for it.
    pub(crate) fn run_jobs(&self) -> bool {
        let jobs = self.jobs.run(self);
        let notifications = self.notifications.run(self);
        jobs || notifications
    }

    pub(crate) fn desk(&self, duty: Duty) -> &Desk {
        match duty {
            Duty::Jobs => &self.jobs,
            Duty::Notifications => &self.notifications,
        }
    }

    /// Has somebody who waits run what there is, where no thread does.
    pub(crate) fn send_on_errand(&self) {
        match &self.way {
            Way::Pipes(pipes) => pipes.send_on_errand(),
            Way::Http(http) => http.send_on_errand(),
        }
    }

    /// Ends the connection for good, and waits until nothing is left of it.
    pub(crate) fn close(&self) {
        self.hub.close();
        self.wait(Manner::Caller, None, |cx| self.hub.poll_ended(cx));
        if let Way::Http(http) = &self.way {
            http.let_go();
        }
    }

    /// Ends everything: the last client is dropped.
    pub(crate) fn end(&self) {
        self.hub.close();
        match &self.way {
            Way::Pipes(pipes) => pipes.end(),
            Way::Http(http) => {
                // A session may be ended in this time.
                let until = self.hub.now().mono + DROP_GRACE;
                let ended = |cx: &mut Context<'_>| self.hub.poll_ended(cx);
                http.wait(Manner::Caller, Some(until), || {}, ended);
                http.end();
            }
        }
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
