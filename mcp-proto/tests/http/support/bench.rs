//! The bench: inputs, outputs, time.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use mcp_proto::model::Implementation;
use mcp_proto::op::CallTool;
use mcp_proto::{
    Answer, Call, CallId, CallOptions, Connection, ConnectionConfig, Error, Event, ExchangeId,
    HttpConfig, HttpFailure, HttpFailureKind, HttpInput, HttpOutput, Input, Item, Mailbox, Now,
    Operation, Output, Owner, Question, QuestionId, Reply, Sent, TimerReason, Transport, journal,
};
use serde_json::{Map, Value};

use super::posted::Posted;
use super::split::Split;
use super::trace;
use super::watch::Watch;

/// A connection, its clock, and everything that it has said.
pub(crate) struct Bench {
    pub(crate) connection: Connection,
    pub(crate) now: Duration,
    pub(crate) split: Split,
    /// Whether the performer lets go of exchanges as soon as it is told to.
    pub(crate) lets_go: bool,
    pub(crate) watch: Watch,
    all: Vec<String>,
    read: usize,
    /// Everything that the client sent, and how much of it was looked at.
    pub(crate) posts: Vec<Posted>,
    seen: usize,
    /// What the performer was told and has not done yet.
    told: VecDeque<(ExchangeId, HttpOutput)>,
    done: BTreeMap<CallId, Result<Reply, Error>>,
    pub(crate) events: Vec<Event>,
    pub(crate) items: Vec<(CallId, Item)>,
    /// The notifications that the host has got.
    pub(crate) heard: Vec<Item>,
    pub(crate) asked: VecDeque<(QuestionId, Owner, Question)>,
    /// Whether the host adds nothing to the first questions, and those that wait for that.
    pub(crate) says_little: bool,
    openings: Vec<QuestionId>,
    /// Whether the journal was taken and replayed.
    pub(crate) replayed: bool,
}

/// Settings with names in them, and defaults otherwise. A journal is kept and replayed.
pub(crate) fn config() -> ConnectionConfig {
    let mut config = ConnectionConfig::default();
    config.name = String::from("peer");
    config.client_info = Implementation::new("bench", "0.1");
    config.journal = true;
    config
}

