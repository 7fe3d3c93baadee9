//! What holds of any connection over HTTP at any time, checked output by output.

use std::collections::{BTreeMap, BTreeSet};

use mcp_proto::wire::headers;
use mcp_proto::{
    CallId, ConnectionState, ExchangeId, HttpConfig, HttpInput, HttpOutput, HttpTransport, Mailbox,
    Method, Output, Owner, QuestionId, ResendReason,
};
use serde_json::Value;

use super::posted::Posted;

#[derive(Default)]
pub(crate) struct Watch {
    configured: Vec<(String, String)>,
    origin: String,
    /// Whether plain HTTP may be spoken, which asks for JSON only.
    plain: bool,
    /// Open calls, and whether their items are wanted.
    calls: BTreeMap<CallId, bool>,
    ended: BTreeSet<CallId>,
    questions: BTreeSet<QuestionId>,
    last_question: u64,
    exchanges: BTreeMap<ExchangeId, Exchange>,
    last_exchange: u64,
    /// The requests that were sent, by id.
    sent: BTreeMap<u64, Vec<u8>>,
    tool_calls: BTreeMap<CallId, u32>,
    resends: BTreeMap<CallId, Vec<ResendReason>>,
    /// The stream that was opened last.
    stream: Option<ExchangeId>,
    closed: bool,
}

/// An exchange that has not ended.
#[derive(Default)]
struct Exchange {
    answered: bool,
    /// It was released or aborted.
    told: bool,
}

