//! The content coding `gzip`, undone as it comes in.

use std::io::Write as _;

use flate2::write::MultiGzDecoder;

/// How much is inflated at once: what a few bytes become must not be there all at once.
const STEP: usize = 4 * 1024;

/// Inflates a few bytes at a time. Gzip makes at most about a thousand of one, so what is there at
/// once stays bounded, and so does what its reader keeps.
#[derive(Debug)]
pub(super) struct Inflate {
    decoder: MultiGzDecoder<Vec<u8>>,
    ready: Vec<u8>,
    /// How much of `ready` was taken.
    taken: usize,
    broken: bool,
}

impl Inflate {
    pub(super) fn new() -> Self {
        let decoder = MultiGzDecoder::new(Vec::new());
        Inflate { decoder, ready: Vec::new(), taken: 0, broken: false }
    }

    /// What is inflated and was not taken.
    pub(super) fn ready(&self) -> &[u8] {
        self.ready.get(self.taken..).unwrap_or_default()
    }

    /// All but this much of it was taken.
    pub(super) fn keep(&mut self, left: usize) {
        self.taken = self.ready.len().saturating_sub(left);
    }

    /// Inflates the next few bytes. `false` when there are none.
    pub(super) fn step(&mut self, input: &mut &[u8]) -> bool {
        if input.is_empty() || self.broken {
            return false;
        }
        let (step, rest) = input.split_at(input.len().min(STEP));
        *input = rest;
        self.broken = self.decoder.write_all(step).is_err();
        // What came before the broken place is as good as if it had come alone.
        let flushed = self.decoder.flush();
        self.broken |= flushed.is_err();
        self.ready = std::mem::take(self.decoder.get_mut());
        self.taken = 0;
        true
    }

    /// What came is not gzip, or does not go on as such.
    pub(super) fn is_broken(&self) -> bool {
        self.broken
    }

    /// The body is complete. What is left of it, and whether the coding is complete, too.
    pub(super) fn finish(mut self) -> (Vec<u8>, bool) {
        let complete = !self.broken && self.decoder.try_finish().is_ok();
        (std::mem::take(self.decoder.get_mut()), complete)
    }
}
