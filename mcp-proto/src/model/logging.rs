//! How much a server tells of itself (specification: server/utilities/logging).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::object;
use crate::{ApiMisuse, Raw};

/// How bad something is, from the least to the worst: the eight names of RFC 5424.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LoggingLevel {
    /// Details for finding faults.
    Debug,
    /// What happens anyway.
    Info,
    /// What happens seldom.
    Notice,
    /// What may become an error.
    Warning,
    /// An operation failed.
    Error,
    /// A part of the server failed.
    Critical,
    /// Something must be done at once.
    Alert,
    /// The server cannot be used.
    Emergency,
}

impl LoggingLevel {
    /// All levels, from the least to the worst.
    pub const ALL: [LoggingLevel; 8] = [
        LoggingLevel::Debug,
        LoggingLevel::Info,
        LoggingLevel::Notice,
        LoggingLevel::Warning,
        LoggingLevel::Error,
        LoggingLevel::Critical,
        LoggingLevel::Alert,
        LoggingLevel::Emergency,
    ];

    /// The name on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            LoggingLevel::Debug => "debug",
            LoggingLevel::Info => "info",
            LoggingLevel::Notice => "notice",
            LoggingLevel::Warning => "warning",
            LoggingLevel::Error => "error",
            LoggingLevel::Critical => "critical",
            LoggingLevel::Alert => "alert",
            LoggingLevel::Emergency => "emergency",
        }
    }
}

impl fmt::Display for LoggingLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for LoggingLevel {
    type Err = ApiMisuse;

    fn from_str(name: &str) -> Result<Self, ApiMisuse> {
        let found = LoggingLevel::ALL.into_iter().find(|level| level.as_str() == name);
        found.ok_or_else(|| ApiMisuse::Params {
            method: String::from("logging/setLevel"),
            why: format!("{name:?} is no level; the levels are debug, info, notice, warning, error, critical, alert and emergency"),
        })
    }
}

/// What a server tells of itself (`notifications/message`).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct LogMessage {
    /// How bad it is. [`Info`](LoggingLevel::Info) when the server names a level that there is not.
    pub level: LoggingLevel,
    /// The part of the server that says it.
    pub logger: Option<String>,
    /// What it says: any JSON, as it was sent; `null` when there is none.
    pub data: Raw,
}

impl LogMessage {
    /// Reads the parameters: each member alone, so that an odd one costs no other.
    pub(crate) fn read(params: &Raw) -> Option<Self> {
        #[derive(Deserialize)]
        struct Wire<'a> {
            #[serde(borrow, default)]
            level: Option<&'a RawValue>,
            #[serde(borrow, default)]
            logger: Option<&'a RawValue>,
            #[serde(borrow, default)]
            data: Option<&'a RawValue>,
        }
        let wire: Wire<'_> = object(params.as_str()).ok()?;
        let text = |raw: Option<&RawValue>| serde_json::from_str::<String>(raw?.get()).ok();
        let level = text(wire.level).and_then(|level| level.to_ascii_lowercase().parse().ok());
        let data = wire.data.map_or_else(|| Raw::new("null"), |data| params.cut(data.get()));
        Some(LogMessage {
            level: level.unwrap_or(LoggingLevel::Info),
            logger: text(wire.logger),
            data,
        })
    }

    /// What it says, for a line of a log: a text without its quotes, anything else as JSON.
    #[must_use]
    pub fn text(&self) -> String {
        self.data.parse().unwrap_or_else(|_| String::from(self.data.as_str()))
    }
}
