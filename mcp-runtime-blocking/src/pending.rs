//! Calls that have begun, and that nobody has to wait in.

use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;

use mcp_proto::driver::{Job, Step};
use mcp_proto::op::Call;
use mcp_proto::{CallId, Error, Operation, Reply};

use crate::Client;
use crate::seat::Manner;
use crate::shared::Shared;

/// A call that has begun. It goes on whether or not anybody waits for it: its progress callback
/// and the handlers of its questions run on a thread of the client's (with
/// [`Background::Never`](crate::Background::Never): in [`Client::pump`], and wherever somebody
/// waits).
///
/// Dropping it cancels the call. It keeps the client alive.
#[must_use = "dropping a pending call cancels it"]
pub struct PendingCall<O: Operation> {
    /// `None` once its end was taken.
    call: Option<Call<O>>,
    client: Client,
}

impl<O: Operation> PendingCall<O> {
    pub(crate) fn new(client: Client, call: Call<O>) -> Self {
        let pending = PendingCall { call: Some(call), client };
        pending.watch();
        pending
    }

    /// The result, if there is one by now. It never waits, and never runs code of the host's.
    ///
    /// Once the result was taken there is none any more.
    pub fn try_take(&mut self) -> Option<Result<O::Output, Error>> {
        let id = self.call.as_ref()?.id();
        let done = self.client.shared().hub.try_done(id)?;
        self.finish(done)
    }

    /// Waits for the result.
    ///
    /// # Errors
    /// The error of the call; also when its result was taken before.
    pub fn wait(mut self) -> Result<O::Output, Error> {
        let taken = || Error::validation("the result of this call was taken before");
        self.wait_until(None).ok_or_else(taken)?
    }

    /// Waits at most this long for the result. The call goes on when there is none by then.
    ///
    /// Once the result was taken there is none any more.
    pub fn wait_timeout(&mut self, time: Duration) -> Option<Result<O::Output, Error>> {
        let until = self.client.shared().hub.now().mono.checked_add(time);
        let result = self.wait_until(until);
        if result.is_none() {
            self.watch();
        }
        result
    }

    /// Something that can cancel the call from anywhere.
    #[must_use]
    pub fn cancel_handle(&self) -> CancelHandle {
        CancelHandle {
            shared: Arc::downgrade(self.client.shared()),
            id: self.call.as_ref().map(Call::id),
        }
    }

    fn wait_until(&mut self, until: Option<Duration>) -> Option<Result<O::Output, Error>> {
        let id = self.call.as_ref()?.id();
        let shared = self.client.shared();
        loop {
            match shared.wait(Manner::Caller, until, |cx| shared.hub.poll_last(id, cx))? {
                Step::Done(done) => return self.finish(done),
                // The last thing before the result: nobody else has begun with it.
                Step::Item(item) => shared.callbacks.run(&shared.hub, Job::Item(id, item)),
                _ => {}
            }
        }
    }

    fn finish(&mut self, done: Result<Reply, Error>) -> Option<Result<O::Output, Error>> {
        let call = self.call.take()?;
        self.client.shared().callbacks.forget(call.id());
        Some(call.finish(done))
    }

    /// Has the host told when there is a result.
    fn watch(&self) {
        let shared = self.client.shared();
        let (Some(call), Some(waker)) = (&self.call, &shared.on_wake) else { return };
        if shared.hub.has_ended(call.id(), waker) {
            waker.wake_by_ref();
        }
    }
}

impl<O: Operation> Drop for PendingCall<O> {
    fn drop(&mut self) {
        if let Some(call) = &self.call {
            self.client.shared().hub.forget(call.id());
            self.client.shared().callbacks.forget(call.id());
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
#[derive(Clone)]
pub struct CancelHandle {
    shared: Weak<Shared>,
    id: Option<CallId>,
}

impl CancelHandle {
    /// Cancels the call: it ends with an error at once, and the server is told. A call that has
    /// ended is left as it is.
    pub fn cancel(&self) {
        if let (Some(shared), Some(id)) = (self.shared.upgrade(), self.id) {
            shared.hub.cancel(id);
        }
    }
}

impl fmt::Debug for CancelHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CancelHandle").field("id", &self.id).finish()
    }
}
