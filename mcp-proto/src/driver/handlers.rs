//! What the host answers, when it does so in futures.

use core::pin::Pin;
use core::task::{Context, Poll};
use std::fmt;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::{Map, Value};

use super::Hub;
use super::listeners::Listener;
use crate::QuestionId;
use crate::interface::{Answer, Hearing, Question, Stored, WaitAnswer, WaitRequest};
use crate::model::{ElicitRequest, ElicitResult, Notification, SamplingRequest, SamplingResult};

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

/// Names each handler once: what it is for, what it is asked, and what it gives.
macro_rules! handlers {
    ($(
        $(#[$doc:meta])*
        $name:ident: $register:ident($asked:ty) -> $answer:ty, $hearing:ident,
            $question:pat $(if $guard:expr)? => $given:expr, $wrap:expr;
    )*) => {
        /// The handlers of an async client.
        #[derive(Default)]
        pub struct Handlers {
            $($name: Option<Handler<$asked>>,)*
            /// The model of the host may be given tools.
            pub sampling_tools: bool,
            /// Those for notifications: any number of them.
            pub(super) notifications: Vec<Listener>,
        }

        impl Handlers {
            $(
                $(#[$doc])*
                pub fn $register<F, T>(&mut self, handler: F)
                where
                    F: Fn($asked) -> T + Send + Sync + 'static,
                    T: Future<Output = Result<$answer, HandlerError>> + Send + 'static,
                {
                    self.$name = Some(boxed(handler, $wrap));
                }
            )*

            /// What the connection is told about them.
            #[must_use]
            pub fn hears(&self) -> Vec<Hearing> {
                let mut hears = Vec::new();
                $(if self.$name.is_some() {
                    hears.push(Hearing::$hearing);
                })*
                if self.sampling.is_some() && self.sampling_tools {
                    hears.push(Hearing::SamplingTools);
                }
                if !self.notifications.is_empty() {
                    hears.push(Hearing::Notifications);
                }
                hears
            }

            fn begin(&self, question: Question) -> Result<Answered, HandlerFault> {
                let begun = match question {
                    $($question $(if $guard)? => self.$name.as_ref().map(|handler| handler($given)),)*
                };
                begun.ok_or(HandlerFault::Absent)
            }
        }
    };
}

handlers! {
    /// Registers what answers [`Question::RequestMeta`].
    request_meta: on_request_meta(String) -> Map<String, Value>, RequestMeta,
        Question::RequestMeta { method } => method, Answer::RequestMeta;
    /// Registers what answers [`Question::Elicit`] with a form.
    elicitation: on_elicitation(ElicitRequest) -> ElicitResult, Elicitation,
        Question::Elicit(request) if !request.is_url() => *request,
        |result: ElicitResult| Answer::Elicit(result.into());
    /// Registers what answers [`Question::Elicit`] with a page to visit.
    url_elicitation: on_url_elicitation(ElicitRequest) -> ElicitResult, UrlElicitation,
        Question::Elicit(request) => *request,
        |result: ElicitResult| Answer::Elicit(result.into());
    /// Registers what answers [`Question::Sample`].
    sampling: on_sampling(SamplingRequest) -> SamplingResult, Sampling,
        Question::Sample(request) => *request,
        |result: SamplingResult| Answer::Sample(result.into());
    /// Registers what answers [`Question::Wait`].
    input_wait: on_input_wait(WaitRequest) -> WaitAnswer, Wait,
        Question::Wait(request) => *request, Answer::Wait;
    /// Registers what answers [`Question::Load`].
    load: on_load(String) -> Option<String>, Load,
        Question::Load { key } => key, Answer::Loaded;
    /// Registers what answers [`Question::Save`].
    save: on_save(Stored) -> (), Save,
        Question::Save(stored) => stored, |()| Answer::Saved;
}

impl Handlers {
    /// Adds a callback for the notifications of the server.
    pub fn on_notification<F, T>(&mut self, callback: F)
    where
        F: Fn(Notification) -> T + Send + Sync + 'static,
        T: Future<Output = ()> + Send + 'static,
    {
        self.notifications.push(Box::new(move |notification| Box::pin(callback(notification))));
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
