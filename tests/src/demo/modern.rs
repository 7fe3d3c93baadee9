//! Revision 2026-07-28: each request stands alone and says what it speaks.

use serde_json::{Value, json};

use super::message::{Failure, METHOD_NOT_FOUND, Outgoing, UNSUPPORTED_PROTOCOL_VERSION};
use super::{Action, Demo, Eras, Revision};

const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// Whether the request carries a key that only modern requests have.
pub(super) fn is_marked(params: &Value) -> bool {
    let meta = params.get("_meta");
    let has = |key| meta.and_then(|meta| meta.get(key)).is_some();
    has(PROTOCOL_VERSION) || has(CLIENT_CAPABILITIES)
}

/// The version that a request names.
pub(super) fn version_in(params: &Value) -> Option<&str> {
    params.get("_meta")?.get(PROTOCOL_VERSION)?.as_str()
}

/// The answer of a modern-only server to a legacy client, which shows its user nothing but this
/// text: so it names what the server speaks.
pub(super) fn refuse_initialize(params: &Value) -> Failure {
    let supported = [Revision::MODERN.name()];
    let text = format!(
        "Method not found: initialize. This server speaks {} only, which has no handshake",
        Revision::MODERN.name()
    );
    Failure::new(METHOD_NOT_FOUND, text).with_data(json!({
        "supported": supported,
        "requested": params.get("protocolVersion"),
    }))
}

impl Demo {
    /// What a client may ask for: the modern revision first, as it is preferred.
    pub(super) fn supported_versions(&self) -> Vec<&'static str> {
        let legacy = Revision::LEGACY.iter();
        let legacy = legacy.filter(|_| self.options.eras != Eras::Modern);
        let modern = std::iter::once(&Revision::MODERN);
        modern.chain(legacy).map(|it| it.name()).collect()
    }

    pub(super) fn modern_request(
        &self,
        id: &Value,
        method: &str,
        params: &Value,
    ) -> Result<Vec<Action>, Failure> {
        self.check_metadata(params)?;
        if method == "server/discover" {
            let result = json!({
                "supportedVersions": self.supported_versions(),
                "capabilities": super::catalog::capabilities(),
                "instructions": super::catalog::INSTRUCTIONS,
            });
            let result = self.finish(Revision::MODERN, result, true);
            return Ok(vec![Action::Send(Outgoing::result(id.clone(), result))]);
        }
        self.call_method(Revision::MODERN, id, method, params)
    }

    /// The version comes first: a request of another revision may lack what this one requires.
    pub(super) fn check_metadata(&self, params: &Value) -> Result<(), Failure> {
        let meta = params.get("_meta").unwrap_or(&Value::Null);
        let required = |key: &str| {
            let text = format!("Invalid params: _meta[\"{key}\"] is required");
            Failure::invalid_params(text)
        };
        let version = meta.get(PROTOCOL_VERSION).and_then(Value::as_str);
        let version = version.ok_or_else(|| required(PROTOCOL_VERSION))?;
        if version != Revision::MODERN.name() {
            let text = format!("Unsupported protocol version: {version}");
            return Err(Failure::new(UNSUPPORTED_PROTOCOL_VERSION, text).with_data(json!({
                "supported": self.supported_versions(),
                "requested": version,
            })));
        }
        let capabilities = meta.get(CLIENT_CAPABILITIES).filter(|it| it.is_object());
        capabilities.map(drop).ok_or_else(|| required(CLIENT_CAPABILITIES))
    }
}
