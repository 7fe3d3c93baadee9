//! Errors that the server sent.

use std::fmt;

use serde_json::Value;

use crate::Raw;

/// An error that the server sent.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ServerError {
    /// The code. An integer of any size that does not fit is kept in `raw`, and is 0 here.
    pub code: i64,
    /// The server's words; empty when it sent none.
    pub message: String,
    /// Any further information.
    pub data: Option<Value>,
    /// The whole error object as it was sent.
    pub raw: Raw,
}

impl ServerError {
    /// The meaning of the code, where the specification defines one.
    #[must_use]
    pub fn kind(&self) -> ServerErrorKind {
        match self.code {
            -32700 => ServerErrorKind::ParseError,
            -32600 => ServerErrorKind::InvalidRequest,
            -32601 => ServerErrorKind::MethodNotFound,
            -32602 => ServerErrorKind::InvalidParams,
            -32603 => ServerErrorKind::InternalError,
            -32002 => ServerErrorKind::ResourceNotFound,
            -32020 => ServerErrorKind::HeaderMismatch,
            -32021 => ServerErrorKind::MissingRequiredClientCapability,
            -32022 => ServerErrorKind::UnsupportedProtocolVersion,
            _ => ServerErrorKind::Other,
        }
    }

    /// Whether the code is one that only a server of a modern revision sends.
    #[must_use]
    pub fn is_modern(&self) -> bool {
        matches!(self.code, -32022..=-32020)
    }

    /// The versions that an [`UnsupportedProtocolVersion`](ServerErrorKind::UnsupportedProtocolVersion)
    /// error lists (`data.supported`); legacy servers send the same list with -32602.
    #[must_use]
    pub fn supported_versions(&self) -> Vec<String> {
        let listed = self.data.as_ref().and_then(|data| data.get("supported"));
        let listed = listed.and_then(Value::as_array).into_iter().flatten();
        listed.filter_map(Value::as_str).map(String::from).collect()
    }

    /// The capabilities that the server wants declared (`data.requiredCapabilities`).
    #[must_use]
    pub fn required_capabilities(&self) -> Option<&Value> {
        self.data.as_ref().and_then(|data| data.get("requiredCapabilities"))
    }
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = match self.kind() {
            ServerErrorKind::Other => String::new(),
            kind => format!(" ({kind:?})"),
        };
        if self.message.is_empty() {
            write!(f, "code {}{named}, without a message", self.code)
        } else {
            write!(f, "{} (code {}{named})", crate::text::excerpt(&self.message), self.code)
        }
    }
}

/// The meaning of a server's error code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServerErrorKind {
    /// -32700.
    ParseError,
    /// -32600.
    InvalidRequest,
    /// -32601.
    MethodNotFound,
    /// -32602; also an unknown tool, resource, prompt, cursor or task.
    InvalidParams,
    /// -32603.
    InternalError,
    /// -32002, which servers of 2025-11-25 and earlier send.
    ResourceNotFound,
    /// -32020.
    HeaderMismatch,
    /// -32021.
    MissingRequiredClientCapability,
    /// -32022.
    UnsupportedProtocolVersion,
    /// Any other code: it has no meaning that a client may assume.
    Other,
}
