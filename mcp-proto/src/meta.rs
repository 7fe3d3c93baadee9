//! Keys of `_meta` (specification: basic, "`_meta`").

use serde_json::{Map, Value};

use crate::ApiMisuse;

/// Before the keys that are the protocol's own.
pub(crate) const PREFIX: &str = "io.modelcontextprotocol/";
/// The revision of a modern request.
pub(crate) const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// Who sends a modern request.
pub(crate) const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
/// What the sender of a modern request can do.
pub(crate) const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// The one key under the protocol's prefix that is the host's to set.
pub(crate) const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
/// Who answers, in the results of modern servers.
pub(crate) const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
/// The token by which progress finds its request.
pub(crate) const PROGRESS_TOKEN: &str = "progressToken";

/// Whether a key belongs to the protocol, so that a host's value for it is not sent: everything
/// under a reserved prefix, the log level excepted.
pub(crate) fn is_owned(key: &str) -> bool {
    key.starts_with(PREFIX) && key != LOG_LEVEL
}

/// Whether a key's prefix is reserved for the protocol: its second label is `modelcontextprotocol`
/// or `mcp`.
#[must_use]
pub fn is_reserved(key: &str) -> bool {
    let prefix = key.split_once('/').map_or("", |(prefix, _)| prefix);
    matches!(prefix.split('.').nth(1), Some("modelcontextprotocol" | "mcp"))
}

/// Checks a key that a host wants to use.
///
/// # Errors
/// When the specification does not allow it.
pub fn check_key(key: &str) -> Result<(), ApiMisuse> {
    let wrong = |why| Err(ApiMisuse::MetaKey { key: String::from(key), why });
    let name = match key.split_once('/') {
        None => key,
        Some((prefix, name)) => {
            let label = |l: &str| {
                l.starts_with(|c: char| c.is_ascii_alphabetic())
                    && l.ends_with(|c: char| c.is_ascii_alphanumeric())
                    && l.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
            };
            if !prefix.split('.').all(label) {
                return wrong(
                    "its prefix must be labels joined by dots, each beginning with a letter and \
                     ending with a letter or digit",
                );
            }
            name
        }
    };
    let edge = |c: char| c.is_ascii_alphanumeric();
    let inner = |c: char| edge(c) || matches!(c, '-' | '_' | '.');
    if !name.is_empty()
        && (!name.starts_with(edge) || !name.ends_with(edge) || !name.chars().all(inner))
    {
        return wrong(
            "its name must begin and end with a letter or digit, with `-`, `_`, `.` between",
        );
    }
    Ok(())
}

/// Checks all keys that a host wants to use.
///
/// # Errors
/// When the specification does not allow one of them.
pub fn check_keys(meta: &Map<String, Value>) -> Result<(), ApiMisuse> {
    meta.keys().try_for_each(|key| check_key(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// M-BASE-11
    #[test]
    fn keys_follow_the_grammar() {
        for good in [
            "a",
            "com.example/x",
            "com.example.mcp/x",
            "a-b.c/d.e_f",
            "com.example/",
            "traceparent",
        ] {
            assert!(check_key(good).is_ok(), "{good}");
        }
        for bad in ["-a", "a-", "1com/x", "com-/x", "com..x/y", "/x", "a b", "com.example/x/y"] {
            assert!(check_key(bad).is_err(), "{bad}");
        }
        assert!(!is_reserved("com.example.mcp/x"));
        for reserved in [
            "com.mcp.tools/x",
            "io.modelcontextprotocol/x",
            "dev.mcp/",
            "org.modelcontextprotocol.api/x",
        ] {
            assert!(is_reserved(reserved), "{reserved}");
        }
    }
}
