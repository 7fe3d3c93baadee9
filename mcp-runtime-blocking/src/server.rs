//! One server process and its pipes, which never block.

use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::process::{ChildStderr, ChildStdin, ChildStdout};
use std::time::{Duration, Instant};

use mcp_proto::driver::Hub;
use mcp_proto::{Command, Input, IoFailure, ProcessId, Source, StdioInput};
use mcp_runtime_common::{Launched, Process, set_nonblocking};
use rustix::event::{PollFd, PollFlags};

/// How often one source is read before the others have their turn: a flood must not hold up the
/// callers.
const READS: usize = 16;

/// A server process. The fields are dropped in this order, which closes the pipes before the
/// process is waited for.
pub(crate) struct Server {
    pub(crate) id: ProcessId,
    stdin: Option<ChildStdin>,
    queue: Queue,
    /// Close stdin once the queue is empty.
    closing: bool,
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
    exit: Option<OwnedFd>,
    /// When its exit was handed in.
    exited: Option<Instant>,
    pub(crate) process: Process,
}

/// Bytes for stdin.
#[derive(Default)]
struct Queue {
    bytes: Vec<u8>,
    /// How many of these are written, and how many bytes are in all.
    at: usize,
    written: u64,
}

impl Server {
    /// Launches a server, and hands in what came of it.
    pub(crate) fn launch(hub: &Hub, id: ProcessId, command: &Command) -> Option<Self> {
        let launched = mcp_runtime_common::launch(command).and_then(|launched| {
            unblock(&launched).map_err(|error| IoFailure::from(&error))?;
            Ok(launched)
        });
        let launched = match launched {
            Ok(launched) => launched,
            Err(failure) => {
                hub.drive(Input::Stdio(id, StdioInput::SpawnFailed(failure)));
                return None;
            }
        };
        let pid = launched.process.pid();
        hub.drive(Input::Stdio(id, StdioInput::Spawned { pid }));
        if launched.stderr.is_none() {
            hub.drive(Input::Stdio(id, StdioInput::StderrClosed));
        }
        Some(Server {
            id,
            stdin: Some(launched.stdin),
            queue: Queue::default(),
            closing: false,
            stdout: Some(launched.stdout),
            stderr: launched.stderr,
            exit: Some(launched.exit),
            exited: None,
            process: launched.process,
        })
    }

    /// Writes as much as the pipe takes, after what is queued already. Says whether anything new
    /// is to be done.
    pub(crate) fn write(&mut self, hub: &Hub, bytes: Vec<u8>) -> bool {
        self.queue.push(bytes);
        self.flush(hub)
    }

    pub(crate) fn close_stdin(&mut self) {
        self.closing = true;
        if self.queue.is_empty() {
            self.stdin = None;
        }
    }

    fn flush(&mut self, hub: &Hub) -> bool {
        let Some(stdin) = &mut self.stdin else {
            self.queue = Queue::default();
            return false;
        };
        let before = self.queue.written;
        let failed = loop {
            let left = self.queue.left();
            if left.is_empty() {
                break None;
            }
            match stdin.write(left) {
                Ok(written) => self.queue.advance(written),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break None,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => break Some(IoFailure::from(&error)),
            }
        };
        let mut due = false;
        if self.queue.written > before {
            due |= hub.drive(Input::Stdio(self.id, StdioInput::Written(self.queue.written)));
        }
        if let Some(failure) = failed {
            self.stdin = None;
            due |= hub.drive(Input::Stdio(self.id, StdioInput::WriteFailed(failure)));
        } else if self.closing && self.queue.is_empty() {
            self.stdin = None;
        }
        due
    }

