//! Lines on their way out. Bytes that end with what may be the beginning of a secret wait until its
//! rest has come or cannot come any more, and everything after them waits too.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use serde::Serialize;

use super::inputs::{Bytes, HttpRecord, InputRecord, StdioRecord};
use super::secrets::{Found, Secrets, cover};
use super::{At, Entry};
use crate::{ExchangeId, Now, ProcessId};

/// How long the rest of a secret is waited for. Whoever reads the journal of a connection that
/// hangs wants to see its end.
const WAIT: Duration = Duration::from_secs(2);

/// How many bytes wait at most.
const MOST_WAITING: usize = 1024 * 1024;

/// Where bytes come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stream {
    Stdout(ProcessId),
    Stderr(ProcessId),
    Body(ExchangeId),
}

/// Bytes of a server's, and when they came.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) at: At,
    pub(super) stream: Stream,
    pub(super) bytes: Vec<u8>,
}

impl Held {
    fn entry(self) -> Entry {
        let bytes = Bytes(self.bytes);
        let input = match self.stream {
            Stream::Stdout(id) => InputRecord::Stdio(id, StdioRecord::Stdout(bytes)),
            Stream::Stderr(id) => InputRecord::Stdio(id, StdioRecord::Stderr(bytes)),
            Stream::Body(id) => InputRecord::Http(id, HttpRecord::Body(bytes)),
        };
        Entry { at: Some(self.at), input: Some(input), ..Entry::default() }
    }
}

#[derive(Debug)]
enum Waiting {
    Line(Vec<u8>),
    Bytes(Held),
}

/// The end of a stream that may be the beginning of a secret.
#[derive(Debug, Default)]
struct Tail {
    /// As it came, while its line may be masked in part.
    bytes: Vec<u8>,
    /// The lines that it lies in, by number, and how many of its bytes are in each.
    lines: VecDeque<(u64, usize)>,
}

/// The lines of a journal.
#[derive(Debug, Default)]
pub(super) struct Lines {
    ready: Vec<u8>,
    waiting: VecDeque<Waiting>,
    /// How many bytes wait.
    size: usize,
    /// The number of the first that waits.
    first: u64,
    tails: BTreeMap<Stream, Tail>,
}

impl Lines {
    /// How many bytes nobody has taken.
    pub(super) fn len(&self) -> usize {
        self.ready.len() + self.size
    }

    pub(super) fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.ready)
    }

    pub(super) fn line(&mut self, line: &impl Serialize) {
        if self.waiting.is_empty() {
            write(&mut self.ready, line);
        } else {
            let mut text = Vec::new();
            write(&mut text, line);
            self.wait(text.len(), Waiting::Line(text));
        }
    }

    fn wait(&mut self, size: usize, what: Waiting) {
        self.size += size;
        self.waiting.push_back(what);
        if self.size > MOST_WAITING {
            self.end_all();
        }
    }

    /// Adds bytes, masked together with those of the same stream that wait. Where a secret is awaited
    /// that nobody knows yet, all of them do.
    pub(super) fn bytes(&mut self, mut held: Held, secrets: &Secrets, awaited: bool) {
        if secrets.is_empty() && self.waiting.is_empty() && !awaited {
            return write(&mut self.ready, &held.entry());
        }
        let mut tail = self.tails.remove(&held.stream).unwrap_or_default();
        let before = tail.bytes.len();
        tail.bytes.extend_from_slice(&held.bytes);
        for found in secrets.find(&tail.bytes) {
            self.cover_tail(&tail, &found);
            let (at, skipped) = match found.at.checked_sub(before) {
                Some(at) => (at, 0),
                None => (0, before - found.at),
            };
            cover(&mut held.bytes, at, found.cover.get(skipped..).unwrap_or_default());
        }
        let number = self.first + self.waiting.len() as u64;
        tail.lines.push_back((number, held.bytes.len()));
        tail.keep(if awaited { tail.bytes.len() } else { secrets.unfinished(&tail.bytes) });
        if !tail.bytes.is_empty() {
            self.tails.insert(held.stream, tail);
        }
        let size = held.bytes.len();
        self.wait(size, Waiting::Bytes(held));
        self.release();
    }

    /// Covers a secret in the lines that a tail lies in.
    fn cover_tail(&mut self, tail: &Tail, found: &Found<'_>) {
        let mut begin = 0;
        for (number, length) in &tail.lines {
            let from = found.at.max(begin);
            let to = (found.at + found.cover.len()).min(begin + length);
            let place = usize::try_from(number - self.first).unwrap_or(usize::MAX);
            if let Some(Waiting::Bytes(held)) = self.waiting.get_mut(place)
                && let Some(part) = found.cover.get(from - found.at..to.saturating_sub(found.at))
            {
                let at = held.bytes.len() - length + (from - begin);
                cover(&mut held.bytes, at, part);
            }
            begin += length;
        }
    }

    /// Nothing more comes of this stream.
    pub(super) fn end(&mut self, stream: Stream) {
        if self.tails.remove(&stream).is_some() {
            self.release();
        }
    }

    /// Nothing is waited for any more.
    pub(super) fn end_all(&mut self) {
        self.tails.clear();
        self.release();
    }

    /// What has waited too long is let go of.
    pub(super) fn not_after(&mut self, now: At) {
        let Some(Waiting::Bytes(first)) = self.waiting.front() else { return };
        let mono = |at: At| Now::from(at).mono;
        if mono(now).saturating_sub(mono(first.at)) > WAIT {
            self.end_all();
        }
    }

    /// Writes the lines that nothing is awaited for.
    fn release(&mut self) {
        let awaited = self.tails.values().filter_map(|tail| tail.lines.front());
        let until = awaited.map(|(number, _)| *number).min().unwrap_or(u64::MAX);
        while self.first < until
            && let Some(first) = self.waiting.pop_front()
        {
            self.first += 1;
            match first {
                Waiting::Line(text) => {
                    self.size -= text.len();
                    self.ready.extend(text);
                }
                Waiting::Bytes(held) => {
                    self.size -= held.bytes.len();
                    write(&mut self.ready, &held.entry());
                }
            }
        }
    }
}

impl Tail {
    /// Forgets all but its last bytes.
    fn keep(&mut self, length: usize) {
        let mut gone = self.bytes.len() - length;
        self.bytes.drain(..gone);
        while let Some((_, size)) = self.lines.front_mut() {
            let here = gone.min(*size);
            *size -= here;
            gone -= here;
            if *size > 0 {
                break;
            }
            self.lines.pop_front();
        }
    }
}

fn write(to: &mut Vec<u8>, line: &impl Serialize) {
    to.extend(serde_json::to_vec(line).unwrap_or_default());
    to.push(b'\n');
}
