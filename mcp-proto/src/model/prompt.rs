//! Prompts (specification: server/prompts).

use serde::Deserialize;

use super::{Content, Icon, null_is_default, object};
use crate::Raw;

/// A prompt, as its server lists it (specification: server/prompts, "Prompt").
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct Prompt {
    /// The name by which it is asked for.
    pub name: String,
    /// The name, for people.
    #[serde(default)]
    pub title: Option<String>,
    /// What it is for.
    #[serde(default)]
    pub description: Option<String>,
    /// What can be filled in.
    #[serde(default, deserialize_with = "null_is_default")]
    pub arguments: Vec<PromptArgument>,
    /// Pictures of it.
    #[serde(default, deserialize_with = "null_is_default")]
    pub icons: Vec<Icon>,
    /// The whole entry as it was sent, with `_meta` and unknown members.
    #[serde(skip, default = "Raw::nothing")]
    pub raw: Raw,
}

/// What can be filled in in a prompt.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct PromptArgument {
    /// The name.
    pub name: String,
    /// The name, for people.
    #[serde(default)]
    pub title: Option<String>,
    /// What it is.
    #[serde(default)]
    pub description: Option<String>,
    /// Whether the prompt cannot do without it.
    #[serde(default, deserialize_with = "null_is_default")]
    pub required: bool,
}

impl Prompt {
    pub(crate) fn read(raw: Raw) -> Result<Self, serde_json::Error> {
        let prompt = object(raw.as_str())?;
        Ok(Prompt { raw, ..prompt })
    }

    /// The name to show to people: the title, else the name.
    #[must_use]
    pub fn display_name(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.name)
    }
}

/// What a server answered to `prompts/get`.
///
/// The messages are handed on as they are, and nothing in them is acted upon: what a server puts
/// into a prompt is its own, and reaches a model only by the host's doing.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct GetPromptResult {
    /// What the prompt is for.
    pub description: Option<String>,
    /// The messages, in order.
    pub messages: Vec<PromptMessage>,
    /// What is wrong with the messages that were left out because they are malformed.
    pub malformed: Vec<String>,
    /// The whole result as it was sent, with `_meta` and unknown members.
    pub raw: Raw,
}

/// One message of a prompt, or of a conversation.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PromptMessage {
    /// Who says it: `user` or `assistant`.
    pub role: Role,
    /// What is said.
    pub content: Content,
}

/// Who says a message (specification: schema, `Role`).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Role {
    /// The user.
    User,
    /// The model.
    Assistant,
    /// A role that this client does not know.
    Other(String),
}

impl Role {
    /// The role by its name on the wire.
    #[must_use]
    pub fn new(name: &str) -> Self {
        match name {
            "user" => Role::User,
            "assistant" => Role::Assistant,
            other => Role::Other(String::from(other)),
        }
    }

    /// The name on the wire.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Role::User => "user",
            Role::Assistant => "assistant",
            Role::Other(name) => name,
        }
    }
}
