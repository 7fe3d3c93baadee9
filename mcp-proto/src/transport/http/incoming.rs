//! What comes in on exchanges, and what becomes of each.

use super::Http;
use super::exchange::{Carried, Phase};
use super::response::{self, End, Read, Reader};
use super::resume::Resuming;
use crate::ExchangeId;
use crate::config::{ERROR_BODY_WAIT, HttpTransport};
use crate::interface::{HttpFailure, HttpFailureKind, HttpInput, HttpOutput, Sent, StatusCode};
use crate::transport::{Failure, Happening, Origin};

impl Http {
    /// Takes bytes of a body from the front of `bytes` until something follows from them. `None`
    /// when all were taken, or nothing of the exchange is wanted any more.
    pub(crate) fn read(&mut self, id: ExchangeId, bytes: &mut &[u8]) -> Option<Vec<Happening>> {
        let stale = self.doctored(27);
        let exchange = self.exchanges.get_mut(&id)?;
        let Phase::Body(reader) = &mut exchange.phase else { return None };
        let read = reader.read(bytes);
        let heard = reader.heard();
        let stale = stale && exchange.rest.place.is_known();
        if stale {
            // A planted bug: where it went on first, it goes on always.
        } else if exchange.carries == Carried::Stream {
            self.stream_heard(id, heard);
        } else {
            exchange.rest.place.hear(heard);
        }
        read.map(|read| self.on_read(id, read))
    }

    /// Takes what happened to an exchange, but for bytes.
    pub(crate) fn handle(&mut self, id: ExchangeId, input: HttpInput<'_>) -> Vec<Happening> {
        let Some(exchange) = self.exchanges.get_mut(&id) else { return Vec::new() };
        match input {
            HttpInput::Connecting | HttpInput::Connected => {
                exchange.unsent = matches!(input, HttpInput::Connecting);
                match exchange.carries {
                    Carried::Request { id, .. } | Carried::Posted { id }
                        if matches!(exchange.phase, Phase::Head) =>
                    {
                        vec![Happening::Connects(id, exchange.unsent)]
                    }
                    _ => Vec::new(),
                }
            }
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
        let owner = exchange.owner;
        let refused = match &exchange.phase {
            Phase::Body(reader) => reader.refused(),
            _ => None,
        };
        let from = exchange.request_id().map(|request| Origin { request, owner, refused });
        match read {
            Read::Endpoint(named) if exchange.carries == Carried::Events => {
                self.on_endpoint(id, &named)
            }
            Read::Endpoint(_) => Vec::new(),
            Read::Message(text) => vec![Happening::Text(text, from)],
            Read::Bad { why, bytes, answers } => {
                vec![Happening::Bad { why, bytes, answers: own_answer(answers, from) }]
            }
            Read::Failed(failure) => self.give_up(id, failure),
            Read::Enough => self.enough(id),
        }
    }

    /// What has come of a body decides, and the rest of it is not wanted.
    pub(super) fn enough(&mut self, id: ExchangeId) -> Vec<Happening> {
        let Some(exchange) = self.exchanges.get_mut(&id) else { return Vec::new() };
        let owner = exchange.owner;
        let Phase::Body(reader) = std::mem::replace(&mut exchange.phase, Phase::Over) else {
            return Vec::new();
        };
        let mut all = vec![Happening::Http(id, owner, HttpOutput::Abort)];
        for read in reader.end(End::Complete) {
            all.extend(self.on_read(id, read));
        }
        all
    }

    /// The exchange brings nothing more that counts. If the performer is not done with it, it is
    /// told to be.
    pub(super) fn give_up(&mut self, id: ExchangeId, failure: Failure) -> Vec<Happening> {
        let mut all = self.tell(id, failure);
        let exchange = self.exchanges.get_mut(&id);
        if let Some(exchange) = exchange.filter(|it| !it.is_over()) {
            exchange.phase = Phase::Over;
            all.push(Happening::Http(id, exchange.owner, HttpOutput::Abort));
        }
        all
    }

    /// Tells whoever waits for what the exchange carries that there will be no answer.
    pub(super) fn tell(&mut self, id: ExchangeId, failure: Failure) -> Vec<Happening> {
        let Some(exchange) = self.exchanges.get_mut(&id) else { return Vec::new() };
        // Others who notice that it is gone find a new session already, or one that begins.
        let current = self.sessions.number();
        let lost = matches!(failure, Failure::SessionGone) && exchange.session == current;
        let told = match exchange.carries {
            Carried::Request { id: request, .. } | Carried::Rest { id: request } => {
                let rest = std::mem::take(&mut exchange.rest);
                let ended = Resuming { request, session: exchange.session, rest };
                let (owner, rests) = (exchange.owner, exchange.carries.is_rest());
                let resumed = self.resume(ended, owner, rests, failure);
                resumed.unwrap_or_else(|failure| Happening::Failed(request, failure))
            }
            Carried::Posted { id: request } => {
                self.events_settle(request, true);
                let told = Happening::Failed(request, failure);
                let lost = if lost { self.events_forgotten() } else { Vec::new() };
                return std::iter::once(told).chain(lost).collect();
            }
            Carried::Initialized => Happening::Delivered(Err(failure)),
            Carried::Events => return self.events_fail(id, failure),
            Carried::Stream => return self.stream_fails(id, &failure),
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
                    self.sessions.offer(response::session(headers));
                }
                let session = exchange.session.is_some();
                let plain = self.transport == HttpTransport::Plain && status.is_success();
                match Reader::new(status, headers, session, self.limits.message) {
                    Ok(reader) if plain && reader.is_stream() => {
                        let what = "a stream of events, which plain HTTP does not have";
                        return self.give_up(id, Failure::Unusable(String::from(what)));
                    }
                    Ok(reader) => exchange.phase = Phase::Body(Box::new(reader)),
                    Err(failure) => return self.give_up(id, failure),
                }
                let hurry = Happening::Await(id, Some(ERROR_BODY_WAIT));
                (!status.is_success()).then_some(hurry).into_iter().collect()
            }
            Carried::Rest { .. } => {
                match Reader::new(status, headers, false, self.limits.message) {
                    Ok(reader) if status.is_success() => {
                        exchange.phase = Phase::Body(Box::new(reader));
                        Vec::new()
                    }
                    Ok(_) if status.0 == 404 && exchange.session.is_some() => {
                        self.give_up(id, Failure::SessionGone)
                    }
                    Ok(_) => self.give_up(id, Failure::status(status, headers)),
                    Err(failure) => self.give_up(id, failure),
                }
            }
            Carried::Posted { .. } if status.is_success() => {
                exchange.phase = Phase::Over;
                vec![Happening::Http(id, exchange.owner, HttpOutput::Release)]
            }
            Carried::Posted { .. } => {
                // What says in any other transport that the session is gone does so here.
                match Reader::new(status, headers, true, self.limits.message) {
                    Ok(reader) => exchange.phase = Phase::Body(Box::new(reader)),
                    Err(failure) => return self.give_up(id, failure),
                }
                vec![Happening::Await(id, Some(ERROR_BODY_WAIT))]
            }
            Carried::Events => self.on_events_head(id, status, headers),
            Carried::Stream => self.on_stream_head(id, status, headers),
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
}

/// What a message answers that came on the exchange of a request: that request, if anything. Which
/// id it names is no matter.
pub(crate) fn own_answer(answers: Option<u64>, from: Option<Origin>) -> Option<u64> {
    answers.map(|named| from.map_or(named, |from| from.request))
}
