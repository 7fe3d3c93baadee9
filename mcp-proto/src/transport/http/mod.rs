//! Streamable HTTP, in both eras, plain HTTP, and the deprecated HTTP+SSE (specification: basic/transports/streamable-http; 2025-11-25:
//! basic/transports).
//!
//! Each message is an exchange of its own. This file keeps the table of exchanges and sends; what
//! comes in is taken up in `incoming`, and read in `response`; what is sent is written in `request`.

mod exchange;
mod incoming;
mod inflate;
mod place;
mod redirect;
mod request;
mod response;
mod resume;
mod session;
mod sse;
mod stream;

use std::collections::BTreeMap;
use std::time::Duration;

use url::Url;

use self::exchange::{Carried, Exchange, Phase};
use self::resume::Resuming;
use self::session::Sessions;
use self::sse::OldStream;
use self::stream::Stream;
use super::{Failure, Happening, Outgoing};
use crate::config::{
    ConnectionConfig, ENDPOINT_WAIT, HttpConfig, HttpTransport, PLAIN_ENDPOINT, STREAM_IDLE,
};
use crate::interface::{HttpFailure, HttpFailureKind, HttpOutput, Method, Owner, Sent};
use crate::{CallId, Era, ExchangeId, ProtocolVersion};

pub(crate) use self::incoming::own_answer;
pub(crate) use self::request::check_header;
pub(crate) use self::response::header;

/// How many answers to requests of a server's are on their way at once.
const MAX_REPLIES: usize = 8;
/// How long the end of a session may take.
const DELETE_WAIT: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(crate) struct Http {
    config: HttpConfig,
    /// The address that the host has given.
    address: Url,
    /// The transport that is spoken, or tried.
    transport: HttpTransport,
    limits: Limits,
    next: u64,
    exchanges: BTreeMap<ExchangeId, Exchange>,
    /// The calls whose answers are on their way to another stream.
    resuming: BTreeMap<CallId, Resuming>,
    sessions: Sessions,
    stream: Stream,
    /// The stream of HTTP+SSE.
    events: Option<OldStream>,
    agreed: Option<(Era, ProtocolVersion)>,
    open: bool,
}

#[derive(Clone, Copy, Debug)]
struct Limits {
    message: usize,
    /// The bug that is planted; 0 for none.
    #[cfg(feature = "doctored")]
    doctored: u8,
}

impl Http {
    pub(crate) fn new(config: HttpConfig, address: Url, all: &ConnectionConfig) -> Self {
        let transports = config.transports();
        Http {
            transport: transports.first().copied().unwrap_or(HttpTransport::Streamable),
            config,
            address,
            limits: Limits {
                message: all.max_message_bytes,
                #[cfg(feature = "doctored")]
                doctored: all.doctored,
            },
            next: 0,
            exchanges: BTreeMap::new(),
            resuming: BTreeMap::new(),
            sessions: Sessions::default(),
            stream: Stream::default(),
            events: None,
            agreed: None,
            open: false,
        }
    }

    /// Whether this bug is planted.
    #[cfg(feature = "doctored")]
    fn doctored(&self, bug: u8) -> bool {
        self.limits.doctored == bug
    }

    #[cfg(not(feature = "doctored"))]
    #[allow(clippy::unused_self)]
    const fn doctored(&self, _bug: u8) -> bool {
        false
    }

    pub(crate) fn at_rest(&self) -> bool {
        !self.open && self.exchanges.is_empty()
    }

    pub(crate) fn launch(&mut self) {
        self.open = true;
        self.forget_session();
    }

    /// The transport that is spoken, or tried.
    pub(crate) fn transport(&self) -> HttpTransport {
        self.transport
    }

    /// Another transport is tried. Nothing is asked any more over the one before.
    pub(crate) fn turn(&mut self, transport: HttpTransport) -> Vec<Happening> {
        self.transport = transport;
        self.events = None;
        let aborted = self.abort_all();
        self.forget_session();
        aborted
    }

    /// Where messages go. `None`: the server has not said it yet.
    fn endpoint(&self) -> Option<Url> {
        match self.transport {
            HttpTransport::Streamable => Some(self.address.clone()),
            HttpTransport::Sse => self.messages_to().cloned(),
            HttpTransport::Plain => {
                let mut url = self.address.clone();
                let path = url.path().trim_end_matches('/').to_owned();
                url.set_path(if path.is_empty() { PLAIN_ENDPOINT } else { &path });
                Some(url)
            }
        }
    }