impl Watch {
    pub(crate) fn new(target: &HttpConfig) -> Self {
        let origin = target.url.split('/').take(3).collect::<Vec<_>>().join("/");
        let plain = target.transports().contains(&HttpTransport::Plain);
        Watch { configured: target.headers.clone(), origin, plain, ..Watch::default() }
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

    pub(crate) fn open_calls(&self) -> Vec<CallId> {
        self.calls.keys().copied().collect()
    }

    pub(crate) fn open_questions(&self) -> Vec<QuestionId> {
        self.questions.iter().copied().collect()
    }

    /// Whether the performer has not ended the exchange yet.
    pub(crate) fn is_open(&self, id: ExchangeId) -> bool {
        self.exchanges.contains_key(&id)
    }

    pub(crate) fn open_exchanges(&self) -> Vec<ExchangeId> {
        self.exchanges.keys().copied().collect()
    }

    /// Whether a head has come.
    pub(crate) fn was_answered(&self, id: ExchangeId) -> bool {
        self.exchanges.get(&id).is_some_and(|exchange| exchange.answered)
    }

    /// Whether a stream is open, or being opened, that the performer has not been told to end.
    fn streams(&self) -> bool {
        let open = self.stream.and_then(|id| self.exchanges.get(&id));
        open.is_some_and(|exchange| !exchange.told)
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    pub(crate) fn resends(&self, id: CallId) -> &[ResendReason] {
        self.resends.get(&id).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn input(&mut self, id: ExchangeId, input: &HttpInput<'_>) {
        let Some(exchange) = self.exchanges.get_mut(&id) else { return };
        match input {
            HttpInput::Head { .. } => {
                exchange.answered = true;
            }
            HttpInput::End | HttpInput::Failed(_) => {
                self.exchanges.remove(&id);
            }
            _ => {}
        }
    }

    pub(crate) fn output(&mut self, output: &Output) {
        // What waits for the host outlives the connection.
        if !matches!(output, Output::Done(..) | Output::Item(Mailbox::Host, _)) {
            assert!(!self.closed, "after the end came {output:?}");
        }
        match output {
            Output::Http(id, _, HttpOutput::Release | HttpOutput::Abort) => {
                let exchange = self.exchanges.get_mut(id);
                let exchange = exchange.unwrap_or_else(|| panic!("{output:?}, which is over"));
                assert!(!std::mem::replace(&mut exchange.told, true), "told twice: {output:?}");
            }
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
            Output::Connection(ConnectionState::Idle(_)) => self.check_rest(),
            Output::Connection(ConnectionState::Closed(_)) => {
                self.check_rest();
                assert!(self.calls.is_empty(), "closed with open calls: {:?}", self.calls);
                self.closed = true;
            }
            Output::Resend(id, reason) => {
                assert!(self.calls.contains_key(id), "{id} has ended and is sent again");
                self.resends.entry(*id).or_default().push(*reason);
            }
            Output::Stdio(..) => panic!("{output:?} over HTTP"),
            _ => {}
        }
    }

    fn check_rest(&self) {
        assert_eq!(self.open_exchanges(), [], "at rest with open exchanges");
    }

    /// A request of HTTP is right in every respect that any request is.
    pub(crate) fn sends(&mut self, post: &Posted) {
        assert!(!self.closed, "sent after the end: {}", post.line());
        self.last_exchange += 1;
        assert_eq!(post.exchange.number(), self.last_exchange, "ids of exchanges are counted");
        self.exchanges.insert(post.exchange, Exchange::default());
        if let Owner::Call(id) = post.owner {
            assert!(self.calls.contains_key(&id), "{id} has ended: {}", post.line());
        }
        let url = &post.request.url;
        assert!(url.starts_with(&format!("{}/", self.origin)), "{url} is elsewhere");
        assert!(!url.contains('#') && !url.contains('@'), "{url} is no address to send");
        for (name, _) in &post.request.headers {
            assert_eq!(*name, name.to_ascii_lowercase());
        }
        let json_only = self.plain && post.header("accept") == Some("application/json");
        assert!(json_only || post.header("accept").unwrap().contains("text/event-stream"));
        self.check_configured(post);
        match post.request.method {
            Method::Post => {
                assert!(post.header("accept").unwrap().contains("application/json"));
                self.check_message(post);
            }
            Method::Get => {
                assert!(post.request.body.is_empty());
                match post.owner {
                    Owner::Call(_) => assert!(post.header("last-event-id").is_some()),
                    Owner::Stream => {
                        assert!(!self.streams(), "two streams at once: {}", post.line());
                        self.stream = Some(post.exchange);
                    }
                    _ => panic!("nobody's stream: {}", post.line()),
                }
            }
            Method::Delete => {
                assert!(post.header("mcp-session-id").is_some());
                assert!(post.request.body.is_empty());
                assert_eq!(post.owner, Owner::Connection);
            }
            other => panic!("{other:?}"),
        }
    }

    fn check_configured(&self, post: &Posted) {
        for (name, value) in &self.configured {
            let mirror = name.to_ascii_lowercase().starts_with("mcp-param-");
            let sent = post.header(name);
            if mirror && is_modern(post) {
                assert_ne!(sent, Some(&**value), "{}", post.line());
            } else {
                assert_eq!(sent, Some(&**value), "{name} in {}", post.line());
            }
        }
    }

    fn check_message(&mut self, post: &Posted) {
        assert_eq!(post.header("content-type"), Some("application/json"));
        assert!(!post.request.body.contains(&b'\n'));
        assert_eq!(post.message["jsonrpc"], "2.0");
        let members = post.message.as_object().expect("an object");
        if !members.contains_key("method") {
            assert!(members.contains_key("result") != members.contains_key("error"));
            return;
        }
        if members.contains_key("id") {
            self.check_id(post);
        }
        if is_modern(post) {
            check_modern(post);
        } else {
            for name in ["mcp-method", "mcp-name"] {
                assert_eq!(post.header(name), None, "{}", post.line());
            }
        }
        if post.method() == "initialize" {
            assert_eq!(post.header("mcp-session-id"), None);
            assert_eq!(post.header("mcp-protocol-version"), None);
        }
        if let ("tools/call", Owner::Call(id)) = (post.method(), post.owner) {
            let sent = self.tool_calls.entry(id).or_default();
            *sent += 1;
            let resent = u32::try_from(self.resends(id).len()).unwrap();
            assert!(self.tool_calls[&id] <= 1 + resent, "{id} calls its tool once too often");
        }
    }

    /// An id is used once, but for redirects, which repeat the whole body.
    fn check_id(&mut self, post: &Posted) {
        let id = post.id().as_u64().expect("ids are whole numbers");
        if let Some(before) = self.sent.insert(id, post.request.body.clone()) {
            assert_eq!(before, post.request.body, "the id {id} is used twice");
        }
    }

    /// At the end, nothing is left of anything.
    pub(crate) fn check_end(&self) {
        assert!(self.calls.is_empty(), "calls without an end: {:?}", self.calls);
        assert!(self.questions.is_empty(), "open questions: {:?}", self.questions);
        self.check_rest();
        assert!(self.closed, "the end was not told");
    }
}

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";

/// Whether the message is one of a modern conversation.
fn is_modern(post: &Posted) -> bool {
    post.meta()[VERSION].is_string()
}

/// The headers of a modern request say what its body says (2026-07-28: "Request Metadata").
fn check_modern(post: &Posted) {
    let decoded = |name| post.header(name).map(|value| headers::decode(value).expect("encoded"));
    assert_eq!(post.header("mcp-protocol-version"), post.meta()[VERSION].as_str());
    assert_eq!(decoded("mcp-method").as_deref(), Some(post.method()));
    let source = match post.method() {
        "tools/call" | "prompts/get" => &post.params()["name"],
        "resources/read" => &post.params()["uri"],
        "tasks/get" | "tasks/update" | "tasks/cancel" => &post.params()["taskId"],
        _ => &Value::Null,
    };
    assert_eq!(decoded("mcp-name").as_deref(), source.as_str(), "{}", post.line());
    for name in ["mcp-session-id", "last-event-id"] {
        assert_eq!(post.header(name), None, "{}", post.line());
    }
}
