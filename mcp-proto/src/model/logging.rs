//! How much a server tells of itself (specification: server/utilities/logging).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::ApiMisuse;

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
