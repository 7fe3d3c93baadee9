//! What a server wants from the host's model (specification: client/sampling).

use alloc::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Content, Role, null_is_default};
use crate::Raw;

/// A server wants something from the host's model.
///
/// The user should see what is asked and what is answered, and be able to refuse; how often a
/// server may ask, and how many rounds of tools it gets, is the host's to limit. Nothing is kept
/// here between two requests.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SamplingRequest {
    /// Which server asks, by the name in its configuration. Tell the user.
    pub server: Arc<str>,
    /// The conversation so far. Its order and its tool results have been checked.
    pub messages: Vec<SamplingMessage>,
    /// Which model the server would like.
    pub preferences: ModelPreferences,
    /// What the model should be told first. It may be changed or ignored.
    pub system_prompt: Option<String>,
    /// How long the answer may be, in tokens. It must be kept.
    pub max_tokens: Option<u64>,
    /// The tools that the model may use, as they were sent; only when the host has said that it
    /// supports them.
    pub tools: Vec<Raw>,
    /// All parameters as they were sent: `temperature`, `stopSequences`, `metadata`, `toolChoice`,
    /// `includeContext` among them.
    pub raw: Raw,
}

impl SamplingRequest {
    /// How often the model has used tools since the user last said something else: what a host
    /// limits, so that a loop of tools comes to an end (client/sampling, "Tool Loop").
    #[must_use]
    pub fn tool_rounds(&self) -> usize {
        let uses = |message: &&SamplingMessage| {
            message.content.iter().any(|content| content.tool_use_id().is_some())
        };
        let told = |message: &&SamplingMessage| {
            let results = message.content.iter().any(|it| it.tool_result_id().is_some());
            message.role == Role::Assistant || results
        };
        self.messages.iter().rev().take_while(told).filter(uses).count()
    }
}

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SamplingMessage {
    /// Who says it.
    pub role: Role,
    /// What is said: one piece, or several.
    pub content: Vec<Content>,
    /// The whole message as it was sent, with `_meta`.
    pub raw: Raw,
}

/// Which model a server would like (specification: client/sampling, "Model Preferences").
///
/// Hints are tried in their order, and the first that fits wins: one fits a model whose name
/// contains it. They come before the priorities.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ModelPreferences {
    /// Names of models or families, the best first.
    pub hints: Vec<String>,
    /// How much a low price matters, from 0 to 1.
    pub cost_priority: Option<f64>,
    /// How much speed matters, from 0 to 1.
    pub speed_priority: Option<f64>,
    /// How much ability matters, from 0 to 1.
    pub intelligence_priority: Option<f64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct WirePreferences {
    #[serde(deserialize_with = "null_is_default")]
    hints: Vec<Value>,
    cost_priority: Option<f64>,
    speed_priority: Option<f64>,
    intelligence_priority: Option<f64>,
}

impl ModelPreferences {
    /// Reads preferences. They are wishes: what cannot be read is none, and what is out of range is
    /// brought into it.
    pub(crate) fn read(preferences: &Raw) -> Self {
        let wire: WirePreferences = preferences.parse().unwrap_or_default();
        let name = |hint: &Value| hint.get("name").and_then(Value::as_str).map(String::from);
        let clamp = |priority: Option<f64>| priority.map(|value| value.clamp(0.0, 1.0));
        ModelPreferences {
            hints: wire.hints.iter().filter_map(name).collect(),
            cost_priority: clamp(wire.cost_priority),
            speed_priority: clamp(wire.speed_priority),
            intelligence_priority: clamp(wire.intelligence_priority),
        }
    }

    /// The first of these models that a hint fits, by the rules for hints.
    #[must_use]
    pub fn choose<'a>(&self, models: &[&'a str]) -> Option<&'a str> {
        let fits =
            |hint: &String| models.iter().copied().find(|model| model.contains(hint.as_str()));
        self.hints.iter().find_map(fits)
    }
}

/// What the host's model said.
///
/// It is a result of `sampling/createMessage` in JSON. A text alone will do, and what is missing is
/// filled in: the role `assistant`, the model `unknown`, the reason `endTurn` (`toolUse` when the
/// model wants to use tools). `null` says that the user has refused.
#[derive(Clone, Debug, PartialEq)]
pub struct SamplingResult(Value);

impl SamplingResult {
    /// The model said this.
    #[must_use]
    pub fn text(text: impl Into<String>, model: impl Into<String>) -> Self {
        let (text, model) = (text.into(), model.into());
        SamplingResult(json!({ "content": { "type": "text", "text": text }, "model": model }))
    }

    /// The user has refused.
    #[must_use]
    pub fn refused() -> Self {
        SamplingResult(Value::Null)
    }
}

impl From<Value> for SamplingResult {
    fn from(answer: Value) -> Self {
        SamplingResult(answer)
    }
}

impl From<Map<String, Value>> for SamplingResult {
    fn from(answer: Map<String, Value>) -> Self {
        SamplingResult(Value::Object(answer))
    }
}

impl From<SamplingResult> for Value {
    fn from(result: SamplingResult) -> Self {
        result.0
    }
}
