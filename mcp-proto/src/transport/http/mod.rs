//! Streamable HTTP, in both eras (specification: basic/transports/streamable-http; 2025-11-25:
//! basic/transports).
//!
//! Each message is an exchange of its own. This file keeps the table of exchanges and decides what
//! becomes of each; what is sent is written in `request`, what comes is read in `response`.

mod request;
mod response;

use std::collections::BTreeMap;
use std::time::Duration;

use url::Url;

use self::response::{Read, Reader};
use super::{Failure, Happening, Origin, Outgoing};
use crate::config::HttpConfig;
use crate::interface::{
    HttpFailure, HttpFailureKind, HttpInput, HttpOutput, HttpRequest, Method, Owner, ResendReason,
    StatusCode,
};
use crate::{Era, ExchangeId, ProtocolVersion};

pub(crate) use self::request::check_header;
pub(crate) use self::response::header;

/// How often one request follows a redirect.
const MAX_REDIRECTS: u8 = 5;
/// How many answers to requests of a server's are on their way at once.
const MAX_REPLIES: usize = 8;
/// How long the end of a session may take.
const DELETE_WAIT: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(crate) struct Http {
    config: HttpConfig,
    endpoint: Url,
    limits: Limits,
    next: u64,
    exchanges: BTreeMap<ExchangeId, Exchange>,
    /// What `initialize` answered; it counts once the era is decided.
    offered_session: Option<String>,
    session: Option<String>,
    agreed: Option<(Era, ProtocolVersion)>,
    open: bool,
}

#[derive(Clone, Copy, Debug)]
struct Limits {
    message: usize,
}

/// One HTTP exchange.
#[derive(Debug)]
struct Exchange {
    carries: Carried,
    owner: Owner,
    request: HttpRequest,
    redirects: u8,
    phase: Phase,
}

/// What an exchange carries to the server.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Carried {
    /// A request with this JSON-RPC id.
    Request { id: u64, initialize: bool },
    /// `notifications/initialized`: calls wait until it was taken.
    Initialized,
    /// Another notification.
    Notification,
    /// The answer to a request of the server's.
    Reply,
    /// The end of the session.
    Delete,
}

#[derive(Debug)]
enum Phase {
    /// Waiting for the head of the answer.
    Head,
    /// Reading its body.
    Body(Box<Reader>),
    /// Nothing of it is wanted any more; its end is waited for.
    Over,
}

impl Http {
    pub(crate) fn new(config: HttpConfig, endpoint: Url, max_message: usize) -> Self {
        Http {
            config,
            endpoint,
            limits: Limits { message: max_message },
            next: 0,
            exchanges: BTreeMap::new(),
            offered_session: None,
            session: None,
            agreed: None,
            open: false,
        }
    }

    pub(crate) fn at_rest(&self) -> bool {
        !self.open && self.exchanges.is_empty()
    }

    pub(crate) fn launch(&mut self) {
        self.open = true;
        self.forget_session();
    }

    fn forget_session(&mut self) {
        self.offered_session = None;
        self.session = None;
        self.agreed = None;
    }

    /// The era is decided: what was agreed on goes into the headers from now on.
    pub(crate) fn agreed(&mut self, era: Era, version: ProtocolVersion) {
        self.agreed = Some((era, version));
        let offered = self.offered_session.take();
        self.session = offered.filter(|_| era == Era::Legacy);
    }

    // What goes out

