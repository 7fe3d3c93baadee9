//! What callers and handlers do with a hub.

use core::task::{Context, Poll, Waker};
use std::sync::Arc;

use super::super::calls::{Calls, Job, Step};
use super::super::handlers::HandlerFailure;
use super::Hub;
use crate::error::CloseReason;
use crate::interface::{Answer, CallOptions, ConnectionState, Input, Mailbox, Setting};
use crate::model::{Notification, Root, ServerInfo};
use crate::op::{Call, Operation};
use crate::{ApiMisuse, CallId, Error, QuestionId, Reply};

impl Hub {
    /// Begins a call. Its items and questions come to the caller when `attached`, else to the
    /// handler. Its end always comes to the caller, who must take it or [`forget`](Self::forget)
    /// the call.
    ///
    /// # Errors
    /// When the operation or its options cannot be sent.
    pub fn begin<O: Operation>(
        &self,
        operation: O,
        options: CallOptions,
        attached: bool,
    ) -> Result<Call<O>, ApiMisuse> {
        let pull = options.wants_progress();
        self.with(|state, now| {
            let call = state.connection.start(operation, options, now)?;
            state.calls.open(call.id(), attached);
            if pull {
                state.connection.handle(Input::Pull(Mailbox::Call(call.id())), now);
            }
            Ok(call)
        })
    }

    /// The next step of an attached call, if there is one.
    pub fn try_step(&self, id: CallId) -> Option<Step> {
        self.with(|state, now| state.next_step(id, now))
    }

    /// The next step of an attached call, if there is one. If not, nobody is woken for it any
    /// more.
    pub fn take_step(&self, id: CallId) -> Option<Step> {
        let mut state = self.lock();
        if state.calls.item_is_out(id) || state.gone {
            drop(state);
            return self.try_step(id);
        }
        state.calls.hush(id);
        state.calls.take(id)
    }

    /// Waits for the next step of an attached call.
    ///
    /// A call whose end was taken, or which was forgotten, has no more steps: then this stays
    /// pending for ever.
    pub fn poll_step(&self, id: CallId, cx: &mut Context<'_>) -> Poll<Step> {
        let mut state = self.lock();
        if !state.calls.item_is_out(id) && !state.gone {
            // The usual case: the connection is not concerned.
            return state.calls.poll(id, cx, Calls::take);
        }
        drop(state);
        self.with(|state, now| match state.next_step(id, now) {
            Some(step) => Poll::Ready(step),
            None => {
                state.calls.wait(id, cx.waker());
                Poll::Pending
            }
        })
    }

    /// The end of a call, whether or not its items and questions were dealt with.
    pub fn try_done(&self, id: CallId) -> Option<Result<Reply, Error>> {
        self.lock().calls.take_done(id)
    }

    /// Waits for the end of a call whose items and questions go to the handler. An item that came
    /// before the result, and that the handler has not begun with, comes first:
    /// [`item_done`](Self::item_done) says that it was dealt with.
    pub fn poll_last(&self, id: CallId, cx: &mut Context<'_>) -> Poll<Step> {
        self.lock().calls.poll(id, cx, Calls::take_last)
    }

    /// Whether a call has ended. If not, this waker is woken when it does.
    pub fn has_ended(&self, id: CallId, waker: &Waker) -> bool {
        self.lock().calls.has_ended(id, waker)
    }

    /// Tells the host that code of its own has failed.
    pub fn failed(&self, failure: &HandlerFailure) {
        self.host.handler_failed(failure);
    }

    /// Hands in a handler's answer, or tells the host why there is none.
    pub fn answered(&self, id: QuestionId, answer: Result<Answer, HandlerFailure>) {
        let answer = answer.unwrap_or_else(|failure| {
            self.failed(&failure);
            Answer::Failed
        });
        self.answer(id, answer);
    }

    /// Answers a question. An answer to a question that was withdrawn is ignored.
    pub fn answer(&self, question: QuestionId, answer: Answer) {
        self.handle(Input::Answer(question, answer));
    }

    /// Cancels a call: it ends with an error at once.
    pub fn cancel(&self, id: CallId) {
        self.handle(Input::Cancel(id));
    }

    /// Drops a call: it is cancelled if it has not ended, and nothing of it is kept.
    pub fn forget(&self, id: CallId) {
        self.with(|state, now| {
            if state.calls.forget(id) {
                state.connection.handle(Input::Cancel(id), now);
            }
        });
    }

