//! The types of the specification, one file a chapter. They hold data and decide nothing.
//!
//! What a server sends is read leniently: `null` counts as absent in optional members, unknown
//! members and kinds are kept in the `raw` of each type, and one malformed item costs that item
//! alone.

mod content;
mod implementation;
mod progress;
mod server;
mod tool;

pub use content::{
    Annotations, AudioContent, Content, EmbeddedResource, ImageContent, ResourceContents,
    ResourceLink, TextContent,
};
pub use implementation::{Icon, Implementation};
pub use progress::Progress;
pub use server::{ServerCapabilities, ServerInfo};
pub use tool::{CallToolResult, TaskSupport, Tool, ToolAnnotations};

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// Reads an object. A derived type would also take an array for one, member by member.
pub(crate) fn object<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, serde_json::Error> {
    if text.trim_ascii_start().starts_with('{') {
        serde_json::from_str(text)
    } else {
        Err(serde::de::Error::custom("no object"))
    }
}

/// Reads a member as it is, so that a `null` that was sent differs from one that was not.
pub(crate) fn present<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// Reads `null` as the default.
pub(crate) fn null_is_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Option::<T>::deserialize(deserializer)?.unwrap_or_default())
}
