//! The performer: it does what it is told, and keeps its promises.

use std::collections::{BTreeMap, VecDeque};

use super::World;
use crate::testing::Split;
use crate::testing::peer::{Message, Via};
use crate::{
    ExchangeId, ExitStatus, HttpFailure, HttpFailureKind, HttpInput, HttpOutput, HttpRequest,
    Input, IoFailure, Method, Output, Owner, ProcessId, Question, QuestionId, Sent, Source,
    StdioInput, StdioOutput,
};

/// How much is read from a pipe at once.
const READ: usize = 64 * 1024;

#[derive(Debug, Default)]
pub(super) struct Performer {
    pub(super) process: Option<Process>,
    pub(super) exchanges: BTreeMap<ExchangeId, Exchange>,
    /// What was asked with each question.
    asked: BTreeMap<QuestionId, Asked>,
}

/// What a question asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    Meta,
    Elicitation,
    Sampling,
    Wait,
}

/// A process, or a byte stream.
#[derive(Debug)]
pub(super) struct Process {
    pub(super) id: ProcessId,
    /// Its launch was told.
    spawned: bool,
    /// What was written to it and not read by it.
    unread: VecDeque<Vec<u8>>,
    taken: u64,
    pub(super) stdin_closed: bool,
    terminated: bool,
    killed: bool,
    pub(super) stdout_open: bool,
    pub(super) stderr_open: bool,
    /// What it said and nobody has read, since the connection does not want it now.
    said: Vec<u8>,
}

#[derive(Debug, Default)]
pub(super) struct Exchange {
    /// Its head was handed in.
    pub(super) head: bool,
    begun: Begun,
    /// What it carries, until it is sent.
    message: Option<Message>,
    /// What the server said and nobody has read, since the connection does not want it now.
    pub(super) said: Vec<u8>,
    /// What the performer was told to do with it.
    told: Option<HttpOutput>,
}

/// How far a request is on its way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Begun {
    #[default]
    No,
    /// A connection is being opened.
    Connecting,
    Sent,
}

impl Process {
    fn new(id: ProcessId, stream: bool) -> Self {
        Process {
            id,
            spawned: stream,
            unread: VecDeque::new(),
            taken: 0,
            stdin_closed: false,
            terminated: false,
            killed: false,
            stdout_open: true,
            stderr_open: !stream,
            said: Vec::new(),
        }
    }
}

impl Performer {
    pub(super) fn asked(&self, id: QuestionId) -> Asked {
        self.asked.get(&id).copied().unwrap_or(Asked::Meta)
    }

    pub(super) fn unread(&self) -> usize {
        self.process.as_ref().map_or(0, |process| process.unread.len())
    }
}

impl World {
    /// Takes an output: files it where it will be done.
    pub(super) fn take(&mut self, output: Output) {
        match output {
            Output::Stdio(id, what) => self.take_stdio(id, what),
            Output::Http(id, owner, HttpOutput::Send(request)) => {
                self.take_request(id, owner, &request);
            }
            Output::Http(id, _, what) => {
                if let Some(exchange) = self.performer.exchanges.get_mut(&id) {
                    exchange.told = Some(what);
                }
            }
            Output::Ask(id, _, question) => {
                let asked = match question {
                    Question::RequestMeta { .. } => Asked::Meta,
                    Question::Elicit(_) => Asked::Elicitation,
                    Question::Sample(_) => Asked::Sampling,
                    Question::Wait(_) => Asked::Wait,
                    // These hosts store nothing, so that nobody asks them.
                    Question::Load { .. } | Question::Save(_) => Asked::Meta,
                };
                self.performer.asked.insert(id, asked);
            }
            Output::Withdraw(id, _) => {
                self.performer.asked.remove(&id);
            }
            Output::Done(id, done) => self.on_done(id, done),
            _ => {}
        }
    }

    fn take_stdio(&mut self, id: ProcessId, what: StdioOutput) {
        let stream = !matches!(self.setup.wire, crate::testing::Wire::Stdio);
        let performer = &mut self.performer;
        if matches!(what, StdioOutput::Spawn(_)) || performer.process.is_none() {
            performer.process = Some(Process::new(id, stream));
        }
        let Some(process) = performer.process.as_mut().filter(|it| it.id == id) else { return };
        match what {
            StdioOutput::Spawn(_) => {}
            StdioOutput::Write(bytes) => process.unread.push_back(bytes),
            StdioOutput::CloseStdin => process.stdin_closed = true,
            StdioOutput::Terminate => process.terminated = true,
            StdioOutput::Kill => process.killed = true,
        }
        if stream && process.killed {
            // Both halves are dropped: nothing more is told of it.
            self.lose_process();
        }
    }

    /// A server that lists one thing and wants another: no listing mends a call of its tools.
    fn refuses_any_header(&self, request: &HttpRequest) -> bool {
        self.setup.version % 10 == 7 && !self.peer.healed && calls_tool(request)
    }

