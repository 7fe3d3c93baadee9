//! Where an event stream goes on once it has ended, and after which pause (2025-11-25:
//! basic/transports, "Resumability and Redelivery"). Each stream has a place of its own.

use std::time::Duration;

use super::response::Heard;
use super::{Http, request};
use crate::Era;
use crate::config::{STREAM_PAUSE, STREAM_PAUSE_MAX};
use crate::era::backoff;
use crate::interface::{HttpRequest, Method};

#[derive(Debug, Default)]
pub(super) struct Place {
    /// The id of the last event that had one.
    last: Option<String>,
    retry: Option<Duration>,
    /// How often in a row it ended without having brought anything.
    fruitless: u32,
}

impl Place {
    pub(super) fn hear(&mut self, heard: Heard) {
        if let Some(id) = heard.id {
            self.fruitless = 0;
            self.last = Some(id).filter(|id| !id.is_empty());
        }
        if heard.message {
            self.fruitless = 0;
        }
        self.retry = heard.retry.or(self.retry);
    }

    /// Whether the server has said where it can go on.
    pub(super) fn is_known(&self) -> bool {
        self.last.is_some()
    }

    /// The stream has ended: how long to wait before it is asked for again. A server that asks for
    /// no pause gets the shortest; one that brings nothing is asked less and less often.
    pub(super) fn pause(&mut self, shortest: Duration) -> Duration {
        let first = self.retry.unwrap_or(STREAM_PAUSE).max(shortest);
        let pause = backoff(first, self.fruitless).min(first.max(STREAM_PAUSE_MAX));
        self.fruitless = self.fruitless.saturating_add(1);
        pause
    }
}

impl Http {
    /// The request for the rest of a legacy stream.
    pub(super) fn get(&self, place: &Place) -> HttpRequest {
        let version = self.agreed.map(|(_, version)| version);
        let session = self.sessions.id(false);
        let era = Some(Era::Legacy);
        let mut request = request::bodiless(
            Method::Get,
            request::post(&self.config, &self.address, era, version, session),
        );
        if let Some(last) = &place.last {
            request.headers.push(("last-event-id".into(), last.clone()));
        }
        request
    }
}
