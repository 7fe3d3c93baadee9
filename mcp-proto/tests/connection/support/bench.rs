//! The bench: inputs, outputs, time.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use mcp_proto::model::Implementation;
use mcp_proto::op::CallTool;
use mcp_proto::{
    Answer, Call, CallId, CallOptions, Command, Connection, ConnectionConfig, Error, Event,
    ExitStatus, Input, IoFailure, Item, Mailbox, Now, Operation, Output, Owner, ProcessId,
    Question, QuestionId, Reply, Source, StdioInput, StdioOutput, TimerReason, Transport,
};
use serde_json::{Map, Value};

use super::peer::Sent;
use super::split::Split;
use super::trace;
use super::watch::Watch;

/// A connection, its clock, and everything that it has said.
pub(crate) struct Bench {
    pub(crate) connection: Connection,
    pub(crate) now: Duration,
    pub(crate) split: Split,
    /// Whether the server reads what is written to it.
    pub(crate) reads: bool,
    pub(crate) watch: Watch,
    all: Vec<String>,
    read: usize,
    /// Everything that the client wrote, and how much of it was looked at.
    pub(crate) sent: Vec<Sent>,
    seen: usize,
    done: BTreeMap<CallId, Result<Reply, Error>>,
    pub(crate) events: Vec<Event>,
    pub(crate) items: Vec<(CallId, Item)>,
    /// The notifications that the host has got.
    pub(crate) heard: Vec<Item>,
    pub(crate) asked: VecDeque<(QuestionId, Owner, Question)>,
    /// Whether the host adds nothing to the first questions, and those that wait for that.
    pub(crate) says_little: bool,
    openings: Vec<QuestionId>,
    journal: Vec<u8>,
    ended: bool,
}

/// Settings with names in them, defaults otherwise, and a journal.
pub(crate) fn config() -> ConnectionConfig {
    let mut config = ConnectionConfig::default();
    config.name = String::from("peer");
    config.client_info = Implementation::new("bench", "0.1");
    config.journal = true;
    config
}

/// The same without a journal, for what is played many times or is very long.
pub(crate) fn quick() -> ConnectionConfig {
    let mut config = config();
    config.journal = false;
    config
}

/// A call of a tool.
pub(crate) fn tool(name: &str, arguments: Value) -> CallTool {
    let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
    CallTool::new(name, arguments)
}

/// Options with a time limit.
pub(crate) fn options(timeout: Option<Duration>, progress: bool) -> CallOptions {
    let mut options = CallOptions::default();
    options.timeout = timeout;
    options.progress = progress;
    options
}

impl Bench {
    /// A server that is launched.
    pub(crate) fn stdio(config: ConnectionConfig) -> Bench {
        Bench::new(config, Transport::Stdio(Command::new("server")))
    }

    /// A server at the other end of a byte stream.
    pub(crate) fn stream(config: ConnectionConfig) -> Bench {
        Bench::new(config, Transport::Stream)
    }

    fn new(config: ConnectionConfig, transport: Transport) -> Bench {
        config.check().expect("settings that can work");
        let watch = Watch::new(matches!(transport, Transport::Stream));
        // The clock of a performer starts anywhere.
        let now = Duration::from_secs(1000);
        let connection = Connection::new(Arc::new(config), transport, [7; 32], Now::at(now));
        Bench {
            connection,
            now,
            split: Split::Whole,
            reads: true,
            watch,
            all: Vec::new(),
            read: 0,
            sent: Vec::new(),
            seen: 0,
            done: BTreeMap::new(),
            events: Vec::new(),
            items: Vec::new(),
            heard: Vec::new(),
            asked: VecDeque::new(),
            says_little: true,
            openings: Vec::new(),
            journal: Vec::new(),
            ended: false,
        }
    }

    // The host

    pub(crate) fn begin<O: Operation>(&mut self, operation: O) -> Call<O> {
        self.begin_with(operation, CallOptions::default())
    }

    pub(crate) fn begin_with<O: Operation>(&mut self, operation: O, with: CallOptions) -> Call<O> {
        let progress = with.progress || with.stream;
        let now = Now::at(self.now);
        let call = self.connection.start(operation, with, now).expect("a call that can be made");
        self.watch.call_begins(call.id(), progress);
        self.settle();
        call
    }

