//! What the host answers, when it does so in futures.

use core::pin::Pin;
use core::task::{Context, Poll};
use std::fmt;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::{Map, Value};

use super::Hub;
use crate::interface::{Answer, Hearing, Question};
use crate::{QuestionId, Raw};

/// A future in a box, as handlers return it.
pub type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Why a handler has no answer. The server never sees it.
pub type HandlerError = Box<dyn std::error::Error + Send + Sync>;

type Handler<A> = Box<dyn Fn(A) -> BoxFuture<Answer> + Send + Sync>;

/// The handlers of an async client.
#[derive(Default)]
pub struct Handlers {
    request_meta: Option<Handler<String>>,
    elicitation: Option<Handler<Raw>>,
}

impl Handlers {
    /// Registers what answers [`Question::RequestMeta`].
    pub fn on_request_meta<F, T>(&mut self, handler: F)
    where
        F: Fn(String) -> T + Send + Sync + 'static,
        T: Future<Output = Result<Map<String, Value>, HandlerError>> + Send + 'static,
    {
        self.request_meta = Some(boxed(handler, Answer::RequestMeta));
    }

    /// Registers what answers [`Question::Elicit`].
    pub fn on_elicitation<F, T>(&mut self, handler: F)
    where
        F: Fn(Raw) -> T + Send + Sync + 'static,
        T: Future<Output = Result<Value, HandlerError>> + Send + 'static,
    {
        self.elicitation = Some(boxed(handler, Answer::Elicit));
    }

    /// What the connection is told about them.
    #[must_use]
    pub fn hears(&self) -> Vec<Hearing> {
        let meta = self.request_meta.as_ref().map(|_| Hearing::RequestMeta);
        let elicitation = self.elicitation.as_ref().map(|_| Hearing::Elicitation);
        meta.into_iter().chain(elicitation).collect()
    }

    fn begin(&self, question: Question) -> Option<BoxFuture<Answer>> {
        match question {
            Question::RequestMeta { method } => self.request_meta.as_ref().map(|h| h(method)),
            Question::Elicit { params } => self.elicitation.as_ref().map(|h| h(params)),
        }
    }
}

fn boxed<A, R, F, T>(handler: F, wrap: fn(R) -> Answer) -> Handler<A>
where
    F: Fn(A) -> T + Send + Sync + 'static,
    T: Future<Output = Result<R, HandlerError>> + Send + 'static,
    R: 'static,
{
    Box::new(move |asked| {
        let answer = handler(asked);
        Box::pin(async move { answer.await.map_or(Answer::Failed, wrap) })
    })
}

impl fmt::Debug for Handlers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Handlers").field(&self.hears()).finish()
    }
}

/// The questions that handlers are at work on: those of one call, or those of the connection.
///
/// Handlers are the host's code. One that panics, when it is called, polled or dropped, has failed
/// to answer; whoever polls here goes on.
#[derive(Default)]
pub(super) struct Answering {
    open: Vec<(QuestionId, BoxFuture<Answer>)>,
}

impl Answering {
    /// Puts a question to its handler. Without one there is no answer.
    pub(super) fn ask(&mut self, hub: &Hub, with: &Handlers, id: QuestionId, question: Question) {
        match catch_unwind(AssertUnwindSafe(|| with.begin(question))) {
            Ok(Some(answer)) => self.open.push((id, answer)),
            Ok(None) | Err(_) => hub.answer(id, Answer::Failed),
        }
    }

    /// Stops the handler: nobody wants its answer any more.
    pub(super) fn withdraw(&mut self, id: QuestionId) {
        if let Some(at) = self.open.iter().position(|(open, _)| *open == id) {
            drop_quietly(self.open.swap_remove(at).1);
        }
    }

    /// Lets all handlers work. Whether one of them has answered.
    pub(super) fn poll(&mut self, hub: &Hub, cx: &mut Context<'_>) -> bool {
        let mut answered = false;
        self.open.retain_mut(|(id, future)| {
            let polled = catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx)));
            let answer = match polled {
                Ok(Poll::Pending) => return true,
                Ok(Poll::Ready(answer)) => answer,
                Err(_) => Answer::Failed,
            };
            drop_quietly(std::mem::replace(future, Box::pin(std::future::pending())));
            hub.answer(*id, answer);
            answered = true;
            false
        });
        answered
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        for (_, future) in self.open.drain(..) {
            drop_quietly(future);
        }
    }
}

fn drop_quietly(future: BoxFuture<Answer>) {
    let _ = catch_unwind(AssertUnwindSafe(|| drop(future)));
}
