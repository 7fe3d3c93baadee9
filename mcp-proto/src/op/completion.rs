//! Completing arguments (specification: server/utilities/completion).

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Operation, Params, Reply, Spec, Wire};
use crate::model::{Completion, CompletionReference};
use crate::{ApiMisuse, Error};

pub(super) static COMPLETE: Spec = Spec {
    name: "completion/complete",
    modern: Wire::Request("completion/complete"),
    legacy: Wire::Request("completion/complete"),
    paged: None,
    may_ask: false,
    idempotent: true,
    needs: &["completions"],
};

/// Asks what an argument of a prompt or of a URI template could be.
///
/// A host that asks at each key press waits for a pause of its user's first: nothing here limits
/// how often a server is asked. Servers that offer no completions are not asked. A modern server
/// says for how long its offer counts; after that, or if it does not say it, each completion is two
/// requests: `server/discover`, then this one (server/utilities/caching).
#[derive(Clone, Debug)]
pub struct Complete {
    reference: CompletionReference,
    argument: String,
    value: String,
    context: Map<String, Value>,
}

impl Complete {
    /// What could the argument with this name be, of which the value is the beginning?
    #[must_use]
    pub fn new(
        reference: CompletionReference,
        argument: impl Into<String>,
        value: impl Into<String>,
    ) -> Self {
        let (argument, value) = (argument.into(), value.into());
        Complete { reference, argument, value, context: Map::new() }
    }

    /// An argument that is settled already, on which the answer may depend (since 2025-06-18).
    #[must_use]
    pub fn given(mut self, argument: impl Into<String>, value: impl Into<String>) -> Self {
        self.context.insert(argument.into(), Value::String(value.into()));
        self
    }
}

#[derive(Deserialize)]
struct WireResult {
    #[serde(default)]
    completion: Option<Completion>,
}

impl Operation for Complete {
    type Output = Completion;

    fn spec(&self) -> &'static Spec {
        &COMPLETE
    }

    fn params(&self) -> Result<Params, ApiMisuse> {
        let mut params = json!({
            "ref": self.reference,
            "argument": { "name": self.argument, "value": self.value },
        });
        if !self.context.is_empty() {
            params["context"] = json!({ "arguments": self.context });
        }
        Ok(Params::text(params.to_string()))
    }

    /// An answer without a completion has no values.
    fn decode(&self, reply: &Reply) -> Result<Completion, Error> {
        let raw = reply.result()?;
        let result: Result<WireResult, _> = raw.parse();
        let result = result.map_err(|error| Error::result(crate::wire::json_trouble(&error)))?;
        Ok(result.completion.unwrap_or_default())
    }
}
