//! HTTP+SSE, the deprecated transport (2024-11-05: basic/transports, "HTTP with SSE").
//!
//! One stream of events brings everything that the server says. Its event `endpoint` names the
//! address to which messages go; a POST there is only acknowledged, and its answer comes on the
//! stream. The stream is the session: when it ends, so does everything that was asked on it, and the
//! next call opens another one. Nothing is sent twice for that.

use std::collections::BTreeSet;

use url::Url;

use super::exchange::{Carried, Exchange, Phase};
use super::response::Reader;
use super::{Http, redirect, request};
use crate::ExchangeId;
use crate::config::{HttpTransport, SSE_SILENCE};
use crate::error::{HttpFault, TransportError};
use crate::interface::{HttpFailure, HttpFailureKind, Method, Owner, Sent, StatusCode};
use crate::transport::{Failure, Happening};

/// The longest address that is taken for messages, in bytes.
const MAX_ENDPOINT: usize = 8 * 1024;

/// The stream that brings what the server says.
#[derive(Debug)]
pub(super) struct OldStream {
    pub(super) exchange: ExchangeId,
    /// Where messages go, once the server has said it.
    pub(super) endpoint: Option<Url>,
    /// The requests whose answers are to come.
    out: BTreeSet<u64>,
    silence: Silence,
}

/// Whether the stream may be dead without having ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Silence {
    /// Nothing is asked, and no time runs.
    Unwatched,
    /// The time runs.
    Watched,
    /// A request was given up in this time, and nothing has come since.
    Unanswered,
    /// The same, and the whole time has passed once since.
    Doubtful,
}

impl Http {
    /// Opens the stream.
    pub(crate) fn open_events(&mut self) -> Vec<Happening> {
        let post = request::post(&self.config, &self.address, None, None, None);
        let get = request::bodiless(Method::Get, post);
        let exchange = ExchangeId::new(self.next + 1);
        let (out, silence) = (BTreeSet::new(), Silence::Unwatched);
        self.events = Some(OldStream { exchange, endpoint: None, out, silence });
        self.exchange(Exchange::new(Carried::Events, Owner::Stream, get, None))
    }

    pub(super) fn is_sse(&self) -> bool {
        self.transport == HttpTransport::Sse
    }

    /// Whether this exchange is the stream.
    pub(crate) fn brings_endpoint(&self, id: ExchangeId) -> bool {
        self.events.as_ref().is_some_and(|events| events.exchange == id)
    }

    /// The address for messages, as it is known by now.
    pub(crate) fn messages_to(&self) -> Option<&Url> {
        self.events.as_ref()?.endpoint.as_ref()
    }

    pub(super) fn on_events_head(
        &mut self,
        id: ExchangeId,
        status: StatusCode,
        headers: &[(String, String)],
    ) -> Vec<Happening> {
        let Some(exchange) = self.exchanges.get_mut(&id) else { return Vec::new() };
        let failure = match Reader::new(status, headers, false, self.limits.message) {
            _ if !status.is_success() => Failure::status(status, headers),
            Ok(reader) if reader.is_stream() => {
                exchange.phase = Phase::Body(Box::new(reader));
                return Vec::new();
            }
            Ok(_) => Failure::Unusable(String::from("something else than a stream of events")),
            Err(failure) => failure,
        };
        self.give_up(id, failure)
    }

    /// The server names the address for messages: at first, or anew.
    pub(super) fn on_endpoint(&mut self, id: ExchangeId, named: &str) -> Vec<Happening> {
        let Some(exchange) = self.exchanges.get(&id) else { return Vec::new() };
        let within = redirect::within(&exchange.request.url, named.trim());
        let within = within.filter(|_| named.len() <= MAX_ENDPOINT);
        let anywhere = Url::parse(&exchange.request.url).and_then(|url| url.join(named.trim()));
        let within = if self.doctored(28) { anywhere.ok().map(String::from) } else { within };
        let Some(endpoint) = within.and_then(|url| Url::parse(&url).ok()) else {
            let to = crate::text::excerpt(&crate::config::mask_url(named.trim()));
            return self.give_up(id, Failure::Endpoint(to));
        };
        let Some(events) = self.events.as_mut().filter(|events| events.exchange == id) else {
            return Vec::new();
        };
        if events.endpoint.replace(endpoint).is_some() {
            return Vec::new();
        }
        events.silence = Silence::Watched;
        vec![Happening::Await(id, Some(SSE_SILENCE)), Happening::EventsOpened]
    }

