//! One request and its answer.

use std::fmt;

use super::chunks::Chunks;
use super::error::{Fault, Phase, RequestError, ResponseError};
use super::head::{self, Framing, Head, MAX_HEAD_BYTES};
use super::request::Request;

/// How many interim heads (status 1xx) may come before the answer itself.
pub const MAX_INTERIM_HEADS: u32 = 32;

/// A body up to this size is copied behind its head, so that one write sends both.
const ONE_WRITE_BYTES: usize = 16 * 1024;

/// A piece of an answer.
#[derive(Debug, PartialEq, Eq)]
pub enum Part<'a> {
    /// The head. Interim heads are not told.
    Head(Head),
    /// Bytes of the body, never none, as they stand in the input.
    Body(&'a [u8]),
    /// The answer is complete. After a 2xx to `CONNECT`, what follows is the tunnel.
    End {
        /// Whether another request can go out on this connection: the server keeps it open, the
        /// whole request was sent, and nothing that nobody asked for came after the answer.
        reusable: bool,
    },
}

/// How much of a request has been sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// Nothing: the server knows of no request.
    Nothing,
    /// A part of it.
    Part,
    /// All of it.
    All,
}

/// What is known about an exchange that failed, for whoever decides what that means. A reused
/// connection that ended before any byte of an answer was probably closed while the request was
/// under way; but only a request that is safe to repeat can be sent again for that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// How much of the request was sent.
    pub sent: Sent,
    /// Whether any byte of an answer came.
    pub answered: bool,
    /// Whether the connection had carried another exchange before.
    pub reused: bool,
}

/// One request and its answer, as bytes on one connection.
pub struct Exchange {
    head: Vec<u8>,
    body: Vec<u8>,
    sent: usize,
    method: Method,
    reused: bool,
    state: State,
    /// The beginning of a head that came in pieces, and how much of its end was seen.
    partial: Vec<u8>,
    blank: Blank,
    received: u64,
    interim: u32,
    keeps_alive: bool,
}

/// What has to be known about the method to read the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    Head,
    Connect,
    Other,
}

#[derive(Debug)]
enum State {
    Head,
    Length(u64),
    Chunked(Chunks),
    Close,
    Done,
    Failed(ResponseError),
}

/// How much of an empty line the bytes so far end with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Blank {
    No,
    Lf,
    LfCr,
}

impl Exchange {
    /// A request to send. `reused` says whether the connection carried another one before.
    ///
    /// # Errors
    /// [`RequestError`], when the request would not arrive as it is meant.
    pub fn new(
        request: &Request<'_>,
        body: Option<Vec<u8>>,
        reused: bool,
    ) -> Result<Self, RequestError> {
        let mut head = request.encode(body.as_ref().map(Vec::len))?;
        let mut body = body.unwrap_or_default();
        if body.len() <= ONE_WRITE_BYTES {
            head.append(&mut body);
        }
        let method = match request.method {
            "HEAD" => Method::Head,
            "CONNECT" => Method::Connect,
            _ => Method::Other,
        };
        Ok(Exchange {
            head,
            body,
            sent: 0,
            method,
            reused,
            state: State::Head,
            partial: Vec::new(),
            blank: Blank::No,
            received: 0,
            interim: 0,
            keeps_alive: false,
        })
    }

    /// What is to be sent next; empty when everything is out.
    #[must_use]
    pub fn unsent(&self) -> &[u8] {
        match self.head.get(self.sent..) {
            Some(rest) if !rest.is_empty() => rest,
            _ => self.body.get(self.sent.saturating_sub(self.head.len())..).unwrap_or_default(),
        }
    }

    /// This many bytes of [`unsent`](Self::unsent) are sent.
    pub fn sent(&mut self, bytes: usize) {
        self.sent = self.sent.saturating_add(bytes).min(self.head.len() + self.body.len());
    }

    /// What is known by now, should the exchange fail.
    #[must_use]
    pub fn facts(&self) -> Facts {
        let sent = match self.sent {
            0 => Sent::Nothing,
            all if all >= self.head.len() + self.body.len() => Sent::All,
            _ => Sent::Part,
        };
        Facts { sent, answered: self.received > 0, reused: self.reused }
    }

