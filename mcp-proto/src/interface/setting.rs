//! What may change while a connection lives.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

#[cfg(doc)]
use super::Question;
use crate::model::Root;

/// A setting that may change while the connection lives.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Setting {
    /// The host has a callback of this kind from now on.
    Hear(Hearing),
    /// The metadata that goes into every request, in the place of
    /// [`ConnectionConfig::meta`](crate::ConnectionConfig::meta).
    Meta(Map<String, Value>),
    /// Where servers may work, in the place of
    /// [`ConnectionConfig::roots`](crate::ConnectionConfig::roots).
    Roots(Vec<Root>),
}

impl Setting {
    /// Checks what cannot work.
    ///
    /// # Errors
    /// When the metadata has a key that the specification does not allow.
    pub fn check(&self) -> Result<(), crate::ApiMisuse> {
        match self {
            Setting::Hear(_) | Setting::Roots(_) => Ok(()),
            Setting::Meta(meta) => crate::meta::check_keys(meta),
        }
    }
}

/// What a host may register callbacks for. It decides which capabilities are declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Hearing {
    /// [`Question::RequestMeta`].
    RequestMeta,
    /// [`Question::Elicit`] with a form.
    Elicitation,
    /// [`Question::Elicit`] with a page to visit.
    UrlElicitation,
    /// [`Question::Sample`].
    Sampling,
    /// [`Question::Sample`] with tools for the model.
    SamplingTools,
    /// [`Question::Wait`].
    Wait,
    /// [`Question::Load`].
    Load,
    /// [`Question::Save`].
    Save,
    /// The notifications of the server ([`Mailbox::Host`](crate::Mailbox::Host)). Nothing is
    /// declared for it; it asks legacy servers over HTTP for the stream of what they say by
    /// themselves.
    Notifications,
}

impl Hearing {
    /// Whether it is something that a legacy server may come with by itself.
    pub(crate) fn is_of_server(self) -> bool {
        match self {
            Hearing::Elicitation | Hearing::UrlElicitation => true,
            Hearing::Sampling | Hearing::SamplingTools | Hearing::Notifications => true,
            Hearing::RequestMeta | Hearing::Wait | Hearing::Load | Hearing::Save => false,
        }
    }
}
