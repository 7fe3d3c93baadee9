//! Server-sent events (HTML Standard, "Interpreting an event stream"; specification:
//! basic/transports/streamable-http, "Receiving Messages").

use std::time::Duration;

use super::BOM;
use super::id_scan::{IdScan, answered_by};
use crate::event::SkipReason;

/// The longest event id that is kept, in characters. An id goes into a header later, so that only
/// printable ASCII (0x20 to 0x7E) counts as one.
pub const MAX_EVENT_ID_CHARS: usize = 1024;
/// How much of an event's type is kept, in bytes. No type that means anything is as long.
pub const MAX_EVENT_TYPE_BYTES: usize = 64;
/// The longest pause before reconnecting that a server can ask for. A longer one counts as this.
pub const MAX_RETRY: Duration = Duration::from_secs(24 * 60 * 60);

/// An event, or what is left of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SseEvent {
    /// The type, unless it is the default, `message`.
    pub kind: Option<String>,
    /// What the event brings.
    pub data: SseData,
    /// The id that a reconnect has to name from now on; an empty one means none. `None` when the
    /// event sets no id, or one that is not kept: then the id before it still holds.
    pub id: Option<String>,
    /// How long to wait before reconnecting, at most [`MAX_RETRY`]. It may be zero.
    pub retry: Option<Duration>,
}

/// What an event brings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SseData {
    /// Nothing, or only blanks: a priming event, or one that is there for its id or its pause.
    None,
    /// Text: perhaps a message.
    Text(String),
    /// Data that cannot be a message.
    Bad {
        /// Why.
        why: SkipReason,
        /// How long it is; for data that is too long, the bound.
        bytes: u64,
        /// The request that it answers, as far as can be told.
        answers: Option<u64>,
    },
}

impl SseEvent {
    /// Whether the event is of the type that carries messages.
    #[must_use]
    pub fn is_message(&self) -> bool {
        self.kind.is_none()
    }
}

/// Cuts a byte stream into events, however it arrives.
///
/// Lines end with LF, CR or CRLF. A byte order mark at the very beginning, comments, and fields that
/// the standard does not know are dropped; they cost no memory, and neither does their length. Data
/// that is too long is thrown away while it comes in. The data of an event is collected in one
/// buffer, which becomes the text without a copy.
#[derive(Debug)]
pub struct SseDecoder {
    max: usize,
    /// The byte before was a CR: an LF that follows belongs to it.
    after_cr: bool,
    first_line: bool,
    place: Place,
    /// The name of a field, and then the value of a short one. Never longer than its bound and one.
    token: Vec<u8>,
    event: Building,
}

/// Where in a line the decoder stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Name,
    /// Right behind the colon, where one space is dropped.
    Space(Field),
    Value(Field),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Data,
    Event,
    Id,
    Retry,
    /// A comment, or a field without a meaning.
    Other,
}

#[derive(Debug, Default)]
struct Building {
    kind: Option<String>,
    data: Collected,
    id: Option<String>,
    retry: Option<Duration>,
}

#[derive(Debug, Default)]
enum Collected {
    #[default]
    NoLine,
    Lines(Vec<u8>),
    TooLong(Box<IdScan>),
    /// Too long, and already reported.
    Told,
}

impl SseDecoder {
    /// A decoder for events with at most `max` bytes of data, the ends of their lines included.
    #[must_use]
    pub fn new(max: usize) -> Self {
        SseDecoder {
            max,
            after_cr: false,
            first_line: true,
            place: Place::Name,
            token: Vec::new(),
            event: Building::default(),
        }
    }

    /// How many bytes of an unfinished event are kept.
    #[cfg(feature = "testing")]
    pub(crate) fn held(&self) -> usize {
        let data = match &self.event.data {
            Collected::Lines(lines) => lines.len(),
            _ => 0,
        };
        data + self.token.len()
    }

    /// Takes bytes from the front of `input` until an event is complete. `None` when all were taken.
    ///
    /// Data that is too long is reported as soon as the call that it answers is known; the id of
    /// that event, if it has one, comes at its end.
    pub fn decode(&mut self, input: &mut &[u8]) -> Option<SseEvent> {
        while let Some((&next, rest)) = input.split_first() {
            if std::mem::take(&mut self.after_cr) && next == b'\n' {
                *input = rest;
                continue;
            }
            let end = memchr::memchr2(b'\r', b'\n', input);
            let (line, tail) = input.split_at(end.unwrap_or(input.len()));
            self.more(line);
            let mut event = self.tell();
            *input = match tail.split_first() {
                None => &[],
                Some((&end, tail)) => {
                    self.after_cr = end == b'\r';
                    // Never two of them: what can be told is told at its line, and the line that
                    // ends an event is empty.
                    let ended = self.line_end();
                    event = event.or(ended).or_else(|| self.tell());
                    tail
                }
            };
            if event.is_some() {
                return event;
            }
        }
        None
    }

    /// The stream has ended. The event that it broke off in does not count by the standard: its id
    /// is not to be remembered. It is handed out for the sake of servers that forget the last empty
    /// line; its data is worth something only if it is a valid message that somebody waits for.
    pub fn finish(&mut self) -> Option<SseEvent> {
        let mut ended = std::mem::replace(self, SseDecoder::new(self.max)).event;
        ended.id = None;
        self.complete(ended)
    }

