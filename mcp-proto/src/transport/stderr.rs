//! What a server writes on stderr: lines for events, and a tail for the text of errors.
//!
//! It says nothing about success or failure (specification: basic/transports/stdio).

use crate::{Event, STDERR_TAIL_BYTES, text};

/// A line without an end is cut here, so that nothing grows.
const MAX_LINE: usize = 64 * 1024;

#[derive(Debug, Default)]
pub(crate) struct Stderr {
    tail: Vec<u8>,
    line: Vec<u8>,
}

impl Stderr {
    /// Takes bytes, and returns the lines that they complete.
    pub(crate) fn take(&mut self, mut bytes: &[u8]) -> Vec<Event> {
        self.remember(bytes);
        let mut events = Vec::new();
        while !bytes.is_empty() {
            let room = MAX_LINE - self.line.len();
            let within = bytes.get(..room).unwrap_or(bytes);
            match memchr::memchr(b'\n', within) {
                Some(end) => {
                    self.line.extend_from_slice(within.get(..end).unwrap_or_default());
                    bytes = bytes.get(end + 1..).unwrap_or_default();
                    events.extend(self.flush());
                }
                None => {
                    self.line.extend_from_slice(within);
                    bytes = bytes.get(within.len()..).unwrap_or_default();
                    if self.line.len() == MAX_LINE {
                        events.extend(self.flush());
                    }
                }
            }
        }
        events
    }

    /// The line that has no end yet.
    pub(crate) fn flush(&mut self) -> Option<Event> {
        let line = std::mem::take(&mut self.line);
        let line = line.strip_suffix(b"\r").unwrap_or(&line);
        if line.trim_ascii().is_empty() {
            return None;
        }
        Some(Event::Stderr(text::excerpt(&String::from_utf8_lossy(line))))
    }

    fn remember(&mut self, bytes: &[u8]) {
        let keep = bytes.get(bytes.len().saturating_sub(STDERR_TAIL_BYTES)..).unwrap_or(bytes);
        self.tail.extend_from_slice(keep);
        let surplus = self.tail.len().saturating_sub(STDERR_TAIL_BYTES);
        self.tail.drain(..surplus);
    }

    /// The last of it, for a person to read.
    pub(crate) fn last_words(&self) -> String {
        text::last_words(&self.tail)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Event {
        Event::Stderr(String::from(text))
    }

    /// M-STD-04
    #[test]
    fn a_flood_without_line_ends_is_cut_and_only_its_end_is_kept() {
        let mut stderr = Stderr::default();
        let mut lines = 0;
        for _ in 0..160 {
            lines += stderr.take(&[b'x'; 64 * 1024]).len();
        }
        assert_eq!(lines, 160);
        stderr.take(b"\nthe end\n");
        let words = stderr.last_words();
        assert_eq!(words.len(), STDERR_TAIL_BYTES - 1);
        assert!(words.ends_with("x\nthe end"));
    }

    #[test]
    fn lines_are_the_same_however_they_are_split() {
        let bytes = b"one\r\n\ntw\xffo\nthree";
        let mut whole = Stderr::default();
        let mut want = whole.take(bytes);
        want.extend(whole.flush());
        let mut split = Stderr::default();
        let mut got: Vec<_> = bytes.iter().flat_map(|b| split.take(&[*b])).collect();
        got.extend(split.flush());
        assert_eq!(got, want);
        assert_eq!(want, vec![line("one"), line("tw\u{fffd}o"), line("three")]);
    }
}
