//! One server over its standard streams (specification: basic/transports/stdio), or over a byte
//! stream that stands for them.
//!
//! It launches, cuts lines, counts what waits to be written, and closes in stages. Times are the
//! connection's: this file says which timer it wants.

use std::collections::VecDeque;

use super::stderr::Stderr;
use super::{Happening, close_stage};
use crate::error::{HttpFault, TransportError};
use crate::interface::{ExitStatus, IoFailure, StdioInput, StdioOutput};
use crate::wire::lines::{Line, LineDecoder};
use crate::{Event, ProcessId, Transport};

#[derive(Debug)]
pub(crate) struct Stdio {
    kind: Transport,
    max_line: usize,
    max_reply_bytes: u64,
    next: u64,
    process: Option<Process>,
}

#[derive(Debug)]
struct Process {
    id: ProcessId,
    life: Life,
    lines: LineDecoder,
    stdout_open: bool,
    stderr: Stderr,
    stderr_open: bool,
    exit: Option<ExitStatus>,
    /// How many bytes were handed out to be written, and how many of them were.
    queued: u64,
    written: u64,
    /// Which of the queued bytes answer the server: stretches that end here, with how much of each
    /// is not written yet.
    replies: VecDeque<(u64, u64)>,
    reply_bytes: u64,
}

/// How far a process is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Life {
    /// It is spoken with.
    Running,
    /// Signs of its end were seen; a last answer may still be in the pipe.
    Ending,
    /// It is being closed: its stdin is.
    Closing,
    /// It was asked to end.
    Terminating,
    /// It was killed.
    Killed,
}

impl Stdio {
    pub(crate) fn new(kind: Transport, max_line: usize, max_reply_bytes: usize) -> Self {
        let max_reply_bytes = max_reply_bytes as u64;
        Stdio { kind, max_line, max_reply_bytes, next: 0, process: None }
    }

    pub(crate) fn is_stream(&self) -> bool {
        matches!(self.kind, Transport::Stream)
    }

    pub(crate) fn at_rest(&self) -> bool {
        self.process.is_none()
    }

    /// The process that was launched last.
    pub(crate) fn latest(&self) -> ProcessId {
        ProcessId::new(self.next)
    }

    /// Whether nothing can be launched any more: a byte stream has one life.
    pub(crate) fn is_spent(&self) -> bool {
        self.is_stream() && self.next > 0
    }

    /// Launches the server. For a byte stream there is nothing to launch.
    pub(crate) fn launch(&mut self) -> Option<Happening> {
        // What is no address over HTTP ends up here, since it can be spoken with in no way.
        if let Transport::Http(http) = &self.kind {
            let misuse = http.endpoint().err()?;
            return Some(Happening::Lost(TransportError::Http(HttpFault::Address(misuse))));
        }
        self.next += 1;
        let id = ProcessId::new(self.next);
        self.process = Some(Process {
            id,
            life: Life::Running,
            lines: LineDecoder::new(self.max_line),
            stdout_open: true,
            stderr: Stderr::default(),
            stderr_open: !self.is_stream(),
            exit: None,
            queued: 0,
            written: 0,
            replies: VecDeque::new(),
            reply_bytes: 0,
        });
        match &self.kind {
            Transport::Stdio(command) => {
                Some(Happening::Do(id, StdioOutput::Spawn(command.clone())))
            }
            _ => None,
        }
    }

    /// Hands out a line to be written. `None` when nobody is there to read it.
    pub(crate) fn write(&mut self, line: Vec<u8>, answers_server: bool) -> Option<Happening> {
        let process = self.process.as_mut()?;
        if process.life != Life::Running {
            return None;
        }
        let len = line.len() as u64;
        process.queued += len;
        if answers_server {
            process.reply_bytes += len;
            match process.replies.back_mut() {
                Some((end, bytes)) if *end + len == process.queued => {
                    *end += len;
                    *bytes += len;
                }
                _ => process.replies.push_back((process.queued, len)),
            }
        }
        Some(Happening::Do(process.id, StdioOutput::Write(line)))
    }

