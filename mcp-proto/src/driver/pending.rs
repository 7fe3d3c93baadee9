//! A call as a future.

use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use std::fmt;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::client::Shared;
use super::handlers::Answering;
use super::options::OnProgress;
use super::{Hub, Step};
use crate::interface::Item;
use crate::op::{Call, Operation};
use crate::{CallId, Error};

/// A call that has begun. As a future it gives the result.
///
/// Whoever polls it also runs what belongs to the call: its progress callback, and the handlers
/// that answer its questions. They run beside the call, so that a handler which takes long does
/// not keep the call from seeing its own end. Dropping it cancels the call.
#[must_use = "dropping a pending call cancels it"]
pub struct PendingCall<O: Operation> {
    shared: Arc<Shared>,
    /// `None` once its end was taken.
    call: Option<Call<O>>,
    answering: Answering,
    progress: Option<OnProgress>,
}

impl<O: Operation> PendingCall<O> {
    pub(super) fn new(shared: Arc<Shared>, call: Call<O>, progress: Option<OnProgress>) -> Self {
        PendingCall { shared, call: Some(call), answering: Answering::default(), progress }
    }

    /// The result, if there is one by now. It does what polling the future once does: callbacks
    /// and handlers of the call may run.
    ///
    /// Once the result was taken there is none any more.
    pub fn try_take(&mut self) -> Option<Result<O::Output, Error>> {
        match self.advance(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(result) => Some(result),
            Poll::Pending => None,
        }
    }

    /// Something that can cancel the call from anywhere.
    #[must_use]
    pub fn cancel_handle(&self) -> CancelHandle {
        CancelHandle { hub: Arc::clone(&self.shared.hub), id: self.call.as_ref().map(Call::id) }
    }

    fn advance(&mut self, cx: &mut Context<'_>) -> Poll<Result<O::Output, Error>> {
        // Polled after its end it never ends again.
        let Some(call) = &self.call else {
            return Poll::Pending;
        };
        let hub = &self.shared.hub;
        loop {
            while let Poll::Ready(step) = hub.poll_step(call.id(), cx) {
                match step {
                    Step::Item(item) => show(&mut self.progress, *item),
                    Step::Ask(id, question) => {
                        self.answering.ask(hub, &self.shared.handlers, id, question);
                    }
                    Step::Withdrawn(id) => self.answering.withdraw(id),
                    Step::Done(done) => {
                        self.answering = Answering::default();
                        self.progress = None;
                        let result = call.finish(done);
                        self.call = None;
                        return Poll::Ready(result);
                    }
                }
            }
            if !self.answering.poll(hub, cx) {
                return Poll::Pending;
            }
        }
    }
}

/// Shows the host an item. A callback that panics is not called again.
fn show(progress: &mut Option<OnProgress>, item: Item) {
    let Item::Progress(how_far) = item;
    if let Some(callback) = progress
        && catch_unwind(AssertUnwindSafe(|| callback(how_far))).is_err()
    {
        *progress = None;
    }
}

// Nothing in it is pinned: handlers are in boxes of their own.
impl<O: Operation> Unpin for PendingCall<O> {}

impl<O: Operation> Future for PendingCall<O> {
    type Output = Result<O::Output, Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.advance(cx)
    }
}

impl<O: Operation> Drop for PendingCall<O> {
    fn drop(&mut self) {
        if let Some(call) = &self.call {
            self.shared.hub.forget(call.id());
        }
    }
}

impl<O: Operation> fmt::Debug for PendingCall<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = self.call.as_ref().map(Call::id);
        f.debug_struct("PendingCall").field("id", &id).finish()
    }
}

/// Cancels a call from anywhere. It does not keep the client alive.
#[derive(Clone, Debug)]
pub struct CancelHandle {
    hub: Arc<Hub>,
    id: Option<CallId>,
}

impl CancelHandle {
    /// Cancels the call: it ends with an error at once, and the server is told. A call that has
    /// ended is left as it is.
    pub fn cancel(&self) {
        if let Some(id) = self.id {
            self.hub.cancel(id);
        }
    }
}