    /// Changes a setting.
    ///
    /// # Errors
    /// When it cannot work.
    pub fn set(&self, setting: Setting) -> Result<(), ApiMisuse> {
        setting.check()?;
        self.handle(Input::Set(setting));
        Ok(())
    }

    /// Changes where servers may work.
    ///
    /// # Errors
    /// When one of the roots must not be told to a server; then nothing changes.
    pub fn set_roots(&self, roots: Vec<Root>) -> Result<(), Error> {
        let checked = roots.iter().try_for_each(Root::check);
        checked.map_err(|misuse| Error::validation(misuse.to_string()))?;
        self.handle(Input::Set(Setting::Roots(roots)));
        Ok(())
    }

    /// Where servers may work.
    #[must_use]
    pub fn roots(&self) -> Vec<Root> {
        self.lock().connection.roots().to_vec()
    }

    /// Ends what runs; the next call begins anew.
    pub fn disconnect(&self) {
        self.handle(Input::Disconnect);
    }

    /// Ends the connection for good.
    pub fn close(&self) {
        self.with(|state, now| {
            // A client that is closed and then dropped says so once, as its journal tells.
            if !matches!(state.connection.state(), ConnectionState::Closed(_)) {
                state.hand_in(Input::Close, now);
            }
        });
    }

    /// The state of the connection.
    #[must_use]
    pub fn state(&self) -> ConnectionState {
        self.lock().connection.state().clone()
    }

    /// The server, as it introduced itself, while the connection is ready.
    #[must_use]
    pub fn server(&self) -> Option<Arc<ServerInfo>> {
        self.lock().connection.server().cloned()
    }

    /// Waits until nothing runs any more, and says why. A connection that has not begun, or that
    /// has come to rest, is there already.
    pub fn poll_ended(&self, cx: &mut Context<'_>) -> Poll<CloseReason> {
        let mut state = self.lock();
        match state.connection.state() {
            ConnectionState::Idle(reason) | ConnectionState::Closed(reason)
                if state.connection.at_rest() =>
            {
                Poll::Ready(reason.clone())
            }
            _ if state.gone => Poll::Ready(CloseReason::Closed),
            _ => {
                if !state.observers.iter().any(|waker| waker.will_wake(cx.waker())) {
                    state.observers.push(cx.waker().clone());
                }
                Poll::Pending
            }
        }
    }

    // Handlers and callbacks

    /// Waits for the next job of the handler. `None` when there will be none any more.
    pub fn poll_job(&self, cx: &mut Context<'_>) -> Poll<Option<Job>> {
        let mut state = self.lock();
        if let Some(job) = state.calls.jobs.pop_front() {
            return Poll::Ready(Some(job));
        }
        if state.finished() {
            return Poll::Ready(None);
        }
        state.calls.handler = Some(cx.waker().clone());
        Poll::Pending
    }

    /// The handler has dealt with an item of this call.
    pub fn item_done(&self, id: CallId) {
        self.with(|state, now| {
            let waker = state.calls.item_shown(id);
            state.wake.extend(waker);
            state.connection.handle(Input::Pull(Mailbox::Call(id)), now);
        });
    }

    /// Waits for the next notification of the server's, for a host that has a callback for them.
    /// `None` when there will be none any more. They are apart from the jobs, so that a callback
    /// which takes its time keeps no question waiting.
    pub fn poll_notification(&self, cx: &mut Context<'_>) -> Poll<Option<Box<Notification>>> {
        let mut state = self.lock();
        if state.gone {
            return Poll::Ready(None);
        }
        if let Some(notification) = state.notification.take() {
            return Poll::Ready(Some(notification));
        }
        if state.finished() {
            return Poll::Ready(None);
        }
        match &mut state.listener {
            Some(known) => known.clone_from(cx.waker()),
            none => *none = Some(cx.waker().clone()),
        }
        Poll::Pending
    }

    /// Whether callbacks go on although the connection has ended: by itself, and not because the
    /// host wants no more of it.
    pub(in super::super) fn lingers(&self) -> bool {
        let state = self.lock();
        let ended = state.connection.state();
        !state.gone && matches!(ended, ConnectionState::Closed(why) if *why != CloseReason::Closed)
    }

    /// The host's callbacks have dealt with a notification.
    pub fn notification_done(&self) {
        self.handle(Input::Pull(Mailbox::Host));
    }
}
