//! What a journal must not tell: which texts are secrets, and what stands in their places.
//!
//! A value that has a place of its own, such as that of a header, is replaced there. A server may
//! repeat one anywhere, in an error or on its stderr, so the recorder also looks for each in all
//! that it writes, and covers it with a text of the same length. Bytes of a server's are masked on
//! their way into the journal, and so is what follows from them, so a replay says the same.

use std::collections::VecDeque;

use memchr::memmem;
use serde_json::Value;

use crate::Transport;
use crate::config::mask_url;
use crate::wire::headers::is_session_id;

/// What stands in the place of a secret that has one.
pub(super) const MASK: &str = "masked";

/// What is shorter is not looked for: a setting such as `1` or `info` is in every text.
const SHORTEST: usize = 8;

/// A longer text is looked for in pieces of this size.
const LONGEST: usize = 1024;

/// How many of the texts that come from a server are remembered: the last ones.
const MOST_RECEIVED: usize = 64;

/// Texts of the protocol's own. Masking one would change what a message means, and it is no secret,
/// whoever uses it as one.
const KNOWN: &str = "2026-07-28 2025-11-25 2025-06-18 2025-03-26 2024-11-05 application/json \
    text/event-stream jsonrpc method params result error message protocolVersion serverInfo \
    clientInfo supportedVersions capabilities instructions nextCursor resultType complete \
    input_required structuredContent content inputSchema outputSchema description annotations \
    progressToken progress requestId notifications/initialized notifications/cancelled \
    notifications/progress notifications/message server/discover initialize tools/list tools/call \
    elicitation/create sampling/createMessage roots/list elicitation requestmeta";

/// The headers of a request whose values are nobody's secret: the protocol's own. All others are
/// the host's.
const PLAIN: [&str; 6] =
    ["accept", "accept-encoding", "content-type", "mcp-method", "mcp-name", "mcp-protocol-version"];

/// The texts that are secrets.
#[derive(Debug, Default)]
pub(super) struct Secrets {
    configured: Vec<Secret>,
    received: VecDeque<Secret>,
    /// What the journal has told of the settings. What is in it is no secret any more, and masking
    /// it later would make a replay differ, which takes it from there.
    told: String,
}

/// A text, and what covers it: `*`, but `/` in the place of what JSON escapes, so that it is the
/// same before and after JSON was read.
#[derive(Debug, PartialEq, Eq)]
struct Secret {
    text: Vec<u8>,
    cover: Vec<u8>,
}

/// A secret that was found.
#[derive(Debug)]
pub(super) struct Found<'a> {
    pub(super) at: usize,
    pub(super) cover: &'a [u8],
}

impl Secrets {
    /// What the host has set: values of the environment and of headers, credentials and queries.
    pub(super) fn of(transport: &Transport) -> Self {
        let mut all = Vec::new();
        match transport {
            Transport::Stdio(command) => {
                command.env.values().for_each(|value| pieces(value, &mut all));
            }
            Transport::Stream => {}
            Transport::Http(http) => {
                http.headers.iter().for_each(|(_, value)| pieces(value, &mut all));
                parts_of_url(&http.url).for_each(|part| pieces(part, &mut all));
            }
        }
        Secrets { configured: all, ..Secrets::default() }
    }

    /// Whether there is nothing to look for.
    pub(super) fn is_empty(&self) -> bool {
        self.configured.is_empty() && self.received.is_empty()
    }

    /// The journal tells this.
    pub(super) fn tell(&mut self, settings: String) {
        self.told = settings;
    }

    /// What an answer brings: the id of a session, a cookie, the query of an address.
    pub(super) fn learn(&mut self, headers: &[(String, String)]) {
        let mut all = Vec::new();
        for (name, value) in headers {
            match () {
                () if name.eq_ignore_ascii_case("mcp-session-id") => pieces(value, &mut all),
                () if name.eq_ignore_ascii_case("set-cookie") => {
                    pieces(value.split(';').next().unwrap_or_default(), &mut all);
                }
                () if name.eq_ignore_ascii_case("location") => {
                    parts_of_url(value).for_each(|part| pieces(part, &mut all));
                }
                () => {}
            }
        }
        self.receive(all);
    }

    /// The address for messages of HTTP+SSE, in which the session is named: in a value of its query,
    /// or in a long part of its path.
    pub(super) fn learn_endpoint(&mut self, url: &str) {
        let mut all = Vec::new();
        let (address, query) = url.split_once('?').unwrap_or((url, ""));
        for pair in query.split('&') {
            pieces(pair.split_once('=').map_or(pair, |(_, value)| value), &mut all);
        }
        let path = address.split('/').skip(3);
        let names = |part: &&str| part.len() >= 16 && part.contains(|c: char| c.is_ascii_digit());
        path.filter(names).for_each(|part| pieces(part, &mut all));
        self.receive(all);
    }

    fn receive(&mut self, all: Vec<Secret>) {
        for secret in all {
            let told = memmem::find(self.told.as_bytes(), &secret.text).is_some();
            if !told && !self.all().any(|known| *known == secret) {
                self.received.push_back(secret);
            }
        }
        while self.received.len() > MOST_RECEIVED {
            self.received.pop_front();
        }
    }

    fn all(&self) -> impl Iterator<Item = &Secret> {
        self.configured.iter().chain(&self.received)
    }

