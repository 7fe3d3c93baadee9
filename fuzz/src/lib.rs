//! The bodies of the fuzz targets. Each takes any bytes, and panics when something is wrong.
//!
//! They are in one place for two users: the targets in `fuzz_targets`, and a test of mcp-proto that
//! replays the committed corpora with a stable compiler.

mod codecs;
mod connection;
#[path = "../../mcp-proto/tests/http1_oracle/mod.rs"]
mod http1_oracle;
#[path = "../../mcp-proto/tests/http1_support/mod.rs"]
mod http1_support;

pub use codecs::{headers, http1, journal, jsonrpc, lines, sse};
pub use connection::connection;

/// A target: it panics when something is wrong.
pub type Target = fn(&[u8]);

/// All of them, by name.
pub const TARGETS: [(&str, Target); 7] = [
    ("connection", connection),
    ("headers", headers),
    ("http1", http1),
    ("journal", journal),
    ("jsonrpc", jsonrpc),
    ("lines", lines),
    ("sse", sse),
];
