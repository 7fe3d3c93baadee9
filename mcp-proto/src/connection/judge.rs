//! Whether a server offers what a call needs, judged by what it said of itself last.
//!
//! What a modern server says in `server/discover` is fresh for the time that it names
//! (specification: server/utilities/caching); a server that names none is asked each time. The
//! question is a request of the call's own, before the one it is about: so it has the call's
//! timeout, its retries and its end. What a legacy server said in `initialize` holds for the
//! session.

use alloc::sync::Arc;

use super::calls::{Judged, Step};
use super::{Connection, Phase};
use crate::error::ServerError;
use crate::{CallId, Era, ErrorKind, Raw, era};

impl Connection {
    /// Judges what the call needs. `false`: it has ended, for want of an offer.
    pub(super) fn judge(&mut self, id: CallId) -> bool {
        let (Phase::Ready(ready), Some(call)) = (&self.phase, self.calls.get_mut(id)) else {
            return false;
        };
        let needs = call.erased.spec.needs;
        if needs.is_empty() {
            return true;
        }
        if call.judged != Judged::Yes && ready.is_stale(self.now.mono) {
            call.judged = Judged::Asks;
            return true;
        }
        call.judged = Judged::Yes;
        let offered = ready.info.capabilities.has(needs);
        if !offered {
            self.end_call(id, ErrorKind::Capability(needs.join(".")));
        }
        offered
    }

    /// The server has said anew what it offers. One that did not is judged by what it said before.
    pub(super) fn on_judged(&mut self, id: CallId, outcome: Result<Raw, ServerError>) {
        if let Ok(result) = outcome {
            self.discovered(&result);
        }
        if let Some(call) = self.calls.get_mut(id) {
            call.judged = Judged::Yes;
            // The next request is another one, with bounds of its own.
            call.spent.next_page();
        }
        self.calls.advance(id, Step::Waiting);
        self.send_next(id);
    }

    /// A result of `server/discover` on a ready connection: it counts from now on, but for the
    /// version, which was agreed on.
    pub(super) fn discovered(&mut self, result: &Raw) {
        let Phase::Ready(ready) = &mut self.phase else {
            return;
        };
        if ready.info.era == Era::Legacy {
            return;
        }
        if let Ok(agreed) = era::discovered(result, ready.info.version) {
            ready.stale_from = agreed.fresh_for.map(|time| self.now.mono.saturating_add(time));
            ready.info = Arc::new(agreed.info);
            self.known = Some(Arc::clone(&ready.info));
        }
    }
}