    /// Takes a stretch without a line end.
    fn more(&mut self, mut bytes: &[u8]) {
        if self.place == Place::Name {
            let colon = memchr::memchr(b':', bytes);
            let (name, value) = bytes.split_at(colon.unwrap_or(bytes.len()));
            self.keep(name, MAX_NAME_BYTES);
            if colon.is_none() {
                return;
            }
            self.place = Place::Space(self.field());
            bytes = value.get(1..).unwrap_or_default();
        }
        if let (Place::Space(field), Some((&next, rest))) = (self.place, bytes.split_first()) {
            self.place = Place::Value(field);
            bytes = if next == b' ' { rest } else { bytes };
        }
        match self.place {
            Place::Value(Field::Data) => self.data(bytes),
            Place::Value(Field::Event | Field::Id | Field::Retry) => {
                self.keep(bytes, MAX_EVENT_ID_CHARS);
            }
            _ => {}
        }
    }

    /// Remembers one byte more than the bound, to tell what is too long.
    fn keep(&mut self, bytes: &[u8], bound: usize) {
        let room = (bound + 1).saturating_sub(self.token.len());
        self.token.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
    }

    /// The field whose name has been read. A second line of data begins here.
    fn field(&mut self) -> Field {
        let field = match self.name() {
            b"data" => Field::Data,
            b"event" => Field::Event,
            b"id" => Field::Id,
            b"retry" => Field::Retry,
            _ => Field::Other,
        };
        self.token.clear();
        match (&field, &self.event.data) {
            (Field::Data, Collected::NoLine) => self.event.data = Collected::Lines(Vec::new()),
            (Field::Data, _) => self.data(b"\n"),
            _ => {}
        }
        field
    }

    fn name(&self) -> &[u8] {
        let bom = if self.first_line { BOM } else { b"" };
        self.token.strip_prefix(bom).unwrap_or(&self.token)
    }

    fn data(&mut self, bytes: &[u8]) {
        match &mut self.event.data {
            Collected::Lines(data) if bytes.len() <= self.max - data.len() => {
                data.extend_from_slice(bytes);
            }
            Collected::Lines(data) => {
                let mut scan = Box::new(IdScan::default());
                scan.feed(data);
                scan.feed(bytes);
                self.event.data = Collected::TooLong(scan);
            }
            Collected::TooLong(scan) => scan.feed(bytes),
            Collected::NoLine | Collected::Told => {}
        }
    }

    /// Reports data that is being thrown away as soon as the call that it answers is known.
    fn tell(&mut self) -> Option<SseEvent> {
        let Collected::TooLong(scan) = &self.event.data else {
            return None;
        };
        let data = too_long(self.max, Some(scan.found()?));
        self.event.data = Collected::Told;
        Some(SseEvent { kind: self.event.kind.clone(), data, id: None, retry: None })
    }

    fn line_end(&mut self) -> Option<SseEvent> {
        let blank = self.place == Place::Name && self.name().is_empty();
        let field = match self.place {
            Place::Name => self.field(),
            Place::Space(field) | Place::Value(field) => field,
        };
        match field {
            Field::Event => self.event.kind = kind(&self.token),
            Field::Id => self.event.id = id(&self.token).or(self.event.id.take()),
            Field::Retry => self.event.retry = retry(&self.token).or(self.event.retry),
            Field::Data | Field::Other => {}
        }
        self.token.clear();
        self.place = Place::Name;
        self.first_line = false;
        let ended = blank.then(|| std::mem::take(&mut self.event))?;
        self.complete(ended)
    }

    fn complete(&self, event: Building) -> Option<SseEvent> {
        let Building { kind, data, id, retry } = event;
        let nothing = id.is_none() && retry.is_none();
        let data = match data {
            Collected::NoLine | Collected::Told if nothing => return None,
            Collected::NoLine | Collected::Told => SseData::None,
            Collected::TooLong(scan) => too_long(self.max, scan.finish()),
            Collected::Lines(data) if data.trim_ascii().is_empty() => SseData::None,
            Collected::Lines(data) => match String::from_utf8(data) {
                Ok(text) => SseData::Text(text),
                Err(error) => {
                    let bytes = error.as_bytes();
                    let (why, answers) = (SkipReason::NotUtf8, answered_by(bytes));
                    SseData::Bad { why, bytes: bytes.len() as u64, answers }
                }
            },
        };
        Some(SseEvent { kind, data, id, retry })
    }
}

/// No name of a field that means anything is longer, with a byte order mark before it.
const MAX_NAME_BYTES: usize = 8;

/// The size is told as the bound, not as it is: how much of an event has come by now depends on how
/// its bytes were split, and no output may.
fn too_long(max: usize, answers: Option<u64>) -> SseData {
    SseData::Bad { why: SkipReason::TooLong, bytes: max as u64, answers }
}

fn kind(value: &[u8]) -> Option<String> {
    let kept = value.get(..MAX_EVENT_TYPE_BYTES).unwrap_or(value);
    let default = kept.is_empty() || kept == b"message";
    (!default).then(|| String::from_utf8_lossy(kept).into_owned())
}

fn id(value: &[u8]) -> Option<String> {
    let keep = value.len() <= MAX_EVENT_ID_CHARS && value.iter().all(|b| (0x20..=0x7e).contains(b));
    keep.then(|| value.iter().map(|&byte| char::from(byte)).collect())
}

fn retry(value: &[u8]) -> Option<Duration> {
    if value.is_empty() || value.len() > MAX_EVENT_ID_CHARS {
        return None;
    }
    let mut millis = 0_u64;
    for byte in value {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        millis = millis.saturating_mul(10).saturating_add(digit);
    }
    Some(Duration::from_millis(millis).min(MAX_RETRY))
}