    /// Something has come on the stream.
    pub(super) fn events_come(&mut self, id: ExchangeId) -> Option<Happening> {
        let events =
            self.events.as_mut().filter(|it| it.exchange == id && it.endpoint.is_some())?;
        if events.silence == Silence::Unwatched {
            return None;
        }
        events.silence = Silence::Watched;
        Some(Happening::Await(id, Some(SSE_SILENCE)))
    }

    /// A request goes out, whose answer is to come on the stream.
    pub(super) fn events_ask(&mut self, request: u64) -> Option<Happening> {
        let events = self.events.as_mut()?;
        events.out.insert(request);
        if events.silence != Silence::Unwatched {
            return None;
        }
        events.silence = Silence::Watched;
        Some(Happening::Await(events.exchange, Some(SSE_SILENCE)))
    }

    /// An answer is awaited no more: it has come, or it is given up.
    pub(super) fn events_settle(&mut self, request: u64, answered: bool) {
        let leaks = self.doctored(29) && answered;
        let Some(events) = &mut self.events else { return };
        if !leaks && events.out.remove(&request) && !answered && events.silence == Silence::Watched
        {
            events.silence = Silence::Unanswered;
        }
    }

    /// The time has passed in which something should have come.
    pub(super) fn events_overdue(&mut self, id: ExchangeId) -> Vec<Happening> {
        let Some(events) = self.events.as_mut().filter(|events| events.exchange == id) else {
            return Vec::new();
        };
        if events.endpoint.is_none() {
            let head = self.exchanges.get(&id).is_some_and(|it| matches!(it.phase, Phase::Head));
            let failure = if head {
                let words = "nothing was answered in time";
                let kind = HttpFailureKind::Aborted;
                Failure::Exchange(HttpFailure::new(kind, Sent::Some, false, words))
            } else {
                Failure::Unusable(String::from("a stream of events without the event `endpoint`"))
            };
            return self.give_up(id, failure);
        }
        events.silence = match events.silence {
            Silence::Doubtful => return self.give_up(id, Failure::StreamBroken),
            Silence::Unanswered => Silence::Doubtful,
            _ if events.out.is_empty() => {
                events.silence = Silence::Unwatched;
                return Vec::new();
            }
            same => same,
        };
        vec![Happening::Await(id, Some(SSE_SILENCE))]
    }

    /// The stream brings nothing more. Before the address for messages is known, nothing was begun
    /// on it; afterwards everything is lost that was.
    pub(super) fn events_fail(&mut self, id: ExchangeId, failure: Failure) -> Vec<Happening> {
        if !self.brings_endpoint(id) {
            return Vec::new();
        }
        let Some(OldStream { endpoint: Some(_), out, .. }) = self.events.take() else {
            return vec![Happening::EventsFailed(failure)];
        };
        let asked = out.into_iter();
        let mut all: Vec<_> =
            asked.map(|request| Happening::Failed(request, Failure::StreamBroken)).collect();
        let fault = match failure {
            Failure::Exchange(_) | Failure::Ended => HttpFault::StreamClosed,
            failure => failure.fault(),
        };
        all.push(Happening::Lost(TransportError::Http(fault)));
        all
    }

    /// A message was refused because the server does not know its address any more: the stream is
    /// one that nothing will come on.
    pub(super) fn events_forgotten(&mut self) -> Vec<Happening> {
        match self.events.as_ref().filter(|_| self.agreed.is_some()) {
            Some(events) => self.give_up(events.exchange, Failure::SessionGone),
            None => Vec::new(),
        }
    }

    /// The requests whose answers are to come on the stream.
    #[cfg(feature = "testing")]
    pub(crate) fn awaited(&self) -> Vec<u64> {
        self.events.iter().flat_map(|events| events.out.iter().copied()).collect()
    }
}
