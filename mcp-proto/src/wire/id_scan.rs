//! Finds the `id` of a response that is too long or too broken to be parsed.
//!
//! It looks at one byte at a time and keeps a few bytes of state, so that a message of any size
//! can run through it. It is no validator: it finds the members of the outermost object and
//! believes them.

use super::jsonrpc::own_id;

/// The longest key or id that is remembered. Ids of this client's are far shorter.
const MAX_TOKEN: usize = 40;

/// The request that a message answers, as far as can be told.
pub(crate) fn answered_by(message: &[u8]) -> Option<u64> {
    let mut scan = IdScan::default();
    scan.feed(message);
    scan.finish()
}

/// The scanner. Feed it the message from its first byte.
#[derive(Debug, Default)]
pub(crate) struct IdScan {
    depth: u32,
    /// Inside a string, and whether the next byte is escaped.
    string: Option<Escape>,
    place: Place,
    token: Vec<u8>,
    overflow: bool,
    id: Option<u64>,
    answers: bool,
    asks: bool,
    /// Decided at a byte, not at the end of a chunk, so that no split changes it.
    decided: Option<u64>,
    hopeless: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Escape {
    No,
    Next,
}

/// Where in the outermost object the scan stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Start,
    Key,
    Colon,
    Value(Member),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Member {
    Id,
    Other,
}

impl IdScan {
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            if self.hopeless || self.decided.is_some() {
                return;
            }
            self.step(byte);
            if self.answers && !self.asks {
                self.decided = self.id;
            }
        }
    }

    /// What is known before the end of the message: the request that it answers, as soon as both
    /// its id and a `result` or `error` were seen.
    pub(crate) fn found(&self) -> Option<u64> {
        self.decided
    }

    /// What is known at the end of the message.
    pub(crate) fn finish(mut self) -> Option<u64> {
        self.end_of_scalar();
        self.decided.or(self.id.filter(|_| !self.asks))
    }

    fn step(&mut self, byte: u8) {
        if let Some(escape) = self.string {
            return self.in_string(byte, escape);
        }
        match byte {
            b' ' | b'\t' | b'\r' | b'\n' => self.end_of_scalar(),
            // A byte order mark may stand before the message.
            0xef | 0xbb | 0xbf if self.depth == 0 => {}
            b'"' => {
                self.token.clear();
                self.overflow = false;
                self.string = Some(Escape::No);
            }
            b'{' | b'[' => self.open(byte),
            b'}' | b']' => {
                self.end_of_scalar();
                self.depth = self.depth.saturating_sub(1);
                self.hopeless = self.depth == 0;
            }
            b',' if self.depth == 1 => {
                self.end_of_scalar();
                self.place = Place::Key;
            }
            b':' if self.depth == 1 => self.colon(),
            _ if self.depth == 1 => self.keep(byte),
            _ => self.hopeless = self.depth == 0,
        }
    }

    fn open(&mut self, byte: u8) {
        self.depth = self.depth.saturating_add(1);
        if self.depth == 1 {
            self.hopeless = byte == b'[';
            self.place = Place::Key;
        }
        self.token.clear();
    }

    fn in_string(&mut self, byte: u8, escape: Escape) {
        self.string = match (escape, byte) {
            (Escape::Next, _) => Some(Escape::No),
            (Escape::No, b'\\') => {
                // No name of the protocol's is written with escapes.
                self.overflow = true;
                Some(Escape::Next)
            }
            (Escape::No, b'"') => None,
            (Escape::No, _) => {
                if self.depth == 1 {
                    self.keep(byte);
                }
                Some(Escape::No)
            }
        };
        if self.string.is_none() && self.depth == 1 && self.place == Place::Key {
            self.place = Place::Colon;
        }
    }

    fn keep(&mut self, byte: u8) {
        if self.token.len() < MAX_TOKEN {
            self.token.push(byte);
        } else {
            self.overflow = true;
        }
    }

    fn colon(&mut self) {
        let key: &[u8] = if self.overflow { b"" } else { &self.token };
        self.place = Place::Value(match key {
            b"id" => Member::Id,
            b"result" | b"error" => {
                self.answers = true;
                Member::Other
            }
            b"method" => {
                self.asks = true;
                Member::Other
            }
            _ => Member::Other,
        });
        self.token.clear();
        self.overflow = false;
    }

    fn end_of_scalar(&mut self) {
        if self.depth == 1 && self.place == Place::Value(Member::Id) && !self.token.is_empty() {
            if !self.overflow {
                self.id = std::str::from_utf8(&self.token).ok().and_then(own_id);
            }
            self.token.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scan(text: &str) -> Option<u64> {
        let mut scan = IdScan::default();
        scan.feed(text.as_bytes());
        scan.finish()
    }

    #[test]
    fn the_id_of_a_response_is_found_wherever_it_stands() {
        for text in [
            r#"{"jsonrpc":"2.0","id":7,"result":{"id":9,"a":["#,
            r#"{"jsonrpc":"2.0","result":{"id":9,"x":"}\"{"},"id":7}"#,
            r#" { "id" : "7" , "error" : {"#,
            r#"{"id":7.0,"result":"#,
            "{\"id\":7,\"result\":\"\u{1}",
        ] {
            assert_eq!(scan(text), Some(7), "{text}");
        }
    }

    #[test]
    fn requests_and_foreign_texts_are_not_responses() {
        for text in [
            r#"{"jsonrpc":"2.0","id":7,"method":"ping""#,
            r#"Starting {"id":7,"result":{}}"#,
            r#"[{"id":7,"result":{}}]"#,
            r#"{"a":{"id":7,"result":1}}"#,
            r#"{"id":"seven","result":1}"#,
            r#"{"id":null,"result":1}"#,
            "",
        ] {
            assert_eq!(scan(text), None, "{text}");
        }
    }

    #[test]
    fn it_is_found_early_only_with_the_result() {
        let mut scan = IdScan::default();
        scan.feed(br#"{"id":3,"#);
        assert_eq!(scan.found(), None);
        scan.feed(br#""result":"#);
        assert_eq!(scan.found(), Some(3));
    }
}
