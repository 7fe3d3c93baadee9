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
        match self.advance(&mut Context::from_waker(Waker::noop()), false) {
            Poll::Ready(result) => Some(result),
            Poll::Pending => None,
        }
    }

    /// Something that can cancel the call from anywhere.
    #[must_use]
    pub fn cancel_handle(&self) -> CancelHandle {
        CancelHandle { hub: Arc::clone(&self.shared.hub), id: self.call.as_ref().map(Call::id) }
    }

    /// Does what there is to do. Only who `may_sit` can be woken.
    fn advance(&mut self, cx: &mut Context<'_>, may_sit: bool) -> Poll<Result<O::Output, Error>> {
        // Polled after its end it never ends again.
        let Some(id) = self.call.as_ref().map(Call::id) else {
            return Poll::Pending;
        };
        let Shared { hub, handlers, seat } = &*self.shared;
        loop {
            // Looked for without a waker: what this task moves itself must not wake it.
            let step = hub.take_step(id);
            let step = step.or_else(|| seat.serve(hub, id, may_sit.then(|| cx.waker())));
            match step.map_or_else(|| hub.poll_step(id, cx), Poll::Ready) {
                Poll::Ready(Step::Item(item)) => show(&mut self.progress, *item),
                Poll::Ready(Step::Ask(asked, question)) => {
                    self.answering.ask(hub, handlers, asked, question);
                }
                Poll::Ready(Step::Withdrawn(asked)) => self.answering.withdraw(asked),
                // Exchanges are the performer's here.
                Poll::Ready(Step::Exchange(_)) => {}
                Poll::Ready(Step::Done(done)) => {
                    seat.leave(id);
                    self.answering = Answering::default();
                    self.progress = None;
                    let finished = self.call.take().map(|call| call.finish(done));
                    return finished.map_or(Poll::Pending, Poll::Ready);
                }
                Poll::Pending if self.answering.poll(hub, cx) => {}
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}

/// Shows the host an item. A callback that panics is not called again.
fn show(progress: &mut Option<OnProgress>, item: Item) {
    let Item::Progress(how_far) = item else { return };
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
        self.advance(cx, true)
    }
}

impl<O: Operation> Drop for PendingCall<O> {
    fn drop(&mut self) {
        if let Some(call) = &self.call {
            self.shared.hub.forget(call.id());
            self.shared.seat.leave(call.id());
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