    fn forget_session(&mut self) -> Option<Happening> {
        self.sessions.forget();
        self.agreed = None;
        self.stop_stream()
    }

    /// The era is decided: what was agreed on goes into the headers from now on.
    pub(crate) fn agreed(&mut self, era: Era, version: ProtocolVersion) {
        self.agreed = Some((era, version));
        self.sessions.settle(era == Era::Legacy);
    }

    pub(crate) fn send(&mut self, message: Outgoing<'_>) -> Option<Vec<Happening>> {
        if !self.open {
            return None;
        }
        let endpoint = self.endpoint()?;
        let (carries, owner) = self.carried(&message)?;
        let initialize = matches!(carries, Carried::Request { initialize: true, .. });
        // A new session is asked for without the old one.
        let stopped = if initialize { self.forget_session() } else { None };
        let session = self.sessions.id(carries == Carried::Reply);
        let era = if initialize { Some(Era::Legacy) } else { self.agreed.map(|(era, _)| era) };
        let mut request =
            request::post(&self.config, &endpoint, era, self.version(&message), session);
        if self.transport == HttpTransport::Plain {
            request::accept_json(&mut request);
        }
        request::standard_headers(&mut request, &message);
        request.body = message.into_body();
        let session = self.sessions.number();
        let asks = if let Carried::Posted { id } = carries { self.events_ask(id) } else { None };
        let sent = self.exchange(Exchange::new(carries, owner, request, session));
        Some(stopped.into_iter().chain(sent).chain(asks).collect())
    }

    /// What a message is to an exchange, and whom it serves. `None` when too many replies are out.
    fn carried(&self, message: &Outgoing<'_>) -> Option<(Carried, Owner)> {
        Some(match message {
            Outgoing::Request { id, owner, .. } if self.is_sse() => {
                (Carried::Posted { id: *id }, *owner)
            }
            Outgoing::Request { id, method, owner, .. } => {
                let initialize = *method == "initialize";
                (Carried::Request { id: *id, initialize }, *owner)
            }
            Outgoing::Notification { method: "notifications/initialized", .. } => {
                (Carried::Initialized, Owner::Connection)
            }
            Outgoing::Notification { .. } => (Carried::Notification, Owner::Connection),
            Outgoing::Reply { .. } if self.replies_are_full() => return None,
            Outgoing::Reply { .. } => (Carried::Reply, Owner::Connection),
        })
    }

    fn replies_are_full(&self) -> bool {
        let replies = self.exchanges.values().filter(|e| e.carries == Carried::Reply);
        replies.count() >= MAX_REPLIES
    }

    /// The version that a message is sent under: its own, before one is agreed on.
    fn version(&self, message: &Outgoing<'_>) -> Option<ProtocolVersion> {
        match (self.agreed, message) {
            (Some((_, version)), _) => Some(version),
            (None, Outgoing::Request { method: "server/discover", .. }) => {
                Some(ProtocolVersion::newest(Era::Modern))
            }
            _ => None,
        }
    }

    /// Begins an exchange. What nobody waits for must still be taken in time.
    fn exchange(&mut self, exchange: Exchange) -> Vec<Happening> {
        self.next += 1;
        let id = ExchangeId::new(self.next);
        let send = HttpOutput::Send(Box::new(exchange.request.clone()));
        let mut all = vec![Happening::Http(id, exchange.owner, send)];
        match exchange.carries {
            Carried::Request { .. }
            | Carried::Posted { .. }
            | Carried::Rest { .. }
            | Carried::Delete => {}
            Carried::Events => all.push(Happening::Await(id, Some(ENDPOINT_WAIT))),
            Carried::Stream => {
                self.stream.moves_to(id);
                all.push(Happening::Await(id, Some(STREAM_IDLE)));
            }
            _ => all.push(Happening::Await(id, None)),
        }
        self.exchanges.insert(id, exchange);
        all
    }

    /// The request was answered: the rest of its exchange is not wanted.
    pub(crate) fn answered(&mut self, request: u64) -> Option<Happening> {
        self.events_settle(request, true);
        self.finish(request, HttpOutput::Release)
    }

    /// Nobody waits for the answer any more.
    pub(crate) fn abandon(&mut self, request: u64) -> Option<Happening> {
        self.events_settle(request, false);
        self.finish(request, HttpOutput::Abort)
    }

