//! What a server wants from the user (specification: client/elicitation).

use alloc::sync::Arc;

use serde_json::{Map, Value};

use crate::Raw;

/// A server wants something from the user.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ElicitRequest {
    /// Which server asks, by the name in its configuration. Tell the user.
    pub server: Arc<str>,
    /// What it says that it wants, for the user to read.
    pub message: String,
    /// How it wants to have it.
    pub mode: ElicitMode,
    /// The parameters as they were sent.
    pub raw: Raw,
}

/// How a server wants to have something from the user.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ElicitMode {
    /// By a form. The answer goes through this client, so it must hold nothing secret.
    Form {
        /// Its JSON Schema, as it was sent: a flat object of texts, numbers, yes-or-no and choices.
        /// What is filled in is checked against it before it is sent, and defaults are filled in.
        schema: Raw,
    },
    /// On a page that the user visits. The answer is consent to visit it, and nothing more; what
    /// the user does there never comes past this client.
    ///
    /// Show the whole address, open it only when the user agrees, in a browser that this program
    /// cannot look into, and never fetch it before.
    Url {
        /// The address. It is a URL.
        url: String,
        /// How a legacy server refers to this request later
        /// (`notifications/elicitation/complete`).
        elicitation_id: Option<String>,
    },
}

impl ElicitRequest {
    /// Whether the user is to visit a page.
    #[must_use]
    pub fn is_url(&self) -> bool {
        matches!(self.mode, ElicitMode::Url { .. })
    }

    /// The domain that an address leads to, in the form in which it is looked up. Show it apart
    /// from the rest.
    #[must_use]
    pub fn domain(&self) -> Option<String> {
        match &self.mode {
            ElicitMode::Form { .. } => None,
            ElicitMode::Url { url, .. } => url::Url::parse(url).ok()?.domain().map(String::from),
        }
    }

    /// Whether the domain has letters beyond ASCII (it is written in Punycode), so that it may
    /// look like another one. Warn the user.
    #[must_use]
    pub fn is_domain_ambiguous(&self) -> bool {
        let domain = self.domain().unwrap_or_default();
        domain.split('.').any(|label| label.starts_with("xn--"))
    }
}

/// The user's answer to an [`ElicitRequest`].
///
/// A JSON object that has a text as its member `action` is taken as it is: `accept` with `content`,
/// `decline`, or `cancel`, which any other action also means. Any other object is the content of a
/// form, and accepts it.
#[derive(Clone, Debug, PartialEq)]
pub struct ElicitResult(Value);

impl ElicitResult {
    /// The user agrees. For a form this is what was filled in; for a page it is empty.
    #[must_use]
    pub fn accept(content: Map<String, Value>) -> Self {
        ElicitResult(serde_json::json!({ "action": "accept", "content": content }))
    }

    /// The user refuses.
    #[must_use]
    pub fn decline() -> Self {
        ElicitResult(serde_json::json!({ "action": "decline" }))
    }

    /// The user has not decided, such as by closing the dialog.
    #[must_use]
    pub fn cancel() -> Self {
        ElicitResult(serde_json::json!({ "action": "cancel" }))
    }

    /// Adds metadata to the answer.
    #[must_use]
    pub fn with_meta(mut self, meta: Map<String, Value>) -> Self {
        if let Value::Object(members) = &mut self.0 {
            members.insert(String::from("_meta"), Value::Object(meta));
        }
        self
    }
}

impl From<Value> for ElicitResult {
    fn from(answer: Value) -> Self {
        ElicitResult(answer)
    }
}

impl From<Map<String, Value>> for ElicitResult {
    fn from(content: Map<String, Value>) -> Self {
        ElicitResult::accept(content)
    }
}

impl From<ElicitResult> for Value {
    fn from(result: ElicitResult) -> Self {
        result.0
    }
}
