//! JSON-RPC 2.0 messages (specification: basic, "Messages").

use std::borrow::Cow;
use std::fmt::{self, Write as _};

use serde::de::{self, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::scan::{self, NotPlain};
use crate::Raw;

/// A message of the server's. What it carries is left as it was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// A request: it wants an answer with the same id.
    Request {
        /// The id, as it was sent.
        id: Raw,
        /// The method.
        method: String,
        /// The parameters, if there are any.
        params: Option<Raw>,
    },
    /// A notification: it must not be answered.
    Notification {
        /// The method.
        method: String,
        /// The parameters, if there are any.
        params: Option<Raw>,
    },
    /// The answer to a request.
    Response {
        /// The request that it answers. `None` when the id is absent, `null`, or none of this
        /// client's.
        id: Option<u64>,
        /// The result, or the error object.
        outcome: Result<Raw, Raw>,
    },
}

/// The messages of one line: one, or several where an old server sends a batch.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Messages {
    /// The messages, in order.
    pub messages: Vec<Message>,
    /// The elements that were no messages: the request that each answers, as far as can be told.
    pub malformed: Vec<Option<u64>>,
}

/// What a line holds.
#[derive(Debug)]
pub(crate) enum Line {
    /// The usual case: one message.
    One(Message),
    /// A batch, or something that is no message.
    Other(Messages),
}

/// Reads a line.
///
/// # Errors
/// The line, when it is no JSON.
pub fn read(line: String) -> Result<Messages, String> {
    Ok(match read_line(line)? {
        Line::One(message) => Messages { messages: vec![message], malformed: Vec::new() },
        Line::Other(messages) => messages,
    })
}

/// Reads a line, as [`read`] does.
pub(crate) fn read_line(line: String) -> Result<Line, String> {
    let raw = Raw::new(line);
    let mut read = Messages::default();
    let json = if raw.as_str().trim_ascii_start().starts_with('[') {
        let elements: Result<Vec<&RawValue>, _> = serde_json::from_str(raw.as_str());
        let elements = elements.map(|all| all.into_iter().map(RawValue::get));
        elements.is_ok_and(|all| all.into_iter().all(|text| read.add(text, read_one(&raw, text))))
    } else {
        match read_one(&raw, raw.as_str()) {
            Ok(Some(message)) => return Ok(Line::One(message)),
            other => read.add(raw.as_str(), other),
        }
    };
    if json { Ok(Line::Other(read)) } else { Err(String::from(raw.as_str())) }
}

impl Messages {
    /// Adds what a text was read as. `false` when it is no JSON.
    fn add(&mut self, text: &str, read: Result<Option<Message>, serde_json::Error>) -> bool {
        match read {
            Ok(Some(message)) => self.messages.push(message),
            Err(error) if error.is_syntax() || error.is_eof() => return false,
            Ok(None) | Err(_) => self.malformed.push(super::id_scan::answered_by(text.as_bytes())),
        }
        true
    }
}

fn read_one(raw: &Raw, text: &str) -> Result<Option<Message>, serde_json::Error> {
    let Envelope { id, method, params, result, error } = match Envelope::scan(text) {
        Ok(envelope) => envelope,
        Err(NotPlain) => serde_json::from_str(text)?,
    };
    let cut = |part: &str| raw.cut(part);
    let message = match (method, id) {
        (Some(method), None) => {
            Message::Notification { method: method.into_owned(), params: params.map(cut) }
        }
        (Some(method), Some(id)) if !id.starts_with(['{', '[', 't', 'f']) => {
            Message::Request { id: cut(id), method: method.into_owned(), params: params.map(cut) }
        }
        (Some(_), Some(_)) => return Ok(None),
        (None, id) => {
            let id = id.and_then(|id| own_id(id.trim_matches('"')));
            let outcome = match (error, result) {
                (Some(error), _) => Err(cut(error)),
                (None, Some(result)) => Ok(cut(result)),
                (None, None) => return Ok(None),
            };
            Message::Response { id, outcome }
        }
    };
    Ok(Some(message))
}

