//! Chunked bodies (RFC 9112, section 7.1).

use super::error::{Fault, Phase};
use crate::wire::headers::is_token_byte;

/// The longest line before a chunk, its end not counted: the size, and extensions, which mean
/// nothing here.
pub const MAX_CHUNK_LINE_BYTES: usize = 1024;
/// How long all trailers together may be, their line ends included. They are checked and dropped.
pub const MAX_TRAILER_BYTES: usize = 16 * 1024;

/// Reads a chunked body byte by byte, except for data, so that nothing is kept of a line that came
/// in pieces. (`httparse::parse_chunk_size` needs the whole line at once, and takes an empty one
/// for the last chunk.)
#[derive(Debug)]
pub(super) struct Chunks {
    state: State,
    /// The size of the chunk, and then what is left of it.
    left: u64,
    /// How long the line before a chunk is by now, or all trailers.
    length: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Size,
    Digits,
    /// Blanks after the size, which old servers fill a fixed field with.
    Padding,
    Extension,
    SizeLf,
    Data,
    DataCr,
    DataLf,
    Trailer,
    TrailerName,
    TrailerValue,
    TrailerLf,
    EndLf,
    Done,
}

impl Chunks {
    pub(super) fn new() -> Self {
        Chunks { state: State::Size, left: 0, length: 0 }
    }

    pub(super) fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// Takes bytes from the front of `input`; returns data as soon as there is some. At a fault, the
    /// front of `input` is the byte at fault.
    pub(super) fn decode<'a>(&mut self, input: &mut &'a [u8]) -> Result<Option<&'a [u8]>, Fault> {
        while let Some((&byte, rest)) = input.split_first() {
            match self.state {
                State::Done => break,
                State::Data => return Ok(Some(self.data(input))),
                _ => self.state = self.step(byte)?,
            }
            *input = rest;
        }
        Ok(None)
    }

    fn data<'a>(&mut self, input: &mut &'a [u8]) -> &'a [u8] {
        let room = usize::try_from(self.left).unwrap_or(usize::MAX);
        let (data, rest) = input.split_at(room.min(input.len()));
        *input = rest;
        self.left -= data.len() as u64;
        if self.left == 0 {
            self.state = State::DataCr;
        }
        data
    }

    /// Where the next byte leads.
    fn step(&mut self, byte: u8) -> Result<State, Fault> {
        match self.state {
            State::Size | State::Digits | State::Padding | State::Extension => {
                let next = self.size_line(byte)?;
                self.length += usize::from(next != State::SizeLf);
                let fits = self.length <= MAX_CHUNK_LINE_BYTES;
                if fits { Ok(next) } else { Err(Fault::ChunkLineTooLong) }
            }
            State::SizeLf if byte == b'\n' => {
                self.length = 0;
                Ok(if self.left == 0 { State::Trailer } else { State::Data })
            }
            State::SizeLf => Err(Fault::ChunkLine),
            State::DataCr if byte == b'\r' => Ok(State::DataLf),
            State::DataLf if byte == b'\n' => Ok(State::Size),
            State::DataCr | State::DataLf => Err(Fault::ChunkEnd),
            State::EndLf if byte == b'\n' => Ok(State::Done),
            State::Trailer if byte == b'\r' => Ok(State::EndLf),
            State::Trailer | State::TrailerName | State::TrailerValue | State::TrailerLf => {
                self.length += 1;
                let fits = self.length <= MAX_TRAILER_BYTES;
                if fits { self.trailer(byte) } else { Err(Fault::TrailersTooLong) }
            }
            State::EndLf => Err(Fault::Trailer),
            State::Data | State::Done => Ok(self.state),
        }
    }

    fn size_line(&mut self, byte: u8) -> Result<State, Fault> {
        match (self.state, byte) {
            (State::Size | State::Digits, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => {
                let digit = u64::from(char::from(byte).to_digit(16).unwrap_or_default());
                let size = self.left.checked_mul(16).ok_or(Fault::ChunkSizeTooLarge)?;
                self.left = size | digit;
                Ok(State::Digits)
            }
            (State::Size, _) => Err(Fault::ChunkSize),
            (_, b'\r') => Ok(State::SizeLf),
            (State::Digits | State::Padding, b' ' | b'\t') => Ok(State::Padding),
            (State::Digits | State::Padding, b';') => Ok(State::Extension),
            (State::Digits | State::Padding, b'\n') => Err(Fault::ChunkLine),
            (State::Digits | State::Padding, _) => Err(Fault::ChunkSize),
            (_, byte) if is_text(byte) => Ok(State::Extension),
            _ => Err(Fault::ChunkLine),
        }
    }

    fn trailer(&self, byte: u8) -> Result<State, Fault> {
        match (self.state, byte) {
            (State::Trailer | State::TrailerName, byte) if is_token_byte(byte) => {
                Ok(State::TrailerName)
            }
            (State::TrailerName, b':') => Ok(State::TrailerValue),
            (State::TrailerValue, b'\r') => Ok(State::TrailerLf),
            (State::TrailerValue, byte) if is_text(byte) => Ok(State::TrailerValue),
            (State::TrailerLf, b'\n') => Ok(State::Trailer),
            _ => Err(Fault::Trailer),
        }
    }

    /// Where the body breaks off if its stream ends here.
    pub(super) fn phase(&self) -> Phase {
        match self.state {
            State::Data => Phase::Chunk { missing: self.left },
            State::DataCr | State::DataLf => Phase::Chunk { missing: 0 },
            State::Size | State::Digits | State::Padding | State::Extension | State::SizeLf => {
                Phase::ChunkLine
            }
            _ => Phase::Trailers,
        }
    }
}

/// What a header's value may hold: anything but control characters; a tab is none.
fn is_text(byte: u8) -> bool {
    byte == b'\t' || (byte >= 0x20 && byte != 0x7f)
}
