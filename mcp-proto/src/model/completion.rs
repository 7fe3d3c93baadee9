//! Completion of arguments (specification: server/utilities/completion).

use serde::{Deserialize, Serialize};

use super::{count, null_is_default};

/// What an argument belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type")]
#[non_exhaustive]
pub enum CompletionReference {
    /// A prompt, by its name.
    #[serde(rename = "ref/prompt")]
    Prompt {
        /// The name.
        name: String,
    },
    /// A resource, or a family of them.
    #[serde(rename = "ref/resource")]
    Resource {
        /// The address, or the URI template.
        uri: String,
    },
}

impl CompletionReference {
    /// A prompt, by its name.
    #[must_use]
    pub fn prompt(name: impl Into<String>) -> Self {
        CompletionReference::Prompt { name: name.into() }
    }

    /// A resource by its address, or a family of them by its URI template.
    #[must_use]
    pub fn resource(uri: impl Into<String>) -> Self {
        CompletionReference::Resource { uri: uri.into() }
    }
}

/// What an argument could be, in the server's order of relevance.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct Completion {
    /// The values. The specification allows 100 of them in an answer.
    #[serde(deserialize_with = "null_is_default")]
    pub values: Vec<String>,
    /// How many there are in all, if the server knows.
    #[serde(deserialize_with = "count")]
    pub total: Option<u64>,
    /// Whether there are more than these.
    #[serde(deserialize_with = "null_is_default")]
    pub has_more: bool,
}
