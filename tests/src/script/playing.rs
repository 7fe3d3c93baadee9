//! Plays in memory.

use std::io::{Read, Write};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use super::bridge::Bridge;
use super::player::Player;
use super::stage::{Memory, Shared};
use super::{Ending, Script, Transcript};
use crate::pipe::{PipeEnd, duplex};

/// A play on a thread of its own.
///
/// Dropping it releases the play from gates and from hanging, and does not wait for it.
#[derive(Debug)]
pub struct Playing {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    bridge: Option<Bridge>,
}

impl Script {
    /// Plays in this thread, until the script and the client are done.
    pub fn play(&self, reader: impl Read, writer: impl Write + Send + 'static) -> Transcript {
        let shared = Arc::new(Shared::default());
        self.play_on(&shared, reader, writer);
        let state = shared.lock();
        state.transcript.clone()
    }

    /// Plays on a thread of its own.
    pub fn spawn(
        self,
        reader: impl Read + Send + 'static,
        writer: impl Write + Send + 'static,
    ) -> Playing {
        let shared = Arc::new(Shared::default());
        let theirs = shared.clone();
        let thread = thread::spawn(move || self.play_on(&theirs, reader, writer));
        Playing { shared, thread: Some(thread), bridge: None }
    }

    /// Plays on a thread of its own, over pipes in memory of this capacity; the client's end is
    /// returned.
    pub fn over_pipe(self, capacity: usize) -> (PipeEnd, Playing) {
        let (client, (reader, writer)) = duplex(capacity);
        (client, self.spawn(reader, writer))
    }

    fn play_on(
        &self,
        shared: &Arc<Shared>,
        reader: impl Read,
        writer: impl Write + Send + 'static,
    ) {
        let stage = Memory(shared.clone());
        let mut player = Player::new(reader, Box::new(writer), stage, Vec::new());
        let ending = player.play(&self.steps);
        player.close();
        drop(player);
        shared.end(ending);
    }
}

impl Playing {
    /// The same play, reached over this bridge.
    pub(super) fn behind(mut self, bridge: Bridge) -> Self {
        self.bridge = Some(bridge);
        self
    }

    /// Opens a gate, for now and for later.
    pub fn open(&self, gate: &str) {
        self.shared.open(gate);
    }

    /// What has been received so far.
    pub fn so_far(&self) -> Transcript {
        self.shared.lock().transcript.clone()
    }

    /// What the server has written to stderr so far, at most the first MiB.
    pub fn stderr(&self) -> Vec<u8> {
        self.shared.lock().stderr.clone()
    }

    /// Blocks until the transcript is as asked for.
    ///
    /// # Panics
    ///
    /// When the play ends before that.
    #[track_caller]
    pub fn wait_until(&self, is_met: impl Fn(&Transcript) -> bool) -> Transcript {
        let state = self
            .shared
            .wait(|state| is_met(&state.transcript) || state.transcript.ending().is_some());
        let transcript = state.transcript.clone();
        drop(state);
        assert!(is_met(&transcript), "the play ended before that: {transcript:?}");
        transcript
    }

    /// Lets gates and hanging end, waits for the play, and returns all that was received. The
    /// client's end has to be closed for it, unless the script exits by itself; behind HTTP this
    /// closes it.
    pub fn finish(mut self) -> Transcript {
        self.shared.release();
        self.bridge = None;
        if let Some(thread) = self.thread.take() {
            // A panic there has printed its message; the transcript then lacks its ending.
            let _ = thread.join();
        }
        self.so_far()
    }
}

impl Drop for Playing {
    fn drop(&mut self) {
        // A test that fails may fail because the play did.
        if let (true, Some(Ending::Failed(what))) = (thread::panicking(), self.so_far().ending()) {
            eprintln!("the play failed: {what}");
        }
        self.shared.release();
    }
}
