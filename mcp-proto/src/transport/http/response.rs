//! What comes back: bodies of every kind, bounded and read as they come in.

use std::io::Write as _;

use flate2::write::MultiGzDecoder;

use super::super::Failure;
use crate::event::SkipReason;
use crate::interface::StatusCode;
use crate::wire::sse::{SseData, SseDecoder};
use crate::wire::{headers, jsonrpc};

/// How much of the body of an error answer is read.
const MAX_ERROR_BODY: usize = 64 * 1024;
/// How much is inflated at once: what a few bytes become must not be there all at once.
const INFLATE_STEP: usize = 4 * 1024;

/// Reads one body.
#[derive(Debug)]
pub(super) struct Reader {
    status: StatusCode,
    /// The request named a session, so that an unknown endpoint means that the session is gone.
    session: bool,
    challenge: Option<String>,
    limit: usize,
    content: Content,
    /// `Content-Encoding: gzip`.
    inflater: Option<MultiGzDecoder<Vec<u8>>>,
}

#[derive(Debug)]
enum Content {
    /// One JSON message, or a body of a kind that nobody has named.
    Whole { body: Vec<u8>, named: Option<String> },
    /// An event stream.
    Events(Box<SseDecoder>),
    /// The body of an error answer.
    Error(Vec<u8>),
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
    /// There is nothing of use in it, or nothing more.
    Failed(Failure),
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
    pub(super) fn new(
        status: StatusCode,
        all: &[(String, String)],
        session: bool,
        limit: usize,
    ) -> Self {
        let kind = header(all, "content-type");
        let content = if !status.is_success() {
            Content::Error(Vec::new())
        } else if kind.is_some_and(|kind| headers::is_media_type(kind, "text/event-stream")) {
            Content::Events(Box::new(SseDecoder::new(limit)))
        } else {
            let json = kind.is_some_and(|kind| headers::is_media_type(kind, "application/json"));
            let named = kind.filter(|_| !json).map(crate::text::excerpt);
            Content::Whole { body: Vec::new(), named }
        };
        let gzip = header(all, "content-encoding").is_some_and(|c| c.eq_ignore_ascii_case("gzip"));
        Reader {
            status,
            session,
            challenge: header(all, "www-authenticate").map(String::from),
            limit,
            content,
            inflater: gzip.then(|| MultiGzDecoder::new(Vec::new())),
        }
    }

    pub(super) fn is_stream(&self) -> bool {
        matches!(self.content, Content::Events(_))
    }

    pub(super) fn read(&mut self, bytes: &[u8]) -> Vec<Read> {
        let mut all = Vec::new();
        let Some(inflater) = &mut self.inflater else {
            self.content.take(bytes, self.limit, &mut all);
            return all;
        };
        // A few bytes at a time: gzip makes at most about a thousand of one, so what is there at
        // once stays bounded, and so does what the content keeps.
        for step in bytes.chunks(INFLATE_STEP) {
            if inflater.write_all(step).and_then(|()| inflater.flush()).is_err() {
                all.push(unusable("a body that is said to be gzip and is not"));
                return all;
            }
            let inflated = std::mem::take(inflater.get_mut());
            self.content.take(&inflated, self.limit, &mut all);
            if matches!(all.last(), Some(Read::Failed(_))) {
                return all;
            }
        }
        all
    }

    /// The body is complete. Last comes the failure that it is for a request which nothing in it
    /// has answered.
    pub(super) fn end(mut self) -> Vec<Read> {
        let mut all = Vec::new();
        if let Some(inflater) = self.inflater.take() {
            match inflater.finish() {
                Ok(rest) => self.content.take(&rest, self.limit, &mut all),
                Err(_) => {
                    all.push(unusable("a gzip body that is cut off"));
                    return all;
                }
            }
        }
        match self.content {
            Content::Events(mut decoder) => {
                // A last event without its blank line is no event; but if it is the answer, it is.
                if let Some(SseData::Text(text)) = decoder.finish().map(|event| event.data) {
                    all.push(Read::Message(text));
                }
                all.push(Read::Failed(Failure::Ended));
            }
            Content::Whole { body, named } => all.extend(whole(body, named.as_deref())),
            Content::Error(body) => {
                all.push(error_answer(self.status, self.session, self.challenge, &body));
            }
        }
        all
    }
}

fn unusable(what: impl Into<String>) -> Read {
    Read::Failed(Failure::Unusable(what.into()))
}

/// A body that is complete: a message, whatever its type says, or nothing of use.
fn whole(body: Vec<u8>, named: Option<&str>) -> Vec<Read> {
    let kind = named.map(|kind| format!(" of the type {kind:?}")).unwrap_or_default();
    let start = body.trim_ascii_start();
    if start.is_empty() {
        return vec![unusable(format!("an empty answer{kind}"))];
    }
    if named.is_some() && !start.starts_with(b"{") && !start.starts_with(b"[") {
        return vec![unusable(format!("an answer{kind}"))];
    }
    let message = match String::from_utf8(body) {
        Ok(text) => Read::Message(text),
        Err(error) => {
            let bytes = error.as_bytes().len() as u64;
            Read::Bad { why: SkipReason::NotUtf8, bytes, answers: None }
        }
    };
    vec![message, unusable("an answer that does not answer the request")]
}

/// An error status: the server's own JSON-RPC error where there is one and the status lets it
/// speak, else the status itself.
fn error_answer(status: StatusCode, session: bool, challenge: Option<String>, body: &[u8]) -> Read {
    let text = String::from_utf8_lossy(body);
    let own = jsonrpc::error_code(&text);
    // A live endpoint that does not know the method says so; otherwise the session is gone.
    if status.0 == 404 && session && own != Some(-32601) {
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
    fn take(&mut self, mut bytes: &[u8], limit: usize, all: &mut Vec<Read>) {
        match self {
            Content::Events(decoder) => {
                while let Some(event) = decoder.decode(&mut bytes) {
                    let is_message = event.is_message();
                    match event.data {
                        _ if !is_message => {}
                        SseData::None => {}
                        SseData::Text(text) => all.push(Read::Message(text)),
                        SseData::Bad { why, bytes, answers } => {
                            all.push(Read::Bad { why, bytes, answers });
                        }
                    }
                }
            }
            Content::Whole { body, .. } => {
                if body.len() + bytes.len() > limit {
                    all.push(Read::Failed(Failure::TooLarge));
                } else {
                    body.extend_from_slice(bytes);
                }
            }
            Content::Error(body) => {
                let room = MAX_ERROR_BODY.saturating_sub(body.len());
                body.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
            }
        }
    }
}
