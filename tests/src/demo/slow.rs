//! A call that takes its time, as a list of messages and the pause between them.

use std::time::Duration;

use serde_json::{Value, json};

use super::message::Outgoing;
use super::tools::Plan;

/// The messages of a `slow` call, one after the other: progress, then the answer.
///
/// It holds no clock: whoever performs it lets [`pause`](Self::pause) pass before each message,
/// and drops it when the request is cancelled.
#[derive(Clone, Debug, PartialEq)]
pub struct SlowCall {
    id: Value,
    token: Option<Value>,
    plan: Plan,
    done: u64,
    /// Whether the revision knows the `message` of a progress notification.
    worded: bool,
    answer: Option<Outgoing>,
}

impl SlowCall {
    pub(super) fn new(
        id: Value,
        token: Option<Value>,
        plan: Plan,
        worded: bool,
        answer: Outgoing,
    ) -> Self {
        SlowCall { id, token, plan, done: 0, worded, answer: Some(answer) }
    }

    /// The id of the request that asked for it.
    pub fn id(&self) -> &Value {
        &self.id
    }

    /// The time to let pass before each message.
    pub fn pause(&self) -> Duration {
        self.plan.pause
    }

    /// Whether there is anything to tell before the answer.
    pub(super) fn tells_progress(&self) -> bool {
        self.token.is_some() && self.plan.steps > 0
    }

    /// Whether there is no answer: the call stays open until it is cancelled.
    pub fn is_endless(&self) -> bool {
        self.plan.until_cancelled
    }
}

impl Iterator for SlowCall {
    /// `None` for a step that nobody asked to hear of.
    type Item = Option<Outgoing>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done < self.plan.steps {
            self.done += 1;
            let token = self.token.as_ref();
            return Some(token.map(|token| {
                let mut params = json!({
                    "progressToken": token,
                    "progress": self.done,
                    "total": self.plan.steps,
                });
                if self.worded {
                    let text = format!("step {} of {}", self.done, self.plan.steps);
                    params["message"] = text.into();
                }
                let method = "notifications/progress";
                let message = json!({ "jsonrpc": "2.0", "method": method, "params": params });
                Outgoing::Message(message)
            }));
        }
        if self.plan.until_cancelled {
            return None;
        }
        self.answer.take().map(Some)
    }
}
