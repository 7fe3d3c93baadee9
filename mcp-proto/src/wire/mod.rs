//! Pure codecs: bytes to messages and back. They know nothing of the protocol's state.

pub mod headers;
pub(crate) mod id_scan;
pub mod jsonrpc;
pub mod lines;
pub(crate) mod scan;
pub mod sse;

/// A byte order mark. Some servers write one at the beginning.
pub(crate) const BOM: &[u8] = b"\xef\xbb\xbf";

/// What is wrong with a JSON text, told by kind and position only: the text itself may be private.
#[must_use]
pub fn json_trouble(error: &serde_json::Error) -> String {
    use serde_json::error::Category;
    let what = match error.classify() {
        Category::Io => "it cannot be read",
        Category::Syntax => "no valid JSON",
        Category::Data => "a member is missing or has the wrong type",
        Category::Eof => "it ends too early",
    };
    match error.line() {
        0 => String::from(what),
        1 => format!("{what}, near column {}", error.column()),
        line => format!("{what}, near line {line} column {}", error.column()),
    }
}