    fn take_request(&mut self, id: ExchangeId, owner: Owner, request: &HttpRequest) {
        let session = self.session_of(request);
        let session = session.as_deref();
        let misplaced = self.is_misplaced(request);
        let last = header(request, "last-event-id");
        let via = Via::Exchange(id);
        let rest = last.and_then(|last| self.peer.rest(last, via, session));
        if let Owner::Call(call) = owner
            && request.method == Method::Get
        {
            self.check_rest(call, last.unwrap_or_default(), session);
        }
        let message = match request.method {
            Method::Post => Message::read(via, &request.body, session).map(|message| Message {
                lacks_header: self.setup.wants_headers()
                    && (lacks_header(request) || self.refuses_any_header(request)),
                misplaced,
                ..message
            }),
            Method::Get if rest.is_some() => rest,
            method => {
                let body = format!(r#"{{"method":"{}"}}"#, method.as_str());
                let message = Message::read(via, body.as_bytes(), session);
                message.map(|message| Message { misplaced, ..message })
            }
        };
        self.performer.exchanges.insert(id, Exchange { message, ..Exchange::default() });
    }

    pub(super) fn lose_process(&mut self) {
        if let Some(process) = self.performer.process.take() {
            self.peer.forget(Via::Process(process.id));
        }
    }

    /// Everything that is done without anybody's doing.
    pub(super) fn settle(&mut self) {
        loop {
            let before = self.inputs;
            if self.broken().is_some() {
                return;
            }
            self.deliver();
            if self.peer.blind.is_none() {
                self.read();
            }
            self.send_new();
            if self.setup.lets_go || self.peer.healed {
                self.let_go();
            }
            if self.inputs == before {
                return;
            }
        }
    }

    /// The server reads what was written to it.
    pub(super) fn read(&mut self) {
        if self.is_hung() {
            return;
        }
        let Some(process) = self.performer.process.as_mut() else { return };
        let id = process.id;
        if !std::mem::replace(&mut process.spawned, true) {
            return self.hand(Input::Stdio(id, StdioInput::Spawned { pid: 7 }));
        }
        if process.unread.is_empty() {
            return;
        }
        for line in std::mem::take(&mut process.unread) {
            process.taken += line.len() as u64;
            let message = Message::read(Via::Process(id), &line, None);
            // Over a pipe only requests are answered.
            self.peer.messages.extend(message.filter(|message| message.id.is_some()));
        }
        let taken = process.taken;
        self.hand(Input::Stdio(id, StdioInput::Written(taken)));
    }

    /// The server writes on its stdout.
    pub(super) fn stdout(&mut self, bytes: &[u8]) {
        if let Some(process) = self.performer.process.as_mut().filter(|it| it.stdout_open) {
            process.said.extend_from_slice(bytes);
        }
        self.deliver();
    }

    /// What the server said is read, as long as the connection wants it.
    fn deliver(&mut self) {
        let waits = self.performer.exchanges.iter().filter(|(_, it)| !it.said.is_empty());
        let waits: Vec<_> = waits.map(|(id, _)| *id).collect();
        for id in waits {
            self.body_in(id, &[], self.setup.split);
        }
        while let Some(process) = self.performer.process.as_mut()
            && !process.said.is_empty()
            && self.connection.wants_read(Source::Stdout(process.id))
        {
            let id = process.id;
            let rest = process.said.split_off(process.said.len().min(READ));
            let bytes = std::mem::replace(&mut process.said, rest);
            for piece in self.setup.split.cut(&bytes) {
                self.hand(Input::Stdio(id, StdioInput::Stdout(piece)));
            }
        }
    }

    /// Bytes of a body come, and are read as long as the connection wants them.
    pub(super) fn body_in(&mut self, id: ExchangeId, bytes: &[u8], split: Split) {
        if let Some(exchange) = self.performer.exchanges.get_mut(&id) {
            exchange.said.extend_from_slice(bytes);
        }
        while let Some(exchange) = self.performer.exchanges.get_mut(&id)
            && !exchange.said.is_empty()
            && self.connection.wants_read(Source::Exchange(id))
        {
            let rest = exchange.said.split_off(exchange.said.len().min(READ));
            let bytes = std::mem::replace(&mut exchange.said, rest);
            for piece in split.cut(&bytes) {
                self.hand(Input::Http(id, HttpInput::Body(piece)));
            }
        }
    }

    /// The server's stdout ends, after what it said.
    pub(super) fn close_stdout(&mut self) {
        let Some(process) = self.performer.process.as_mut().filter(|it| it.stdout_open) else {
            return;
        };
        process.stdout_open = false;
        let (id, said) = (process.id, std::mem::take(&mut process.said));
        if !said.is_empty() {
            for piece in self.setup.split.cut(&said) {
                self.hand(Input::Stdio(id, StdioInput::Stdout(piece)));
            }
        }
        self.hand(Input::Stdio(id, StdioInput::StdoutClosed));
    }

    pub(super) fn close_stderr(&mut self) {
        if let Some(process) = self.performer.process.as_mut().filter(|it| it.stderr_open) {
            process.stderr_open = false;
            let id = process.id;
            self.hand(Input::Stdio(id, StdioInput::StderrClosed));
        }
    }

    /// The process ends. A byte stream only comes to the end of its input. With `held` another
    /// process has inherited its pipes and keeps them open.
    pub(super) fn exit(&mut self, status: ExitStatus, held: bool) {
        if self.setup.wire == crate::testing::Wire::Stream {
            return self.close_stdout();
        }
        let Some(process) = self.performer.process.take() else { return };
        let Process { id, stdout_open, stderr_open, said, .. } = process;
        self.peer.forget(Via::Process(id));
        self.hand(Input::Stdio(id, StdioInput::Exited(status)));
        for piece in self.setup.split.cut(&said) {
            self.hand(Input::Stdio(id, StdioInput::Stdout(piece)));
        }
        if stdout_open && !held {
            self.hand(Input::Stdio(id, StdioInput::StdoutClosed));
        }
        if stderr_open && !held {
            self.hand(Input::Stdio(id, StdioInput::StderrClosed));
        }
    }

    /// The process cannot be launched.
    pub(super) fn fail_to_spawn(&mut self) {
        let Some(process) = self.performer.process.take() else { return };
        self.peer.forget(Via::Process(process.id));
        let failure = IoFailure { kind: "NotFound".into(), text: "no such file".into() };
        self.hand(Input::Stdio(process.id, StdioInput::SpawnFailed(failure)));
    }

    /// Whether the process has done nothing yet.
    pub(super) fn is_new(&self) -> bool {
        self.performer.process.as_ref().is_some_and(|it| it.taken == 0 && it.stdout_open)
    }

    /// New requests are sent, or wait for a connection. When nobody is at the address they fail.
    fn send_new(&mut self) {
        let down = self.peer.down.is_some() && !self.peer.healed;
        for id in self.begun(Begun::No) {
            if down {
                self.fail(id, HttpFailureKind::Connect, Sent::None);
            } else if id.number().is_multiple_of(3) {
                self.begin_exchange(id, Begun::Connecting);
                self.hand(Input::Http(id, HttpInput::Connecting));
            } else {
                self.begin_exchange(id, Begun::Sent);
            }
        }
    }

    /// Connections are there: requests that waited for them are sent, unless they were given up.
    pub(super) fn connected(&mut self) {
        for id in self.begun(Begun::Connecting) {
            self.hand(Input::Http(id, HttpInput::Connected));
            let told = self.performer.exchanges.get(&id).is_some_and(|it| it.told.is_some());
            if told {
                self.fail(id, HttpFailureKind::Aborted, Sent::None);
            } else {
                self.begin_exchange(id, Begun::Sent);
            }
        }
    }

    fn begun(&self, how: Begun) -> Vec<ExchangeId> {
        let all = self.performer.exchanges.iter().filter(|(_, it)| it.begun == how);
        all.map(|(id, _)| *id).collect()
    }

    fn begin_exchange(&mut self, id: ExchangeId, how: Begun) {
        let Some(exchange) = self.performer.exchanges.get_mut(&id) else { return };
        exchange.begun = how;
        if how == Begun::Sent {
            self.peer.messages.extend(exchange.message.take());
        }
    }

    /// The performer ends what it was told to end.
    pub(super) fn let_go(&mut self) {
        let told = |(id, it): (&ExchangeId, &Exchange)| Some((*id, it.told.clone()?));
        let all: Vec<_> = self.performer.exchanges.iter().filter_map(told).collect();
        for (id, told) in all {
            if told == HttpOutput::Release {
                self.end_exchange(id);
            } else {
                self.fail(id, HttpFailureKind::Aborted, Sent::Some);
            }
        }
        let Some(process) = &self.performer.process else { return };
        let ends = process.killed || (process.stdin_closed && !self.is_hung());
        if ends && self.setup.wire == crate::testing::Wire::Stdio {
            let code = if process.killed { ExitStatus::Signal(9) } else { ExitStatus::Code(0) };
            self.exit(code, false);
        } else if ends {
            self.close_stdout();
        }
    }

    // HTTP

    pub(super) fn end_exchange(&mut self, id: ExchangeId) {
        if self.performer.exchanges.remove(&id).is_some() {
            self.peer.forget(Via::Exchange(id));
            self.hand(Input::Http(id, HttpInput::End));
        }
    }

    pub(super) fn fail(&mut self, id: ExchangeId, kind: HttpFailureKind, sent: Sent) {
        if let Some(exchange) = self.performer.exchanges.remove(&id) {
            self.peer.forget(Via::Exchange(id));
            let sent = if exchange.begun == Begun::Sent { sent } else { Sent::None };
            let failure = HttpFailure::new(kind, sent, exchange.head, "scripted");
            self.hand(Input::Http(id, HttpInput::Failed(failure)));
        }
    }
}

/// Whether a modern call of a tool lacks the header of its parameter.
fn lacks_header(request: &HttpRequest) -> bool {
    calls_tool(request) && header(request, "mcp-param-n") != Some("1")
}

fn calls_tool(request: &HttpRequest) -> bool {
    header(request, "mcp-method") == Some("tools/call")
}

fn header<'a>(request: &'a HttpRequest, name: &str) -> Option<&'a str> {
    let found = request.headers.iter().find(|(it, _)| it == name);
    found.map(|(_, value)| &**value)
}
