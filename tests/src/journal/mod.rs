//! Journals that clients write in tests: kept in memory, and boiled down to what runtimes have in
//! common.

mod gist;

use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

pub use gist::Gist;

/// How long a client may take to end its exchanges.
const LIMIT: Duration = Duration::from_secs(60);

/// A journal in memory.
#[derive(Clone, Debug, Default)]
pub struct Kept(Arc<(Mutex<State>, Condvar)>);

#[derive(Debug, Default)]
struct State {
    bytes: Vec<u8>,
    /// The writer was dropped: no more will come.
    over: bool,
}

/// What a client writes to.
#[derive(Debug)]
pub struct Writer(Kept);

impl Kept {
    /// What a client writes to. There is one client for each journal.
    pub fn writer(&self) -> Writer {
        Writer(self.clone())
    }

    /// The whole journal, once the client is gone. One that has failed may still be ending its
    /// exchanges.
    ///
    /// # Panics
    /// When the client keeps its writer.
    pub fn text(&self) -> String {
        let waited = self.0.1.wait_timeout_while(self.lock(), LIMIT, |state| !state.over);
        let (state, time) = waited.unwrap_or_else(PoisonError::into_inner);
        assert!(!time.timed_out(), "the writer is kept");
        String::from_utf8(state.bytes.clone()).expect("a journal is text")
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.0.lock().over = true;
        self.0.0.1.notify_all();
    }
}
