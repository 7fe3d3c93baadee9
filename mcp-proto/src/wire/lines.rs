//! Newline-delimited messages (specification: basic/transports/stdio).

use super::BOM;
use super::id_scan::{IdScan, answered_by};
use crate::event::SkipReason;

/// Cuts a byte stream into lines, however it arrives.
///
/// Lines end with LF; a CR before it, blank lines, and a byte order mark at the very beginning are
/// dropped. A line that is too long is thrown away while it comes in, and what is kept of it is
/// bounded.
#[derive(Debug)]
pub struct LineDecoder {
    max: usize,
    state: State,
    first: bool,
}

#[derive(Debug)]
enum State {
    Collecting(Vec<u8>),
    /// A line that is too long. `told` says whether it was reported already.
    Discarding {
        scan: Box<IdScan>,
        told: bool,
    },
}

/// What a stretch of bytes turned out to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// A line of text: perhaps a message.
    Text(String),
    /// A line that cannot be one.
    Bad {
        /// Why.
        why: SkipReason,
        /// How long it is; for a line that is too long, the bound.
        bytes: u64,
        /// The request that it answers, as far as can be told.
        answers: Option<u64>,
    },
}

impl LineDecoder {
    /// A decoder for lines of at most `max` bytes, their end not counted.
    #[must_use]
    pub fn new(max: usize) -> Self {
        LineDecoder { max, state: State::Collecting(Vec::new()), first: true }
    }

    /// Takes bytes from the front of `input` until a line is complete. `None` when all were taken.
    pub fn decode(&mut self, input: &mut &[u8]) -> Option<Line> {
        while !input.is_empty() {
            let line = match memchr::memchr(b'\n', input) {
                Some(end) => {
                    let (head, tail) = input.split_at(end);
                    *input = tail.get(1..).unwrap_or_default();
                    self.line_end(head)
                }
                None => {
                    let all = std::mem::take(input);
                    self.more(all)
                }
            };
            if line.is_some() {
                return line;
            }
        }
        None
    }

    /// How many bytes of an unfinished line are kept.
    #[cfg(feature = "testing")]
    pub(crate) fn held(&self) -> usize {
        match &self.state {
            State::Collecting(line) => line.len(),
            State::Discarding { .. } => 0,
        }
    }

    /// The stream has ended. Its last line needs no end: a message that was cut off is no JSON, and
    /// is found out where it is read.
    pub fn finish(&mut self) -> Option<Line> {
        match std::mem::replace(&mut self.state, State::Collecting(Vec::new())) {
            State::Collecting(line) => self.complete(line),
            State::Discarding { scan, told } => self.discarded(*scan, told),
        }
    }

    fn line_end(&mut self, head: &[u8]) -> Option<Line> {
        let told_now = self.more(head);
        let rest = match std::mem::replace(&mut self.state, State::Collecting(Vec::new())) {
            State::Collecting(line) => self.complete(line),
            State::Discarding { scan, told } => self.discarded(*scan, told),
        };
        // Never both: a line that was told early is not told again.
        told_now.or(rest)
    }

    /// Appends a stretch without a line end.
    fn more(&mut self, bytes: &[u8]) -> Option<Line> {
        match &mut self.state {
            // One byte more than the bound is kept: it may be the CR of the line's end.
            State::Collecting(line) if line.len() + bytes.len() <= self.max.saturating_add(1) => {
                line.extend_from_slice(bytes);
                return None;
            }
            State::Collecting(line) => {
                let mut scan = Box::new(IdScan::default());
                scan.feed(line);
                scan.feed(bytes);
                self.first = false;
                self.state = State::Discarding { scan, told: false };
            }
            State::Discarding { told: true, .. } => return None,
            State::Discarding { scan, .. } => scan.feed(bytes),
        }
        self.tell()
    }

    /// Reports a line that is being discarded as soon as the call that it answers is known.
    fn tell(&mut self) -> Option<Line> {
        let State::Discarding { scan, told } = &mut self.state else {
            return None;
        };
        let id = scan.found()?;
        *told = true;
        Some(self.too_long(Some(id)))
    }

