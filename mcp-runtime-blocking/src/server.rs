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
    /// Something was written since stdout was looked at last.
    asked: bool,
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
    /// How many of the written ones the hub knows of.
    told: u64,
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
            asked: false,
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
        self.asked = true;
        if let Some(failure) = failed {
            self.stdin = None;
            return self.tell(hub, StdioInput::WriteFailed(failure));
        }
        if !self.queue.is_empty() {
            // What the server takes of it decides whether it is read.
            let written = self.queue.untold().map(StdioInput::Written);
            return written.is_some_and(|it| hub.drive(Input::Stdio(self.id, it)));
        }
        // That all was written can wait until something else is told, which saves a way through
        // the lock.
        if self.closing {
            self.stdin = None;
        }
        false
    }

    /// Hands in what happened, after what was written before it.
    fn tell(&mut self, hub: &Hub, what: StdioInput<'_>) -> bool {
        tell(hub, self.id, &mut self.queue, what)
    }

    /// Reads what is there already, if something was written since the last time: many an answer is,
    /// and to wait for one costs more than to look. Whether there was anything.
    pub(crate) fn glance(&mut self, hub: &Hub, buffer: &mut [u8]) -> bool {
        std::mem::take(&mut self.asked) && self.read_stdout(hub, buffer)
    }

    fn read_stdout(&mut self, hub: &Hub, buffer: &mut [u8]) -> bool {
        let (of, queue) = (Source::Stdout(self.id), &mut self.queue);
        let tell = |bytes: &[u8]| tell(hub, self.id, queue, StdioInput::Stdout(bytes));
        let some = read(&mut self.stdout, buffer, tell, || hub.wants_read(of));
        if some && self.stdout.is_none() {
            self.tell(hub, StdioInput::StdoutClosed);
        }
        some
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
            self.read_stdout(hub, buffer);
        }
        if watched.stderr && ready() {
            let (of, queue) = (Source::Stderr(self.id), &mut self.queue);
            let tell = |bytes: &[u8]| tell(hub, self.id, queue, StdioInput::Stderr(bytes));
            read(&mut self.stderr, buffer, tell, || hub.wants_read(of));
            if self.stderr.is_none() {
                self.tell(hub, StdioInput::StderrClosed);
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
            self.tell(hub, StdioInput::Exited(status));
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
            (self.bytes, self.at) = (Vec::new(), 0);
        }
    }

    /// How much was written in all, if the hub does not know.
    fn untold(&mut self) -> Option<u64> {
        let before = std::mem::replace(&mut self.told, self.written);
        (self.written > before).then_some(self.written)
    }
}

fn unblock(launched: &Launched) -> io::Result<()> {
    set_nonblocking(&launched.stdin)?;
    set_nonblocking(&launched.stdout)?;
    launched.stderr.as_ref().map_or(Ok(()), set_nonblocking)
}

/// Hands in what happened, after what was written before it.
fn tell(hub: &Hub, id: ProcessId, queue: &mut Queue, what: StdioInput<'_>) -> bool {
    let written = queue.untold().into_iter().map(StdioInput::Written);
    hub.drive_all(written.chain([what]).map(|input| Input::Stdio(id, input)))
}

/// Reads what is there, as long as it is wanted. The source is gone after its end. Whether there was
/// anything, the end included.
fn read<R: Read>(
    source: &mut Option<R>,
    buffer: &mut [u8],
    mut tell: impl FnMut(&[u8]) -> bool,
    wanted: impl Fn() -> bool,
) -> bool {
    let mut some = false;
    for _ in 0..READS {
        let Some(from) = source else { break };
        match from.read(buffer) {
            Ok(count) if count > 0 => {
                some = true;
                tell(buffer.get(..count).unwrap_or_default());
                // A read that left room has emptied the pipe.
                if count < buffer.len() || !wanted() {
                    break;
                }
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Ok(_) | Err(_) => {
                some = true;
                *source = None;
            }
        }
    }
    some
}
