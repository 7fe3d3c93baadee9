//! Requests of the host's own choice.

use serde_json::{Map, Value};

use super::{Operation, Params, Reply, Spec, Wire};
use crate::{ApiMisuse, Error, Raw};

pub(super) static SPEC: Spec = Spec {
    name: "custom",
    modern: Wire::Custom,
    legacy: Wire::Custom,
    paged: None,
    may_ask: false,
    idempotent: false,
    needs: &[],
};

/// What a request is about, by the methods for which intermediaries may route by it
/// (basic/transports/streamable-http, "Standard Request Headers"; extensions/tasks).
fn subject(method: &str, params: &Map<String, Value>) -> Option<String> {
    let member = match method {
        "tools/call" | "prompts/get" => "name",
        "resources/read" => "uri",
        "tasks/get" | "tasks/update" | "tasks/cancel" => "taskId",
        _ => return None,
    };
    params.get(member)?.as_str().map(String::from)
}

/// A request with any method and parameters. The connection adds the metadata of its era.
#[derive(Clone, Debug)]
pub struct CustomRequest {
    method: String,
    params: Map<String, Value>,
}

impl CustomRequest {
    /// A request with this method and these parameters.
    #[must_use]
    pub fn new(method: impl Into<String>, params: Map<String, Value>) -> Self {
        CustomRequest { method: method.into(), params }
    }
}

impl Operation for CustomRequest {
    type Output = Raw;

    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn params(&self) -> Result<Params, ApiMisuse> {
        let mut params = Params::object(self.params.clone());
        // The handshake belongs to the connection: a second one would change what it rests on.
        let forbidden = ["initialize", "subscriptions/listen"];
        if self.method.is_empty() || forbidden.contains(&&*self.method) {
            let why = String::from("the connection sends this method itself");
            return Err(ApiMisuse::Params { method: self.method.clone(), why });
        }
        params.method = Some(self.method.clone());
        params.name = subject(&self.method, &self.params);
        Ok(params)
    }

    fn decode(&self, reply: &Reply) -> Result<Raw, Error> {
        // Nobody else parses it: what is handed on must be JSON.
        let raw = reply.result()?;
        raw.check()?;
        Ok(raw.clone())
    }
}