    pub(crate) fn cancel<O: Operation>(&mut self, call: &Call<O>) {
        self.input(Input::Cancel(call.id()));
    }

    pub(crate) fn pull<O: Operation>(&mut self, call: &Call<O>) {
        self.input(Input::Pull(Mailbox::Call(call.id())));
    }

    /// The next question.
    pub(crate) fn question(&mut self) -> (QuestionId, Owner, Question) {
        self.asked.pop_front().unwrap_or_else(|| panic!("no question in\n{}", self.whole_trace()))
    }

    pub(crate) fn reply(&mut self, id: QuestionId, answer: Answer) {
        self.watch.answered(id);
        self.input(Input::Answer(id, answer));
    }

    pub(crate) fn is_pending<O: Operation>(&self, call: &Call<O>) -> bool {
        !self.watch.has_ended(call.id())
    }

    /// The end of a call, decoded. It must have come.
    pub(crate) fn done<O: Operation>(&mut self, call: &Call<O>) -> Result<O::Output, Error> {
        let done = self.done.remove(&call.id());
        let done =
            done.unwrap_or_else(|| panic!("{} has no end in\n{}", call.id(), self.whole_trace()));
        call.finish(done)
    }

    /// The error of a call. It must have come.
    pub(crate) fn error<O: Operation>(&mut self, call: &Call<O>) -> Error {
        match self.done(call) {
            Ok(_) => panic!("{} has a result", call.id()),
            Err(error) => error,
        }
    }

    // The server

    /// The process that was launched last, or the stream.
    pub(crate) fn process(&self) -> ProcessId {
        self.watch.latest()
    }

    pub(crate) fn signal(&mut self, input: StdioInput<'_>) {
        self.input(Input::Stdio(self.process(), input));
    }

    /// The server writes bytes.
    pub(crate) fn stdout(&mut self, bytes: &[u8]) {
        let split = self.split.clone();
        let process = self.process();
        for piece in split.cut(bytes) {
            self.handle(Input::Stdio(process, StdioInput::Stdout(piece)));
        }
        self.settle();
    }

    /// The server writes a line.
    pub(crate) fn line(&mut self, line: &str) {
        self.stdout(format!("{line}\n").as_bytes());
    }

    /// The server ends: its pipes, then itself.
    pub(crate) fn exit(&mut self, status: ExitStatus) {
        self.signal(StdioInput::StdoutClosed);
        self.signal(StdioInput::StderrClosed);
        self.signal(StdioInput::Exited(status));
    }

    /// A write to the server fails.
    pub(crate) fn write_fails(&mut self) {
        let failure = IoFailure { kind: "BrokenPipe".into(), text: "Broken pipe".into() };
        self.signal(StdioInput::WriteFailed(failure));
    }

    /// The next message that the client wrote. It must be a request or notification of this method.
    pub(crate) fn expect(&mut self, method: &str) -> Sent {
        let sent = self.next_message();
        assert_eq!(sent.method(), method, "in\n{}", self.whole_trace());
        sent
    }

    pub(crate) fn next_message(&mut self) -> Sent {
        let sent = self.sent.get(self.seen).cloned();
        self.seen += 1;
        sent.unwrap_or_else(|| panic!("the client wrote nothing in\n{}", self.whole_trace()))
    }

    /// Everything that was written and not looked at.
    pub(crate) fn take_messages(&mut self) -> Vec<Sent> {
        self.sent.get(std::mem::replace(&mut self.seen, self.sent.len())..).unwrap().to_vec()
    }

    /// Nothing was written that was not looked at.
    pub(crate) fn quiet(&self) {
        assert_eq!(self.sent.get(self.seen..), Some(&[][..]), "written and not expected");
    }

    // Time

    pub(crate) fn deadline(&self) -> Option<Duration> {
        self.connection.poll_timeout().map(|deadline| deadline.at)
    }

