//! Legacy sessions, and the calls that run in them.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use super::super::serve::Stop;
use super::super::{Action, Demo, Incoming};
use crate::http::Handle;

/// All sessions that are open.
#[derive(Debug, Default)]
pub(super) struct Sessions(BTreeMap<String, Session>);

/// What one legacy client has agreed on, and what runs for it.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) demo: Demo,
    /// By the JSON text of the request's id.
    calls: BTreeMap<String, Running>,
    /// Requests that were cancelled before their thread got as far as running them.
    cancelled: BTreeSet<String>,
    stream: Option<Handle>,
}

#[derive(Debug)]
struct Running {
    stop: Arc<Stop>,
    conn: Handle,
}

impl Running {
    /// Wakes the thread wherever it waits.
    fn stop(&self) {
        self.stop.request();
        self.conn.end();
    }
}

impl Sessions {
    /// Begins a session, and returns its id.
    pub(super) fn begin(&mut self, demo: Demo) -> String {
        // The seed of a hash map is the one thing random in the standard library.
        let random = || RandomState::new().hash_one(());
        let id = format!("{:016x}{:016x}", random(), random());
        let session =
            Session { demo, calls: BTreeMap::new(), cancelled: BTreeSet::new(), stream: None };
        self.0.insert(id.clone(), session);
        id
    }

    pub(super) fn find(&mut self, id: &str) -> Option<&mut Session> {
        self.0.get_mut(id)
    }

    /// Ends a session and what runs in it; says whether there was one.
    pub(super) fn end(&mut self, id: &str) -> bool {
        self.0.remove(id).is_some_and(|session| {
            session.calls.values().for_each(Running::stop);
            session.stream.iter().for_each(Handle::end);
            true
        })
    }

    pub(super) fn end_all(&mut self) {
        let ids: Vec<_> = self.0.keys().cloned().collect();
        for id in ids {
            self.end(&id);
        }
    }
}

impl Session {
    /// Takes a message. Cancellations are carried out here.
    pub(super) fn take(&mut self, incoming: Incoming) -> Vec<Action> {
        let mut actions = self.demo.take(incoming);
        actions.retain(|action| match action {
            Action::Cancel(id) => {
                let id = id.to_string();
                match self.calls.get(&id) {
                    Some(call) => call.stop(),
                    None => drop(self.cancelled.insert(id)),
                }
                false
            }
            _ => true,
        });
        actions
    }

    /// A call begins to run on this connection. `None` when it was cancelled already.
    pub(super) fn begin_call(&mut self, id: String, conn: Handle) -> Option<Arc<Stop>> {
        if self.cancelled.remove(&id) {
            return None;
        }
        let stop = Arc::new(Stop::default());
        self.calls.insert(id, Running { stop: stop.clone(), conn });
        Some(stop)
    }

    pub(super) fn end_call(&mut self, id: &str) {
        self.calls.remove(id);
    }

    /// Opens the stream of the session; says whether there was none.
    pub(super) fn open_stream(&mut self, conn: Handle) -> bool {
        let is_free = self.stream.is_none();
        if is_free {
            self.stream = Some(conn);
        }
        is_free
    }

    pub(super) fn close_stream(&mut self) {
        self.stream = None;
    }
}
