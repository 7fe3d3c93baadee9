//! The host's own code: handlers of questions, and callbacks for items. A panic in it is a failure
//! to answer, and nothing else.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

use mcp_proto::driver::{HandlerError, HandlerFailure, HandlerFault, Hub, Job, OnProgress};
use mcp_proto::model::{
    ElicitRequest, ElicitResult, Notification, SamplingRequest, SamplingResult,
};
use mcp_proto::op::Call;
use mcp_proto::{
    Answer, ApiMisuse, CallId, Hearing, Item, Operation, Question, QuestionId, Stored, WaitAnswer,
    WaitRequest,
};
use serde_json::{Map, Value};

use crate::wake::lock;

type Listener = Box<dyn Fn(Notification) + Send + Sync>;

type Handler<A, R> = Box<dyn Fn(A) -> Result<R, HandlerError> + Send + Sync>;

/// Names each handler once: what it is asked, what it gives, and which question it answers.
macro_rules! callbacks {
    ($(
        $name:ident($asked:ty) -> $answer:ty, $hearing:ident,
            $question:pat $(if $guard:expr)? => $given:expr, $wrap:expr;
    )*) => {
        /// The handlers that answer questions, and the callbacks of calls that nobody waits in.
        #[derive(Default)]
        pub(crate) struct Callbacks {
            $(pub(crate) $name: Option<Handler<$asked, $answer>>,)*
            /// The model of the host may be given tools.
            pub(crate) sampling_tools: bool,
            /// Those for notifications: any number of them.
            pub(crate) notifications: Vec<Listener>,
            /// `None` while it runs.
            progress: Mutex<BTreeMap<CallId, Option<OnProgress>>>,
        }

        impl Callbacks {
            /// What the connection is told about them.
            pub(crate) fn hears(&self) -> Vec<Hearing> {
                let mut hears = Vec::new();
                $(if self.$name.is_some() {
                    hears.push(Hearing::$hearing);
                })*
                if self.sampling.is_some() && self.sampling_tools {
                    hears.push(Hearing::SamplingTools);
                }
                if self.notified() {
                    hears.push(Hearing::Notifications);
                }
                hears
            }

            fn ask(&self, question: Question) -> Result<Answer, HandlerFault> {
                match question {
                    $($question $(if $guard)? => {
                        let handler = self.$name.as_ref().ok_or(HandlerFault::Absent)?;
                        Ok($wrap(handler($given)?))
                    })*
                    _ => Err(HandlerFault::Absent),
                }
            }
        }
    };
}

callbacks! {
    request_meta(String) -> Map<String, Value>, RequestMeta,
        Question::RequestMeta { method } => method, Answer::RequestMeta;
    elicitation(ElicitRequest) -> ElicitResult, Elicitation,
        Question::Elicit(request) if !request.is_url() => *request,
        |result: ElicitResult| Answer::Elicit(result.into());
    url_elicitation(ElicitRequest) -> ElicitResult, UrlElicitation,
        Question::Elicit(request) => *request,
        |result: ElicitResult| Answer::Elicit(result.into());
    sampling(SamplingRequest) -> SamplingResult, Sampling,
        Question::Sample(request) => *request,
        |result: SamplingResult| Answer::Sample(result.into());
    input_wait(WaitRequest) -> WaitAnswer, Wait,
        Question::Wait(request) => *request, Answer::Wait;
    load(String) -> Option<String>, Load, Question::Load { key } => key, Answer::Loaded;
    save(Stored) -> (), Save, Question::Save(stored) => stored, |()| Answer::Saved;
}

impl Callbacks {
    /// Has a question answered by its handler, and hands the answer in.
    pub(crate) fn answer(&self, hub: &Hub, id: QuestionId, question: Question) {
        hub.answered(id, HandlerFailure::guard(question.name(), || self.ask(question)));
    }

    /// Whether notifications are wanted.
    pub(crate) fn notified(&self) -> bool {
        !self.notifications.is_empty()
    }

    /// Shows the host a notification. A callback that panics has dealt with it, and is called
    /// again.
    pub(crate) fn notify(&self, hub: &Hub, notification: Notification) {
        for listener in &self.notifications {
            let notification = notification.clone();
            let shown = HandlerFailure::guard("notifications", || {
                listener(notification);
                Ok(())
            });
            if let Err(failure) = shown {
                hub.failed(&failure);
            }
        }
        hub.notification_done();
    }

    /// Does a job that belongs to no caller who waits.
    pub(crate) fn run(&self, hub: &Hub, job: Job) {
        match job {
            Job::Item(id, item) => {
                let mut callback = lock(&self.progress).get_mut(&id).and_then(Option::take);
                show(&mut callback, *item);
                if let Some(place) = lock(&self.progress).get_mut(&id) {
                    *place = callback;
                }
                hub.item_done(id);
            }
            Job::Ask(_, id, question) => self.answer(hub, id, question),
            // A handler that runs cannot be stopped. Its answer will be ignored.
            _ => {}
        }
    }

    /// Begins a call that nobody waits in. Its items may come before this returns.
    pub(crate) fn begin<O: Operation>(
        &self,
        callback: Option<OnProgress>,
        begin: impl FnOnce() -> Result<Call<O>, ApiMisuse>,
    ) -> Result<Call<O>, ApiMisuse> {
        let Some(callback) = callback else { return begin() };
        let mut progress = lock(&self.progress);
        let call = begin()?;
        progress.insert(call.id(), Some(callback));
        Ok(call)
    }

    /// Drops the callback of a call. It may have a destructor of the host's: not under the lock.
    pub(crate) fn forget(&self, id: CallId) {
        let callback = lock(&self.progress).remove(&id);
        drop(callback);
    }
}

/// Shows the host an item. A callback that panics is not called again.
pub(crate) fn show(callback: &mut Option<OnProgress>, item: Item) {
    let Item::Progress(progress) = item else { return };
    let Some(run) = callback else { return };
    if catch_unwind(AssertUnwindSafe(|| run(progress))).is_err() {
        *callback = None;
    }
}
