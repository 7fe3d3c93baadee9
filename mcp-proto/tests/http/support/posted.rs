//! What the client has sent, as a server sees it.

use mcp_proto::{ExchangeId, HttpRequest, Method, Owner};
use serde_json::Value;

/// A request of HTTP that the client wants sent.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Posted {
    pub(crate) exchange: ExchangeId,
    pub(crate) owner: Owner,
    pub(crate) request: HttpRequest,
    /// The message in its body; `null` for none.
    pub(crate) message: Value,
}

impl Posted {
    pub(crate) fn new(exchange: ExchangeId, owner: Owner, request: HttpRequest) -> Self {
        let message = match request.method {
            Method::Post => serde_json::from_slice(&request.body).expect("JSON"),
            _ => Value::Null,
        };
        Posted { exchange, owner, request, message }
    }

    pub(crate) fn method(&self) -> &str {
        self.message["method"].as_str().unwrap_or_default()
    }

    pub(crate) fn id(&self) -> &Value {
        &self.message["id"]
    }

    pub(crate) fn params(&self) -> &Value {
        &self.message["params"]
    }

    pub(crate) fn meta(&self) -> &Value {
        &self.message["params"]["_meta"]
    }

    /// The value of a header, whatever the case of its name.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.request.headers.iter().filter(|(n, _)| n.eq_ignore_ascii_case(name));
        let value = found.next().map(|(_, value)| value.as_str());
        assert_eq!(found.next(), None, "the header {name} is sent twice");
        value
    }

    pub(crate) fn line(&self) -> String {
        let headers: Vec<_> =
            self.request.headers.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        let (exchange, owner) = (self.exchange, self.owner);
        let (method, url) = (self.request.method.as_str(), &self.request.url);
        let body = String::from_utf8_lossy(&self.request.body);
        format!("{exchange} of {owner:?}: {method} {url} [{}] {body}", headers.join(", "))
    }
}