    /// Takes bytes from the front of `input` and tells the next piece of the answer. `None` when
    /// more is needed, or after the end: then what is left of `input` does not belong to the answer.
    ///
    /// # Errors
    /// [`ResponseError`], now and from now on. The connection cannot be used any more.
    pub fn decode<'a>(&mut self, input: &mut &'a [u8]) -> Result<Option<Part<'a>>, ResponseError> {
        if self.sent == 0 && !input.is_empty() {
            return self.fail(Fault::Unsolicited, 0);
        }
        match &mut self.state {
            State::Head => self.head(input),
            State::Length(0) => Ok(Some(self.end(input))),
            State::Length(left) => {
                let room = usize::try_from(*left).unwrap_or(usize::MAX).min(input.len());
                *left -= room as u64;
                Ok(self.body(input, room))
            }
            State::Close => {
                let all = input.len();
                Ok(self.body(input, all))
            }
            State::Chunked(chunks) => {
                let before = input.len();
                let data = chunks.decode(input);
                let done = chunks.is_done();
                self.received += (before - input.len()) as u64;
                match data {
                    Ok(Some(data)) => Ok(Some(Part::Body(data))),
                    Ok(None) if done => Ok(Some(self.end(input))),
                    Ok(None) => Ok(None),
                    Err(fault) => self.fail(fault, self.received),
                }
            }
            State::Done => Ok(None),
            State::Failed(error) => Err(error.clone()),
        }
    }

    /// The stream has ended. For a body without a length, that is its end.
    ///
    /// # Errors
    /// [`ResponseError`], when the answer is incomplete.
    pub fn finish(&mut self) -> Result<Option<Part<'static>>, ResponseError> {
        self.keeps_alive = false;
        let phase = match &self.state {
            State::Close | State::Length(0) => return Ok(Some(self.end(&[]))),
            State::Done => return Ok(None),
            State::Failed(error) => return Err(error.clone()),
            State::Head if self.received == 0 => Phase::Start,
            State::Head => Phase::Head,
            State::Length(missing) => Phase::Body { missing: *missing },
            State::Chunked(chunks) if chunks.is_done() => return Ok(Some(self.end(&[]))),
            State::Chunked(chunks) => chunks.phase(),
        };
        self.fail(Fault::Truncated(phase), self.received)
    }

    fn head<'a>(&mut self, input: &mut &'a [u8]) -> Result<Option<Part<'a>>, ResponseError> {
        loop {
            let start = self.received - self.partial.len() as u64;
            // Nobody waits for the end of a head that is none: other protocols greet, and then wait.
            let known = self.partial.len();
            let rest = PREFIX.get(known..).unwrap_or_default();
            if let Some(at) = rest.iter().zip(*input).position(|(want, is)| want != is) {
                return self.fail(Fault::NotHttp, start + (known + at) as u64);
            }
            let end = self.blank.find(input);
            let piece = end.unwrap_or(input.len());
            if known + piece > MAX_HEAD_BYTES {
                return self.fail(Fault::HeadTooLong, start);
            }
            let piece = self.take(input, piece);
            if end.is_none() || known > 0 {
                self.partial.extend_from_slice(piece);
            }
            if end.is_none() {
                return Ok(None);
            }
            let partial = std::mem::take(&mut self.partial);
            let head = match head::parse(if known > 0 { &partial } else { piece }) {
                Ok(head) => head,
                Err((fault, at)) => return self.fail(fault, start + at as u64),
            };
            match head.status {
                101 => return self.fail(Fault::SwitchingProtocols, start),
                100..200 if self.interim == MAX_INTERIM_HEADS => {
                    return self.fail(Fault::TooManyInterimHeads, start);
                }
                100..200 => self.interim += 1,
                _ => {
                    return match self.begin(&head) {
                        Ok(()) => Ok(Some(Part::Head(head))),
                        Err(fault) => self.fail(fault, start),
                    };
                }
            }
        }
    }

    /// Goes on to the body, if there is one (RFC 9112, section 6.3).
    fn begin(&mut self, head: &Head) -> Result<(), Fault> {
        self.keeps_alive = head.keeps_alive();
        self.state = State::Length(0);
        match (self.method, head.status) {
            (Method::Connect, 200..300) => self.keeps_alive = false,
            // These may tell the length that another answer would have.
            (Method::Head, _) | (_, 304) => {}
            // This one may not; who tells one anyway may send it, too.
            (_, 204) => {
                let bodiless = matches!(head.framing(), Ok(Framing::Close | Framing::Length(0)));
                self.keeps_alive &= bodiless;
            }
            _ => {
                self.state = match head.framing()? {
                    Framing::Length(length) => State::Length(length),
                    Framing::Chunked => State::Chunked(Chunks::new()),
                    Framing::Close => State::Close,
                }
            }
        }
        Ok(())
    }

    fn body<'a>(&mut self, input: &mut &'a [u8], bytes: usize) -> Option<Part<'a>> {
        let data = self.take(input, bytes);
        (!data.is_empty()).then_some(Part::Body(data))
    }

    fn take<'a>(&mut self, input: &mut &'a [u8], bytes: usize) -> &'a [u8] {
        let (taken, rest) = input.split_at_checked(bytes).unwrap_or((*input, &[]));
        *input = rest;
        self.received += taken.len() as u64;
        taken
    }

    fn end(&mut self, rest: &[u8]) -> Part<'static> {
        self.state = State::Done;
        let all_sent = self.facts().sent == Sent::All;
        Part::End { reusable: self.keeps_alive && all_sent && rest.is_empty() }
    }

    fn fail<T>(&mut self, fault: Fault, at: u64) -> Result<T, ResponseError> {
        let error = ResponseError { fault, at };
        self.state = State::Failed(error.clone());
        Err(error)
    }
}

impl fmt::Debug for Exchange {
    /// The request may hold secrets: only how far it got is shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Exchange({:?}, {:?})", self.facts(), self.state)
    }
}

/// What every head begins with that can be read at all.
const PREFIX: &[u8] = b"HTTP/1.";

impl Blank {
    /// Where the first empty line of a head ends.
    fn find(&mut self, input: &[u8]) -> Option<usize> {
        let mut at = 0;
        while let Some(rest) = input.get(at..).filter(|rest| !rest.is_empty()) {
            let step = match (*self, rest.first()) {
                (Blank::No, _) => memchr::memchr(b'\n', rest).map(|lf| (Blank::Lf, lf + 1)),
                (_, Some(b'\n')) => {
                    *self = Blank::No;
                    return Some(at + 1);
                }
                (Blank::Lf, Some(b'\r')) => Some((Blank::LfCr, 1)),
                _ => Some((Blank::No, 0)),
            };
            let (blank, bytes) = step?;
            *self = blank;
            at += bytes;
        }
        None
    }
}
