//! HTTP exchanges: each told to end once, and each request as the transport has it.

use std::collections::BTreeMap;

use serde_json::Value;

use super::messages::Whose;
use super::{Invariants, Rule};
use crate::config::RESUME_ATTEMPTS;
use crate::wire::headers;
use crate::{
    CallId, ExchangeId, HttpOutput, HttpRequest, HttpTransport, Method, Owner, StatusCode,
    Transport,
};

#[derive(Debug)]
pub(super) struct Exchanges {
    origin: Option<url::Origin>,
    /// Whether plain HTTP may be spoken, which asks for JSON only.
    plain: bool,
    last: u64,
    /// Those that have not ended, and whether the performer was told to end them.
    all: BTreeMap<ExchangeId, bool>,
    /// Those that ask for the rest of an answer.
    rests: BTreeMap<ExchangeId, CallId>,
}

impl Exchanges {
    pub(super) fn new(transport: &Transport) -> Self {
        let origin = match transport {
            Transport::Http(http) => http.endpoint().ok().map(|url| url.origin()),
            _ => None,
        };
        let plain = matches!(transport, Transport::Http(http)
            if http.transports().contains(&HttpTransport::Plain));
        Exchanges { origin, plain, last: 0, all: BTreeMap::new(), rests: BTreeMap::new() }
    }

    pub(super) fn open(&self) -> usize {
        self.all.len()
    }

    pub(super) fn gone(&mut self, id: ExchangeId) {
        self.all.remove(&id);
        self.rests.remove(&id);
    }
}

impl Invariants {
    pub(super) fn on_exchange(&mut self, id: ExchangeId, owner: Owner, output: &HttpOutput) {
        match output {
            HttpOutput::Send(request) => self.on_send(id, owner, request),
            HttpOutput::Release | HttpOutput::Abort => {
                let told =
                    self.exchanges.all.get_mut(&id).map(|told| std::mem::replace(told, true));
                self.check(told == Some(false), Rule::Order, || {
                    format!("{output:?} for {id}, which is told to end already, or has ended")
                });
            }
        }
    }

    fn on_send(&mut self, id: ExchangeId, owner: Owner, request: &HttpRequest) {
        self.exchanges.last += 1;
        let counted = id.number() == self.exchanges.last;
        self.check(counted, Rule::Order, || format!("{id} comes out of turn"));
        self.exchanges.all.insert(id, false);
        let url = url::Url::parse(&request.url).ok();
        let anonymous = |url: &url::Url| url.username().is_empty() && url.password().is_none();
        let plain = url.as_ref().is_some_and(|url| anonymous(url) && url.fragment().is_none());
        let within = url.map(|url| url.origin()) == self.exchanges.origin;
        self.check(plain && within, Rule::Messages, || format!("{} is elsewhere", request.url));
        let lower = request.headers.iter().all(|(name, _)| *name == name.to_ascii_lowercase());
        self.check(lower, Rule::Messages, || format!("headers of {request:?}"));
        match request.method {
            Method::Post => self.on_post(owner, request),
            Method::Get => {
                let accepts = header(request, "accept") == Some("text/event-stream");
                let rest = header(request, "last-event-id").is_some();
                let whose = owner == Owner::Stream || (matches!(owner, Owner::Call(_)) && rest);
                let streams = accepts && request.body.is_empty() && whose;
                self.check(streams, Rule::Messages, || format!("{request:?} asks for no stream"));
                if let Owner::Call(call) = owner {
                    self.on_rest_of(id, call);
                }
            }
            Method::Delete => {
                let session = header(request, "mcp-session-id").is_some();
                let ends = session && request.body.is_empty() && owner == Owner::Connection;
                self.check(ends, Rule::Messages, || format!("{request:?} ends no session"));
            }
        }
    }

    /// The rest of an answer is asked for: of a call that is open, and not again and again while
    /// nothing comes.
    fn on_rest_of(&mut self, id: ExchangeId, call: CallId) {
        self.exchanges.rests.insert(id, call);
        let Some(open) = self.calls.get_mut(&call) else {
            let what = format!("the rest of the answer to {call} is asked for, which is over");
            return self.report(Rule::EndsOnce, what);
        };
        open.rests += 1;
        let rests = open.rests;
        self.check(rests <= RESUME_ATTEMPTS, Rule::Bounds, || {
            format!("the rest of the answer to {call} is asked for {rests} times in vain")
        });
    }

    /// The head of an answer comes. A redirect is followed by the same request.
    pub(super) fn on_head(&mut self, id: ExchangeId, status: StatusCode) {
        let call = self.exchanges.rests.get(&id);
        let Some(open) = call.and_then(|call| self.calls.get_mut(call)) else { return };
        match status.0 {
            200..=299 => open.rests = 0,
            300..=399 => open.rests = open.rests.saturating_sub(1),
            _ => {}
        }
    }

    fn on_post(&mut self, owner: Owner, request: &HttpRequest) {
        let whose = match owner {
            Owner::Call(id) => Whose::Call(id),
            Owner::Stream | Owner::Connection => Whose::Nobody,
        };
        let Some(message) = self.on_message(&request.body, whose) else { return };
        let accept = header(request, "accept").unwrap_or_default();
        let streams = accept.contains("text/event-stream") || self.exchanges.plain;
        let accepts = accept.contains("application/json") && streams;
        let json = header(request, "content-type") == Some("application/json");
        self.check(accepts && json, Rule::Messages, || format!("{request:?} says no types"));
        let method = message.get("method").and_then(Value::as_str);
        let version = message.pointer("/params/_meta");
        let version = version.and_then(|meta| meta.get(crate::meta::PROTOCOL_VERSION));
        let session = header(request, "mcp-session-id").is_some();
        let sent = header(request, "mcp-protocol-version");
        let fits = match (version.and_then(Value::as_str), method) {
            // The headers of a modern request say what its body says.
            (Some(version), _) => {
                let told = header(request, "mcp-method").and_then(headers::decode);
                sent == Some(version) && told.as_deref() == method && !session
            }
            (None, Some("initialize")) => sent.is_none() && !session,
            (None, _) => header(request, "mcp-method").is_none(),
        };
        self.check(fits, Rule::Messages, || {
            format!(
                "the headers of {request:?} do not fit {}",
                crate::text::excerpt(&message.to_string())
            )
        });
    }
}

fn header<'a>(request: &'a HttpRequest, name: &str) -> Option<&'a str> {
    let found = request.headers.iter().find(|(n, _)| n == name);
    found.map(|(_, value)| value.as_str())
}