/// The code of an error response; `None` for any other text.
pub(crate) fn error_code(text: &str) -> Option<i64> {
    let raw = Raw::new(text);
    match read_one(&raw, raw.as_str()) {
        Ok(Some(Message::Response { outcome: Err(error), .. })) => {
            Some(crate::ServerError::read(&error).code)
        }
        _ => None,
    }
}

/// The id of this client's that a server's text means: `7`, `"7"` and `7.0` are the same, since
/// this client sends numbers only.
pub(crate) fn own_id(text: &str) -> Option<u64> {
    let digits = match text.split_once('.') {
        Some((whole, zeros)) if zeros.bytes().all(|b| b == b'0') && !zeros.is_empty() => whole,
        Some(_) => return None,
        None => text,
    };
    let leads = digits.len() > 1 && digits.starts_with('0');
    if leads || digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    digits.parse().ok()
}

/// The members of a message that count. `null` is kept apart from absence where it matters:
/// an `id` that is `null` counts as absent, a `result` that is `null` does not.
struct Envelope<'a> {
    id: Option<&'a str>,
    method: Option<Cow<'a, str>>,
    params: Option<&'a str>,
    result: Option<&'a str>,
    error: Option<&'a str>,
}

impl<'a> Envelope<'a> {
    /// Finds the members without parsing what they hold: whoever reads a result parses it then.
    fn scan(text: &'a str) -> Result<Self, NotPlain> {
        let names = ["id", "method", "params", "result", "error"];
        let [id, method, params, result, error] = scan::members(text, names)?;
        let unless_null = |value: Option<&'a str>| value.filter(|value| *value != "null");
        let method = match unless_null(method) {
            None => None,
            Some(method) => Some(Cow::Borrowed(scan::plain_text(method).ok_or(NotPlain)?)),
        };
        // An id decides who is answered, so it is more than found: a number or a plain text.
        let id = unless_null(id);
        let is_id = |id: &str| scan::plain_text(id).is_some() || own_id(id).is_some();
        if id.is_some_and(|id| !is_id(id)) {
            return Err(NotPlain);
        }
        let (params, error) = (unless_null(params), unless_null(error));
        Ok(Envelope { id, method, params, result, error })
    }
}

impl<'de> de::Deserialize<'de> for Envelope<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(EnvelopeVisitor)
    }
}

struct EnvelopeVisitor;

impl<'de> Visitor<'de> for EnvelopeVisitor {
    type Value = Envelope<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON-RPC message")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Envelope<'de>, A::Error> {
        let mut all = Envelope { id: None, method: None, params: None, result: None, error: None };
        while let Some(key) = map.next_key::<Key>()? {
            match key {
                Key::Id => set(&mut all.id, &mut map)?,
                Key::Params => set(&mut all.params, &mut map)?,
                Key::Error => set(&mut all.error, &mut map)?,
                Key::Result => {
                    let value: &RawValue = map.next_value()?;
                    once(&mut all.result, value.get())?;
                }
                Key::Method => {
                    if let Some(Text(method)) = map.next_value()? {
                        once(&mut all.method, method)?;
                    }
                }
                Key::Other => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(all)
    }
}

/// Reads a member that counts as absent when it is `null`.
fn set<'de, A: MapAccess<'de>>(place: &mut Option<&'de str>, map: &mut A) -> Result<(), A::Error> {
    let value: &'de RawValue = map.next_value()?;
    if value.get() == "null" { Ok(()) } else { once(place, value.get()) }
}

/// A member that stands twice makes the message ambiguous, and so invalid.
fn once<T, E: de::Error>(place: &mut Option<T>, value: T) -> Result<(), E> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(E::custom("a member stands twice")),
    }
}

struct Text<'a>(Cow<'a, str>);

