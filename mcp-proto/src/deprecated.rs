//! The registry of deprecated features (specification: deprecated).

use std::fmt;

/// A feature that the specification has deprecated, and that this client still speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum DeprecatedFeature {
    /// Telling servers where they may work.
    Roots,
    /// Answering servers with the host's model.
    Sampling,
    /// `includeContext` with `thisServer` or `allServers`, in a request for sampling.
    IncludeContext,
    /// Log messages of servers, and their level.
    Logging,
    /// The transport HTTP+SSE of 2024-11-05.
    HttpSse,
    /// Dynamic client registration, for authorization.
    DynamicClientRegistration,
}

/// What the specification says of a deprecated feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Deprecation {
    /// Which feature.
    pub feature: DeprecatedFeature,
    /// What it is called.
    pub name: &'static str,
    /// The revision since which it is deprecated.
    pub since: &'static str,
    /// The first revision that may be without it, in words: it is no date at which it goes.
    pub earliest_removal: &'static str,
    /// What takes its place.
    pub migration: &'static str,
    /// Where it was decided.
    pub decision: &'static str,
}

/// Every feature that is deprecated and not removed, as of 2026-07-28.
pub const DEPRECATIONS: [Deprecation; 6] = [
    Deprecation {
        feature: DeprecatedFeature::Roots,
        name: "roots",
        since: "2026-07-28",
        earliest_removal: A_YEAR_LATER,
        migration: "pass directories or files by tool parameters, resource URIs or the server's \
                    configuration",
        decision: "SEP-2577",
    },
    Deprecation {
        feature: DeprecatedFeature::Sampling,
        name: "sampling",
        since: "2026-07-28",
        earliest_removal: A_YEAR_LATER,
        migration: "servers integrate directly with the APIs of model providers",
        decision: "SEP-2577",
    },
    Deprecation {
        feature: DeprecatedFeature::IncludeContext,
        name: "includeContext \"thisServer\" or \"allServers\"",
        since: "2025-11-25",
        earliest_removal: "it follows sampling (SEP-2577)",
        migration: "servers leave the field out, or say \"none\"",
        decision: "SEP-2596",
    },
    Deprecation {
        feature: DeprecatedFeature::Logging,
        name: "logging",
        since: "2026-07-28",
        earliest_removal: A_YEAR_LATER,
        migration: "servers log to stderr over stdio, and use OpenTelemetry to be observed",
        decision: "SEP-2577",
    },
    Deprecation {
        feature: DeprecatedFeature::HttpSse,
        name: "the HTTP+SSE transport",
        since: "2025-03-26",
        earliest_removal: "three months after SEP-2596 has become final",
        migration: "reach the server by Streamable HTTP",
        decision: "SEP-2596",
    },
    Deprecation {
        feature: DeprecatedFeature::DynamicClientRegistration,
        name: "dynamic client registration",
        since: "2026-07-28",
        earliest_removal: A_YEAR_LATER,
        migration: "use client ID metadata documents",
        decision: "PR #2858",
    },
];

/// The shortest time between deprecation and removal is a year (SEP-2596), and only a revision
/// removes anything.
const A_YEAR_LATER: &str = "the first revision released on or after 2027-07-28";

impl DeprecatedFeature {
    /// What the registry says of it.
    #[must_use]
    pub const fn deprecation(self) -> &'static Deprecation {
        // The features stand in the registry in their order, which a test checks.
        &DEPRECATIONS[self as usize]
    }
}

impl fmt::Display for Deprecation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Deprecation { name, since, earliest_removal, migration, decision, .. } = self;
        write!(
            f,
            "{name}: deprecated since revision {since} ({decision}); earliest removal: \
             {earliest_removal}; instead: {migration}"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// M-DEPR-01: each feature has its entry, with all of its members.
    #[test]
    fn each_feature_has_its_entry() {
        let features = [
            DeprecatedFeature::Roots,
            DeprecatedFeature::Sampling,
            DeprecatedFeature::IncludeContext,
            DeprecatedFeature::Logging,
            DeprecatedFeature::HttpSse,
            DeprecatedFeature::DynamicClientRegistration,
        ];
        assert_eq!(DEPRECATIONS.map(|entry| entry.feature), features);
        for feature in features {
            let entry = feature.deprecation();
            assert_eq!(entry.feature, feature);
            let text = entry.to_string();
            for part in [entry.name, entry.since, entry.earliest_removal, entry.migration] {
                assert!(!part.is_empty() && text.contains(part), "{text}");
            }
        }
    }

    /// M-DEPR-02, M-DEPR-03: since when, and until when at least: a revision, not a date.
    #[test]
    fn since_when_and_until_when_at_least() {
        use DeprecatedFeature::{
            DynamicClientRegistration, HttpSse, IncludeContext, Logging, Roots, Sampling,
        };
        for feature in [Roots, Sampling, Logging, DynamicClientRegistration] {
            let entry = feature.deprecation();
            assert_eq!(entry.since, "2026-07-28");
            assert_eq!(
                entry.earliest_removal,
                "the first revision released on or after 2027-07-28"
            );
        }
        assert_eq!(HttpSse.deprecation().since, "2025-03-26");
        assert!(HttpSse.deprecation().earliest_removal.starts_with("three months after SEP-2596"));
        assert_eq!(IncludeContext.deprecation().since, "2025-11-25");
        assert!(IncludeContext.deprecation().earliest_removal.contains("follows sampling"));
    }
}