    /// Time passes; each deadline on the way is kept.
    pub(crate) fn advance(&mut self, by: Duration) {
        let end = self.now + by;
        while let Some(at) = self.deadline().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            self.timeout();
        }
        self.now = end;
    }

    /// Time passes until the next deadline; what for is returned.
    pub(crate) fn next_deadline(&mut self) -> TimerReason {
        let deadline = self.connection.poll_timeout().expect("a deadline");
        self.now = self.now.max(deadline.at);
        self.timeout();
        deadline.reason
    }

    pub(crate) fn timeout(&mut self) {
        self.input(Input::Timeout);
        if let Some(at) = self.deadline() {
            assert!(at > self.now, "a deadline stays in the past: {at:?} at {:?}", self.now);
        }
    }

    // Everything

    pub(crate) fn input(&mut self, input: Input<'_>) {
        self.handle(input);
        self.settle();
    }

    fn handle(&mut self, input: Input<'_>) {
        if let Input::Stdio(id, input) = &input {
            self.watch.input(*id, input);
        }
        self.connection.handle(input, Now::at(self.now));
        self.drain();
    }

    /// Drains, and lets the server read what it was written.
    pub(crate) fn settle(&mut self) {
        self.drain();
        while let Some(id) = self.openings.pop() {
            self.watch.answered(id);
            self.handle(Input::Answer(id, Answer::RequestMeta(Map::new())));
        }
        if self.reads && self.watch.runs() && self.watch.queued() > 0 {
            let total = self.watch.queued();
            self.handle(Input::Stdio(self.process(), StdioInput::Written(total)));
            assert!(self.connection.wants_read(Source::Stdout(self.process())));
        }
        self.watch.check_sends();
    }

    fn drain(&mut self) {
        loop {
            let deadline = self.connection.poll_timeout();
            let Some(output) = self.connection.poll_output() else {
                let reason = deadline.map(|deadline| deadline.reason);
                assert_ne!(reason, Some(TimerReason::Output), "nothing is queued");
                break;
            };
            let deadline = deadline.expect("a deadline while outputs are queued");
            assert_eq!((deadline.at, deadline.reason), (self.now, TimerReason::Output));
            self.take(output);
        }
        if self.watch.is_closed() {
            assert_eq!(self.connection.poll_timeout(), None, "a timer after the end");
        }
        self.journal.extend(self.connection.take_journal());
    }

    fn take(&mut self, output: Output) {
        self.all.push(trace::line(&output));
        self.watch.output(&output);
        match output {
            Output::Stdio(process, StdioOutput::Write(bytes)) => {
                let line = String::from_utf8(bytes).expect("UTF-8");
                let message = serde_json::from_str(&line).expect("JSON");
                self.sent.push(Sent { process, line, message });
            }
            Output::Done(id, done) => {
                self.done.insert(id, done);
            }
            Output::Item(Mailbox::Call(id), item) => self.items.push((id, *item)),
            Output::Item(Mailbox::Host, item) => self.heard.push(*item),
            Output::Ask(id, Owner::Connection, Question::RequestMeta { .. })
                if self.says_little =>
            {
                self.openings.push(id);
            }
            Output::Ask(id, owner, question) => self.asked.push_back((id, owner, question)),
            Output::Event(event) => self.events.push(event),
            _ => {}
        }
    }

    /// The outputs since the last look at them, a line each.
    pub(crate) fn trace(&mut self) -> Vec<String> {
        let since = self.all.get(self.read..).unwrap_or_default().to_vec();
        self.read = self.all.len();
        since
    }

    /// All outputs.
    pub(crate) fn whole_trace(&self) -> String {
        self.all.join("\n")
    }

    /// Closes the connection; nothing may be left of it.
    pub(crate) fn end(&mut self) {
        self.ended = true;
        self.input(Input::Close);
        if self.watch.runs() {
            self.signal(StdioInput::Exited(ExitStatus::Code(0)));
            // A stream ends when it is told to.
            self.advance(Duration::from_secs(5));
        }
        self.watch.check_end();
        self.replay();
        assert!(self.connection.is_idle(), "something is kept");
        assert!(self.connection.at_rest(), "something runs");
        assert_eq!(self.connection.poll_timeout(), None, "a timer after the end");
    }
}

impl Bench {
    /// The journal, played again, gives the same outputs.
    fn replay(&mut self) {
        if !self.connection.config().journal {
            return;
        }
        let journal = String::from_utf8(std::mem::take(&mut self.journal)).expect("UTF-8");
        let replayed = mcp_proto::journal::replay(&journal).unwrap_or_else(|e| panic!("{e}"));
        assert!(!replayed.truncated, "the journal was cut off");
        assert_eq!(replayed.outputs, self.all.len());
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        if !self.ended && !std::thread::panicking() {
            self.end();
        }
    }
}
