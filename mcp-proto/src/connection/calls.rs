//! The table of calls.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::end::outcome_of;
use super::mailbox::Waiting;
use super::rounds::Rounds;
use crate::error::{PaginationFault, ServerError};
use crate::interface::ResendReason;
use crate::op::{ErasedCall, Wire};
use crate::{CallId, ConnectionConfig, Era, ErrorKind, Outcome, Raw, Reply};

/// One call of the host's: one state machine for all operations.
#[derive(Debug)]
pub(super) struct CallState {
    pub(super) erased: ErasedCall,
    pub(super) step: Step,
    pub(super) past: Past,
    /// Whether the server offers what it needs.
    pub(super) judged: Judged,
    /// How far the list is that its server wants to be read first.
    pub(super) fetch: Fetch,
    /// Its arguments that stand in headers.
    pub(super) mirrored: Vec<(String, String)>,
    pub(super) spent: Spent,
    /// The method of its latest request, if its parameters do not name one.
    method: &'static str,
    /// Since when its time runs, for the text of a timeout.
    pub(super) since: Duration,
    pub(super) pages: Pages,
    pub(super) items: Waiting,
    /// What the server wants before it answers.
    pub(super) rounds: Option<Box<Rounds>>,
}

/// How far a call is.
#[derive(Debug)]
pub(super) enum Step {
    /// It waits for the connection to be ready.
    Waiting,
    /// The host was asked for the metadata of its next request.
    Meta,
    /// A request is out, and progress finds the call under this token.
    Sent { request: u64, token: Option<String> },
    /// The server wants input before it answers; so many questions to the host are open.
    Asking { open: usize },
    /// It waits before its request is sent again, for this reason.
    Pausing(ResendReason),
    /// Its result has arrived, and waits until the items before it were taken.
    Arrived(Reply),
}

/// What the server may have done of a call by now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Past {
    /// Nothing was handed to the transport.
    Unsent,
    /// Requests were sent, and how the latest ends decides.
    Sent,
    /// The server has refused the latest, and did not run it.
    Refused,
    /// A request that may have run was followed by another: whatever becomes of that, nobody knows.
    InDoubt,
}

/// Whether it is known that the server offers what a call needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Judged {
    /// Not yet.
    No,
    /// Its next request, or the one that is out, asks for it.
    Asks,
    /// As far as it can be.
    Yes,
}

/// Whether the list of tools was read for a call whose headers the server refused. It is read once.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Fetch {
    /// Not yet.
    No,
    /// Its next request, or the one that is out, is for the list. This was the refusal.
    Out(Box<ServerError>),
    /// It was, or it could not be.
    Over,
}

/// What a call has used up of that which it gets a bounded number of times.
#[derive(Debug, Default)]
pub(super) struct Spent {
    resends: Vec<(ResendReason, u32)>,
    /// Its server was lost before it was sent anything, and it went to the next one.
    pub(super) server: bool,
}

impl Spent {
    /// How often it was sent again for this reason.
    pub(super) fn resends(&self, reason: ResendReason) -> u32 {
        self.resends.iter().find(|(of, _)| *of == reason).map_or(0, |(_, count)| *count)
    }

    /// Counts a re-send, unless there were `most` of them.
    pub(super) fn resend(&mut self, reason: ResendReason, most: u32) -> bool {
        let before = self.resends(reason);
        if before < most {
            self.resends.retain(|(of, _)| *of != reason);
            self.resends.push((reason, before + 1));
        }
        before < most
    }

    /// The server wants input. The request that brings it is one of its own, with bounds of its own.
    pub(super) fn next_round(&mut self) {
        self.resends.retain(|(of, _)| *of == ResendReason::InputRequired);
    }

    /// A page has come. The next is a request of its own, with bounds of its own.
    pub(super) fn next_page(&mut self) {
        let of_page = [ResendReason::Retry, ResendReason::BrokenModernStream];
        self.resends.retain(|(of, _)| !of_page.contains(of));
    }
}

