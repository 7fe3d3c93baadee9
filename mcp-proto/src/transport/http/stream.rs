//! The stream on which a legacy server says what belongs to no answer (2025-11-25:
//! basic/transports, "Listening for Messages from the Server").
//!
//! A server need not offer it, and nothing depends on it: whatever it meets, calls go on. It is
//! opened while somebody can hear what comes on it, and again after each end, from where it broke
//! off. The pauses are the server's (`retry:`), or a second; they grow as long as nothing comes.

use super::Http;
use super::exchange::{Carried, Exchange, Phase};
use super::place::Place;
use super::response::{Heard, Reader};
use crate::config::{HttpTransport, STREAM_IDLE, STREAM_PAUSE_MIN};
use crate::interface::{HttpOutput, Owner, StatusCode};
use crate::transport::{Failure, Happening};
use crate::{Era, Event, ExchangeId};

#[derive(Debug, Default)]
pub(super) enum Stream {
    /// Nobody can hear it, or the server does not offer it.
    #[default]
    Off,
    /// It is being opened, or open.
    On(ExchangeId, Place),
    /// It is opened again after a pause.
    Pausing(Place),
}

impl Stream {
    /// A redirect goes on in another exchange.
    pub(super) fn moves_to(&mut self, next: ExchangeId) {
        if let Stream::On(id, _) = self {
            *id = next;
        }
    }

    fn is_on(&self, exchange: ExchangeId) -> bool {
        matches!(self, Stream::On(id, _) if *id == exchange)
    }
}

impl Http {
    /// Somebody can hear what a legacy server says by itself.
    pub(crate) fn listen(&mut self) -> Vec<Happening> {
        let legacy = self.agreed.is_some_and(|(era, _)| era == Era::Legacy);
        let offers = self.transport == HttpTransport::Streamable;
        if !legacy || !offers || !matches!(self.stream, Stream::Off) {
            return Vec::new();
        }
        self.open_stream(Place::default())
    }

    /// The pause before it is opened again is over.
    pub(crate) fn listen_again(&mut self) -> Vec<Happening> {
        match std::mem::take(&mut self.stream) {
            Stream::Pausing(place) => self.open_stream(place),
            other => {
                self.stream = other;
                Vec::new()
            }
        }
    }

    fn open_stream(&mut self, place: Place) -> Vec<Happening> {
        let request = self.get(&place);
        let session = self.sessions.number();
        let all = self.exchange(Exchange::new(Carried::Stream, Owner::Stream, request, session));
        self.stream = Stream::On(ExchangeId::new(self.next), place);
        all
    }

    /// Nothing that comes on it is wanted any more.
    pub(crate) fn stop_stream(&mut self) -> Option<Happening> {
        let Stream::On(id, _) = std::mem::take(&mut self.stream) else { return None };
        let exchange = self.exchanges.get_mut(&id).filter(|exchange| !exchange.is_over())?;
        exchange.phase = Phase::Over;
        Some(Happening::Http(id, exchange.owner, HttpOutput::Abort))
    }

    pub(super) fn on_stream_head(
        &mut self,
        id: ExchangeId,
        status: StatusCode,
        headers: &[(String, String)],
    ) -> Vec<Happening> {
        let Some(exchange) = self.exchanges.get_mut(&id) else { return Vec::new() };
        let owner = exchange.owner;
        if let Ok(reader) = Reader::new(status, headers, false, self.limits.message)
            && reader.is_stream()
        {
            exchange.phase = Phase::Body(Box::new(reader));
            return vec![Happening::Event(Event::StreamOpened), Happening::StreamSettled];
        }
        exchange.phase = Phase::Over;
        let mut all = vec![Happening::Http(id, owner, HttpOutput::Release)];
        // These pass; all other answers say that there is no such stream, 405 in so many words.
        if matches!(status.0, 409 | 429 | 500..=599) && status.0 != 501 {
            all.extend(self.stream_over(id));
        } else {
            self.stream = Stream::Off;
            all.extend(not_offered(status.0));
        }
        all
    }

    /// Remembers where it goes on, while it is read.
    pub(super) fn stream_heard(&mut self, exchange: ExchangeId, heard: Heard) {
        match &mut self.stream {
            Stream::On(id, place) if *id == exchange => place.hear(heard),
            _ => {}
        }
    }

    /// It brings nothing more.
    pub(super) fn stream_fails(&mut self, exchange: ExchangeId, why: &Failure) -> Vec<Happening> {
        match why {
            Failure::Redirect { status, .. } if self.stream.is_on(exchange) => {
                self.stream = Stream::Off;
                not_offered(*status).into()
            }
            _ => self.stream_over(exchange).into_iter().collect(),
        }
    }

    /// It has ended, and is opened again after a pause.
    fn stream_over(&mut self, exchange: ExchangeId) -> Option<Happening> {
        if !self.stream.is_on(exchange) {
            return None;
        }
        let Stream::On(_, mut place) = std::mem::take(&mut self.stream) else { return None };
        let pause = place.pause(STREAM_PAUSE_MIN);
        self.stream = Stream::Pausing(place);
        Some(Happening::AwaitStream(pause))
    }

    /// Something came on an exchange. The stream has its time anew with everything that does.
    pub(crate) fn comes(&mut self, id: ExchangeId) -> Option<Happening> {
        if self.is_sse() {
            return self.events_come(id);
        }
        self.stream.is_on(id).then_some(Happening::Await(id, Some(STREAM_IDLE)))
    }
}

fn not_offered(status: u16) -> [Happening; 2] {
    [Happening::Event(Event::StreamNotOffered { status }), Happening::StreamSettled]
}
