//! A connection as the HTTP library uses it.

use std::fmt;
use std::io::{self, ErrorKind, Read, Write};

use mcp_proto::HttpFailureKind;
use mcp_runtime_common::rustls::{ClientConnection, StreamOwned};
use ureq::unversioned::transport::{Buffers, LazyBuffers, NextTimeout, Transport};

use super::dial::Failure;
use super::line::{Line, current};
use super::socket::Socket;

/// How much is read at once. A head has to fit.
const INPUT: usize = 128 * 1024;
/// How much of a body is written at once.
const OUTPUT: usize = 64 * 1024;
/// How much may come before a head is complete, heads of interim answers included.
const MAX_BEFORE_BODY: u64 = 1024 * 1024;

/// The bytes of a connection.
pub(crate) enum Wire {
    Plain(Socket),
    Tls(Box<StreamOwned<ClientConnection, Socket>>),
}

impl Wire {
    fn socket(&self) -> &Socket {
        match self {
            Wire::Plain(socket) => socket,
            Wire::Tls(stream) => stream.get_ref(),
        }
    }

    /// Whether nothing is left of what was read from the socket.
    fn is_drained(&mut self) -> bool {
        match self {
            Wire::Plain(_) => true,
            Wire::Tls(stream) => stream.conn.process_new_packets().is_ok_and(|state| {
                state.plaintext_bytes_to_read() == 0 && !state.peer_has_closed()
            }),
        }
    }

    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Wire::Plain(socket) => socket.read(into),
            Wire::Tls(stream) => stream.read(into),
        }
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Wire::Plain(socket) => socket.write_all(bytes),
            Wire::Tls(stream) => {
                stream.write_all(bytes)?;
                stream.flush()
            }
        }
    }
}

impl fmt::Debug for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Wire::Plain(_) => "Plain",
            Wire::Tls(_) => "Tls",
        })
    }
}

/// A connection to a server.
#[derive(Debug)]
pub(crate) struct Link {
    wire: Wire,
    buffers: LazyBuffers,
    /// What is to be sent, so that a head and a small body go out in one piece.
    unsent: Vec<u8>,
    /// Why nothing more can be sent. The answer may say what is wrong, and is read first.
    failed: Option<io::Error>,
    /// A request is being sent.
    sending: bool,
}

impl Link {
    pub(crate) fn new(wire: Wire) -> Self {
        let buffers = LazyBuffers::new(INPUT, OUTPUT);
        Link { wire, buffers, unsent: Vec::new(), failed: None, sending: false }
    }

    fn send(&mut self) {
        if self.failed.is_none() {
            self.failed = self.wire.write_all(&self.unsent).err();
        }
        self.unsent.clear();
    }

    fn receive(&mut self, line: &Line) -> io::Result<usize> {
        let read = self.wire.read(self.buffers.input_append_buf());
        match (read, self.failed.take()) {
            (Ok(count), None) => Ok(count),
            (Ok(count), failed) if count > 0 => {
                self.failed = failed;
                Ok(count)
            }
            (read, failed) => {
                let error = failed.or(read.err());
                let error = error.unwrap_or_else(|| ErrorKind::UnexpectedEof.into());
                // Patience that is over is no failure.
                if error.kind() != ErrorKind::WouldBlock {
                    line.broken(&error);
                }
                Err(error)
            }
        }
    }
}

impl Transport for Link {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, _: NextTimeout) -> Result<(), ureq::Error> {
        self.sending = true;
        self.unsent.extend_from_slice(self.buffers.output().get(..amount).unwrap_or_default());
        if self.unsent.len() > OUTPUT {
            self.send();
        }
        Ok(())
    }

    fn await_input(&mut self, _: NextTimeout) -> Result<bool, ureq::Error> {
        let (line, _) = current()?;
        if std::mem::take(&mut self.sending) {
            self.send();
            if self.failed.is_none() {
                line.sent_all();
            }
        }
        let count = self.receive(&line)?;
        self.buffers.input_appended(count);
        if line.received(count) > MAX_BEFORE_BODY {
            let (kind, text) = (HttpFailureKind::Malformed, "the answer does not come to its body");
            let failure = Failure { kind, text: String::from(text) };
            return Err(ureq::Error::Other(Box::new(failure)));
        }
        Ok(count > 0)
    }

    /// Whether another request can go out on it. The library asks when it takes the connection
    /// back, which then is no longer the exchange's to shut down, and before it uses it again.
    fn is_open(&mut self) -> bool {
        let detached = current().ok().and_then(|(line, _)| {
            let stream = self.wire.socket().stream();
            line.detach(stream)
        });
        let silent = detached.unwrap_or_else(|| self.wire.socket().is_silent());
        silent && self.failed.is_none() && self.wire.is_drained()
    }

    fn is_tls(&self) -> bool {
        matches!(self.wire, Wire::Tls(_))
    }
}
