//! One exchange on its connection: a request on its way out, and its answer on its way in.

use core::task::{Context, Poll};
use std::io::{self, ErrorKind};

use super::network::Socket;
use crate::http1::{self, Facts, Fault, Head, Part, ResponseError};
use crate::interface::{HttpFailure, HttpFailureKind, HttpInput, Sent, StatusCode};

/// How often one connection is read before the others have their turn.
const READS: usize = 4;

/// An exchange on its connection.
pub(super) struct Running {
    socket: Box<dyn Socket>,
    exchange: http1::Exchange,
    /// Something that was written is not flushed.
    held: bool,
    /// Why nothing more can be written. An answer may come nevertheless.
    broken: Option<io::Error>,
}

/// What came of moving an exchange's bytes.
pub(super) enum Moved {
    /// All that there was. The task is woken when there is more.
    All,
    /// Not all; the others have their turn.
    Some,
    /// The answer is complete.
    Complete { reusable: bool },
    /// The exchange is over without a complete answer.
    Failed(HttpFailure),
}

impl Running {
    pub(super) fn new(socket: Box<dyn Socket>, exchange: http1::Exchange) -> Self {
        Running { socket, exchange, held: false, broken: None }
    }

    pub(super) fn into_socket(self) -> Box<dyn Socket> {
        self.socket
    }

    /// A failure, with what is known by now.
    pub(super) fn failure(&self, kind: HttpFailureKind, text: impl Into<String>) -> HttpFailure {
        let Facts { sent, answered, reused: _ } = self.exchange.facts();
        let sent = match sent {
            http1::Sent::All => Sent::All,
            http1::Sent::Part => Sent::Some,
            // What was to be written may have gone out all the same.
            http1::Sent::Nothing if self.broken.is_some() && self.socket.holds_back() => Sent::Some,
            http1::Sent::Nothing => Sent::None,
        };
        HttpFailure::new(kind, sent, answered, text)
    }

    /// Moves what can be moved, and tells what has come, unless it is not to be read.
    pub(super) fn advance(
        &mut self,
        reads: bool,
        buffer: &mut [u8],
        cx: &mut Context<'_>,
        mut tell: impl FnMut(Vec<HttpInput<'_>>),
    ) -> Moved {
        if self.broken.is_none() {
            self.broken = self.write(cx).err();
        }
        if !reads {
            return Moved::All;
        }
        for _ in 0..READS {
            let bytes = match self.socket.poll_read(cx, buffer) {
                Poll::Pending => return Moved::All,
                Poll::Ready(Err(error)) if error.kind() == ErrorKind::Interrupted => continue,
                Poll::Ready(Err(error)) => return Moved::Failed(self.lost(error)),
                Poll::Ready(Ok(bytes)) => buffer.get(..bytes).unwrap_or_default(),
            };
            match self.decode(bytes, &mut tell) {
                Ok(None) => {}
                Ok(Some(reusable)) => return Moved::Complete { reusable },
                Err(error) => return Moved::Failed(self.misread(&error)),
            }
        }
        Moved::Some
    }

    /// Writes until the connection takes no more or all is written.
    fn write(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        while !self.exchange.unsent().is_empty() {
            match self.socket.poll_write(cx, self.exchange.unsent()) {
                Poll::Pending => break,
                Poll::Ready(Ok(0)) => return Err(ErrorKind::WriteZero.into()),
                Poll::Ready(Ok(bytes)) => {
                    self.exchange.sent(bytes);
                    self.held = true;
                }
                Poll::Ready(Err(error)) if error.kind() == ErrorKind::Interrupted => {}
                Poll::Ready(Err(error)) => return Err(error),
            }
        }
        if self.held
            && let Poll::Ready(flushed) = self.socket.poll_flush(cx)
        {
            flushed?;
            self.held = !self.exchange.unsent().is_empty();
        }
        Ok(())
    }

    /// Reads an answer further; no bytes are its end. Whether the connection can be used again, once
    /// the answer is complete. What one read has brought is told at once.
    fn decode(
        &mut self,
        mut bytes: &[u8],
        tell: &mut impl FnMut(Vec<HttpInput<'_>>),
    ) -> Result<Option<bool>, ResponseError> {
        if bytes.is_empty() {
            let end = self.exchange.finish()?;
            if end.is_some() {
                tell(vec![HttpInput::End]);
            }
            return Ok(end.map(|_| false));
        }
        let mut read = Vec::with_capacity(3);
        let ended = loop {
            match self.exchange.decode(&mut bytes) {
                Ok(Some(Part::Head(head))) => read.push(input(&head)),
                Ok(Some(Part::Body(bytes))) => read.push(HttpInput::Body(bytes)),
                Ok(Some(Part::End { reusable })) => {
                    read.push(HttpInput::End);
                    break Ok(Some(reusable && self.broken.is_none()));
                }
                Ok(None) => break Ok(None),
                // What came before it counts.
                Err(error) => break Err(error),
            }
        };
        if !read.is_empty() {
            tell(read);
        }
        ended
    }

    /// The connection broke.
    fn lost(&mut self, error: io::Error) -> HttpFailure {
        let text = self.broken.take().unwrap_or(error).to_string();
        self.failure(HttpFailureKind::Closed, text)
    }

    /// The answer is none that can be read, or not all of one.
    fn misread(&self, error: &ResponseError) -> HttpFailure {
        let text = error.to_string();
        match error.fault {
            Fault::Truncated(_) => self.failure(HttpFailureKind::Closed, text),
            // Whatever it is, it has come.
            _ => HttpFailure { answered: true, ..self.failure(HttpFailureKind::Malformed, text) },
        }
    }
}

fn input(head: &Head) -> HttpInput<'static> {
    let headers = head.headers.iter();
    let headers = headers.map(|(name, value)| (String::from(name), String::from(value))).collect();
    HttpInput::Head { status: StatusCode(head.status), headers }
}
