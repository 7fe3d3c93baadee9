//! The types of the specification, one file a chapter. They hold data and decide nothing.
//!
//! What a server sends is read leniently: `null` counts as absent in optional members, unknown
//! members and kinds are kept in the `raw` of each type, and one malformed item costs that item
//! alone.

mod completion;
mod content;
mod elicitation;
mod implementation;
mod logging;
mod notification;
mod progress;
mod prompt;
mod resource;
mod root;
mod sampling;
mod server;
mod tool;

pub use completion::{Completion, CompletionReference};
pub use content::{
    Annotations, AudioContent, Content, EmbeddedResource, ImageContent, ResourceLink, TextContent,
    ToolResultContent, ToolUseContent,
};
pub use elicitation::{ElicitMode, ElicitRequest, ElicitResult};
pub use implementation::{Icon, Implementation};
pub use logging::{LogMessage, LoggingLevel};
pub use notification::{Notification, NotificationKind};
pub use progress::Progress;
pub use prompt::{GetPromptResult, Prompt, PromptArgument, PromptMessage, Role};
pub use resource::{
    ReadResourceResult, Resource, ResourceContents, ResourceData, ResourceTemplate,
};
pub use root::Root;
pub use sampling::{ModelPreferences, SamplingMessage, SamplingRequest, SamplingResult};
pub use server::{ServerCapabilities, ServerInfo};
pub(crate) use tool::tool_outline;
pub use tool::{CallToolResult, TaskSupport, Tool, ToolAnnotations};

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
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

/// Reads a number of things. One that is none, such as a fraction, counts as absent.
pub(crate) fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let number = Option::<serde_json::Number>::deserialize(deserializer)?;
    Ok(number.and_then(|number| {
        let float = || number.as_f64().filter(|n| n.fract() == 0.0 && (0.0..=9e15).contains(n));
        // The cast is exact: the number is whole and small enough.
        number.as_u64().or_else(|| float().map(|n| n as u64))
    }))
}

/// Decodes Base64 as servers write it: with padding or without, perhaps in lines.
pub(crate) fn base64(text: &str) -> Result<Vec<u8>, crate::Error> {
    const LENIENT: GeneralPurpose = GeneralPurpose::new(
        &STANDARD,
        GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
    );
    let joined: std::borrow::Cow<'_, str> = if text.bytes().any(|b| b.is_ascii_whitespace()) {
        text.split_ascii_whitespace().collect::<String>().into()
    } else {
        text.into()
    };
    let wrong = |error| crate::Error::result(format_args!("the Base64 is malformed: {error}"));
    LENIENT.decode(joined.as_bytes()).map_err(wrong)
}
