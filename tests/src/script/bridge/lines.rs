//! The two ends of a script that is played behind HTTP, and what its lines are.

use std::io::{self, Read, Write};
use std::mem::take;
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::Shared;
use super::exchange::Exchange;

/// How much of a line is kept back until its end is there.
const KEPT: usize = 8 * 1024;

/// What the script reads: the messages that were POSTed, a line each.
pub(super) struct Input {
    lines: Receiver<Vec<u8>>,
    line: io::Cursor<Vec<u8>>,
}

impl Input {
    pub(super) fn new(lines: Receiver<Vec<u8>>) -> Self {
        Input { lines, line: io::Cursor::default() }
    }
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.line.read(buffer)? {
            0 if !buffer.is_empty() => {
                let Ok(line) = self.lines.recv() else { return Ok(0) };
                self.line = io::Cursor::new(line);
                self.line.read(buffer)
            }
            read => Ok(read),
        }
    }
}

/// Where the script writes: its lines go to their exchanges.
pub(super) struct Output {
    shared: Arc<Shared>,
    line: Vec<u8>,
}

impl Output {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Output { shared, line: Vec::new() }
    }
}

impl Write for Output {
    /// Lines that are written at once go on their way at once: no request comes between them.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut state = self.shared.lock();
        for piece in bytes.split_inclusive(|&byte| byte == b'\n') {
            let part = piece.strip_suffix(b"\n");
            self.line.extend_from_slice(part.unwrap_or(piece));
            if part.is_some() {
                let line = take(&mut self.line);
                state.route(line.strip_suffix(b"\r").unwrap_or(&line));
            } else if self.line.len() > KEPT && state.route_ahead(&self.line) {
                self.line.clear();
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        self.shared.lock().end();
    }
}

/// As much of a message as tells whose it is. Nothing in it is taken apart further, since a script
/// may nest things as deep as it likes.
#[derive(Deserialize)]
pub(super) struct Envelope {
    id: Option<Box<RawValue>>,
    method: Option<Value>,
    params: Option<Box<RawValue>>,
    result: Option<Box<RawValue>>,
    error: Option<Box<RawValue>>,
}

/// The messages of a line: of one, of a batch, or none.
pub(super) fn read(line: &[u8]) -> Vec<Envelope> {
    if let Ok(message) = serde_json::from_slice(line) {
        return vec![message];
    }
    let batch: Vec<Box<RawValue>> = serde_json::from_slice(line).unwrap_or_default();
    batch.iter().filter_map(|it| serde_json::from_str(it.get()).ok()).collect()
}

impl Envelope {
    pub(super) fn is_answer(&self) -> bool {
        let is_method = self.method.as_ref().is_some_and(Value::is_string);
        !is_method && (self.id.is_some() || self.result.is_some() || self.error.is_some())
    }

    pub(super) fn names_a_request(&self) -> bool {
        self.id.is_some()
    }

    /// The exchange of the request that this answers, however its id is spelled.
    pub(super) fn find(&self, open: &[Exchange]) -> Option<usize> {
        let id: Value = serde_json::from_str(self.id.as_ref()?.get()).ok()?;
        let exact = open.iter().position(|it| it.id == id);
        exact.or_else(|| open.iter().position(|it| spelled(&it.id) == spelled(&id)))
    }

    /// The token of the progress that this tells.
    pub(super) fn token(&self) -> Option<Value> {
        let params: Value = serde_json::from_str(self.params.as_ref()?.get()).ok()?;
        params.get("progressToken").cloned()
    }
}

/// A number and its text are the same here, and so are the ways to write a whole number.
fn spelled(id: &Value) -> String {
    match id {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.as_f64().unwrap_or_default().to_string(),
        other => other.to_string(),
    }
}

/// The exchange of a line whose end is not there yet: its id has to be among the first members.
pub(super) fn id_ahead(part: &[u8], open: &[Exchange]) -> Option<u64> {
    let text = std::str::from_utf8(part.get(..100)?).ok()?;
    let (_, rest) = text.split_once(r#""id":"#)?;
    let id: Value = serde_json::from_str(rest.split(',').next()?).ok()?;
    open.iter().find(|it| it.id == id).map(|it| it.number)
}
