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

/// A question that a handler has not answered. It is for the host's log; the server never sees it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the handler of {question} {why}")]
#[non_exhaustive]
pub struct HandlerFailure {
    /// What was asked.
    pub question: &'static str,
    /// What happened.
    pub why: HandlerFault,
}

/// Why a handler has not answered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HandlerFault {
    /// No handler is registered.
    #[error("is not registered")]
    Absent,
    /// It has panicked.
    #[error("panicked")]
    Panicked,
    /// It has returned an error, with this text.
    #[error("failed: {0}")]
    Failed(String),
}

impl HandlerFailure {
    /// Puts a question to its handler, or lets the handler go on. Handlers are the host's code, and
    /// so are the texts of their errors: one that panics has failed to answer, and whoever runs it
    /// here goes on.
    ///
    /// # Errors
    /// When the handler has failed or panicked.
    pub fn guard<T>(
        question: &'static str,
        run: impl FnOnce() -> Result<T, HandlerFault>,
    ) -> Result<T, Self> {
        let ran = catch_unwind(AssertUnwindSafe(run));
        ran.unwrap_or(Err(HandlerFault::Panicked)).map_err(|why| HandlerFailure { question, why })
    }
}

/// An error of a handler's, as the host's log has it.
impl From<HandlerError> for HandlerFault {
    fn from(error: HandlerError) -> Self {
        HandlerFault::Failed(error.to_string())
    }
}

type Answered = BoxFuture<Result<Answer, HandlerFault>>;

type Handler<A> = Box<dyn Fn(A) -> Answered + Send + Sync>;

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

    fn begin(&self, question: Question) -> Result<Answered, HandlerFault> {
        let begun = match question {
            Question::RequestMeta { method } => self.request_meta.as_ref().map(|h| h(method)),
            Question::Elicit { params } => self.elicitation.as_ref().map(|h| h(params)),
        };
        begun.ok_or(HandlerFault::Absent)
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
        Box::pin(async move { Ok(wrap(answer.await?)) })
    })
}

impl fmt::Debug for Handlers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Handlers").field(&self.hears()).finish()
    }
}

/// The questions that handlers are at work on: those of one call, or those of the connection.
#[derive(Default)]
pub(super) struct Answering {
    open: Vec<Open>,
}

struct Open {
    id: QuestionId,
    question: &'static str,
    handler: Answered,
}

impl Answering {
    /// Puts a question to its handler. Without one there is no answer.
    pub(super) fn ask(&mut self, hub: &Hub, with: &Handlers, id: QuestionId, asked: Question) {
        let question = asked.name();
        match HandlerFailure::guard(question, || with.begin(asked)) {
            Ok(handler) => self.open.push(Open { id, question, handler }),
            Err(failure) => hub.answered(id, Err(failure)),
        }
    }

    /// Stops the handler: nobody wants its answer any more.
    pub(super) fn withdraw(&mut self, id: QuestionId) {
        if let Some(at) = self.open.iter().position(|open| open.id == id) {
            drop_quietly(self.open.swap_remove(at).handler);
        }
    }

    /// Lets all handlers work. Whether one of them has answered.
    pub(super) fn poll(&mut self, hub: &Hub, cx: &mut Context<'_>) -> bool {
        let mut answered = false;
        self.open.retain_mut(|Open { id, question, handler }| {
            let polled = HandlerFailure::guard(question, || match handler.as_mut().poll(cx) {
                Poll::Pending => Ok(None),
                Poll::Ready(answer) => answer.map(Some),
            });
            // Without an answer and without a failure it is still at work.
            let Some(answer) = polled.transpose() else { return true };
            drop_quietly(std::mem::replace(handler, Box::pin(std::future::pending())));
            hub.answered(*id, answer);
            answered = true;
            false
        });
        answered
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        self.open.drain(..).for_each(|open| drop_quietly(open.handler));
    }
}

fn drop_quietly(future: Answered) {
    let _ = catch_unwind(AssertUnwindSafe(|| drop(future)));
}
