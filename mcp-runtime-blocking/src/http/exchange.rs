//! One exchange, performed on the thread that has it.

use std::io::{ErrorKind, Read};
use std::sync::Arc;
use std::time::Duration;

use mcp_proto::driver::{Hub, Ticket, Want};
use mcp_proto::{HttpFailureKind, HttpInput, HttpRequest, Method, StatusCode};
use mcp_runtime_common::rustls;
use ureq::http::header::{CONTENT_LENGTH, TRANSFER_ENCODING};
use ureq::http::{self, HeaderMap, Response};
use ureq::{Body, BodyReader};

use super::Http;
use super::dial::Failure;
use super::line::{Facts, Line};

/// An exchange. Dropping it ends it.
pub(crate) struct Exchange {
    line: Arc<Line>,
    phase: Phase,
    /// Some of a body was handed in. Only then there may be a reason to read no further.
    said: bool,
}

enum Phase {
    /// Nothing was done yet.
    New(Box<HttpRequest>),
    /// The head was handed in.
    Body(Box<BodyReader<'static>>),
    Over,
}

/// What follows what was read.
enum Rest {
    More,
    End,
    Failed(ureq::Error),
}

impl Exchange {
    pub(crate) fn new(hub: &Arc<Hub>, ticket: Ticket) -> Self {
        let line = Line::new(Arc::clone(hub), Some((ticket.id, ticket.wanted)));
        Exchange { line, phase: Phase::New(ticket.request), said: false }
    }

    /// Does the next thing, which blocks until it is done or the exchange is stopped. `false`: it is
    /// over.
    pub(crate) fn advance(&mut self, http: &Http) -> bool {
        match std::mem::replace(&mut self.phase, Phase::Over) {
            Phase::New(request) => self.send(http, &request),
            Phase::Body(body) => self.read(http, body),
            Phase::Over => return false,
        }
        if self.line.want() != Want::All
            && let Phase::Body(body) = std::mem::replace(&mut self.phase, Phase::Over)
        {
            // It is over for the connection. What becomes of the rest is the pool's matter.
            self.line.hand_in(HttpInput::End);
            if self.line.want() == Want::Rest && !self.line.facts().stopped {
                http.release(body);
            }
        }
        !matches!(self.phase, Phase::Over)
    }

    fn send(&mut self, http: &Http, request: &HttpRequest) {
        http.drain();
        let answer = self.line.run(None, || match http.agent() {
            Some(agent) => run(&agent, request),
            None => {
                let (kind, text) = (HttpFailureKind::Aborted, String::from("the client is closed"));
                Err(ureq::Error::Other(Box::new(Failure { kind, text })))
            }
        });
        let answer = answer.and_then(|answer| match framing_fault(answer.headers()) {
            None => Ok(answer),
            Some(text) => {
                let (kind, text) = (HttpFailureKind::Malformed, String::from(text));
                Err(ureq::Error::Other(Box::new(Failure { kind, text })))
            }
        });
        match answer {
            Ok(answer) => {
                self.line.has_head();
                let (head, body) = answer.into_parts();
                let (status, headers) = (StatusCode(head.status.as_u16()), headers(&head.headers));
                self.phase = Phase::Body(Box::new(body.into_reader()));
                self.line.hand_in(HttpInput::Head { status, headers });
            }
            Err(error) => self.fail(&error),
        }
    }