    /// Whether its stdout may be read. It may always, unless the server does not read the answers
    /// that it asked for. Near its end it gets no more of them, and is read to the last.
    pub(crate) fn wants_stdout(&self, id: ProcessId) -> bool {
        let process = self.process.as_ref().filter(|process| process.id == id);
        let process = process.filter(|process| process.life == Life::Running);
        process.is_none_or(|process| process.reply_bytes <= self.max_reply_bytes)
    }

    pub(crate) fn last_words(&self) -> String {
        self.process.as_ref().map(|process| process.stderr.last_words()).unwrap_or_default()
    }

    /// Bytes of the unfinished line, and bytes of answers that the server has not read.
    #[cfg(feature = "testing")]
    pub(crate) fn holds(&self) -> (usize, u64) {
        self.process.as_ref().map_or((0, 0), |it| (it.lines.held(), it.reply_bytes))
    }

    /// Takes the next line from bytes of stdout.
    pub(crate) fn line(&mut self, id: ProcessId, bytes: &mut &[u8]) -> Option<Line> {
        match &mut self.process {
            Some(process) if process.id == id && process.is_heard() => process.lines.decode(bytes),
            _ => None,
        }
    }

    /// Takes an input other than bytes of stdout.
    pub(crate) fn handle(&mut self, id: ProcessId, input: &StdioInput<'_>) -> Vec<Happening> {
        let Some(process) = self.process.as_mut().filter(|process| process.id == id) else {
            return Vec::new();
        };
        match input {
            StdioInput::Spawned { .. } | StdioInput::Stdout(_) => Vec::new(),
            StdioInput::SpawnFailed(failure) => {
                let lost = process.is_heard();
                let error = spawn_error(&self.kind, failure);
                self.process = None;
                let lost = lost.then_some(Happening::Lost(error));
                lost.into_iter().chain([Happening::Gone]).collect()
            }
            StdioInput::StdoutClosed => {
                process.stdout_open = false;
                let rest = process.is_heard().then(|| process.lines.finish()).flatten();
                let mut all: Vec<_> = rest.map(Happening::from).into_iter().collect();
                if matches!(self.kind, Transport::Stream) {
                    process.exit = Some(ExitStatus::Unknown);
                }
                all.extend(self.end_signs());
                all
            }
            StdioInput::Stderr(bytes) => {
                process.stderr.take(bytes).into_iter().map(Happening::Event).collect()
            }
            StdioInput::StderrClosed => {
                process.stderr_open = false;
                let rest = process.stderr.flush().map(Happening::Event);
                let mut all: Vec<_> = rest.into_iter().collect();
                if process.exit.is_some() {
                    all.extend(self.end_signs());
                }
                all
            }
            StdioInput::Written(total) => {
                process.written_until(*total);
                Vec::new()
            }
            StdioInput::WriteFailed(_) => self.end_signs(),
            StdioInput::Exited(status) => {
                process.exit = Some(*status);
                let stdout_open = process.stdout_open;
                let event = Event::Exited { process: id, status: *status };
                let mut all = vec![Happening::Event(event)];
                all.extend(self.end_signs());
                // The wait begins anew: the last answer may be in the pipe since a moment only.
                let waits = self.process.as_ref().is_some_and(|it| it.life == Life::Ending);
                all.extend((waits && stdout_open).then_some(Happening::AwaitExit));
                all
            }
        }
    }

