//! One request and its answer, as it is written.

use std::io::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread;

use serde_json::Value;

use super::SESSION;
use crate::http::{Chunked, Conn, Handle, Head};

/// How an answer begins that nothing comes before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Json,
    Stream,
}

/// A request that waits for its answer, or the GET stream.
#[derive(Debug)]
pub(super) struct Exchange {
    pub(super) number: u64,
    pub(super) id: Value,
    pub(super) token: Value,
    /// Closing its connection means that the request is cancelled.
    pub(super) is_cancelled_by_close: bool,
    /// It is `initialize`.
    pub(super) opens_session: bool,
    kind: Kind,
    begun: bool,
    bytes: Sender<Vec<u8>>,
    conn: Handle,
}

/// Writes to a connection on a thread of its own, so that a client that does not read one answer
/// holds up no other one.
pub(super) fn start_writer(conn: &Conn) -> Sender<Vec<u8>> {
    let (sender, bytes) = channel::<Vec<u8>>();
    let mut writer = conn.writer();
    thread::spawn(move || {
        // Nobody has to be there to read it.
        bytes.iter().try_for_each(|bytes| writer.write_all(&bytes))
    });
    sender
}

impl Exchange {
    pub(super) fn new(kind: Kind, bytes: Sender<Vec<u8>>, conn: Handle) -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(1);
        Exchange {
            number: COUNT.fetch_add(1, Ordering::Relaxed),
            id: Value::Null,
            token: Value::Null,
            is_cancelled_by_close: false,
            opens_session: false,
            kind,
            begun: false,
            bytes,
            conn,
        }
    }

    /// Whether the client has closed the connection.
    pub(super) fn is_closed(&self) -> bool {
        self.conn.is_closed()
    }

    /// The last line of the exchange.
    pub(super) fn answer(mut self, line: &[u8]) {
        if !self.begun && self.kind == Kind::Json {
            let head = self.head("application/json");
            return self.write(head.body(line));
        }
        self.event(line);
        self.end();
    }

    /// A line that comes before the answer.
    pub(super) fn event(&mut self, line: &[u8]) {
        self.begin_stream();
        self.chunk(&[b"event: message\ndata: ", line, b"\n\n"].concat());
    }

    pub(super) fn begin_stream(&mut self) {
        if !self.begun {
            self.begun = true;
            let head = self.head("text/event-stream").header("Transfer-Encoding", "chunked");
            self.write(head.finish().into_bytes());
        }
    }

    /// Part of a line.
    pub(super) fn ahead(&mut self, part: &[u8], is_first: bool) {
        self.begin_stream();
        let field: &[u8] = if is_first { b"data: " } else { b"" };
        self.chunk(&[field, part].concat());
    }

    /// The end of a line that was sent in parts, which was the answer.
    pub(super) fn end_ahead(mut self, rest: &[u8]) {
        self.chunk(&[rest, b"\n\n"].concat());
        self.end();
    }

    /// Ends the connection in the middle of the answer.
    pub(super) fn cut(self) {
        self.conn.end();
    }

    fn head(&self, kind: &str) -> Head {
        let head = Head::new(200).header("Content-Type", kind);
        if self.opens_session { head.header("Mcp-Session-Id", SESSION) } else { head }
    }

    fn chunk(&mut self, bytes: &[u8]) {
        let mut chunk = Vec::with_capacity(bytes.len() + 16);
        // A vector takes every write.
        let _ = Chunked(&mut chunk).write_all(bytes);
        self.write(chunk);
    }

    fn end(self) {
        self.write(b"0\r\n\r\n".to_vec());
    }

    fn write(&self, bytes: Vec<u8>) {
        // The writer has ended when the connection has.
        let _ = self.bytes.send(bytes);
    }
}
