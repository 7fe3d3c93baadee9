//! What was learnt of a server, as it is stored with the host (specification: basic/versioning,
//! "Backward Compatibility": the era may be remembered for each origin).
//!
//! A stored era is an assumption. A legacy server that is known as such is greeted without a probe; a
//! modern one is asked `server/discover` in any case, which tells what it can do. Whatever comes of
//! that decides, and is stored in the place of what proved wrong.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::config::STORED_ERA_MAX_AGE;
use crate::{Now, ProtocolVersion, Transport};

/// The version of the format.
const FORMAT: u32 = 1;
/// The longest text that is looked at.
const MAX_TEXT: usize = 1024;

/// What a server spoke when it was asked last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Learnt {
    pub(crate) version: ProtocolVersion,
}

/// What is stored of it.
#[derive(Debug, Serialize, Deserialize)]
struct Record {
    format: u32,
    /// Under which key, so that what belongs to another server is noticed.
    key: String,
    version: String,
    /// When it was learnt, in seconds since the epoch.
    at: u64,
}

impl Learnt {
    /// Under which key it is stored: by origin over HTTP, by command line over stdio. A command line
    /// may hold secrets, so that its digest stands for it. A byte stream is nobody that could be met
    /// again.
    pub(crate) fn key(transport: &Transport) -> Option<String> {
        match transport {
            Transport::Http(http) => {
                let origin = http.endpoint().ok()?.origin().ascii_serialization();
                Some(format!("era of {origin}"))
            }
            Transport::Stdio(command) => {
                let mut digest = Sha256::new();
                for word in std::iter::once(&command.program).chain(&command.args) {
                    digest.update(word.len().to_le_bytes());
                    digest.update(word);
                }
                let hex: String = digest.finalize().iter().map(|b| format!("{b:02x}")).collect();
                Some(format!("era of command {hex}"))
            }
            Transport::Stream => None,
        }
    }

    /// The text to store.
    pub(crate) fn write(self, key: &str, now: Now) -> String {
        let (version, at) = (self.version.to_string(), now.unix.as_secs());
        let stored = Record { format: FORMAT, key: String::from(key), version, at };
        serde_json::to_string(&stored).unwrap_or_default()
    }

    /// Reads what was stored. The error says why it is not used.
    pub(crate) fn read(text: &str, key: &str, now: Now) -> Result<Self, &'static str> {
        if text.len() > MAX_TEXT {
            return Err("it is too long");
        }
        let Ok(stored) = serde_json::from_str::<Record>(text) else {
            return Err("it cannot be read");
        };
        if stored.format != FORMAT {
            return Err("it has another format");
        }
        if stored.key != key {
            return Err("it belongs to another server");
        }
        let age = now.unix.as_secs().checked_sub(stored.at);
        if age.is_none_or(|age| age > STORED_ERA_MAX_AGE.as_secs()) {
            return Err("it is too old");
        }
        let version = ProtocolVersion::parse(&stored.version);
        version.map(|version| Learnt { version }).ok_or("it names an unknown version")
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{Command, HttpConfig};

    fn at(seconds: u64) -> Now {
        Now { mono: Duration::ZERO, unix: Duration::from_secs(seconds) }
    }

    /// M-ERA-22
    #[test]
    fn keys_tell_servers_apart_and_show_no_secrets() {
        let http = |url: &str| Learnt::key(&Transport::Http(HttpConfig::new(url)));
        assert_eq!(http("https://a.test/mcp?key=x").as_deref(), Some("era of https://a.test"));
        assert_eq!(http("https://a.test/other"), http("https://a.test/mcp"));
        assert_ne!(http("https://a.test:8443/mcp"), http("https://a.test/mcp"));
        assert_ne!(http("http://a.test/mcp"), http("https://a.test/mcp"));
        let stdio = |words: &[&str]| {
            let command = Command::new(words[0]).args(words[1..].iter().copied());
            Learnt::key(&Transport::Stdio(command)).unwrap()
        };
        assert_eq!(stdio(&["a", "secret"]), stdio(&["a", "secret"]));
        assert_ne!(stdio(&["a", "b"]), stdio(&["ab"]));
        assert!(!stdio(&["a", "secret"]).contains("secret"));
        assert_eq!(Learnt::key(&Transport::Stream), None);
    }

    /// M-ERA-22
    #[test]
    fn what_is_bad_old_or_foreign_is_not_read() {
        let learnt = Learnt { version: ProtocolVersion::parse("2025-06-18").unwrap() };
        let day = STORED_ERA_MAX_AGE.as_secs();
        let text = learnt.write("k", at(1000));
        assert_eq!(Learnt::read(&text, "k", at(1000)), Ok(learnt));
        assert_eq!(Learnt::read(&text, "k", at(1000 + day)), Ok(learnt));
        for (text, key, now) in [
            (&*text, "k", 1001 + day),
            (&*text, "k", 999),
            (&*text, "other", 1000),
            ("", "k", 1000),
            ("null", "k", 1000),
            ("{}", "k", 1000),
            (&*text.replace("2025-06-18", "1999-01-01"), "k", 1000),
            (&*text.replace(r#""format":1"#, r#""format":2"#), "k", 1000),
            (&*format!("{text}{}", " ".repeat(MAX_TEXT)), "k", 1000),
        ] {
            assert!(Learnt::read(text, key, at(now)).is_err(), "{text} {key} {now}");
        }
    }
}
