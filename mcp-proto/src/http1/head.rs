//! Heads of answers: status, headers, and what they say about the body (RFC 9112, sections 4 to 6).

use std::fmt;
use std::mem::MaybeUninit;

use super::error::Fault;
use crate::wire::headers::is_name;

/// The longest head that is accepted, its last empty line included.
pub const MAX_HEAD_BYTES: usize = 64 * 1024;
/// How many headers an answer may have.
pub const MAX_HEADERS: usize = 128;

/// Headers, in the order in which they came or go, with lower-case names. They stand in one text,
/// so that a head costs two allocations.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Headers {
    text: String,
    /// Where each name ends, and each value.
    ends: Vec<(usize, usize)>,
}

impl Headers {
    /// None at all.
    #[must_use]
    pub fn new() -> Self {
        Headers::default()
    }

    /// Adds a header after the others.
    pub fn push(&mut self, name: &str, value: &str) {
        let start = self.text.len();
        self.text.push_str(name);
        if let Some(name) = self.text.get_mut(start..) {
            name.make_ascii_lowercase();
        }
        let name_end = self.text.len();
        self.text.push_str(value);
        self.ends.push((name_end, self.text.len()));
    }

    /// All names and values, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let text = |from, to| self.text.get(from..to).unwrap_or_default();
        self.ends.iter().scan(0, move |start, &(name_end, end)| {
            let name = text(*start, name_end);
            *start = end;
            Some((name, text(name_end, end)))
        })
    }

    /// The first value under a name, whatever its case.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.get_all(name).next()
    }

    /// All values under a name, whatever its case.
    pub fn get_all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.iter().filter(move |(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }
}

impl<'a> FromIterator<(&'a str, &'a str)> for Headers {
    fn from_iter<I: IntoIterator<Item = (&'a str, &'a str)>>(headers: I) -> Self {
        let mut all = Headers::new();
        headers.into_iter().for_each(|(name, value)| all.push(name, value));
        all
    }
}

impl fmt::Debug for Headers {
    /// Values may be secrets: only names are shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter().map(|(name, _)| name)).finish()
    }
}

/// The head of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// The status, 200 to 999. (Codes from 600 on are not assigned; they count as 5xx.)
    pub status: u16,
    /// The version: 0 of HTTP/1.0, 1 of HTTP/1.1.
    pub minor_version: u8,
    /// The headers. Bytes that are not UTF-8 are replaced by U+FFFD.
    pub headers: Headers,
}

/// How the end of a body is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    Length(u64),
    Chunked,
    /// It ends with the connection.
    Close,
}

/// Reads a head, up to and with its empty line. The fault comes with its offset.
pub(super) fn parse(bytes: &[u8]) -> Result<Head, (Fault, usize)> {
    let mut parsed = httparse::Response::new(&mut []);
    let mut slots = [const { MaybeUninit::uninit() }; MAX_HEADERS];
    let config = httparse::ParserConfig::default();
    match config.parse_response_with_uninit_headers(&mut parsed, bytes, &mut slots) {
        Ok(httparse::Status::Complete(length)) if length == bytes.len() => {}
        Ok(_) => return Err((Fault::StatusLine, 0)),
        Err(httparse::Error::TooManyHeaders) => return Err((Fault::TooManyHeaders, 0)),
        Err(httparse::Error::Version) => return Err((Fault::NotHttp, 0)),
        Err(_) => return Err(locate(bytes)),
    }
    let status = parsed.code.filter(|code| *code >= 100).ok_or((Fault::StatusLine, 0))?;
    let minor_version = parsed.version.ok_or((Fault::NotHttp, 0))?;
    let mut headers = Headers::new();
    headers.text.reserve(bytes.len());
    headers.ends.reserve(parsed.headers.len());
    for header in &*parsed.headers {
        headers.push(header.name, &String::from_utf8_lossy(header.value));
    }
    Ok(Head { status, minor_version, headers })
}

/// Names the fault of a head that was refused, and finds its place.
fn locate(head: &[u8]) -> (Fault, usize) {
    let mut start = 0;
    for line in head.split_inclusive(|&byte| byte == b'\n') {
        let text = line.strip_suffix(b"\n").unwrap_or(line);
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        if let Some(at) = memchr::memchr2(b'\r', b'\0', text) {
            let nul = text.get(at) == Some(&b'\0');
            return (if nul { Fault::Nul } else { Fault::BareCr }, start + at);
        }
        if start > 0 && (text.starts_with(b" ") || text.starts_with(b"\t")) {
            return (Fault::ObsFold, start);
        }
        let name = memchr::memchr(b':', text).and_then(|colon| text.get(..colon));
        let name = name.and_then(|name| std::str::from_utf8(name).ok());
        if start > 0 && !text.is_empty() && !name.is_some_and(is_name) {
            return (Fault::HeaderName, start);
        }
        if let Some(at) = text.iter().position(|byte| byte.is_ascii_control() && *byte != b'\t') {
            let fault = if start == 0 { Fault::StatusLine } else { Fault::HeaderValue };
            return (fault, start + at);
        }
        start += line.len();
    }
    (Fault::StatusLine, 0)
}

impl Head {
    /// What the headers say about the end of the body (RFC 9112, section 6.3).
    pub(super) fn framing(&self) -> Result<Framing, Fault> {
        let mut codings = self.headers.get_all("transfer-encoding");
        let Some(coding) = codings.next() else {
            return Ok(self.length()?.map_or(Framing::Close, Framing::Length));
        };
        if self.minor_version == 0 {
            return Err(Fault::TransferCodingOn10);
        }
        if self.headers.get("content-length").is_some() {
            return Err(Fault::LengthBesideCoding);
        }
        if codings.next().is_some() || !coding.eq_ignore_ascii_case("chunked") {
            return Err(Fault::TransferCoding);
        }
        Ok(Framing::Chunked)
    }

    /// One length that was told several times is accepted: section 6.3 allows it, and gateways that
    /// double a header are about.
    fn length(&self) -> Result<Option<u64>, Fault> {
        let mut length = None;
        for value in self.headers.get_all("content-length").flat_map(|value| value.split(',')) {
            let value = value.trim_matches([' ', '\t']);
            if value.is_empty() || !value.bytes().all(|byte| byte.is_ascii_digit()) {
                return Err(Fault::Length);
            }
            let value = value.parse::<u64>().map_err(|_| Fault::LengthTooLarge)?;
            if length.replace(value).is_some_and(|before| before != value) {
                return Err(Fault::LengthsDiffer);
            }
        }
        Ok(length)
    }

    /// Whether the server keeps the connection open after this answer (RFC 9112, section 9.3).
    pub(super) fn keeps_alive(&self) -> bool {
        let mut keeps = self.minor_version == 1;
        for token in self.headers.get_all("connection").flat_map(|value| value.split(',')) {
            let token = token.trim_matches([' ', '\t']);
            if token.eq_ignore_ascii_case("close") {
                return false;
            }
            keeps |= token.eq_ignore_ascii_case("keep-alive");
        }
        keeps
    }
}