    fn complete(&mut self, mut line: Vec<u8>) -> Option<Line> {
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        if line.len() > self.max {
            self.first = false;
            return Some(self.too_long(answered_by(&line)));
        }
        if std::mem::take(&mut self.first) && line.starts_with(BOM) {
            line.drain(..BOM.len());
        }
        if line.trim_ascii().is_empty() {
            return None;
        }
        match String::from_utf8(line) {
            Ok(text) => Some(Line::Text(text)),
            Err(error) => Some(bad(SkipReason::NotUtf8, error.as_bytes())),
        }
    }

    fn discarded(&self, scan: IdScan, told: bool) -> Option<Line> {
        if told { None } else { Some(self.too_long(scan.finish())) }
    }

    /// The size is told as the bound, not as it is: how much of a line has come by now depends on
    /// how its bytes were split, and no output may.
    fn too_long(&self, answers: Option<u64>) -> Line {
        Line::Bad { why: SkipReason::TooLong, bytes: self.max as u64, answers }
    }
}

/// A line that cannot be parsed, with the call that it answers.
pub(crate) fn bad(why: SkipReason, line: &[u8]) -> Line {
    Line::Bad { why, bytes: line.len() as u64, answers: answered_by(line) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(max: usize, chunks: &[&[u8]]) -> Vec<Line> {
        let mut decoder = LineDecoder::new(max);
        let mut lines = Vec::new();
        for mut chunk in chunks.iter().copied() {
            while let Some(line) = decoder.decode(&mut chunk) {
                lines.push(line);
            }
        }
        lines.extend(decoder.finish());
        lines
    }

    fn text(line: &str) -> Line {
        Line::Text(String::from(line))
    }

    /// M-STD-01, M-STD-02
    #[test]
    fn line_ends_blank_lines_and_a_byte_order_mark_are_dropped() {
        let input = b"\xef\xbb\xbf{}\r\n\n\r\n  \n{\"a\":1}\n\xef\xbb\xbfx\n";
        let want = vec![text("{}"), text("{\"a\":1}"), text("\u{feff}x")];
        assert_eq!(all(100, &[input]), want);
    }

    #[test]
    fn what_is_not_utf8_is_bad_and_names_its_call() {
        let lines = all(100, &[b"{\"id\":4,\"result\":\"\xff\"}\n\xfe\n{}\n"]);
        let bad = |bytes, answers| Line::Bad { why: SkipReason::NotUtf8, bytes, answers };
        assert_eq!(lines, vec![bad(21, Some(4)), bad(1, None), text("{}")]);
    }

    #[test]
    fn the_bound_holds_for_the_line_without_its_end() {
        for end in ["\n", "\r\n"] {
            assert_eq!(all(4, &[b"1234", end.as_bytes()]), vec![text("1234")]);
            let long = Line::Bad { why: SkipReason::TooLong, bytes: 4, answers: None };
            assert_eq!(all(4, &[b"12345", end.as_bytes(), b"6\n"]), vec![long, text("6")]);
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_told_once_its_call_is_known() {
        let mut decoder = LineDecoder::new(24);
        let mut start: &[u8] = b"{\"id\":4,\"result\":\"0123456789";
        let told = Line::Bad { why: SkipReason::TooLong, bytes: 24, answers: Some(4) };
        assert_eq!(decoder.decode(&mut start), Some(told));
        let mut rest: &[u8] = b"0123456789\"}\n{}\n";
        assert_eq!(decoder.decode(&mut rest), Some(text("{}")));
        assert_eq!(decoder.decode(&mut rest), None);
    }

    proptest! {
        #[test]
        fn any_split_gives_the_same_lines(
            pieces in proptest::collection::vec(
                proptest::sample::select(vec![
                    "{\"id\":1,\"result\":", "{\"method\":\"m\"", ",\"id\":2", "}", "\r", "\n", "\n",
                    "\u{feff}", "é", "\"", "\\", " ", "0123456789",
                ]),
                0..40,
            ),
            cuts in proptest::collection::vec(0usize..200, 0..12),
            max in 1usize..60,
        ) {
            let bytes = pieces.concat().into_bytes();
            let mut cuts: Vec<_> = cuts.into_iter().filter(|c| *c < bytes.len()).collect();
            cuts.sort_unstable();
            let mut chunks = Vec::new();
            let mut from = 0;
            for cut in cuts {
                chunks.push(&bytes[from..cut]);
                from = cut;
            }
            chunks.push(&bytes[from..]);
            prop_assert_eq!(all(max, &chunks), all(max, &[&bytes]));
        }
    }
}