/// The pages of a list that were read so far.
#[derive(Debug, Default)]
pub(super) struct Pages {
    pub(super) all: Vec<Raw>,
    pub(super) bytes: usize,
    /// All cursors seen, so that one that comes again is noticed.
    pub(super) seen: BTreeSet<String>,
    /// The cursor of the next page, as the server sent it.
    pub(super) cursor: Option<Raw>,
}

impl Pages {
    /// Takes a page in, within the bounds. Returns all of them after the last; before, it holds the
    /// cursor of the next.
    pub(super) fn take(
        &mut self,
        page: Raw,
        next: Option<Raw>,
        config: &ConnectionConfig,
    ) -> Result<Option<Vec<Raw>>, PaginationFault> {
        self.bytes += page.len();
        if config.doctored(11) && next.is_none() {
            self.all.push(page.clone());
        }
        self.all.push(page);
        // Two spellings of one text are one cursor.
        let text = next.as_ref().and_then(|next| next.parse::<String>().ok());
        let allowed = config.max_list_bytes + usize::from(config.doctored(17)) * 100;
        if self.bytes > allowed {
            return Err(PaginationFault::TooManyBytes(config.max_list_bytes));
        }
        if text.is_some_and(|text| !self.seen.insert(text)) {
            return Err(PaginationFault::RepeatedCursor);
        }
        if next.is_some() && self.all.len() >= config.max_pages {
            return Err(PaginationFault::TooManyPages(config.max_pages));
        }
        if next.is_none() {
            return Ok(Some(std::mem::take(&mut self.all)));
        }
        self.cursor = next;
        Ok(None)
    }
}

impl CallState {
    pub(super) fn new(erased: ErasedCall, since: Duration) -> Self {
        CallState {
            method: erased.spec.name,
            erased,
            step: Step::Waiting,
            past: Past::Unsent,
            judged: Judged::No,
            fetch: Fetch::No,
            mirrored: Vec::new(),
            spent: Spent::default(),
            since,
            pages: Pages::default(),
            items: Waiting::default(),
            rounds: None,
        }
    }

    /// Whether all that comes on the stream of its answer is an item of it, until its result is
    /// here.
    pub(super) fn streams(&self) -> bool {
        self.erased.options.stream && !matches!(self.step, Step::Arrived(_))
    }

    /// The method of its latest request.
    pub(super) fn method(&self) -> &str {
        if self.judged == Judged::Asks {
            return "server/discover";
        }
        if matches!(self.fetch, Fetch::Out(_)) {
            return "tools/list";
        }
        self.erased.params.method.as_deref().unwrap_or(self.method)
    }

    /// Whether its next request, or the one that is out, is not the one that it is about.
    pub(super) fn is_aside(&self) -> bool {
        self.judged == Judged::Asks || matches!(self.fetch, Fetch::Out(_))
    }

    /// Gets it ready for its next request. `false`: there is none to send.
    pub(super) fn prepare(&mut self, era: Era) -> bool {
        match self.erased.spec.wire(era) {
            Wire::Request(method) => self.method = method,
            Wire::Custom => {}
            Wire::Local => return false,
        }
        true
    }

    /// What can be said of its outcome when it ends like this.
    pub(super) fn outcome(&self, kind: &ErrorKind) -> Outcome {
        match self.past {
            Past::Unsent => Outcome::NotSent,
            // It is the server's turn no more: it has said that it waits.
            Past::Sent if self.is_asked() => Outcome::NotRun,
            Past::Refused => Outcome::NotRun,
            Past::Sent => outcome_of(kind, self.erased.spec),
            Past::InDoubt => Outcome::Unknown,
        }
    }

    /// Whether the server waits for what it has asked for.
    pub(super) fn is_asked(&self) -> bool {
        let asks = match &self.step {
            Step::Asking { .. } | Step::Waiting | Step::Meta => true,
            Step::Pausing(reason) => *reason == ResendReason::InputRequired,
            _ => false,
        };
        self.rounds.is_some() && asks
    }

