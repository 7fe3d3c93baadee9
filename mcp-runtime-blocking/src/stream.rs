//! A byte stream of the host's own in the place of a server process, pumped by two threads.

use std::io::{self, ErrorKind, Read, Write};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;

use mcp_proto::driver::Hub;
use mcp_proto::{ExitStatus, Input, IoFailure, ProcessId, Source, StdioInput, StdioOutput};

use crate::wake::lock;

/// How much is read at once.
const READ: usize = 64 * 1024;

/// The stream, before and after somebody spoke.
pub(crate) enum Stream {
    Silent(Box<dyn Read + Send>, Box<dyn Write + Send>),
    Open(Arc<Outbox>),
    Gone,
}

/// What waits for the writer.
#[derive(Default)]
pub(crate) struct Outbox {
    state: Mutex<Waiting>,
    changed: Condvar,
}

#[derive(Default)]
struct Waiting {
    bytes: Vec<u8>,
    /// Nothing follows: the writer is dropped after these bytes, or at once when `gone`.
    closed: bool,
    /// Nobody listens any more to what the reader reads either.
    gone: bool,
}

impl Stream {
    /// Does one thing, and says whether anything new is to be done.
    pub(crate) fn perform(&mut self, hub: &Arc<Hub>, id: ProcessId, output: StdioOutput) -> bool {
        let Some(outbox) = self.open(hub, id) else { return false };
        match output {
            StdioOutput::Write(bytes) => outbox.change(|it| it.bytes.extend_from_slice(&bytes)),
            StdioOutput::CloseStdin => outbox.change(|it| it.closed = true),
            StdioOutput::Terminate | StdioOutput::Kill => {
                self.let_go();
                hub.drive(Input::Stdio(id, StdioInput::Exited(ExitStatus::Unknown)));
            }
            _ => {}
        }
        true
    }

    /// Drops both halves. A thread that is blocked in one of them does so when it returns.
    pub(crate) fn let_go(&mut self) {
        if let Stream::Open(outbox) = std::mem::replace(self, Stream::Gone) {
            outbox.change(|it| it.gone = true);
        }
    }

    /// The threads begin with the first use, since only then the stream has an id.
    fn open(&mut self, hub: &Arc<Hub>, id: ProcessId) -> Option<Arc<Outbox>> {
        let (reader, writer) = match std::mem::replace(self, Stream::Gone) {
            Stream::Gone => return None,
            Stream::Open(outbox) => {
                *self = Stream::Open(Arc::clone(&outbox));
                return Some(outbox);
            }
            Stream::Silent(reader, writer) => (reader, writer),
        };
        let outbox = Arc::new(Outbox::default());
        *self = Stream::Open(Arc::clone(&outbox));
        let (reading, writing) = (Arc::clone(&outbox), Arc::clone(&outbox));
        let (to_read, to_write) = (Arc::clone(hub), Arc::clone(hub));
        let started = spawn("mcp-read", move || read(reader, id, &to_read, &reading))
            .and_then(|()| spawn("mcp-write", move || write(writer, id, &to_write, &writing)));
        if let Err(error) = started {
            hub.drive(Input::Stdio(id, StdioInput::WriteFailed(IoFailure::from(&error))));
            hub.drive(Input::Stdio(id, StdioInput::StdoutClosed));
        }
        Some(outbox)
    }
}

impl Outbox {
    fn change(&self, change: impl FnOnce(&mut Waiting)) {
        change(&mut lock(&self.state));
        self.changed.notify_all();
    }

    /// Waits until `look` finds something. `None`: the stream is gone.
    fn wait<T>(&self, mut look: impl FnMut(&mut Waiting) -> Option<T>) -> Option<T> {
        let mut state = lock(&self.state);
        loop {
            if state.gone {
                return None;
            }
            if let Some(found) = look(&mut state) {
                return Some(found);
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new().name(String::from(name)).spawn(body).map(drop)
}

fn read(mut from: Box<dyn Read + Send>, id: ProcessId, hub: &Hub, outbox: &Outbox) {
    let mut buffer = vec![0; READ];
    // The writer tells of each change that could make bytes welcome again.
    let wanted = || outbox.wait(|_| hub.wants_read(Source::Stdout(id)).then_some(()));
    while wanted().is_some() {
        match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => {
                let bytes = buffer.get(..count).unwrap_or_default();
                hub.handle(Input::Stdio(id, StdioInput::Stdout(bytes)));
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    hub.handle(Input::Stdio(id, StdioInput::StdoutClosed));
}

fn write(mut to: Box<dyn Write + Send>, id: ProcessId, hub: &Hub, outbox: &Outbox) {
    let mut total = 0;
    let more = |it: &mut Waiting| {
        let some = it.closed || !it.bytes.is_empty();
        some.then(|| std::mem::take(&mut it.bytes))
    };
    while let Some(bytes) = outbox.wait(more) {
        if bytes.is_empty() {
            return;
        }
        let mut left = bytes.as_slice();
        while !left.is_empty() {
            match to.write(left) {
                Ok(count) if count > 0 => left = left.get(count..).unwrap_or_default(),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                failed => {
                    let error = failed.err().unwrap_or_else(|| ErrorKind::WriteZero.into());
                    let failure = IoFailure::from(&error);
                    return hub.handle(Input::Stdio(id, StdioInput::WriteFailed(failure)));
                }
            }
            let written = bytes.len() - left.len();
            hub.handle(Input::Stdio(id, StdioInput::Written(total + written as u64)));
            outbox.change(|_| {});
        }
        total += bytes.len() as u64;
        let _ = to.flush();
    }
}
