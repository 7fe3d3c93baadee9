//! Redirects. Only one that keeps method and body is followed, and only within the origin: neither
//! headers nor arguments go to anyone else.

use url::Url;

use super::exchange::{Carried, Exchange, Phase};
use super::{Http, response};
use crate::ExchangeId;
use crate::interface::{HttpOutput, HttpRequest, ResendReason, StatusCode};
use crate::transport::{Failure, Happening};

/// How often one request follows a redirect.
const MAX_REDIRECTS: u8 = 5;

impl Http {
    pub(super) fn on_redirect(
        &mut self,
        id: ExchangeId,
        status: StatusCode,
        headers: &[(String, String)],
    ) -> Vec<Happening> {
        let Some(exchange) = self.exchanges.get_mut(&id) else { return Vec::new() };
        let location = response::header(headers, "location").unwrap_or_default();
        let follows = matches!(status.0, 307 | 308) && exchange.redirects < MAX_REDIRECTS;
        let Some(url) = follows.then(|| within(&exchange.request.url, location)).flatten() else {
            let to = crate::text::excerpt(&crate::config::mask_url(location));
            return self.give_up(id, Failure::Redirect { status: status.0, to });
        };
        let (carries, owner) = (exchange.carries.clone(), exchange.owner);
        let request = HttpRequest { url, ..exchange.request.clone() };
        let mut next = Exchange::new(carries.clone(), owner, request, exchange.session);
        next.redirects = exchange.redirects + 1;
        next.rest = std::mem::take(&mut exchange.rest);
        let events = carries == Carried::Events;
        exchange.phase = Phase::Over;
        let mut all = vec![Happening::Http(id, owner, HttpOutput::Release)];
        if let Carried::Request { id, .. } | Carried::Posted { id } = carries {
            all.push(Happening::Resent(id, ResendReason::Redirect));
        }
        if let Some(old) = self.events.as_mut().filter(|it| events && it.exchange == id) {
            old.exchange = ExchangeId::new(self.next + 1);
        }
        all.extend(self.exchange(next));
        all
    }
}

/// Where a redirect leads, if that is within the origin.
pub(super) fn within(url: &str, location: &str) -> Option<String> {
    let base = Url::parse(url).ok()?;
    let mut target = base.join(location).ok().filter(|_| !location.is_empty())?;
    target.set_fragment(None);
    let anonymous = target.username().is_empty() && target.password().is_none();
    (anonymous && target.origin() == base.origin()).then(|| String::from(target))
}
