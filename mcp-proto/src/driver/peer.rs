//! The bytes of one server process, or of the stream that stands for one.

use core::task::{Context, Poll};
use std::collections::VecDeque;
use std::io::{self, ErrorKind};

use super::Hub;
use super::runtime::{Launched, ProcessHandle, ReadHalf, Stream, WriteHalf};
use crate::interface::{Input, Source, StdioInput};
use crate::{ExitStatus, IoFailure, ProcessId};

/// How often in a row nothing is waited for: other tasks have their turn only then.
const GLANCES: u32 = 16;

/// How often a source is read before the others have their turn.
const READS: usize = 4;

/// One server process, or the stream that stands for one.
pub(super) struct Peer {
    id: ProcessId,
    stdin: Stdin,
    queue: VecDeque<Vec<u8>>,
    /// How much of the first entry of the queue was written.
    offset: usize,
    /// How many bytes were written, and how many of them the connection knows of.
    written: u64,
    told: u64,
    stdout: Option<Box<dyn ReadHalf>>,
    /// Something was written since stdout was looked at last.
    asked: bool,
    /// How often in a row an answer was there before anything was waited for.
    glances: u32,
    stderr: Stderr,
    life: Life,
}

enum Stdin {
    /// `true` while something that was written is not flushed.
    Open(Box<dyn WriteHalf>, bool),
    /// It is to be closed after what is queued.
    Closing(Box<dyn WriteHalf>),
    Closed,
}

enum Stderr {
    Open(Box<dyn ReadHalf>),
    /// It has ended or was never captured, which the connection has yet to be told.
    Ended,
    Told,
}

enum Life {
    Process(Box<dyn ProcessHandle>),
    /// A byte stream: it ends when it is told to.
    Stream,
    /// It has ended, which the connection has yet to be told.
    Ended(ExitStatus),
    Told,
}

impl Peer {
    pub(super) fn process(id: ProcessId, launched: Launched) -> Self {
        let stderr = launched.stderr.map_or(Stderr::Ended, Stderr::Open);
        Peer::new(id, launched.stdio, stderr, Life::Process(launched.process))
    }

    pub(super) fn stream(id: ProcessId, stream: Stream) -> Self {
        Peer::new(id, stream, Stderr::Ended, Life::Stream)
    }

    fn new(id: ProcessId, stdio: Stream, stderr: Stderr, life: Life) -> Self {
        Peer {
            id,
            stdin: Stdin::Open(stdio.write, false),
            queue: VecDeque::new(),
            offset: 0,
            written: 0,
            told: 0,
            stdout: Some(stdio.read),
            asked: false,
            glances: 0,
            stderr,
            life,
        }
    }

    pub(super) fn id(&self) -> ProcessId {
        self.id
    }

    /// Queues bytes for stdin. Once it is closed they are dropped.
    pub(super) fn queue(&mut self, bytes: Vec<u8>) {
        if matches!(self.stdin, Stdin::Open(..)) && !bytes.is_empty() {
            self.queue.push_back(bytes);
        }
    }

    pub(super) fn close_stdin(&mut self) {
        self.stdin = match std::mem::replace(&mut self.stdin, Stdin::Closed) {
            Stdin::Open(stdin, _) => Stdin::Closing(stdin),
            other => other,
        };
    }

    pub(super) fn terminate(&mut self) {
        match &mut self.life {
            Life::Process(process) => process.terminate(),
            _ => self.end_stream(),
        }
    }

    pub(super) fn kill(&mut self) {
        match &mut self.life {
            Life::Process(process) => process.kill(),
            _ => self.end_stream(),
        }
    }

    fn end_stream(&mut self) {
        if matches!(self.life, Life::Stream) {
            self.close_for_good();
            self.stdout = None;
            self.life = Life::Ended(ExitStatus::Unknown);
        }
    }

    fn close_for_good(&mut self) {
        self.stdin = Stdin::Closed;
        self.queue = VecDeque::new();
        self.offset = 0;
    }

    /// Moves what can be moved, and hands in what happened. Whether another turn is due; if not,
    /// the task is woken when there is more to move.
    pub(super) fn advance(&mut self, hub: &Hub, buffer: &mut [u8], cx: &mut Context<'_>) -> bool {
        // Each of them is polled, whatever the others have to say.
        let wrote = self.advance_stdin(hub, cx);
        let read = self.advance_stdout(hub, buffer, cx);
        let complained = self.advance_stderr(hub, buffer, cx);
        let ended = self.advance_life(hub, cx);
        wrote | read | complained | ended
    }

    /// Hands in what happened, after what was written before it.
    fn tell(&mut self, hub: &Hub, what: StdioInput<'_>) -> bool {
        let written = self.untold().into_iter().map(StdioInput::Written);
        hub.drive_all(written.chain([what]).map(|input| Input::Stdio(self.id, input)))
    }

    /// How much was written in all, if the connection does not know.
    fn untold(&mut self) -> Option<u64> {
        let before = std::mem::replace(&mut self.told, self.written);
        (self.written > before).then_some(self.written)
    }

    fn tell_written(&mut self, hub: &Hub) -> bool {
        let written = self.untold().map(|total| Input::Stdio(self.id, StdioInput::Written(total)));
        written.is_some_and(|written| hub.drive(written))
    }

