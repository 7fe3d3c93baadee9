//! Where a play takes place: in memory, or as a process of its own.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::{Ending, Transcript};

/// What the two places do differently.
pub(super) trait Stage {
    /// A line has been read.
    fn received(&mut self, line: &[u8]);
    /// Writes to stderr.
    fn stderr(&mut self) -> Box<dyn Write + '_>;
    /// The play's reader is dropped: closes the stream below it.
    fn close_stdin(&mut self) -> io::Result<()>;
    /// The play's writer is dropped: closes the stream below it.
    fn close_stdout(&mut self) -> io::Result<()>;
    /// Waits for the test, or says why that is impossible.
    fn gate(&mut self, name: &str) -> Result<(), String>;
    /// Returns when the play need not hang any longer.
    fn hang(&mut self);
    /// Whether there is a process, which may have children.
    fn is_process(&self) -> bool;
}

/// Shared by the thread that plays and the test that watches.
#[derive(Debug, Default)]
pub(super) struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) transcript: Transcript,
    pub(super) stderr: Vec<u8>,
    open: BTreeSet<String>,
    released: bool,
}

impl Shared {
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }

    /// Waits until the state is as asked for.
    pub(super) fn wait(&self, is_met: impl Fn(&State) -> bool) -> MutexGuard<'_, State> {
        let state = self.lock();
        let outcome = self.changed.wait_while(state, |state| !is_met(state));
        outcome.unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn open(&self, gate: &str) {
        self.change(|state| {
            state.open.insert(gate.to_owned());
        });
    }

    /// Ends every wait: no gate holds the play any more, and it need not hang.
    pub(super) fn release(&self) {
        self.change(|state| state.released = true);
    }

    pub(super) fn end(&self, ending: Ending) {
        self.change(|state| state.transcript.end(ending));
    }
}

/// The stage in memory.
pub(super) struct Memory(pub(super) Arc<Shared>);

impl Stage for Memory {
    fn received(&mut self, line: &[u8]) {
        self.0.change(|state| state.transcript.push(line));
    }

    fn stderr(&mut self) -> Box<dyn Write + '_> {
        Box::new(Head(&self.0))
    }

    fn close_stdin(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn close_stdout(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn gate(&mut self, name: &str) -> Result<(), String> {
        let is_open = |state: &State| state.released || state.open.contains(name);
        drop(self.0.wait(is_open));
        Ok(())
    }

    fn hang(&mut self) {
        drop(self.0.wait(|state| state.released));
    }

    fn is_process(&self) -> bool {
        false
    }
}

/// Keeps the first MiB of what is written to stderr.
struct Head<'a>(&'a Shared);

impl Write for Head<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.change(|state| {
            let space = (1 << 20) - state.stderr.len();
            state.stderr.extend(&bytes[..bytes.len().min(space)]);
        });
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
