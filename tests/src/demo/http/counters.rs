//! What the server has seen.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long a test waits for something to be counted.
const PATIENCE: Duration = Duration::from_secs(60);

/// How often what has happened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Connections that were accepted.
    pub connections: u64,
    /// Those of them that are still open.
    pub open: u64,
    /// HTTP requests by their method, such as `POST`.
    pub requests: BTreeMap<String, u64>,
    /// JSON-RPC messages by their method, such as `tools/call`; refused ones are among them.
    pub messages: BTreeMap<String, u64>,
    /// Answers by their status.
    pub statuses: BTreeMap<u16, u64>,
    /// Calls of tools that were run.
    pub tool_runs: u64,
    /// Calls that their client gave up while they ran.
    pub cancelled: u64,
    /// Sessions that were begun.
    pub sessions: u64,
    /// Streams opened with GET that are open now.
    pub streams: u64,
}

impl Counters {
    /// HTTP requests of this method.
    pub fn requests(&self, method: &str) -> u64 {
        self.requests.get(method).copied().unwrap_or_default()
    }

    /// JSON-RPC messages of this method.
    pub fn messages(&self, method: &str) -> u64 {
        self.messages.get(method).copied().unwrap_or_default()
    }

    /// Answers of this status.
    pub fn answers(&self, status: u16) -> u64 {
        self.statuses.get(&status).copied().unwrap_or_default()
    }
}

/// Counts, and tells those who wait.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    counters: Mutex<Counters>,
    changed: Condvar,
}

impl Tally {
    fn lock(&self) -> MutexGuard<'_, Counters> {
        self.counters.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn counters(&self) -> Counters {
        self.lock().clone()
    }

    pub(super) fn count(&self, change: impl FnOnce(&mut Counters)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }

    #[track_caller]
    pub(super) fn wait_until(&self, is_met: impl Fn(&Counters) -> bool) -> Counters {
        let waiting = |counters: &mut Counters| !is_met(counters);
        let outcome = self.changed.wait_timeout_while(self.lock(), PATIENCE, waiting);
        let counters = outcome.unwrap_or_else(PoisonError::into_inner).0.clone();
        assert!(is_met(&counters), "it has not come to that: {counters:?}");
        counters
    }
}