/// The server's address, with a header that goes out with every request.
pub(crate) fn target() -> HttpConfig {
    HttpConfig::new("http://server.test/mcp").header("X-Api-Key", "configured-secret")
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
    pub(crate) fn new(config: ConnectionConfig, target: HttpConfig) -> Bench {
        config.check().expect("settings that can work");
        target.endpoint().expect("an address that can be reached");
        let watch = Watch::new(&target);
        // The clock of a performer starts anywhere.
        let now = Duration::from_secs(1000);
        let transport = Transport::Http(target);
        let connection = Connection::new(Arc::new(config), transport, [7; 32], Now::at(now));
        Bench {
            connection,
            now,
            split: Split::Whole,
            lets_go: true,
            watch,
            all: Vec::new(),
            read: 0,
            posts: Vec::new(),
            seen: 0,
            told: VecDeque::new(),
            done: BTreeMap::new(),
            events: Vec::new(),
            items: Vec::new(),
            heard: Vec::new(),
            asked: VecDeque::new(),
            says_little: true,
            openings: Vec::new(),
            replayed: false,
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

    // The server and the performer

    /// Something happens to an exchange. After its end nothing can.
    pub(crate) fn http(&mut self, exchange: ExchangeId, input: HttpInput<'_>) {
        if self.watch.is_open(exchange) {
            self.input(Input::Http(exchange, input));
        }
    }

    /// The head of an answer.
    pub(crate) fn head(&mut self, to: &Posted, status: u16, headers: &[(&str, &str)]) {
        let owned = |(name, value): &(&str, &str)| (String::from(*name), String::from(*value));
        let headers = headers.iter().map(owned).collect();
        let status = mcp_proto::StatusCode(status);
        self.http(to.exchange, HttpInput::Head { status, headers });
    }

    /// Bytes of a body.
    pub(crate) fn body(&mut self, to: &Posted, bytes: &[u8]) {
        let split = self.split.clone();
        for piece in split.cut(bytes) {
            if self.watch.is_open(to.exchange) {
                self.handle(Input::Http(to.exchange, HttpInput::Body(piece)));
            }
        }
        self.settle();
    }

    /// The answer is complete.
    pub(crate) fn ends(&mut self, to: &Posted) {
        self.http(to.exchange, HttpInput::End);
    }

    /// The exchange fails.
    pub(crate) fn breaks(&mut self, to: &Posted, kind: HttpFailureKind, sent: Sent) {
        let answered = self.watch.was_answered(to.exchange);
        let failure = HttpFailure::new(kind, sent, answered, "scripted");
        self.http(to.exchange, HttpInput::Failed(failure));
    }

    /// The connection ends after all of the request was sent.
    pub(crate) fn resets(&mut self, to: &Posted) {
        self.breaks(to, HttpFailureKind::Closed, Sent::All);
    }

    /// The performer does what it was told: it ends exchanges.
    pub(crate) fn let_go(&mut self) {
        while let Some((exchange, output)) = self.told.pop_front() {
            let input = match output {
                HttpOutput::Release => HttpInput::End,
                _ => {
                    let answered = self.watch.was_answered(exchange);
                    let kind = HttpFailureKind::Aborted;
                    HttpInput::Failed(HttpFailure::new(kind, Sent::Some, answered, "aborted"))
                }
            };
            if self.watch.is_open(exchange) {
                self.handle(Input::Http(exchange, input));
            }
        }
    }

    // What the client sent

    /// The next message that the client sent. It must be a request or notification of this method.
    pub(crate) fn expect(&mut self, method: &str) -> Posted {
        let post = self.next_post();
        assert_eq!(post.method(), method, "in\n{}", self.whole_trace());
        post
    }

    pub(crate) fn next_post(&mut self) -> Posted {
        let post = self.posts.get(self.seen).cloned();
        self.seen += 1;
        post.unwrap_or_else(|| panic!("the client sent nothing in\n{}", self.whole_trace()))
    }

    /// Everything that was sent and not looked at.
    pub(crate) fn take_posts(&mut self) -> Vec<Posted> {
        self.posts.get(std::mem::replace(&mut self.seen, self.posts.len())..).unwrap().to_vec()
    }

    /// Nothing was sent that was not looked at.
    #[track_caller]
    pub(crate) fn quiet(&self) {
        let rest = self.posts.get(self.seen..).unwrap_or_default();
        assert!(rest.is_empty(), "sent and not expected: {}", self.whole_trace());
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
        if let Input::Http(id, input) = &input {
            self.watch.input(*id, input);
        }
        self.connection.handle(input, Now::at(self.now));
        self.drain();
    }

    fn settle(&mut self) {
        self.drain();
        while let Some(id) = self.openings.pop() {
            self.watch.answered(id);
            self.handle(Input::Answer(id, Answer::RequestMeta(Map::new())));
        }
        if self.lets_go {
            self.let_go();
        }
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
    }

    fn take(&mut self, output: Output) {
        if let Output::Http(exchange, owner, HttpOutput::Send(request)) = output {
            let post = Posted::new(exchange, owner, *request);
            self.all.push(post.line());
            self.watch.sends(&post);
            self.posts.push(post);
            return;
        }
        self.all.push(trace::line(&output));
        self.watch.output(&output);
        match output {
            Output::Http(exchange, _, output) => self.told.push_back((exchange, output)),
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

    /// Closes the connection; nothing may be left of it, and its journal replays.
    pub(crate) fn end(&mut self) {
        self.input(Input::Close);
        self.let_go();
        // Whatever waits for the end of the session is given up in time.
        self.advance(Duration::from_secs(1));
        self.let_go();
        self.watch.check_end();
        assert!(self.connection.is_idle(), "something is kept");
        assert!(self.connection.at_rest(), "something runs");
        assert_eq!(self.connection.poll_timeout(), None, "a timer after the end");
        if self.connection.config().journal && !self.replayed {
            self.replayed = true;
            let journal = String::from_utf8(self.connection.take_journal()).expect("UTF-8");
            journal::replay(&journal).unwrap_or_else(|error| panic!("{error}"));
        }
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.end();
        }
    }
}
