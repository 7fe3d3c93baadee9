//! The host of the client: it answers what servers ask, and keeps what they said.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mcp_proto::EraChoice;
use mcp_proto::model::{
    Content, ElicitMode, ElicitRequest, ElicitResult, Notification, Root, SamplingRequest,
    SamplingResult,
};
use serde_json::{Value, json};

use super::Failure;
use crate::client::Setup;

/// How long something may take that a server says unasked.
const PATIENCE: Duration = Duration::from_secs(20);

/// The models of this host.
const MODELS: [&str; 2] = ["small-1", "large-1"];

/// What its model always says.
pub(super) const OPINION: &str = "what the model says";

/// A host; clones are the same one.
#[derive(Clone, Default)]
pub(super) struct Host(Arc<Inner>);

#[derive(Default)]
struct Inner {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// What the user will answer, in order.
    answers: VecDeque<Value>,
    /// What was asked since this was last looked at.
    asked: Vec<Value>,
    told: Vec<Notification>,
}

impl Host {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The settings of its client.
    pub(super) fn setup(&self, era: EraChoice) -> Setup {
        let (forms, pages, models, told) = (self.clone(), self.clone(), self.clone(), self.clone());
        let setup = Setup::plain().era(era).with(|config| config.roots = Host::roots(1));
        setup
            .on_elicitation(move |_, raw| {
                let asked = raw.parse().map_err(Into::into);
                let answer = asked.and_then(|asked: Value| forms.answer(asked));
                async move { answer }
            })
            .on_url_elicitation(move |_, asked| {
                let answer = pages.answer(told_of_page(&asked)).map(ElicitResult::from);
                async move { answer }
            })
            .on_sampling(false, move |_, asked| {
                let answer = models.sample(&asked);
                async move { answer }
            })
            .on_notification(move |_, notification| {
                told.lock().told.push(notification);
                told.0.changed.notify_all();
                async {}
            })
    }

    /// The first few of its roots.
    pub(super) fn roots(count: usize) -> Vec<Root> {
        let all = [("one", "file:///tmp/one"), ("two", "file:///tmp/two")];
        let all = all.into_iter().map(|(name, uri)| Ok(Root::new(uri)?.with_name(name)));
        let all: Result<Vec<_>, mcp_proto::ApiMisuse> = all.take(count).collect();
        all.unwrap_or_default()
    }

    /// Says how the user will answer the next question.
    pub(super) fn will_answer(&self, answer: Value) {
        self.lock().answers.push_back(answer);
    }

    fn answer(&self, asked: Value) -> Result<Value, Failure> {
        let mut state = self.lock();
        state.asked.push(asked);
        state.answers.pop_front().ok_or_else(|| "nobody expected a question".into())
    }

    fn sample(&self, asked: &SamplingRequest) -> Result<SamplingResult, Failure> {
        let texts = asked.messages.iter().flat_map(|message| &message.content);
        let texts: Vec<_> = texts.filter_map(Content::as_text).collect();
        self.lock().asked.push(json!({
            "texts": texts,
            "system": asked.system_prompt,
            "maxTokens": asked.max_tokens,
        }));
        let model = asked.preferences.choose(&MODELS).unwrap_or(MODELS[0]);
        Ok(SamplingResult::text(OPINION, model))
    }

    /// The one question that was asked since this was last looked at.
    pub(super) fn asked(&self) -> Result<Value, Failure> {
        let mut asked = std::mem::take(&mut self.lock().asked);
        match asked.pop() {
            Some(question) if asked.is_empty() => Ok(question),
            _ => Err(format!("asked {} times instead of once", asked.len()).into()),
        }
    }

    /// How many questions were asked since this was last looked at.
    pub(super) fn times_asked(&self) -> usize {
        std::mem::take(&mut self.lock().asked).len()
    }

    /// Forgets the notifications so far.
    pub(super) fn forget(&self) {
        self.lock().told.clear();
    }

    /// The notifications since the last time that they were forgotten.
    pub(super) fn told(&self) -> Vec<Notification> {
        self.lock().told.clone()
    }

    /// Waits for a notification that has come since, or comes yet.
    pub(super) fn wait_for(
        &self,
        what: &str,
        is_it: impl Fn(&Notification) -> bool,
    ) -> Result<Notification, Failure> {
        let missing = |state: &mut State| !state.told.iter().any(&is_it);
        let outcome = self.0.changed.wait_timeout_while(self.lock(), PATIENCE, missing);
        let (state, _) = outcome.unwrap_or_else(PoisonError::into_inner);
        let found = state.told.iter().find(|it| is_it(it)).cloned();
        let methods = || state.told.iter().map(|it| it.method.as_str()).collect::<Vec<_>>();
        found.ok_or_else(|| format!("nobody was told of {what}, but of {:?}", methods()).into())
    }
}

fn told_of_page(asked: &ElicitRequest) -> Value {
    let (url, id) = match &asked.mode {
        ElicitMode::Url { url, elicitation_id } => (url.as_str(), elicitation_id.as_deref()),
        _ => ("", None),
    };
    json!({ "message": asked.message, "url": url, "domain": asked.domain(), "id": id })
}