    /// Whether the server cannot know of the request: its connection is still being opened.
    pub(crate) fn is_unsent(&self, request: u64) -> bool {
        self.exchanges.values().any(|it| it.asks(request) && it.is_unsent())
    }

    /// Whether the answer of an exchange may be read further. What asks for more than is on its way
    /// to the server already has to wait until the server takes that.
    pub(crate) fn wants_read(&self, id: ExchangeId) -> bool {
        let streams =
            |it: &Exchange| matches!(&it.phase, Phase::Body(reader) if reader.is_stream());
        !(self.exchanges.get(&id).is_some_and(streams) && self.replies_are_full())
    }

    fn finish(&mut self, request: u64, how: HttpOutput) -> Option<Happening> {
        let mut open = self.exchanges.iter_mut().filter(|(_, it)| !it.is_over());
        let Some((id, exchange)) = open.find(|(_, it)| it.asks(request)) else {
            return self.resume_no_more(request);
        };
        exchange.phase = Phase::Over;
        Some(Happening::Http(*id, exchange.owner, how))
    }

    /// Ends everything. A legacy session is ended too, even one that was only just opened.
    pub(crate) fn close(&mut self) -> Vec<Happening> {
        if !self.open {
            return Vec::new();
        }
        self.open = false;
        self.events = None;
        let mut all = self.abort_all();
        if let Some(session) = self.sessions.take() {
            let version = self.agreed.map(|(_, version)| version);
            let (era, session) = (Some(Era::Legacy), Some(&*session));
            let endpoint = self.endpoint().unwrap_or_else(|| self.address.clone());
            let request = request::bodiless(
                Method::Delete,
                request::post(&self.config, &endpoint, era, version, session),
            );
            let (carries, owner) = (Carried::Delete, Owner::Connection);
            all.extend(self.exchange(Exchange::new(carries, owner, request, None)));
            all.push(Happening::AwaitGrace(DELETE_WAIT));
        }
        self.forget_session();
        if self.exchanges.is_empty() {
            all.push(Happening::Gone);
        }
        all
    }

    /// The end of the session has had its time.
    pub(crate) fn grace_over(&mut self) -> Vec<Happening> {
        self.abort_all()
    }

    fn abort_all(&mut self) -> Vec<Happening> {
        self.stream = Stream::Off;
        self.resuming.clear();
        let open = |(_, exchange): &(_, &mut Exchange)| !exchange.is_over();
        let abort = |(id, exchange): (&ExchangeId, &mut Exchange)| {
            exchange.phase = Phase::Over;
            Happening::Http(*id, exchange.owner, HttpOutput::Abort)
        };
        self.exchanges.iter_mut().filter(open).map(abort).collect()
    }

    /// An exchange has not got on in its time.
    pub(crate) fn overdue(&mut self, id: ExchangeId) -> Vec<Happening> {
        let Some(exchange) = self.exchanges.get(&id) else { return Vec::new() };
        match (&exchange.carries, &exchange.phase) {
            (_, Phase::Over) => Vec::new(),
            // The body of an error answer does not end: what has come of it counts.
            (Carried::Events, _) => self.events_overdue(id),
            (Carried::Request { .. } | Carried::Rest { .. } | Carried::Posted { .. }, _) => {
                self.enough(id)
            }
            _ => {
                let words = "it took too long";
                let failure = HttpFailure::new(HttpFailureKind::Aborted, Sent::Some, false, words);
                self.give_up(id, Failure::Exchange(failure))
            }
        }
    }

    /// How many exchanges there are, how many carry answers to the server on their way, and how many
    /// bytes of the longest unfinished body are kept.
    #[cfg(feature = "testing")]
    pub(crate) fn holds(&self) -> (usize, usize, usize) {
        let on_way = |it: &&Exchange| !matches!(it.phase, Phase::Over);
        let replies = self.exchanges.values().filter(on_way);
        let replies = replies.filter(|it| it.carries == Carried::Reply).count();
        let held = |it: &Exchange| match &it.phase {
            Phase::Body(reader) => reader.held(),
            Phase::Head | Phase::Over => 0,
        };
        let most = self.exchanges.values().map(held).max();
        (self.exchanges.len(), replies, most.unwrap_or_default())
    }

    #[cfg(feature = "testing")]
    pub(crate) fn has(&self, id: ExchangeId) -> bool {
        self.exchanges.contains_key(&id)
    }

    #[cfg(feature = "testing")]
    pub(crate) fn resumes(&self, call: CallId) -> bool {
        self.resuming.contains_key(&call)
    }
}
