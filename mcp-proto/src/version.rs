//! Revisions of the protocol and their eras (specification: basic/versioning).

use std::fmt;

use serde::{Deserialize, Serialize};

/// How a revision conveys version, identity and capabilities.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Era {
    /// As metadata of each request: 2026-07-28 and later.
    Modern,
    /// In an `initialize` handshake: 2025-11-25 and earlier.
    Legacy,
}

impl fmt::Display for Era {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Era::Modern => "modern",
            Era::Legacy => "legacy",
        })
    }
}

/// A revision that this client speaks. The order is that of their dates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum ProtocolVersion {
    /// 2024-11-05.
    #[serde(rename = "2024-11-05")]
    V2024_11_05,
    /// 2025-03-26.
    #[serde(rename = "2025-03-26")]
    V2025_03_26,
    /// 2025-06-18.
    #[serde(rename = "2025-06-18")]
    V2025_06_18,
    /// 2025-11-25.
    #[serde(rename = "2025-11-25")]
    V2025_11_25,
    /// 2026-07-28.
    #[serde(rename = "2026-07-28")]
    V2026_07_28,
}

impl ProtocolVersion {
    /// All revisions, the newest first.
    pub const ALL: [ProtocolVersion; 5] = [
        ProtocolVersion::V2026_07_28,
        ProtocolVersion::V2025_11_25,
        ProtocolVersion::V2025_06_18,
        ProtocolVersion::V2025_03_26,
        ProtocolVersion::V2024_11_05,
    ];

    /// The newest revision of an era.
    #[must_use]
    pub const fn newest(era: Era) -> Self {
        match era {
            Era::Modern => ProtocolVersion::V2026_07_28,
            Era::Legacy => ProtocolVersion::V2025_11_25,
        }
    }

    /// The revision with this name, if this client speaks it.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        ProtocolVersion::ALL.into_iter().find(|version| version.as_str() == name)
    }

    /// The newest revision of an era that is in a list of names.
    pub(crate) fn mutual(names: &[String], era: Era) -> Option<Self> {
        let known = names.iter().filter_map(|name| ProtocolVersion::parse(name));
        known.filter(|version| version.era() == era).max()
    }

    /// The name, as it is sent.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            ProtocolVersion::V2024_11_05 => "2024-11-05",
            ProtocolVersion::V2025_03_26 => "2025-03-26",
            ProtocolVersion::V2025_06_18 => "2025-06-18",
            ProtocolVersion::V2025_11_25 => "2025-11-25",
            ProtocolVersion::V2026_07_28 => "2026-07-28",
        }
    }

    /// The era of the revision.
    #[must_use]
    pub const fn era(self) -> Era {
        match self {
            ProtocolVersion::V2026_07_28 => Era::Modern,
            _ => Era::Legacy,
        }
    }
}

impl fmt::Display for ProtocolVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