    pub(crate) fn send(&mut self, message: Outgoing<'_>) -> Option<Vec<Happening>> {
        if !self.open {
            return None;
        }
        let (carries, owner) = match &message {
            Outgoing::Request { id, method, owner, .. } => {
                let initialize = *method == "initialize";
                (Carried::Request { id: *id, initialize }, *owner)
            }
            Outgoing::Notification { method: "notifications/initialized", .. } => {
                (Carried::Initialized, Owner::Connection)
            }
            Outgoing::Notification { .. } => (Carried::Notification, Owner::Connection),
            Outgoing::Reply { .. } => {
                let replies = self.exchanges.values().filter(|e| e.carries == Carried::Reply);
                if replies.count() >= MAX_REPLIES {
                    return None;
                }
                (Carried::Reply, Owner::Connection)
            }
        };
        if matches!(carries, Carried::Request { initialize: true, .. }) {
            // A new session is asked for without the old one.
            self.forget_session();
        }
        let session = self.session.as_deref();
        let era = self.agreed.map(|(era, _)| era);
        let mut request =
            request::post(&self.config, &self.endpoint, era, self.version(&message), session);
        request::standard_headers(&mut request, &message);
        request.body = message.into_body();
        Some(vec![self.exchange(carries, owner, request, 0)])
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

    fn exchange(
        &mut self,
        carries: Carried,
        owner: Owner,
        request: HttpRequest,
        redirects: u8,
    ) -> Happening {
        self.next += 1;
        let id = ExchangeId::new(self.next);
        let send = HttpOutput::Send(Box::new(request.clone()));
        let phase = Phase::Head;
        self.exchanges.insert(id, Exchange { carries, owner, request, redirects, phase });
        Happening::Http(id, owner, send)
    }

    /// The request was answered: the rest of its exchange is not wanted.
    pub(crate) fn answered(&mut self, request: u64) -> Option<Happening> {
        self.finish(request, HttpOutput::Release)
    }

    /// Nobody waits for the answer any more.
    pub(crate) fn abandon(&mut self, request: u64) -> Option<Happening> {
        self.finish(request, HttpOutput::Abort)
    }

    fn finish(&mut self, request: u64, how: HttpOutput) -> Option<Happening> {
        let (id, exchange) = self.exchanges.iter_mut().find(|(_, exchange)| {
            matches!(exchange.carries, Carried::Request { id, .. } if id == request)
                && !matches!(exchange.phase, Phase::Over)
        })?;
        exchange.phase = Phase::Over;
        Some(Happening::Http(*id, exchange.owner, how))
    }

    /// Ends everything. A legacy session is ended too, unless there is no time for it.
    pub(crate) fn close(&mut self) -> Vec<Happening> {
        if !self.open {
            return Vec::new();
        }
        self.open = false;
        let mut all = Vec::new();
        for (id, exchange) in &mut self.exchanges {
            if !matches!(exchange.phase, Phase::Over) {
                exchange.phase = Phase::Over;
                all.push(Happening::Http(*id, exchange.owner, HttpOutput::Abort));
            }
        }
        if let (Some(session), Some((era, version))) = (self.session.take(), self.agreed) {
            let mut request = request::post(
                &self.config,
                &self.endpoint,
                Some(era),
                Some(version),
                Some(&session),
            );
            request.method = Method::Delete;
            request.headers.retain(|(name, _)| name != "content-type");
            all.push(self.exchange(Carried::Delete, Owner::Connection, request, 0));
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
        let mut all = Vec::new();
        for (id, exchange) in &mut self.exchanges {
            if !matches!(exchange.phase, Phase::Over) {
                exchange.phase = Phase::Over;
                all.push(Happening::Http(*id, exchange.owner, HttpOutput::Abort));
            }
        }
        all
    }

    // What comes in

    /// Takes what happened to an exchange.
    pub(crate) fn handle(&mut self, id: ExchangeId, input: HttpInput<'_>) -> Vec<Happening> {
        let Some(exchange) = self.exchanges.get_mut(&id) else { return Vec::new() };
        match (&mut exchange.phase, input) {
            (Phase::Over, HttpInput::End | HttpInput::Failed(_)) => self.ended(id),
            (_, HttpInput::Failed(failure)) => {
                let failure = self.end_of(id, failure);
                self.failed(id, failure)
            }
            (Phase::Head, HttpInput::Head { status, headers }) => {
                self.on_head(id, status, &headers)
            }
            (Phase::Body(reader), HttpInput::Body(bytes)) => {
                let read = reader.read(bytes);
                self.on_read(id, read)
            }
            (Phase::Body(_), HttpInput::End) => {
                let phase = std::mem::replace(&mut exchange.phase, Phase::Over);
                let Phase::Body(reader) = phase else { return Vec::new() };
                let read = reader.end();
                let mut all = self.on_read(id, read);
                all.extend(self.ended(id));
                all
            }
            // A performer that skips the head or repeats it has nothing to tell.
            _ => Vec::new(),
        }
    }

    fn on_read(&mut self, id: ExchangeId, read: Vec<Read>) -> Vec<Happening> {
        let Some(exchange) = self.exchanges.get(&id) else { return Vec::new() };
        let from = match exchange.carries {
            Carried::Request { id, .. } => Some(Origin { request: id, owner: exchange.owner }),
            _ => None,
        };
        let mut all = Vec::new();
        for read in read {
            match read {
                Read::Message(text) => all.push(Happening::Text(text, from)),
                Read::Bad { why, bytes, answers } => {
                    // Whatever is wrong with it, it answers the request of its own exchange.
                    let answers = answers.or(from.map(|from| from.request));
                    all.push(Happening::Bad { why, bytes, answers });
                }
                Read::Failed(failure) => all.extend(self.failed(id, failure)),
            }
        }
        all
    }

    /// How the end of an exchange counts: a modern answer that was to come on an event stream is a
    /// matter of its own.
    fn end_of(&self, id: ExchangeId, failure: HttpFailure) -> Failure {
        let streams = |exchange: &Exchange| match &exchange.phase {
            Phase::Body(reader) => reader.is_stream(),
            _ => false,
        };
        let closed = failure.kind == HttpFailureKind::Closed;
        match self.exchanges.get(&id) {
            Some(exchange) if closed && streams(exchange) => Failure::StreamBroken,
            _ => Failure::Exchange(failure),
        }
    }

    /// The exchange brings nothing more that counts. If the performer is not done with it, it is
    /// told to be.
    fn failed(&mut self, id: ExchangeId, failure: Failure) -> Vec<Happening> {
        let Some(exchange) = self.exchanges.get_mut(&id) else { return Vec::new() };
        let gone = matches!(failure, Failure::Exchange(_) | Failure::StreamBroken);
        let over = matches!(exchange.phase, Phase::Over);
        exchange.phase = Phase::Over;
        let told = match exchange.carries {
            Carried::Request { id, .. } => Some(Happening::Failed(id, failure)),
            Carried::Initialized => Some(Happening::Delivered(Err(failure))),
            _ => None,
        };
        let mut all: Vec<_> = told.into_iter().collect();
        if gone {
            all.extend(self.ended(id));
        } else if !over {
            all.push(Happening::Http(id, exchange.owner, HttpOutput::Abort));
        }
        all
    }

    /// The performer is done with the exchange.
    fn ended(&mut self, id: ExchangeId) -> Vec<Happening> {
        self.exchanges.remove(&id);
        if self.at_rest() { vec![Happening::Gone] } else { Vec::new() }
    }

    fn on_head(
        &mut self,
        id: ExchangeId,
        status: StatusCode,
        headers: &[(String, String)],
    ) -> Vec<Happening> {
        let with_session = self.session.is_some();
        let limit = self.limits.message;
        let Some(exchange) = self.exchanges.get_mut(&id) else { return Vec::new() };
        if (300..400).contains(&status.0) {
            return self.on_redirect(id, status, headers);
        }
        match exchange.carries {
            Carried::Request { initialize, .. } => {
                if initialize && status.is_success() {
                    self.offered_session = response::session(headers);
                }
                let session = with_session && !initialize;
                exchange.phase =
                    Phase::Body(Box::new(Reader::new(status, headers, session, limit)));
                Vec::new()
            }
            // Any success will do, and any body is ignored: deployed servers send all kinds.
            Carried::Initialized | Carried::Notification | Carried::Reply | Carried::Delete => {
                let told = (exchange.carries == Carried::Initialized).then(|| {
                    let refused = || Failure::status(status, headers);
                    let taken = status.is_success();
                    Happening::Delivered(if taken { Ok(()) } else { Err(refused()) })
                });
                exchange.phase = Phase::Over;
                let rest = Happening::Http(id, exchange.owner, HttpOutput::Release);
                told.into_iter().chain([rest]).collect()
            }
        }
    }

    /// Only a redirect that keeps method and body is followed, and only within the origin: neither
    /// headers nor arguments go to anyone else.
    fn on_redirect(
        &mut self,
        id: ExchangeId,
        status: StatusCode,
        headers: &[(String, String)],
    ) -> Vec<Happening> {
        let Some(exchange) = self.exchanges.get_mut(&id) else { return Vec::new() };
        let location = response::header(headers, "location").unwrap_or_default();
        let target = Url::parse(&exchange.request.url).and_then(|base| base.join(location));
        let within = |target: &Url| target.origin() == self.endpoint.origin();
        let follow = matches!(status.0, 307 | 308) && exchange.redirects < MAX_REDIRECTS;
        match target {
            Ok(target) if follow && within(&target) => {
                let mut request = exchange.request.clone();
                request.url = target.to_string();
                let (carries, owner) = (exchange.carries.clone(), exchange.owner);
                let redirects = exchange.redirects + 1;
                exchange.phase = Phase::Over;
                let mut all = vec![Happening::Http(id, owner, HttpOutput::Release)];
                if let Carried::Request { id, .. } = carries {
                    all.push(Happening::Resent(id, ResendReason::Redirect));
                }
                all.push(self.exchange(carries, owner, request, redirects));
                all
            }
            _ => {
                let to = crate::text::excerpt(location);
                self.failed(id, Failure::Redirect { status: status.0, to })
            }
        }
    }
}
