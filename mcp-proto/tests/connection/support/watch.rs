//! What holds of any connection at any time, checked output by output.

use std::collections::{BTreeMap, BTreeSet};

use mcp_proto::{
    CallId, ConnectionState, Mailbox, Output, ProcessId, QuestionId, StdioInput, StdioOutput,
};
use serde_json::Value;

#[derive(Default)]
pub(crate) struct Watch {
    stream: bool,
    /// Open calls, and whether their items are wanted.
    calls: BTreeMap<CallId, bool>,
    ended: BTreeSet<CallId>,
    questions: BTreeSet<QuestionId>,
    last_question: u64,
    process: Option<Process>,
    launched: u64,
    /// Every request id that was ever written.
    ids: BTreeSet<u64>,
    tool_calls: u64,
    resends: u64,
    closed: bool,
}

#[derive(Default)]
struct Process {
    id: u64,
    gone: bool,
    stdin_closed: bool,
    terminated: bool,
    killed: bool,
    queued: u64,
}

impl Watch {
    pub(crate) fn new(stream: bool) -> Self {
        Watch { stream, ..Watch::default() }
    }

    pub(crate) fn call_begins(&mut self, id: CallId, progress: bool) {
        assert!(!self.ended.contains(&id), "{id} begins twice");
        self.calls.insert(id, progress);
    }

    pub(crate) fn has_ended(&self, id: CallId) -> bool {
        self.ended.contains(&id)
    }

    pub(crate) fn answered(&mut self, id: QuestionId) {
        self.questions.remove(&id);
    }

    /// The process that was launched last, or the stream.
    pub(crate) fn latest(&self) -> ProcessId {
        ProcessId::new(self.launched.max(1))
    }

    /// How many bytes the latest process was given to read.
    pub(crate) fn queued(&self) -> u64 {
        self.process.as_ref().map_or(0, |process| process.queued)
    }

    pub(crate) fn open_calls(&self) -> Vec<CallId> {
        self.calls.keys().copied().collect()
    }

    pub(crate) fn open_questions(&self) -> Vec<QuestionId> {
        self.questions.iter().copied().collect()
    }

    /// Whether the latest process was killed and has not been reaped.
    pub(crate) fn is_dying(&self) -> bool {
        self.process.as_ref().is_some_and(|process| process.killed && !process.gone)
    }

    /// Whether the latest process was launched and has not ended.
    pub(crate) fn runs(&self) -> bool {
        self.process.as_ref().is_some_and(|process| !process.gone)
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    pub(crate) fn input(&mut self, id: ProcessId, input: &StdioInput<'_>) {
        // A stream does not end by itself: it is let go of.
        let ends = match input {
            StdioInput::Exited(_) => !self.stream,
            StdioInput::SpawnFailed(_) => true,
            _ => false,
        };
        if let Some(process) = self.process.as_mut().filter(|it| it.id == id.number()) {
            process.gone |= ends;
        }
    }

    pub(crate) fn output(&mut self, output: &Output) {
        // What waits for the host outlives the connection.
        if !matches!(output, Output::Done(..) | Output::Item(Mailbox::Host, _)) {
            assert!(!self.closed, "after the end came {output:?}");
        }
        match output {
            Output::Stdio(id, output) => self.stdio(*id, output),
            Output::Ask(id, ..) => {
                assert!(id.number() > self.last_question, "{id} is asked twice");
                self.last_question = id.number();
                self.questions.insert(*id);
            }
            Output::Withdraw(id, _) => {
                assert!(self.questions.remove(id), "{id} is withdrawn, but not open");
            }
            Output::Item(Mailbox::Call(id), _) => {
                assert_eq!(self.calls.get(id), Some(&true), "an item for {id}");
            }
            Output::Done(id, _) => {
                assert!(self.calls.remove(id).is_some(), "{id} ends, but is not open");
                self.ended.insert(*id);
            }
            Output::Connection(ConnectionState::Idle(_)) => {
                assert!(!self.runs(), "idle while a process runs");
            }
            Output::Connection(ConnectionState::Closed(_)) => {
                assert!(!self.runs(), "closed while a process runs");
                assert!(self.calls.is_empty(), "closed with open calls: {:?}", self.calls);
                self.closed = true;
            }
            Output::Resend(..) => self.resends += 1,
            _ => {}
        }
    }

    fn stdio(&mut self, id: ProcessId, output: &StdioOutput) {
        if let StdioOutput::Spawn(_) = output {
            assert!(!self.stream, "a stream is launched");
            assert!(!self.runs(), "two processes at once");
            self.launched += 1;
            assert_eq!(id.number(), self.launched, "ids of processes are counted");
            self.process = Some(Process { id: self.launched, ..Process::default() });
            return;
        }
        if self.stream && self.process.is_none() {
            self.launched = 1;
            self.process = Some(Process { id: 1, ..Process::default() });
        }
        let process = self.process.as_mut().filter(|it| it.id == id.number() && !it.gone);
        let process = process.unwrap_or_else(|| panic!("{output:?} for {id}, which is gone"));
        match output {
            StdioOutput::Write(bytes) => {
                assert!(!process.stdin_closed, "written after stdin was closed");
                process.queued += bytes.len() as u64;
                self.written(bytes);
            }
            StdioOutput::CloseStdin => {
                assert!(!std::mem::replace(&mut process.stdin_closed, true), "closed twice");
            }
            StdioOutput::Terminate => {
                assert!(process.stdin_closed, "terminated before stdin was closed");
                assert!(!std::mem::replace(&mut process.terminated, true), "terminated twice");
            }
            StdioOutput::Kill => {
                assert!(self.stream || process.terminated, "killed before it was asked to end");
                assert!(!std::mem::replace(&mut process.killed, true), "killed twice");
                process.gone = self.stream;
            }
            other => panic!("{other:?}"),
        }
    }

    /// What is written is one message of the protocol, in one line.
    fn written(&mut self, bytes: &[u8]) {
        let line = std::str::from_utf8(bytes).expect("UTF-8");
        let message = line.strip_suffix('\n').expect("whole lines");
        assert!(!message.contains(['\n', '\r']), "a line end inside of a message");
        let message: Value = serde_json::from_str(message).expect("JSON");
        assert_eq!(message["jsonrpc"], "2.0");
        let members = message.as_object().expect("an object");
        if let Some(method) = members.get("method") {
            let method = method.as_str().expect("a method");
            assert!(members.get("params").is_none_or(Value::is_object), "{line}");
            if let Some(id) = members.get("id") {
                let id = id.as_u64().expect("ids are whole numbers");
                assert!(self.ids.insert(id), "the id {id} is used twice");
            }
            self.tool_calls += u64::from(method == "tools/call");
        } else {
            assert!(members.get("id").is_some_and(|id| !id.is_null()), "{line}");
            assert!(members.contains_key("result") != members.contains_key("error"), "{line}");
        }
    }

    /// Sends = calls + resends.
    pub(crate) fn check_sends(&self) {
        let calls = (self.calls.len() + self.ended.len()) as u64;
        assert!(self.tool_calls <= calls + self.resends, "a tool is called once too often");
    }

    /// At the end, nothing is left of anything.
    pub(crate) fn check_end(&self) {
        assert!(self.calls.is_empty(), "calls without an end: {:?}", self.calls);
        assert!(self.questions.is_empty(), "open questions: {:?}", self.questions);
        assert!(self.closed, "the end was not told");
        self.check_sends();
    }
}
