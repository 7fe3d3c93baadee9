//! Processes and byte streams: one at a time, each told to end in the right order.

use super::messages::Whose;
use super::{Invariants, Rule};
use crate::{ProcessId, StdioOutput};

#[derive(Debug)]
pub(super) struct Processes {
    stream: bool,
    launched: u64,
    current: Option<Process>,
}

#[derive(Debug, Default)]
struct Process {
    stdin_closed: bool,
    terminated: bool,
    killed: bool,
}

impl Processes {
    pub(super) fn new(stream: bool) -> Self {
        Processes { stream, launched: 0, current: None }
    }

    pub(super) fn runs(&self) -> bool {
        self.current.is_some()
    }

    /// A process has ended. A stream does not end by itself: it is let go of.
    pub(super) fn gone(&mut self, id: ProcessId, exited: bool) {
        if id.number() == self.launched && !(self.stream && exited) {
            self.current = None;
        }
    }
}

impl Invariants {
    pub(super) fn on_process(&mut self, id: ProcessId, output: &StdioOutput) {
        let processes = &mut self.processes;
        if let StdioOutput::Spawn(_) = output {
            let first = processes.current.is_none() && !processes.stream;
            processes.launched += 1;
            processes.current = Some(Process::default());
            let counted = processes.launched == id.number();
            return self
                .check(first && counted, Rule::Order, || format!("{id} is launched out of turn"));
        }
        // A stream is there from the first byte on.
        if processes.stream && processes.launched == 0 {
            processes.launched = 1;
            processes.current = Some(Process::default());
        }
        let stream = processes.stream;
        let current = processes.current.as_mut().filter(|_| id.number() == processes.launched);
        let Some(process) = current else {
            return self.report(Rule::Order, format!("{output:?} for {id}, which is gone"));
        };
        let fits = match output {
            StdioOutput::Spawn(_) => false,
            StdioOutput::Write(_) => !process.stdin_closed,
            StdioOutput::CloseStdin => !std::mem::replace(&mut process.stdin_closed, true),
            StdioOutput::Terminate => {
                !std::mem::replace(&mut process.terminated, true) && process.stdin_closed
            }
            StdioOutput::Kill => {
                let asked = stream || process.terminated;
                !std::mem::replace(&mut process.killed, true) && asked
            }
        };
        if stream && matches!(output, StdioOutput::Kill) {
            processes.current = None;
        }
        self.check(fits, Rule::Order, || format!("{output:?} comes out of turn for {id}"));
        if let StdioOutput::Write(bytes) = output {
            let line = bytes.strip_suffix(b"\n");
            self.check(line.is_some(), Rule::Messages, || String::from("no whole line"));
            self.on_message(line.unwrap_or_default(), Whose::Unknown);
        }
    }
}
