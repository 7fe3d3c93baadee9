//! What comes back: bodies of every kind, bounded and read as they come in.

use std::time::Duration;

use super::super::Failure;
use super::inflate::Inflate;
use crate::event::SkipReason;
use crate::interface::StatusCode;
use crate::wire::id_scan::answered_by;
use crate::wire::jsonrpc::{self, Message};
use crate::wire::sse::{SseData, SseDecoder, SseEvent};
use crate::wire::{BOM, headers};

/// How much of the body of an error answer is read.
const MAX_ERROR_BODY: usize = 64 * 1024;

/// Reads one body.
#[derive(Debug)]
pub(super) struct Reader {
    status: StatusCode,
    /// The request named a session, so that an unknown endpoint means that the session is gone.
    session: bool,
    challenge: Option<String>,
    limit: usize,
    content: Content,
    coding: Coding,
}

/// What the events of a stream have said besides their data, since the last look at it.
#[derive(Debug, Default)]
pub(super) struct Heard {
    /// The id from which the stream can go on; an empty one means none.
    pub(super) id: Option<String>,
    pub(super) retry: Option<Duration>,
    /// Something of use came.
    pub(super) message: bool,
}

#[derive(Debug)]
enum Content {
    /// One JSON message, or a body of a kind that nobody has named.
    Whole { body: Vec<u8>, named: Option<String> },
    /// An event stream.
    Events(Box<SseDecoder>, Heard),
    /// The body of an error answer, or the first message of it if it is an event stream.
    Error { body: Vec<u8>, events: Option<Box<SseDecoder>> },
}

/// How the body is coded.
#[derive(Debug)]
enum Coding {
    Plain,
    Gzip(Box<Inflate>),
    /// In a way that was not asked for and cannot be undone.
    Unknown,
}

/// What reading has brought.
#[derive(Debug)]
pub(super) enum Read {
    /// The text of a message.
    Message(String),
    Bad {
        why: SkipReason,
        bytes: u64,
        answers: Option<u64>,
    },
    /// The address for messages, on the stream of HTTP+SSE.
    Endpoint(String),
    /// There is nothing of use in it, or nothing more.
    Failed(Failure),
    /// What has come decides, whatever follows.
    Enough,
}

/// How a body has come to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Complete,
    /// The connection broke.
    Broken,
}

pub(crate) fn header<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let found = headers.iter().find(|(n, _)| n.eq_ignore_ascii_case(name));
    found.map(|(_, value)| value.trim())
}

/// The session that a server opens, if its id may be sent back.
pub(super) fn session(all: &[(String, String)]) -> Option<String> {
    header(all, "mcp-session-id").filter(|id| headers::is_session_id(id)).map(String::from)
}

impl Reader {
    /// A reader for the answer with this head.
    ///
    /// # Errors
    /// When its body cannot be read.
    pub(super) fn new(
        status: StatusCode,
        all: &[(String, String)],
        session: bool,
        limit: usize,
    ) -> Result<Self, Failure> {
        let kind = header(all, "content-type");
        let events = kind.is_some_and(|kind| headers::is_media_type(kind, "text/event-stream"));
        let content = if !status.is_success() {
            let events = events.then(|| Box::new(SseDecoder::new(MAX_ERROR_BODY)));
            Content::Error { body: Vec::new(), events }
        } else if events {
            Content::Events(Box::new(SseDecoder::new(limit)), Heard::default())
        } else {
            let json = kind.is_some_and(|kind| headers::is_media_type(kind, "application/json"));
            let named = kind.filter(|kind| !json && !kind.is_empty()).map(crate::text::excerpt);
            Content::Whole { body: Vec::new(), named }
        };
        let named = header(all, "content-encoding").unwrap_or("identity").to_ascii_lowercase();
        let coding = match &*named {
            "" | "identity" => Coding::Plain,
            "gzip" | "x-gzip" => Coding::Gzip(Box::new(Inflate::new())),
            _ if !status.is_success() => Coding::Unknown,
            _ => {
                let what = format!("a body with the coding {:?}", crate::text::excerpt(&named));
                return Err(Failure::Unusable(what));
            }
        };
        let challenge = header(all, "www-authenticate").map(String::from);
        Ok(Reader { status, session, challenge, limit, content, coding })
    }

    /// How many bytes are kept.
    #[cfg(feature = "testing")]
    pub(super) fn held(&self) -> usize {
        match &self.content {
            Content::Whole { body, .. } | Content::Error { body, .. } => body.len(),
            Content::Events(decoder, _) => decoder.held(),
        }
    }

    pub(super) fn is_stream(&self) -> bool {
        matches!(self.content, Content::Events(..))
    }

    /// The status, if it is no success.
    pub(super) fn refused(&self) -> Option<u16> {
        (!self.status.is_success()).then_some(self.status.0)
    }

    /// What the events have said since the last look.
    pub(super) fn heard(&mut self) -> Heard {
        match &mut self.content {
            Content::Events(_, heard) => std::mem::take(heard),
            _ => Heard::default(),
        }
    }

    /// Takes bytes from the front of `input` until they bring something. `None` when all were taken.
    pub(super) fn read(&mut self, input: &mut &[u8]) -> Option<Read> {
        let inflate = match &mut self.coding {
            Coding::Plain => return self.content.take(input, self.limit),
            Coding::Gzip(inflate) => inflate,
            Coding::Unknown => return None,
        };
        loop {
            let mut ready = inflate.ready();
            let read = self.content.take(&mut ready, self.limit);
            let left = ready.len();
            inflate.keep(left);
            if read.is_some() {
                return read;
            }
            if !inflate.step(input) {
                // The status of an error answer counts, whatever its body is.
                let counts = inflate.is_broken() && !matches!(self.content, Content::Error { .. });
                return counts.then(|| unusable("a body that is said to be gzip and is not"));
            }
        }
    }