impl<'de> de::Deserialize<'de> for Text<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor;
        impl<'de> Visitor<'de> for TextVisitor {
            type Value = Text<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_borrowed_str<E: de::Error>(self, text: &'de str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Borrowed(text)))
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(String::from(text))))
            }
        }
        deserializer.deserialize_str(TextVisitor)
    }
}

enum Key {
    Id,
    Method,
    Params,
    Result,
    Error,
    Other,
}

impl<'de> de::Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeyVisitor;
        impl Visitor<'_> for KeyVisitor {
            type Value = Key;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a member name")
            }
            fn visit_str<E: de::Error>(self, name: &str) -> Result<Key, E> {
                Ok(match name {
                    "id" => Key::Id,
                    "method" => Key::Method,
                    "params" => Key::Params,
                    "result" => Key::Result,
                    "error" => Key::Error,
                    _ => Key::Other,
                })
            }
        }
        deserializer.deserialize_identifier(KeyVisitor)
    }
}

/// Writes a request as one line. `params` must be the text of a JSON object.
#[must_use]
pub fn request_line(id: u64, method: &str, params: &str) -> Vec<u8> {
    request_line_with(id, method, params.len(), |line| push_flat(line, params))
}

/// Writes a request as one line, with parameters of about this length that `params` appends.
pub(crate) fn request_line_with(
    id: u64,
    method: &str,
    length: usize,
    params: impl FnOnce(&mut String),
) -> Vec<u8> {
    let mut line = String::with_capacity(length + method.len() + 64);
    line.push_str(r#"{"jsonrpc":"2.0","id":"#);
    push_number(&mut line, id);
    push_method(&mut line, method);
    line.push_str(r#","params":"#);
    params(&mut line);
    line.push_str("}\n");
    line.into_bytes()
}

fn push_number(line: &mut String, number: u64) {
    // Writing to a text cannot fail.
    let _ = write!(line, "{number}");
}

/// Writes a notification as one line. Without `params` the member is left out.
#[must_use]
pub fn notification_line(method: &str, params: Option<&str>) -> Vec<u8> {
    let mut line = String::from(r#"{"jsonrpc":"2.0""#);
    push_method(&mut line, method);
    if let Some(params) = params {
        line.push_str(r#","params":"#);
        push_flat(&mut line, params);
    }
    line.push_str("}\n");
    line.into_bytes()
}

/// Writes the answer to a request of the server's as one line. The id is echoed as it came.
#[must_use]
pub fn response_line(id: &Raw, outcome: Result<&str, (i64, &str)>) -> Vec<u8> {
    let mut line = String::from(r#"{"jsonrpc":"2.0","id":"#);
    push_flat(&mut line, id.as_str());
    match outcome {
        Ok(result) => {
            line.push_str(r#","result":"#);
            push_flat(&mut line, result);
        }
        Err((code, message)) => {
            line.push_str(r#","error":{"code":"#);
            line.push_str(&code.to_string());
            line.push_str(r#","message":"#);
            push_string(&mut line, message);
            line.push('}');
        }
    }
    line.push_str("}\n");
    line.into_bytes()
}

fn push_method(line: &mut String, method: &str) {
    line.push_str(r#","method":"#);
    push_string(line, method);
}

/// Appends a text as a JSON string.
pub(crate) fn push_string(line: &mut String, text: &str) {
    if text.bytes().all(|b| (b' '..0x7f).contains(&b) && b != b'"' && b != b'\\') {
        line.push('"');
        line.push_str(text);
        line.push('"');
        return;
    }
    line.push_str(&serde_json::Value::from(text).to_string());
}

/// Appends JSON text. A line end in it can only be white space between tokens, and would cut the
/// message in two, so it becomes a blank.
pub(crate) fn push_flat(line: &mut String, json: &str) {
    if memchr::memchr2(b'\n', b'\r', json.as_bytes()).is_none() {
        line.push_str(json);
    } else {
        line.extend(json.chars().map(|c| if c == '\n' || c == '\r' { ' ' } else { c }));
    }
}