    /// What is waited for. [`ready`](Self::ready) is told of each in the same order.
    pub(crate) fn watch<'a>(&'a self, hub: &Hub, fds: &mut Vec<PollFd<'a>>) -> Watched {
        // What is asked of a server only when it has bytes of ours to read: it is what decides.
        let held = !self.queue.is_empty() && !hub.wants_read(Source::Stdout(self.id));
        let stdout = self.stdout.as_ref().filter(|_| !held);
        let stdin = self.stdin.as_ref().filter(|_| !self.queue.is_empty());
        fds.extend(stdout.map(|fd| PollFd::new(fd, PollFlags::IN)));
        fds.extend(self.stderr.as_ref().map(|fd| PollFd::new(fd, PollFlags::IN)));
        fds.extend(stdin.map(|fd| PollFd::new(fd, PollFlags::OUT)));
        fds.extend(self.exit.as_ref().map(|fd| PollFd::new(fd, PollFlags::IN)));
        Watched {
            stdout: stdout.is_some(),
            stderr: self.stderr.is_some(),
            stdin: stdin.is_some(),
            exit: self.exit.is_some(),
        }
    }

    /// Hands in what the sources have that are ready. Output comes before the exit.
    pub(crate) fn ready(
        &mut self,
        hub: &Hub,
        watched: Watched,
        mut ready: impl FnMut() -> bool,
        buffer: &mut [u8],
    ) {
        if watched.stdout && ready() {
            let of = Source::Stdout(self.id);
            read(hub, of, self.id, &mut self.stdout, buffer, |bytes| StdioInput::Stdout(bytes));
            if self.stdout.is_none() {
                hub.drive(Input::Stdio(self.id, StdioInput::StdoutClosed));
            }
        }
        if watched.stderr && ready() {
            let of = Source::Stderr(self.id);
            read(hub, of, self.id, &mut self.stderr, buffer, |bytes| StdioInput::Stderr(bytes));
            if self.stderr.is_none() {
                hub.drive(Input::Stdio(self.id, StdioInput::StderrClosed));
            }
        }
        if watched.stdin && ready() {
            self.flush(hub);
        }
        if watched.exit
            && ready()
            && let Some(status) = self.process.try_reap()
        {
            self.exit = None;
            self.exited = Some(Instant::now());
            hub.drive(Input::Stdio(self.id, StdioInput::Exited(status)));
        }
    }

    /// Whether the process has ended, and nothing more is expected of its pipes: a process that
    /// left the group may hold them open for ever.
    pub(crate) fn is_over(&self, patience: Duration) -> bool {
        let closed = self.stdout.is_none() && self.stderr.is_none();
        self.exited.is_some_and(|at| closed || at.elapsed() > patience)
    }

    /// Closes the pipes, which tells the server that nobody wants it any more.
    pub(crate) fn close_pipes(&mut self) {
        self.stdin = None;
        self.stdout = None;
        self.stderr = None;
    }
}

/// Which sources of a server are waited for.
#[derive(Clone, Copy)]
pub(crate) struct Watched {
    stdout: bool,
    stderr: bool,
    stdin: bool,
    exit: bool,
}

impl Queue {
    fn push(&mut self, bytes: Vec<u8>) {
        if self.is_empty() {
            self.bytes = bytes;
        } else {
            self.bytes.drain(..self.at);
            self.bytes.extend_from_slice(&bytes);
        }
        self.at = 0;
    }

    fn left(&self) -> &[u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    fn is_empty(&self) -> bool {
        self.left().is_empty()
    }

    fn advance(&mut self, written: usize) {
        self.at += written;
        self.written += written as u64;
        if self.is_empty() {
            *self = Queue { written: self.written, ..Queue::default() };
        }
    }
}

fn unblock(launched: &Launched) -> io::Result<()> {
    set_nonblocking(&launched.stdin)?;
    set_nonblocking(&launched.stdout)?;
    launched.stderr.as_ref().map_or(Ok(()), set_nonblocking)
}

/// Reads what is there, as long as the hub wants it. The source is gone after its end.
fn read<R: Read>(
    hub: &Hub,
    of: Source,
    id: ProcessId,
    source: &mut Option<R>,
    buffer: &mut [u8],
    wrap: fn(&[u8]) -> StdioInput<'_>,
) {
    for _ in 0..READS {
        let Some(from) = source else { return };
        match from.read(buffer) {
            Ok(0) => *source = None,
            Ok(count) => {
                hub.drive(Input::Stdio(id, wrap(buffer.get(..count).unwrap_or_default())));
                // A read that left room has emptied the pipe.
                if count < buffer.len() || !hub.wants_read(of) {
                    return;
                }
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => return,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => *source = None,
        }
    }
}
