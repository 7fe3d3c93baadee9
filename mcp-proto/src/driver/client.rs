//! The runtime-free part of an async client, and the future that drives it.

use core::pin::Pin;
use core::task::{Context, Poll};
use std::fmt;
use std::future::{Future, poll_fn};
use std::sync::Arc;

use super::handlers::{Answering, Handlers};
use super::listeners::Showing;
use super::options::CallOptions;
use super::pending::PendingCall;
use super::performer::Performer;
use super::runtime::{Runtime, Stream};
use super::seat::{Lease, Seat, Watch};
use super::{Hub, Job};
use crate::Error;
use crate::error::CloseReason;
use crate::interface::ConnectionState;
use crate::model::{Root, ServerInfo};
use crate::op::Operation;

/// What an async client is made of.
pub struct Parts {
    /// The connection, at rest.
    pub hub: Arc<Hub>,
    /// What answers its questions.
    pub handlers: Handlers,
    /// What moves its bytes.
    pub runtime: Box<dyn Runtime>,
    /// The stream of a connection over [`Transport::Stream`](crate::Transport::Stream).
    pub stream: Option<Stream>,
    /// Ends the process that runs, if one does, and every later one. Called when the last client
    /// or the driver is dropped, more than once, on any thread, with no runtime around. It may
    /// block, for as long as a drop may.
    pub end: Box<dyn Fn() + Send + Sync>,
}

/// One connection as its callers see it: cheap to clone, usable from any task and thread.
///
/// Dropping the last clone, calls included, ends the connection and its process, whether or not
/// the driver is still polled.
#[derive(Clone, Debug)]
pub struct AsyncClient {
    shared: Arc<Shared>,
}

pub(super) struct Shared {
    pub(super) hub: Arc<Hub>,
    pub(super) handlers: Arc<Handlers>,
    pub(super) seat: Arc<Seat>,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.hub.fmt(f)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.hub.driver_gone();
        self.seat.end();
    }
}

impl AsyncClient {
    /// A client, and the future that must be polled for as long as calls are made.
    pub fn new(parts: Parts) -> (Self, Driver) {
        let hears = !parts.handlers.hears().is_empty();
        let hub = parts.hub;
        let performer = Performer::new(Arc::clone(&hub), parts.runtime, parts.stream);
        let seat = Seat::new(performer, parts.end);
        let shared = Arc::new(Shared {
            hub: Arc::clone(&hub),
            handlers: Arc::new(parts.handlers),
            seat: Arc::clone(&seat),
        });
        let companion = hears.then(|| Companion {
            handlers: Arc::clone(&shared.handlers),
            answering: Answering::default(),
            showing: Showing::default(),
        });
        let driver = Driver { hub, seat, watch: Watch::new(), over: false, companion };
        (AsyncClient { shared }, driver)
    }

    /// Begins a call.
    ///
    /// # Errors
    /// When it cannot be sent as it is.
    pub fn begin_with<O: Operation>(
        &self,
        operation: O,
        options: CallOptions,
    ) -> Result<PendingCall<O>, Error> {
        let (options, progress) = options.split();
        match self.shared.hub.begin(operation, options, true) {
            Ok(call) => Ok(PendingCall::new(Arc::clone(&self.shared), call, progress)),
            Err(misuse) => Err(Error::validation(misuse.to_string())),
        }
    }

    /// Runs an operation. It is the quicker way for whoever waits for the result anyway.
    ///
    /// # Errors
    /// When there is no result.
    pub async fn run<O: Operation>(
        &self,
        operation: O,
        options: CallOptions,
    ) -> Result<O::Output, Error> {
        // What is begun here is written by this very task, so that nobody has to be woken for it.
        let lease = self.shared.seat.take();
        let call = self.begin_with(operation, options)?;
        lease.into_iter().for_each(Lease::for_a_moment);
        call.await
    }

    /// The server, as it introduced itself, while the connection is ready.
    #[must_use]
    pub fn server(&self) -> Option<Arc<ServerInfo>> {
        self.shared.hub.server()
    }

    /// Changes where servers may work.
    ///
    /// # Errors
    /// When one of the roots must not be told to a server; then nothing changes.
    pub fn set_roots(&self, roots: Vec<Root>) -> Result<(), Error> {
        self.shared.hub.set_roots(roots)
    }

    /// Where servers may work.
    #[must_use]
    pub fn roots(&self) -> Vec<Root> {
        self.shared.hub.roots()
    }

    /// The state of the connection.
    #[must_use]
    pub fn state(&self) -> ConnectionState {
        self.shared.hub.state()
    }

    /// Ends what runs; the next call begins anew.
    pub fn disconnect(&self) {
        self.shared.hub.disconnect();
    }

    /// Waits until nothing runs any more, and says why.
    pub async fn closed(&self) -> CloseReason {
        poll_fn(|cx| self.shared.hub.poll_ended(cx)).await
    }

    /// Ends the connection for good, and waits until its process is gone.
    pub async fn close(&self) {
        self.shared.hub.close();
        self.closed().await;
    }
}

/// The future that moves the bytes of one connection, and runs the handlers of questions that
/// belong to no call.
///
/// It must be polled for as long as calls are made: dropping it ends all calls with
/// [`DriverGone`](crate::ErrorKind::DriverGone), and the process with them. It ends when the
/// client was closed or dropped.
#[must_use = "a client does nothing unless its driver is polled"]
pub struct Driver {
    hub: Arc<Hub>,
    seat: Arc<Seat>,
    watch: Watch,
    /// Nothing moves any more.
    over: bool,
    /// Without handlers there is nothing to ask.
    companion: Option<Companion>,
}

impl Future for Driver {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        if !this.over {
            this.over = this.seat.attend(&mut this.watch, cx).is_ready();
        }
        let Some(companion) = &mut this.companion else {
            return if this.over { Poll::Ready(()) } else { Poll::Pending };
        };
        if !this.over || this.hub.lingers() {
            // What came before the end is shown, too.
            companion.poll(&this.hub, cx);
        }
        let shows = companion.showing.is_busy() && this.hub.lingers();
        if this.over && !shows { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.hub.driver_gone();
        self.seat.end();
    }
}

impl fmt::Debug for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driver").finish_non_exhaustive()
    }
}

/// Answers the questions that belong to no call, and shows notifications, beside the moving of
/// bytes.
struct Companion {
    handlers: Arc<Handlers>,
    answering: Answering,
    showing: Showing,
}

impl Companion {
    fn poll(&mut self, hub: &Hub, cx: &mut Context<'_>) {
        loop {
            while let Poll::Ready(Some(job)) = hub.poll_job(cx) {
                match job {
                    Job::Ask(_, id, question) => {
                        self.answering.ask(hub, &self.handlers, id, question);
                    }
                    Job::Withdrawn(id) => self.answering.withdraw(id),
                    Job::Item(id, _) => hub.item_done(id),
                }
            }
            if !self.answering.poll(hub, cx) {
                break;
            }
        }
        self.showing.poll(hub, &self.handlers, cx);
    }
}