    /// Where secrets are. Those that overlap are all found, so that it does not matter in which
    /// pieces the bytes come.
    pub(super) fn find(&self, bytes: &[u8]) -> Vec<Found<'_>> {
        let mut found = Vec::new();
        for secret in self.all() {
            let finder = memmem::Finder::new(&secret.text);
            let mut from = 0;
            while let Some(next) = bytes.get(from..).and_then(|rest| finder.find(rest)) {
                found.push(Found { at: from + next, cover: &secret.cover });
                from += next + 1;
            }
        }
        found
    }

    /// How many of the last bytes may be the beginning of a secret whose rest is still to come.
    pub(super) fn unfinished(&self, bytes: &[u8]) -> usize {
        let begins = |Secret { text, .. }: &Secret| {
            let most = (text.len() - 1).min(bytes.len());
            let same = |length: &usize| text.get(..*length) == bytes.get(bytes.len() - length..);
            (1..=most).rev().find(same)
        };
        self.all().filter_map(begins).max().unwrap_or(0)
    }

    /// The text without secrets.
    pub(super) fn mask(&self, text: &mut String) {
        let found = self.find(text.as_bytes());
        if !found.is_empty() {
            let mut bytes = std::mem::take(text).into_bytes();
            found.into_iter().for_each(|found| cover(&mut bytes, found.at, found.cover));
            *text = String::from_utf8_lossy(&bytes).into_owned();
        }
    }

    pub(super) fn masked(&self, text: &str) -> String {
        let mut text = String::from(text);
        self.mask(&mut text);
        text
    }

    /// Masks all texts in a value, but for the names of members.
    pub(super) fn mask_value(&self, value: &mut Value) {
        match value {
            Value::String(text) => self.mask(text),
            Value::Array(all) => all.iter_mut().for_each(|value| self.mask_value(value)),
            Value::Object(all) => all.values_mut().for_each(|value| self.mask_value(value)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

/// Puts what covers a secret, or a part of it, over the bytes.
pub(super) fn cover(bytes: &mut [u8], at: usize, cover: &[u8]) {
    let bytes = bytes.get_mut(at..).unwrap_or_default();
    bytes.iter_mut().zip(cover).for_each(|(byte, cover)| *byte = *cover);
}

/// A value and the words in it, as they are and as JSON writes them, where they are long enough.
fn pieces(value: &str, all: &mut Vec<Secret>) {
    let words = value.split([' ', ';', ',', '&', '=']);
    let credentials = value.contains("://").then(|| parts_of_url(value)).into_iter().flatten();
    for text in std::iter::once(value.trim()).chain(words).chain(credentials) {
        if text.len() < SHORTEST || KNOWN.contains(text) {
            continue;
        }
        for part in parts(text) {
            let secret = Secret { text: part.into(), cover: part.bytes().map(covered).collect() };
            let json = serde_json::to_string(part).unwrap_or_default();
            let json = json.strip_prefix('"').and_then(|json| json.strip_suffix('"'));
            let escaped = json.map(|json| Secret { text: json.into(), cover: json_cover(json) });
            for secret in std::iter::once(secret).chain(escaped) {
                if !all.contains(&secret) {
                    all.push(secret);
                }
            }
        }
    }
}

/// A text, in pieces that are not too long. A last one that is too short is not looked for.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let mut ends = (0..=rest.len().min(LONGEST)).rev();
        let (part, next) = rest.split_at_checked(ends.find(|end| rest.is_char_boundary(*end))?)?;
        rest = next;
        (part.len() >= SHORTEST).then_some(part)
    })
}

fn covered(byte: u8) -> u8 {
    if matches!(byte, b'"' | b'\\' | ..b' ') { b'/' } else { b'*' }
}

/// The cover of a text as JSON writes it: an escape becomes that of `/`.
fn json_cover(json: &str) -> Vec<u8> {
    let mut cover = vec![b'*'; json.len()];
    let mut from = 0;
    while let Some(at) = json.get(from..).and_then(|rest| rest.find('\\')) {
        let escape = cover.iter_mut().skip(from + at).zip([b'\\', b'/']);
        escape.for_each(|(byte, cover)| *byte = cover);
        from += at + 2;
    }
    cover
}

/// What is secret in an address: user, password, and the query.
fn parts_of_url(url: &str) -> impl Iterator<Item = &str> {
    let url = url.split('#').next().unwrap_or_default();
    let (before, query) = url.split_once('?').unwrap_or((url, ""));
    let authority = before.split_once("//").map_or("", |(_, rest)| rest).split('/').next();
    let user =
        authority.and_then(|authority| authority.rsplit_once('@')).map_or("", |(user, _)| user);
    user.split(':').chain([query])
}

/// The headers of a request, without the values that may be secrets. A replay has other values in
/// the same places, and the same text stands for them.
pub(super) fn request_headers(headers: &[(String, String)]) -> Vec<(&str, &str)> {
    let plain = |name: &str| PLAIN.contains(&name);
    headers.iter().map(|(name, value)| (&**name, if plain(name) { value } else { MASK })).collect()
}

/// The headers of an answer, without the values that are secrets. A session id that cannot be one
/// becomes another that cannot: the replay has to refuse it as well.
pub(super) fn answer_headers(headers: &[(String, String)]) -> Vec<(String, String)> {
    let masked = |(name, value): &(String, String)| {
        let is = |secret: &str| name.eq_ignore_ascii_case(secret);
        let value = if is("mcp-session-id") {
            String::from(if is_session_id(value.trim()) { MASK } else { "" })
        } else if is("set-cookie") || is("authorization") {
            String::from(MASK)
        } else if is("location") {
            mask_url(value)
        } else {
            value.clone()
        };
        (name.clone(), value)
    };
    headers.iter().map(masked).collect()
}
