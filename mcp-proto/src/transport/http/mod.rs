//! Streamable HTTP, in both eras (specification: basic/transports/streamable-http; 2025-11-25:
//! basic/transports).
//!
//! Each message is an exchange of its own. This file keeps the table of exchanges and decides what
//! becomes of each; what is sent is written in `request`, what comes is read in `response`.

mod inflate;
mod request;
mod response;

use std::collections::BTreeMap;
use std::time::Duration;

use url::Url;

use self::response::{End, Read, Reader};
use super::{Failure, Happening, Origin, Outgoing};
use crate::config::HttpConfig;
use crate::interface::{
    HttpFailure, HttpFailureKind, HttpInput, HttpOutput, HttpRequest, Method, Owner, ResendReason,
    Sent, StatusCode,
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
    /// The session that `initialize` opened; it counts once the era is decided.
    offered: Option<String>,
    session: Option<Session>,
    sessions: u64,
    agreed: Option<(Era, ProtocolVersion)>,
    open: bool,
}

#[derive(Clone, Copy, Debug)]
struct Limits {
    message: usize,
}

/// A legacy session. Two of them are told apart by their number: ids are masked in a journal.
#[derive(Debug)]
struct Session {
    number: u64,
    id: String,
}

/// One HTTP exchange.
#[derive(Debug)]
struct Exchange {
    carries: Carried,
    owner: Owner,
    /// What was sent; its body only until the answer begins.
    request: HttpRequest,
    /// The number of the session that the request named.
    session: Option<u64>,
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
            offered: None,
            session: None,
            sessions: 0,
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
        self.offered = None;
        self.session = None;
        self.agreed = None;
    }

    /// The era is decided: what was agreed on goes into the headers from now on.
    pub(crate) fn agreed(&mut self, era: Era, version: ProtocolVersion) {
        self.agreed = Some((era, version));
        let offered = self.offered.take().filter(|_| era == Era::Legacy);
        self.sessions += 1;
        self.session = offered.map(|id| Session { number: self.sessions, id });
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
        let initialize = matches!(carries, Carried::Request { initialize: true, .. });
        if initialize {
            // A new session is asked for without the old one.
            self.forget_session();
        }
        // What a server asks before its answer to `initialize` is complete belongs to the session
        // that the head of that answer has opened.
        let offered = self.offered.as_deref().filter(|_| carries == Carried::Reply);
        let session = self.session.as_ref().map(|session| &*session.id).or(offered);
        let era = if initialize { Some(Era::Legacy) } else { self.agreed.map(|(era, _)| era) };
        let mut request =
            request::post(&self.config, &self.endpoint, era, self.version(&message), session);
        request::standard_headers(&mut request, &message);
        request.body = message.into_body();
        let session = self.session.as_ref().map(|session| session.number);
        Some(self.exchange(Exchange::new(carries, owner, request, session)))
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
        if !matches!(exchange.carries, Carried::Request { .. } | Carried::Delete) {
            all.push(Happening::AwaitTaken(id));
        }
        self.exchanges.insert(id, exchange);
        all
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

    /// Ends everything. A legacy session is ended too, even one that was only just opened.
    pub(crate) fn close(&mut self) -> Vec<Happening> {
        if !self.open {
            return Vec::new();
        }
        self.open = false;
        let mut all = self.abort_all();
        let session = self.session.take().map(|session| session.id).or(self.offered.take());
        if let Some(session) = session {
            let version = self.agreed.map(|(_, version)| version);
            let (era, session) = (Some(Era::Legacy), Some(&*session));
            let mut request = request::post(&self.config, &self.endpoint, era, version, session);
            request.method = Method::Delete;
            request.headers.retain(|(name, _)| name != "content-type");
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
        let open = |(_, exchange): &(_, &mut Exchange)| !matches!(exchange.phase, Phase::Over);
        let abort = |(id, exchange): (&ExchangeId, &mut Exchange)| {
            exchange.phase = Phase::Over;
            Happening::Http(*id, exchange.owner, HttpOutput::Abort)
        };
        self.exchanges.iter_mut().filter(open).map(abort).collect()
    }

    /// A notification or an answer was not taken in time.
    pub(crate) fn not_taken(&mut self, id: ExchangeId) -> Vec<Happening> {
        let failure =
            HttpFailure::new(HttpFailureKind::Aborted, Sent::Some, false, "it took too long");
        self.give_up(id, Failure::Exchange(failure))
    }

    /// How many exchanges there are, how many of them carry answers to the server, and how many
    /// bytes of the longest unfinished body are kept.
    #[cfg(feature = "testing")]
    pub(crate) fn holds(&self) -> (usize, usize, usize) {
        let replies = self.exchanges.values().filter(|it| it.carries == Carried::Reply).count();
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

    // What comes in

    /// Takes bytes of a body from the front of `bytes` until something follows from them. `None`
    /// when all were taken, or nothing of the exchange is wanted any more.
    pub(crate) fn read(&mut self, id: ExchangeId, bytes: &mut &[u8]) -> Option<Vec<Happening>> {
        let exchange = self.exchanges.get_mut(&id)?;
        let Phase::Body(reader) = &mut exchange.phase else { return None };
        let read = reader.read(bytes)?;
        Some(self.on_read(id, read))
    }

    /// Takes what happened to an exchange, but for bytes.
    pub(crate) fn handle(&mut self, id: ExchangeId, input: HttpInput<'_>) -> Vec<Happening> {
        let Some(exchange) = self.exchanges.get_mut(&id) else { return Vec::new() };
        match input {
            HttpInput::Head { status, headers } if matches!(exchange.phase, Phase::Head) => {
                self.on_head(id, status, &headers)
            }
            // A performer that repeats the head has nothing to tell.
            HttpInput::Head { .. } | HttpInput::Body(_) => Vec::new(),
            HttpInput::End => {
                let words = "it ended without an answer";
                let failure = HttpFailure::new(HttpFailureKind::Closed, Sent::All, false, words);
                self.on_end(id, End::Complete, failure)
            }
            HttpInput::Failed(failure) => self.on_end(id, End::Broken, failure),
        }
    }

    /// The performer is done with the exchange. A stream may have brought the answer although it
    /// has no proper end.
    fn on_end(&mut self, id: ExchangeId, how: End, failure: HttpFailure) -> Vec<Happening> {
        let Some(exchange) = self.exchanges.get_mut(&id) else { return Vec::new() };
        let counts = how == End::Complete || failure.kind != HttpFailureKind::Aborted;
        let mut all = Vec::new();
        match std::mem::replace(&mut exchange.phase, Phase::Over) {
            Phase::Over => {}
            Phase::Body(reader) if counts && (how == End::Complete || reader.is_stream()) => {
                for read in reader.end(how) {
                    all.extend(self.on_read(id, read));
                }
            }
            Phase::Head | Phase::Body(_) => {
                all.extend(self.tell(id, Failure::Exchange(failure)));
            }
        }
        self.exchanges.remove(&id);
        all.push(Happening::Ended(id));
        if self.at_rest() {
            all.push(Happening::Gone);
        }
        all
    }

    fn on_read(&mut self, id: ExchangeId, read: Read) -> Vec<Happening> {
        let Some(exchange) = self.exchanges.get(&id) else { return Vec::new() };
        let from = match exchange.carries {
            Carried::Request { id, .. } => Some(Origin { request: id, owner: exchange.owner }),
            _ => None,
        };
        match read {
            Read::Message(text) => vec![Happening::Text(text, from)],
            Read::Bad { why, bytes, answers } => {
                vec![Happening::Bad { why, bytes, answers: own_answer(answers, from) }]
            }
            Read::Failed(failure) => self.give_up(id, failure),
        }
    }

    /// The exchange brings nothing more that counts. If the performer is not done with it, it is
    /// told to be.
    fn give_up(&mut self, id: ExchangeId, failure: Failure) -> Vec<Happening> {
        let mut all = self.tell(id, failure);
        let exchange = self.exchanges.get_mut(&id);
        if let Some(exchange) = exchange.filter(|it| !matches!(it.phase, Phase::Over)) {
            exchange.phase = Phase::Over;
            all.push(Happening::Http(id, exchange.owner, HttpOutput::Abort));
        }
        all
    }

    /// Tells whoever waits for what the exchange carries that there will be no answer.
    fn tell(&mut self, id: ExchangeId, failure: Failure) -> Vec<Happening> {
        let Some(exchange) = self.exchanges.get(&id) else { return Vec::new() };
        // Others who notice that it is gone find a new session already, or one that begins.
        let current = self.session.as_ref().map(|session| session.number);
        let lost = matches!(failure, Failure::SessionGone) && exchange.session == current;
        let told = match exchange.carries {
            Carried::Request { id, .. } => Happening::Failed(id, failure),
            Carried::Initialized => Happening::Delivered(Err(failure)),
            _ => return Vec::new(),
        };
        let lost = lost.then_some(Happening::SessionLost);
        lost.into_iter().chain([told]).collect()
    }

    fn on_head(
        &mut self,
        id: ExchangeId,
        status: StatusCode,
        headers: &[(String, String)],
    ) -> Vec<Happening> {
        if (300..400).contains(&status.0) {
            return self.on_redirect(id, status, headers);
        }
        let Some(exchange) = self.exchanges.get_mut(&id) else { return Vec::new() };
        exchange.request.body = Vec::new();
        match exchange.carries {
            Carried::Request { initialize, .. } => {
                if initialize && status.is_success() {
                    self.offered = response::session(headers);
                }
                let session = exchange.session.is_some();
                match Reader::new(status, headers, session, self.limits.message) {
                    Ok(reader) => exchange.phase = Phase::Body(Box::new(reader)),
                    Err(failure) => return self.give_up(id, failure),
                }
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
        let follows = matches!(status.0, 307 | 308) && exchange.redirects < MAX_REDIRECTS;
        let Some(url) = follows.then(|| within(&exchange.request.url, location)).flatten() else {
            let to = crate::text::excerpt(location);
            return self.give_up(id, Failure::Redirect { status: status.0, to });
        };
        let (carries, owner) = (exchange.carries.clone(), exchange.owner);
        let request = HttpRequest { url, ..exchange.request.clone() };
        let mut next = Exchange::new(carries.clone(), owner, request, exchange.session);
        next.redirects = exchange.redirects + 1;
        exchange.phase = Phase::Over;
        let mut all = vec![Happening::Http(id, owner, HttpOutput::Release)];
        if let Carried::Request { id, .. } = carries {
            all.push(Happening::Resent(id, ResendReason::Redirect));
        }
        all.extend(self.exchange(next));
        all
    }
}

impl Exchange {
    fn new(carries: Carried, owner: Owner, request: HttpRequest, session: Option<u64>) -> Self {
        Exchange { carries, owner, request, session, redirects: 0, phase: Phase::Head }
    }
}

/// What a message answers that came on the exchange of a request: that request, if anything. Which
/// id it names is no matter.
pub(crate) fn own_answer(answers: Option<u64>, from: Option<Origin>) -> Option<u64> {
    answers.map(|named| from.map_or(named, |from| from.request))
}

/// Where a redirect leads, if that is within the origin.
fn within(url: &str, location: &str) -> Option<String> {
    let base = Url::parse(url).ok()?;
    let mut target = base.join(location).ok().filter(|_| !location.is_empty())?;
    target.set_fragment(None);
    let anonymous = target.username().is_empty() && target.password().is_none();
    (anonymous && target.origin() == base.origin()).then(|| String::from(target))
}