    fn advance_stdin(&mut self, hub: &Hub, cx: &mut Context<'_>) -> bool {
        match self.write(cx) {
            // That all was written can wait until something else is told, which saves a way
            // through the lock.
            Ok(()) if self.queue.is_empty() => false,
            Ok(()) => self.tell_written(hub),
            Err(error) => {
                self.close_for_good();
                self.tell(hub, StdioInput::WriteFailed(IoFailure::from(&error)))
            }
        }
    }

    /// Writes until the pipe is full or the queue empty.
    fn write(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        let (stdin, closing) = match &mut self.stdin {
            Stdin::Open(stdin, held) => {
                *held |= !self.queue.is_empty();
                if !*held {
                    return Ok(());
                }
                (stdin, false)
            }
            Stdin::Closing(stdin) => (stdin, true),
            Stdin::Closed => return Ok(()),
        };
        while let Some(first) = self.queue.front() {
            let rest = first.get(self.offset..).unwrap_or_default();
            match stdin.poll_write(cx, rest) {
                Poll::Pending => break,
                Poll::Ready(Ok(0)) => return Err(ErrorKind::WriteZero.into()),
                Poll::Ready(Ok(n)) => {
                    self.asked = true;
                    self.written += n as u64;
                    self.offset += n;
                    if self.offset >= first.len() {
                        self.queue.pop_front();
                        self.offset = 0;
                    }
                }
                Poll::Ready(Err(error)) if error.kind() == ErrorKind::Interrupted => {}
                Poll::Ready(Err(error)) => return Err(error),
            }
        }
        // Also while the queue is full: what a writer holds back may be what the server waits for.
        let Poll::Ready(flushed) = stdin.poll_flush(cx) else {
            return Ok(());
        };
        flushed?;
        if closing && self.queue.is_empty() && stdin.poll_close(cx).is_ready() {
            self.stdin = Stdin::Closed;
        } else if let (Stdin::Open(_, held), true) = (&mut self.stdin, self.queue.is_empty()) {
            *held = false;
        }
        Ok(())
    }

    fn advance_stdout(&mut self, hub: &Hub, buffer: &mut [u8], cx: &mut Context<'_>) -> bool {
        let mut due = false;
        for _ in 0..READS {
            if self.stdout.is_none() {
                return due;
            }
            if !hub.wants_read(Source::Stdout(self.id)) {
                // The server may have read what decides.
                due |= self.tell_written(hub);
                if !hub.wants_read(Source::Stdout(self.id)) {
                    return due;
                }
            }
            // Many an answer is there at once, and to wait for one costs more than to look.
            if let Some(told) = self.glance(hub, buffer) {
                due |= told;
                continue;
            }
            let Some(stdout) = &mut self.stdout else { return due };
            due |= match read(&mut **stdout, buffer, cx) {
                Read::Nothing => return due,
                Read::Some(bytes) => self.tell(hub, StdioInput::Stdout(bytes)),
                Read::End => {
                    self.stdout = None;
                    self.tell(hub, StdioInput::StdoutClosed)
                }
            };
        }
        true
    }

    /// What came of an answer that was there at once. `None`: it is to be waited for.
    fn glance(&mut self, hub: &Hub, buffer: &mut [u8]) -> Option<bool> {
        if !std::mem::take(&mut self.asked) {
            return None;
        }
        let glances = std::mem::take(&mut self.glances);
        if glances == GLANCES {
            return None;
        }
        let n = self.stdout.as_mut()?.glance(buffer).filter(|n| *n > 0)?;
        self.glances = glances + 1;
        Some(self.tell(hub, StdioInput::Stdout(buffer.get(..n)?)))
    }

    fn advance_stderr(&mut self, hub: &Hub, buffer: &mut [u8], cx: &mut Context<'_>) -> bool {
        let mut due = false;
        for _ in 0..READS {
            let read = match &mut self.stderr {
                Stderr::Open(stderr) => read(&mut **stderr, buffer, cx),
                Stderr::Ended => Read::End,
                Stderr::Told => Read::Nothing,
            };
            due |= match read {
                Read::Nothing => return due,
                Read::Some(bytes) => self.tell(hub, StdioInput::Stderr(bytes)),
                Read::End => {
                    self.stderr = Stderr::Told;
                    self.tell(hub, StdioInput::StderrClosed)
                }
            };
        }
        true
    }

    fn advance_life(&mut self, hub: &Hub, cx: &mut Context<'_>) -> bool {
        let status = match &mut self.life {
            Life::Process(process) => match process.poll_exit(cx) {
                Poll::Ready(status) => status,
                Poll::Pending => return false,
            },
            Life::Ended(status) => *status,
            Life::Stream | Life::Told => return false,
        };
        self.life = Life::Told;
        self.tell(hub, StdioInput::Exited(status))
    }
}

enum Read<'a> {
    Nothing,
    Some(&'a [u8]),
    End,
}

fn read<'a>(half: &mut dyn ReadHalf, buffer: &'a mut [u8], cx: &mut Context<'_>) -> Read<'a> {
    loop {
        return match half.poll_read(cx, buffer) {
            Poll::Pending => Read::Nothing,
            Poll::Ready(Err(error)) if error.kind() == ErrorKind::Interrupted => continue,
            Poll::Ready(Ok(n)) if n > 0 => Read::Some(buffer.get(..n).unwrap_or_default()),
            Poll::Ready(_) => Read::End,
        };
    }
}
