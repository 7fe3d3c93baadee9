//! What a server says of itself, in either era (specification: server/discover; lifecycle of the
//! legacy revisions).

use alloc::sync::Arc;

use serde_json::{Map, Value};

use super::Implementation;
use crate::{Era, ProtocolVersion};

/// A server, as it introduced itself when the connection began.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ServerInfo {
    /// Which era it speaks.
    pub era: Era,
    /// Which revision was agreed on.
    pub version: ProtocolVersion,
    /// Its name and version. A modern server may withhold them.
    pub implementation: Option<Implementation>,
    /// What it offers.
    pub capabilities: ServerCapabilities,
    /// How it wants to be used, for a model to read.
    pub instructions: Option<String>,
}

/// What a server offers (specification: schema, `ServerCapabilities`), with everything in it that
/// this client does not know.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ServerCapabilities(Arc<Map<String, Value>>);

impl ServerCapabilities {
    /// The capabilities as they were sent.
    #[must_use]
    pub fn new(members: Map<String, Value>) -> Self {
        ServerCapabilities(Arc::new(members))
    }

    /// Whether a capability, such as `["resources", "subscribe"]`, is offered: every step leads to
    /// a member that is neither `null` nor `false`.
    #[must_use]
    pub fn has(&self, path: &[&str]) -> bool {
        let mut members = Some(&*self.0);
        for (place, step) in path.iter().enumerate() {
            match members.and_then(|m| m.get(*step)) {
                None | Some(Value::Null | Value::Bool(false)) => return false,
                Some(Value::Object(inner)) => members = Some(inner),
                Some(_) => return place + 1 == path.len(),
            }
        }
        true
    }

    /// All members.
    #[must_use]
    pub fn members(&self) -> &Map<String, Value> {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// M-CAP-06
    #[test]
    fn nested_capabilities_can_be_asked_for() {
        let text =
            r#"{"tools":{},"resources":{"subscribe":true,"listChanged":false},"logging":null}"#;
        let capabilities = ServerCapabilities::new(serde_json::from_str(text).unwrap());
        assert!(capabilities.has(&["tools"]));
        assert!(capabilities.has(&["resources", "subscribe"]));
        assert!(!capabilities.has(&["resources", "listChanged"]));
        assert!(!capabilities.has(&["resources", "subscribe", "deeper"]));
        assert!(!capabilities.has(&["logging"]));
        assert!(!capabilities.has(&["prompts"]));
    }
}