    /// Whether the call ends when its server is lost. One that waits goes to the next server, but
    /// only once: a server that always dies first would be launched for ever.
    pub(super) fn ends_with_server(&self) -> bool {
        match self.step {
            Step::Sent { .. } => true,
            Step::Waiting | Step::Meta | Step::Asking { .. } | Step::Pausing(_) => {
                self.spent.server
            }
            Step::Arrived(_) => false,
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Calls {
    /// In boxes, since a map moves what it holds whenever one comes or goes.
    all: BTreeMap<CallId, Box<CallState>>,
    /// Which call progress under a token belongs to. The token is JSON text.
    tokens: BTreeMap<String, CallId>,
}

impl Calls {
    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub(super) fn insert(&mut self, id: CallId, call: CallState) {
        self.all.insert(id, Box::new(call));
    }

    pub(super) fn contains(&self, id: CallId) -> bool {
        self.all.contains_key(&id)
    }

    pub(super) fn get(&self, id: CallId) -> Option<&CallState> {
        self.all.get(&id).map(|call| &**call)
    }

    pub(super) fn get_mut(&mut self, id: CallId) -> Option<&mut CallState> {
        self.all.get_mut(&id).map(|call| &mut **call)
    }

    pub(super) fn remove(&mut self, id: CallId) -> Option<Box<CallState>> {
        let call = self.all.remove(&id)?;
        self.forget_token(id, &call.step);
        Some(call)
    }

    /// The calls in a state, in the order in which they were begun.
    pub(super) fn ids(&self, wanted: impl Fn(&CallState) -> bool) -> Vec<CallId> {
        self.all.iter().filter(|(_, call)| wanted(call)).map(|(id, _)| *id).collect()
    }

    pub(super) fn any_waiting(&self) -> bool {
        self.all.values().any(|call| matches!(call.step, Step::Waiting))
    }

    /// Moves a call on, and returns the step that it leaves.
    pub(super) fn advance(&mut self, id: CallId, step: Step) -> Option<Step> {
        let call = self.all.get_mut(&id)?;
        let old = std::mem::replace(&mut call.step, step);
        self.forget_token(id, &old);
        Some(old)
    }

    /// Books a token, unless another call has it.
    pub(super) fn book_token(&mut self, token: String, id: CallId) -> bool {
        match self.tokens.entry(token) {
            std::collections::btree_map::Entry::Vacant(place) => {
                place.insert(id);
                true
            }
            std::collections::btree_map::Entry::Occupied(_) => false,
        }
    }

    pub(super) fn by_token(&self, token: &str) -> Option<CallId> {
        self.tokens.get(token).copied()
    }

    fn forget_token(&mut self, id: CallId, step: &Step) {
        if let Step::Sent { token: Some(token), .. } = step
            && self.tokens.get(token) == Some(&id)
        {
            self.tokens.remove(token);
        }
    }
}

#[cfg(feature = "testing")]
impl Calls {
    /// Counts what is held, and names the tokens that belong to no request.
    pub(super) fn census(&self, census: &mut super::Census) {
        census.calls = self.all.len();
        for call in self.all.values() {
            census.items = census.items.max(call.items.len());
            census.item_bytes = census.item_bytes.max(call.items.bytes());
            census.pages = census.pages.max(call.pages.all.len());
            census.page_bytes = census.page_bytes.max(call.pages.bytes);
        }
        let has = |id: &CallId, text: &String| {
            let step = self.all.get(id).map(|call| &call.step);
            matches!(step, Some(Step::Sent { token: Some(token), .. }) if token == text)
        };
        let orphans = self.tokens.iter().filter(|(token, id)| !has(id, token));
        census.orphans.extend(orphans.map(|(token, id)| format!("token {token} of {id}")));
    }

    pub(super) fn waits_for(&self, id: CallId, wanted: u64) -> bool {
        let step = self.all.get(&id).map(|call| &call.step);
        matches!(step, Some(Step::Sent { request, .. }) if *request == wanted)
    }

    pub(super) fn asks(&self, id: CallId) -> bool {
        self.all.get(&id).is_some_and(|call| matches!(call.step, Step::Meta))
    }

    pub(super) fn asks_for_input(&self, id: CallId) -> bool {
        self.all.get(&id).is_some_and(|call| matches!(call.step, Step::Asking { .. }))
    }

    pub(super) fn pauses(&self, id: CallId) -> bool {
        self.all.get(&id).is_some_and(|call| matches!(call.step, Step::Pausing(_)))
    }
}
