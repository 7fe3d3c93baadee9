//! The table of calls.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::{Map, Value};

use super::mailbox::Waiting;
use crate::op::ErasedCall;
use crate::{CallId, Raw, Reply};

/// One call of the host's: one state machine for all operations.
#[derive(Debug)]
pub(super) struct CallState {
    pub(super) erased: ErasedCall,
    pub(super) step: Step,
    /// The method of its latest request.
    pub(super) method: String,
    /// Since when its time runs, for the text of a timeout.
    pub(super) since: Duration,
    /// Something of it was handed to the transport.
    pub(super) sent: bool,
    /// A request of it that may have run was followed by another.
    pub(super) in_doubt: bool,
    /// The server was lost before it was sent anything, and it went to the next one.
    pub(super) handed_on: bool,
    pub(super) version_retried: bool,
    /// Its one re-issue after a broken event stream is used up.
    pub(super) reissued: bool,
    /// It was carried over to a new session.
    pub(super) renewed: bool,
    /// How often it was sent again after a transient failure.
    pub(super) retries: u32,
    pub(super) pages: Pages,
    pub(super) items: Waiting,
    /// The metadata that the host gave for the next request.
    pub(super) request_meta: Map<String, Value>,
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
    /// It waits before its request is sent again.
    Pausing,
    /// Its result has arrived, and waits until the items before it were taken.
    Arrived(Box<Reply>),
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

impl CallState {
    pub(super) fn new(erased: ErasedCall, since: Duration) -> Self {
        let method = erased.params.method.as_deref().unwrap_or(erased.spec.name);
        CallState {
            method: String::from(method),
            erased,
            step: Step::Waiting,
            since,
            sent: false,
            in_doubt: false,
            handed_on: false,
            version_retried: false,
            reissued: false,
            renewed: false,
            retries: 0,
            pages: Pages::default(),
            items: Waiting::default(),
            request_meta: Map::new(),
        }
    }

    /// Whether the call ends when its server is lost. One that waits goes to the next server, but
    /// only once: a server that always dies first would be launched for ever.
    pub(super) fn ends_with_server(&self) -> bool {
        match self.step {
            Step::Sent { .. } => true,
            Step::Waiting | Step::Meta | Step::Pausing => self.handed_on,
            Step::Arrived(_) => false,
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Calls {
    all: BTreeMap<CallId, CallState>,
    /// Which call progress under a token belongs to. The token is JSON text.
    tokens: BTreeMap<String, CallId>,
}

impl Calls {
    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub(super) fn insert(&mut self, id: CallId, call: CallState) {
        self.all.insert(id, call);
    }

    pub(super) fn contains(&self, id: CallId) -> bool {
        self.all.contains_key(&id)
    }

    pub(super) fn get(&self, id: CallId) -> Option<&CallState> {
        self.all.get(&id)
    }

    pub(super) fn get_mut(&mut self, id: CallId) -> Option<&mut CallState> {
        self.all.get_mut(&id)
    }

    pub(super) fn remove(&mut self, id: CallId) -> Option<CallState> {
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

    pub(super) fn pauses(&self, id: CallId) -> bool {
        self.all.get(&id).is_some_and(|call| matches!(call.step, Step::Pausing))
    }
}