    /// The body has come to its end. Last comes the failure that it is for a request which nothing
    /// in it has answered.
    pub(super) fn end(mut self, how: End) -> Vec<Read> {
        let mut all = Vec::new();
        let mut complete = true;
        if let Coding::Gzip(inflate) = self.coding {
            let (rest, whole) = inflate.finish();
            complete = whole;
            let mut rest = &*rest;
            all.extend(std::iter::from_fn(|| self.content.take(&mut rest, self.limit)));
        }
        match self.content {
            Content::Events(mut decoder, _) => {
                // A last event without its blank line is no event; but if it is the answer, it is.
                let last = decoder.finish().map(|event| event.data);
                if let Some(SseData::Text(text)) = last.filter(is_answer) {
                    all.push(Read::Message(text));
                }
                let broken = how == End::Broken;
                all.push(Read::Failed(if broken { Failure::StreamBroken } else { Failure::Ended }));
            }
            Content::Whole { .. } if !complete => all.push(unusable("a gzip body that is cut off")),
            Content::Whole { body, named } => all.extend(whole(body, named.as_deref())),
            Content::Error { body, events } => {
                let body = match events.and_then(|mut decoder| decoder.finish()) {
                    Some(SseEvent { data: SseData::Text(text), .. }) if body.is_empty() => {
                        text.into_bytes()
                    }
                    _ => body,
                };
                all.push(error_answer(self.status, self.session, self.challenge, &body));
            }
        }
        all
    }
}

fn is_answer(data: &SseData) -> bool {
    let SseData::Text(text) = data else { return false };
    let answers = |message: &Message| matches!(message, Message::Response { .. });
    jsonrpc::read(text.clone()).is_ok_and(|read| read.messages.iter().any(answers))
}

fn unusable(what: impl Into<String>) -> Read {
    Read::Failed(Failure::Unusable(what.into()))
}

/// A body that is complete: a message, whatever its type says, or nothing of use.
fn whole(mut body: Vec<u8>, named: Option<&str>) -> Vec<Read> {
    let kind = named.map(|kind| format!(" of the type {kind:?}")).unwrap_or_default();
    let start = body.strip_prefix(BOM).unwrap_or(&body).trim_ascii_start();
    if start.is_empty() {
        return vec![unusable(format!("an empty answer{kind}"))];
    }
    if !start.starts_with(b"{") && !start.starts_with(b"[") {
        let what = named.map_or_else(
            || String::from("an answer that is not JSON"),
            |_| format!("an answer{kind}"),
        );
        return vec![unusable(what)];
    }
    let blank = body.len() - start.len();
    if blank > 0 {
        body.drain(..blank);
    }
    let message = match String::from_utf8(body) {
        Ok(text) => Read::Message(text),
        Err(error) => {
            let bytes = error.as_bytes();
            let (why, answers) = (SkipReason::NotUtf8, answered_by(bytes));
            Read::Bad { why, bytes: bytes.len() as u64, answers }
        }
    };
    vec![message, unusable("an answer that does not answer the request")]
}

/// An error status: the server's own JSON-RPC error where there is one and the status lets it
/// speak, else the status itself.
fn error_answer(status: StatusCode, session: bool, challenge: Option<String>, body: &[u8]) -> Read {
    let text = String::from_utf8_lossy(body);
    let own = jsonrpc::error_code(&text);
    if session && super::session::is_gone(status, &text) {
        return Read::Failed(Failure::SessionGone);
    }
    let speaks = matches!(status.0, 400..=499) && !matches!(status.0, 401 | 403);
    if own.is_some() && speaks {
        return Read::Message(text.into_owned());
    }
    let text = crate::text::excerpt(text.trim());
    Read::Failed(Failure::Status { status: status.0, challenge, text })
}

impl Content {
    /// Takes bytes from the front of `input` until they bring something.
    fn take(&mut self, input: &mut &[u8], limit: usize) -> Option<Read> {
        match self {
            Content::Events(decoder, heard) => loop {
                let event = decoder.decode(input)?;
                let message = event.is_message();
                heard.id = event.id.or(heard.id.take());
                heard.retry = event.retry.or(heard.retry);
                heard.message |= message && event.data != SseData::None;
                match event.data {
                    SseData::Text(text) if event.kind.as_deref() == Some("endpoint") => {
                        return Some(Read::Endpoint(text));
                    }
                    _ if !message => {}
                    SseData::None => {}
                    SseData::Text(text) => return Some(Read::Message(text)),
                    SseData::Bad { why, bytes, answers } => {
                        return Some(Read::Bad { why, bytes, answers });
                    }
                }
            },
            Content::Whole { body, .. } => {
                let bytes = std::mem::take(input);
                if bytes.len() > limit - body.len() {
                    *body = Vec::new();
                    return Some(Read::Failed(Failure::TooLarge));
                }
                body.extend_from_slice(bytes);
                None
            }
            Content::Error { body, events: None } => {
                let bytes = std::mem::take(input);
                let room = MAX_ERROR_BODY.saturating_sub(body.len());
                body.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
                (bytes.len() >= room).then_some(Read::Enough)
            }
            Content::Error { body, events: Some(decoder) } => loop {
                let event = decoder.decode(input)?;
                match event.data {
                    SseData::Text(ref text) if event.is_message() => {
                        *body = text.clone().into_bytes();
                        return Some(Read::Enough);
                    }
                    SseData::Bad { .. } => return Some(Read::Enough),
                    _ => {}
                }
            },
        }
    }
}
