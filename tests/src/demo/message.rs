//! The JSON-RPC envelope: messages in, answers out.

use std::io::{self, Write};

use serde_json::{Value, json};

pub(super) const PARSE_ERROR: i64 = -32700;
pub(super) const INVALID_REQUEST: i64 = -32600;
pub(super) const METHOD_NOT_FOUND: i64 = -32601;
pub(super) const INVALID_PARAMS: i64 = -32602;
pub(super) const LEGACY_RESOURCE_NOT_FOUND: i64 = -32002;
pub(super) const UNSUPPORTED_PROTOCOL_VERSION: i64 = -32022;

/// A message from the client, sorted by kind.
#[derive(Debug)]
pub(super) enum Incoming {
    Blank,
    Request {
        id: Value,
        method: String,
        params: Value,
    },
    Notification {
        method: String,
        params: Value,
    },
    /// The demo server asks nothing, so an answer is for nobody.
    Response,
}

/// Absent `params` read as null, which has no members either.
pub(super) fn parse(message: &[u8]) -> Result<Incoming, Failure> {
    if message.trim_ascii().is_empty() {
        return Ok(Incoming::Blank);
    }
    let mut message: Value = serde_json::from_slice(message)
        .map_err(|error| Failure::new(PARSE_ERROR, format!("Parse error: {error}")))?;
    let invalid = |what: &str| Failure::new(INVALID_REQUEST, format!("Invalid request: {what}"));
    let Some(members) = message.as_object_mut() else {
        return Err(invalid("a message is one JSON object"));
    };
    if members.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Err(invalid("`jsonrpc` is not \"2.0\""));
    }
    let params = members.remove("params").unwrap_or_default();
    let method = match members.remove("method") {
        Some(Value::String(method)) => method,
        Some(_) => return Err(invalid("`method` is not a string")),
        None if members.contains_key("result") || members.contains_key("error") => {
            return Ok(Incoming::Response);
        }
        None => return Err(invalid("neither `method` nor `result` nor `error`")),
    };
    match members.remove("id") {
        None => Ok(Incoming::Notification { method, params }),
        Some(id) if id.is_string() || id.is_i64() || id.is_u64() => {
            Ok(Incoming::Request { id, method, params })
        }
        Some(_) => Err(invalid("`id` is neither a string nor an integer")),
    }
}

/// An error answer that has not met its request's id yet.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Failure {
    code: i64,
    message: String,
    data: Option<Value>,
}

impl Failure {
    pub(super) fn new(code: i64, message: impl Into<String>) -> Self {
        Failure { code, message: message.into(), data: None }
    }

    pub(super) fn invalid_params(message: impl Into<String>) -> Self {
        Failure::new(INVALID_PARAMS, message)
    }

    pub(super) fn unknown_method(method: &str) -> Self {
        Failure::new(METHOD_NOT_FOUND, format!("Method not found: {method}"))
    }

    pub(super) fn with_data(mut self, data: Value) -> Self {
        self.data = Some(data);
        self
    }

    pub(super) fn answer(self, id: Value) -> Outgoing {
        let mut error = json!({ "code": self.code, "message": self.message });
        if let Some(data) = self.data {
            error["data"] = data;
        }
        Outgoing::Message(json!({ "jsonrpc": "2.0", "id": id, "error": error }))
    }
}

/// A message to the client.
#[derive(Clone, Debug, PartialEq)]
pub enum Outgoing {
    /// One that is small enough to be held as a value.
    Message(Value),
    /// One with a long run of the letter `x` inside, which is never held in memory.
    Padded {
        /// The JSON text up to the run.
        before: String,
        /// The length of the run.
        filler: u64,
        /// The JSON text after it.
        after: String,
    },
}

impl Outgoing {
    /// A result, with the id of its request.
    pub(super) fn result(id: Value, result: Value) -> Self {
        Outgoing::Message(json!({ "jsonrpc": "2.0", "id": id, "result": result }))
    }

    /// `message`, with `filler` letters in the place of the last occurrence of `mark`.
    pub(super) fn padded(message: &Value, mark: &str, filler: u64) -> Option<Self> {
        let text = message.to_string();
        let (before, after) = text.rsplit_once(mark)?;
        Some(Outgoing::Padded { before: before.to_owned(), filler, after: after.to_owned() })
    }

    /// The message as a value, with the run filled in: for tests, and for small ones.
    pub fn to_value(&self) -> Value {
        match self {
            Outgoing::Message(message) => message.clone(),
            Outgoing::Padded { .. } => {
                let mut text = Vec::new();
                let written = self.write_to(&mut text);
                debug_assert!(written.is_ok(), "a vector takes every byte");
                serde_json::from_slice(&text).unwrap_or_default()
            }
        }
    }

    /// The code of the error that it is, if it is one.
    pub(super) fn error_code(&self) -> Option<i64> {
        match self {
            Outgoing::Message(message) => message.get("error")?.get("code")?.as_i64(),
            Outgoing::Padded { .. } => None,
        }
    }

    /// The length of the JSON text, in bytes.
    pub(super) fn text_length(&self) -> u64 {
        match self {
            Outgoing::Message(message) => message.to_string().len() as u64,
            Outgoing::Padded { before, filler, after } => {
                filler.saturating_add((before.len() + after.len()) as u64)
            }
        }
    }

    /// Writes the JSON text, without a newline.
    pub fn write_to(&self, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Outgoing::Message(message) => out.write_all(message.to_string().as_bytes()),
            Outgoing::Padded { before, filler, after } => {
                out.write_all(before.as_bytes())?;
                fill(out, b'x', *filler)?;
                out.write_all(after.as_bytes())
            }
        }
    }

    /// Writes the message as a line and flushes: a small one in a single write, so that the
    /// reader is woken once.
    pub fn write_line(&self, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Outgoing::Message(message) => {
                let mut line = message.to_string();
                line.push('\n');
                out.write_all(line.as_bytes())?;
            }
            Outgoing::Padded { .. } => {
                self.write_to(out)?;
                out.write_all(b"\n")?;
            }
        }
        out.flush()
    }
}

/// Writes `count` times the same byte, from a buffer of fixed size.
pub(crate) fn fill(out: &mut dyn Write, byte: u8, count: u64) -> io::Result<()> {
    const CHUNK: usize = 64 * 1024;
    let chunk = vec![byte; CHUNK.min(usize::try_from(count).unwrap_or(CHUNK))];
    let mut left = count;
    while left > 0 {
        let part = chunk.len().min(usize::try_from(left).unwrap_or(CHUNK));
        out.write_all(&chunk[..part])?;
        left -= part as u64;
    }
    Ok(())
}