    /// A sign of the end was seen: decides whether all that can come has come.
    fn end_signs(&mut self) -> Vec<Happening> {
        let stream = self.is_stream();
        let Some(process) = &mut self.process else {
            return Vec::new();
        };
        let over = process.exit.is_some() && !process.stdout_open && !process.stderr_open;
        match process.life {
            Life::Running | Life::Ending if over || (stream && process.exit.is_some()) => {
                self.lose()
            }
            Life::Running => {
                process.life = Life::Ending;
                vec![Happening::AwaitExit]
            }
            Life::Ending => Vec::new(),
            Life::Closing | Life::Terminating | Life::Killed => match process.exit {
                Some(_) if !stream => self.forget(),
                // The other side of a stream has closed too: let go of it.
                Some(_) if process.life == Life::Closing => self.kill(),
                _ => Vec::new(),
            },
        }
    }

    /// The wait for the other signs of the end is over.
    pub(crate) fn exit_awaited(&mut self) -> Vec<Happening> {
        match &self.process {
            Some(process) if process.life == Life::Ending => self.lose(),
            _ => Vec::new(),
        }
    }

    /// The server is lost. What is left of it is closed.
    fn lose(&mut self) -> Vec<Happening> {
        let Some(process) = &self.process else {
            return Vec::new();
        };
        let error = match self.kind {
            Transport::Stdio(_) => TransportError::Exited {
                status: process.exit,
                unanswered: None,
                stderr: process.stderr.last_words(),
            },
            _ => TransportError::StreamEnded,
        };
        let ended = process.exit.is_some() && !self.is_stream();
        let mut all = vec![Happening::Lost(error)];
        all.extend(if ended { self.forget() } else { self.close() });
        all
    }

    fn forget(&mut self) -> Vec<Happening> {
        self.process = None;
        vec![Happening::Gone]
    }

    /// Begins to close the server, if there is one and it is not being closed already.
    pub(crate) fn close(&mut self) -> Vec<Happening> {
        let stream = self.is_stream();
        let Some(process) = &mut self.process else {
            return Vec::new();
        };
        match process.life {
            Life::Running | Life::Ending => {
                if process.exit.is_some() {
                    return if stream { self.kill() } else { self.forget() };
                }
                process.life = Life::Closing;
                let id = process.id;
                vec![Happening::Do(id, StdioOutput::CloseStdin), close_stage()]
            }
            Life::Closing | Life::Terminating | Life::Killed => Vec::new(),
        }
    }

    /// A stage of closing has had its time.
    pub(crate) fn grace_over(&mut self) -> Vec<Happening> {
        let stream = self.is_stream();
        let Some(process) = &mut self.process else {
            return Vec::new();
        };
        match process.life {
            Life::Closing if !stream => {
                process.life = Life::Terminating;
                vec![Happening::Do(process.id, StdioOutput::Terminate), close_stage()]
            }
            Life::Closing | Life::Terminating => self.kill(),
            Life::Running | Life::Ending | Life::Killed => Vec::new(),
        }
    }

    fn kill(&mut self) -> Vec<Happening> {
        let stream = self.is_stream();
        let Some(process) = &mut self.process else {
            return Vec::new();
        };
        process.life = Life::Killed;
        let kill = Happening::Do(process.id, StdioOutput::Kill);
        // Nothing is waited for behind a stream: the performer drops both its halves.
        if stream { std::iter::once(kill).chain(self.forget()).collect() } else { vec![kill] }
    }
}

impl Process {
    /// Whether what it says still counts.
    fn is_heard(&self) -> bool {
        matches!(self.life, Life::Running | Life::Ending)
    }

    fn written_until(&mut self, total: u64) {
        self.written = total.min(self.queued).max(self.written);
        while let Some((end, bytes)) = self.replies.front_mut() {
            let start = *end - *bytes;
            let taken = self.written.min(*end).saturating_sub(start);
            *bytes -= taken;
            self.reply_bytes -= taken;
            if *bytes > 0 {
                break;
            }
            self.replies.pop_front();
        }
    }
}

fn spawn_error(kind: &Transport, failure: &IoFailure) -> TransportError {
    let command = match kind {
        Transport::Stdio(command) => command.line(),
        _ => String::new(),
    };
    TransportError::Spawn { command, failure: failure.clone() }
}
