//! What a server asks of the host: how it is read, refused, and answered. Pure functions; who is
//! asked when is decided in `connection`.

mod elicitation;
mod form;
mod format;
mod sampling;

use alloc::sync::Arc;

use serde_json::Value;

use crate::interface::{Answer, ELICITATION, Hearing, Question, SAMPLING};
use crate::model::{ElicitMode, ElicitRequest, SamplingRequest};
use crate::{Era, Raw};

/// Why a server's question is not put to the host. The words hold nothing of its payload but names.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    /// It breaks the rules for its method (-32602).
    #[error("{0}")]
    Invalid(String),
    /// It asks for something that this client has not declared (-32602).
    #[error("this client has not declared `{0}`")]
    Undeclared(&'static str),
    /// Nobody answers such questions here (-32601).
    #[error("nobody answers it here")]
    NoHandler,
}

/// Why the host's answer is not sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unanswered {
    /// There is none.
    Failed,
    /// It does not fit what was asked. The reason is for the host's log.
    Misfit(String),
    /// The user has refused.
    Refused,
}

/// What a server wants to know.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Wanted {
    /// With its form, read; a page to visit has none.
    Elicit(Box<ElicitRequest>, Option<Box<form::Form>>),
    Sample(Box<SamplingRequest>),
}

/// A number of things. JSON Schema and JavaScript write one as `3.0`, too.
fn whole(value: &Value) -> Option<u64> {
    let float = || value.as_f64().filter(|n| n.fract() == 0.0 && (0.0..=9e15).contains(n));
    // The cast is exact: the number is whole and small enough.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let whole = || float().map(|n| n as u64);
    value.as_u64().or_else(whole)
}

/// Reads a request of the server's for which the host may have a handler.
pub(crate) fn read(
    method: &str,
    params: &Raw,
    hears: &[Hearing],
    era: Era,
    server: &Arc<str>,
) -> Result<Wanted, Refusal> {
    let hears = |hearing: Hearing| hears.contains(&hearing);
    let (forms, pages) = (hears(Hearing::Elicitation), hears(Hearing::UrlElicitation));
    match method {
        "elicitation/create" if forms || pages => {
            let (request, form) = elicitation::read(params, era, server)?;
            match request.mode {
                ElicitMode::Form { .. } if !forms => Err(Refusal::Undeclared("elicitation.form")),
                ElicitMode::Url { .. } if !pages => Err(Refusal::Undeclared("elicitation.url")),
                _ => Ok(Wanted::Elicit(Box::new(request), form.map(Box::new))),
            }
        }
        "sampling/createMessage" if hears(Hearing::Sampling) => {
            let request = sampling::read(params, hears(Hearing::SamplingTools), server)?;
            Ok(Wanted::Sample(Box::new(request)))
        }
        _ => Err(Refusal::NoHandler),
    }
}

impl Wanted {
    /// The question for the host.
    pub(crate) fn question(&self) -> Question {
        match self {
            Wanted::Elicit(request, _) => Question::Elicit(request.clone()),
            Wanted::Sample(request) => Question::Sample(request.clone()),
        }
    }

    /// What is asked for, as [`Question::name`] says it.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Wanted::Elicit(..) => ELICITATION,
            Wanted::Sample(_) => SAMPLING,
        }
    }

    /// Whether it wants the context of servers to be included, which is deprecated.
    pub(crate) fn includes_context(&self) -> bool {
        let Wanted::Sample(request) = self else { return false };
        let asked = request.raw.member("includeContext").and_then(|value| value.parse().ok());
        asked.is_some_and(|asked: String| asked == "thisServer" || asked == "allServers")
    }

    /// Whether it names itself in a way that means something to legacy servers only.
    pub(crate) fn has_foreign_id(&self) -> bool {
        match self {
            Wanted::Elicit(request, _) => request.raw.member("elicitationId").is_some(),
            Wanted::Sample(_) => false,
        }
    }

    /// The result to send, by what the host answered.
    pub(crate) fn settle(&self, answer: Answer) -> Result<Value, Unanswered> {
        match (self, answer) {
            (Wanted::Elicit(_, form), Answer::Elicit(answer)) => {
                elicitation::answer(form.as_deref(), answer).map_err(Unanswered::Misfit)
            }
            (Wanted::Sample(_), Answer::Sample(answer)) => {
                sampling::answer(answer).map_err(Unanswered::Misfit)?.ok_or(Unanswered::Refused)
            }
            _ => Err(Unanswered::Failed),
        }
    }
}