    /// Reads what is there, at least something, and hands it in. If the end is there as well, the
    /// connection is back in the pool before anybody goes on because of what was handed in.
    fn read(&mut self, http: &Http, mut body: Box<BodyReader<'static>>) {
        if self.said {
            self.line.wait_to_read();
        }
        let mut buffer = http.buffer();
        let (mut filled, mut until) = (0, None);
        let rest = loop {
            let Some(room) = buffer.get_mut(filled..).filter(|room| !room.is_empty()) else {
                break Rest::More;
            };
            match self.line.run(until, || body.read(room)) {
                Ok(0) => break Rest::End,
                Ok(count) => filled += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break Rest::More,
                Err(error) => break Rest::Failed(error.into()),
            }
            until = Some(Duration::ZERO);
        };
        if matches!(rest, Rest::More) {
            self.phase = Phase::Body(body);
        }
        if filled > 0 {
            self.said = true;
            self.line.hand_in(HttpInput::Body(buffer.get(..filled).unwrap_or_default()));
        }
        match rest {
            Rest::More => {}
            Rest::Failed(error) => self.fail(&error),
            Rest::End => match self.line.facts() {
                // A body without a length ends with the connection, however that ended.
                Facts { stopped: true, .. } => self.line.fail(HttpFailureKind::Aborted, "aborted"),
                Facts { broken: Some(why), .. } => self.line.fail(HttpFailureKind::Closed, &why),
                _ => self.line.hand_in(HttpInput::End),
            },
        }
        http.keep_buffer(buffer);
    }

    fn fail(&self, error: &ureq::Error) {
        let (kind, text) = fault(error);
        match self.line.facts() {
            Facts { stopped: true, .. } => self.line.fail(HttpFailureKind::Aborted, "aborted"),
            Facts { broken: Some(why), .. } if kind == HttpFailureKind::Closed => {
                self.line.fail(kind, &why);
            }
            _ => self.line.fail(kind, &text),
        }
    }
}

impl Drop for Exchange {
    /// Whatever happened on its thread, the connection does not wait for it.
    fn drop(&mut self) {
        if !matches!(self.phase, Phase::Over) {
            self.line.stop();
        }
        self.line.fail(HttpFailureKind::Aborted, "aborted");
    }
}

fn run(agent: &ureq::Agent, request: &HttpRequest) -> Result<Response<Body>, ureq::Error> {
    let mut parts = http::Request::builder().method(request.method.as_str()).uri(&request.url);
    for (name, value) in &request.headers {
        parts = parts.header(name, value);
    }
    // A body of a POST is sent even when it is empty.
    if request.body.is_empty() && request.method != Method::Post {
        agent.run(parts.body(())?)
    } else {
        agent.run(parts.body(request.body.as_slice())?)
    }
}

fn headers(map: &HeaderMap) -> Vec<(String, String)> {
    let text = |value: &http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    map.iter().map(|(name, value)| (String::from(name.as_str()), text(value))).collect()
}

/// What two readers could understand in two ways. The library understands it in one of them, but a
/// wrong end of one answer is the beginning of the next.
fn framing_fault(headers: &HeaderMap) -> Option<&'static str> {
    let mut codings = headers.get_all(TRANSFER_ENCODING).iter();
    let coding = codings.next();
    if coding.is_some_and(|coding| !coding.as_bytes().eq_ignore_ascii_case(b"chunked"))
        || codings.next().is_some()
    {
        return Some("the answer has a transfer coding that is not understood");
    }
    let mut lengths = headers.get_all(CONTENT_LENGTH).iter();
    match (coding, lengths.next(), lengths.next()) {
        (Some(_), Some(_), _) => Some("the answer has a length and a transfer coding"),
        (_, Some(one), Some(other)) if one != other => Some("the answer has two lengths"),
        _ => None,
    }
}

/// What an error of the library's means.
fn fault(error: &ureq::Error) -> (HttpFailureKind, String) {
    use HttpFailureKind::{Closed, Connect, Malformed, Tls};
    let kind = match error {
        ureq::Error::Other(error) => match error.downcast_ref::<Failure>() {
            Some(Failure { kind, text }) => return (*kind, text.clone()),
            None => Closed,
        },
        ureq::Error::Io(error) => {
            let inner = error.get_ref();
            let tls = inner.is_some_and(|error| error.is::<rustls::Error>());
            return (if tls { Tls } else { Closed }, error.to_string());
        }
        ureq::Error::Protocol(_)
        | ureq::Error::Http(_)
        | ureq::Error::LargeResponseHeader(..)
        | ureq::Error::BodyStalled => Malformed,
        ureq::Error::BadUri(_) | ureq::Error::ConnectionFailed => Connect,
        _ => Closed,
    };
    (kind, error.to_string())
}
