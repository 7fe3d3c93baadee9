//! What only the host can answer, and its answers.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::Raw;
use crate::model::{ElicitRequest, SamplingRequest};

/// What only the host can answer.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Question {
    /// The metadata of the request that is about to be sent; asked for each request when the host
    /// has registered [`Hearing::RequestMeta`](crate::Hearing::RequestMeta).
    RequestMeta {
        /// The method of the request.
        method: String,
    },
    /// The server wants something from the user (`elicitation/create`).
    Elicit(Box<ElicitRequest>),
    /// The server wants something from the host's model (`sampling/createMessage`).
    Sample(Box<SamplingRequest>),
    /// The server wants nothing but time before it answers; asked when the host has registered
    /// [`Hearing::Wait`](crate::Hearing::Wait). The pause goes on meanwhile.
    Wait(Box<WaitRequest>),
    /// What was stored under this key, in this process or an earlier one. Asked once, before the
    /// first start, when the host has registered [`Hearing::Load`](crate::Hearing::Load); what is
    /// bad, old or another server's is ignored.
    Load {
        /// The key.
        key: String,
    },
    /// Store a value under a key, in the place of an older one; asked when the host has registered
    /// [`Hearing::Save`](crate::Hearing::Save).
    Save(Stored),
}

/// A value to store, and its key. What it holds is the client's matter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Stored {
    /// The key.
    pub key: String,
    /// The value.
    pub value: String,
}

/// A server wants nothing but time before it answers a call (specification: basic/patterns/mrtr).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct WaitRequest {
    /// The method of the call.
    pub method: String,
    /// How often the server has asked for input or time.
    pub round: u32,
    /// How long the pause is before it is asked again. It grows from round to round.
    pub delay: Duration,
    /// What it wants to have back (`requestState`), as it was sent.
    pub state: Option<Raw>,
    /// Its whole result, as it was sent.
    pub result: Raw,
    /// How long the call has taken until now.
    pub elapsed: Duration,
}

/// How a host wants to wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum WaitAnswer {
    /// For as long as the pause is.
    #[default]
    Pace,
    /// Not at all: the server is asked again at once.
    Retry,
    /// No longer: the call ends, with an error from which it can be resumed.
    Cancel,
}

pub(crate) const ELICITATION: &str = "elicitation";
pub(crate) const SAMPLING: &str = "sampling";

impl Question {
    /// What is asked for, in a word or two.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Question::RequestMeta { .. } => "request metadata",
            Question::Elicit(_) => ELICITATION,
            Question::Sample(_) => SAMPLING,
            Question::Wait(_) => "how to wait",
            Question::Load { .. } => "what is stored",
            Question::Save(_) => "what is to be stored",
        }
    }
}

/// The host's answer to a [`Question`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Answer {
    /// For [`Question::RequestMeta`]: members for `_meta`. Keys of the protocol's own are ignored.
    RequestMeta(Map<String, Value>),
    /// For [`Question::Elicit`]: what an [`ElicitResult`](crate::model::ElicitResult) holds.
    Elicit(Value),
    /// For [`Question::Sample`]: what a [`SamplingResult`](crate::model::SamplingResult) holds.
    Sample(Value),
    /// For [`Question::Wait`].
    Wait(WaitAnswer),
    /// For [`Question::Load`]: the value, if there is one.
    Loaded(Option<String>),
    /// For [`Question::Save`].
    Saved,
    /// The host could not answer. Its reasons never reach the server.
    Failed,
}
