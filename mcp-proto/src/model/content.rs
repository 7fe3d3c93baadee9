//! Content of results (specification: server/tools, "Tool Result"; server/resources,
//! "Annotations").

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Icon, ResourceContents, base64, count, null_is_default, object, present};
use crate::wire::scan;
use crate::{Error, Raw};

/// One piece of content.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Content {
    /// Text.
    Text(TextContent),
    /// A picture.
    Image(ImageContent),
    /// Sound.
    Audio(AudioContent),
    /// The address of a resource.
    ResourceLink(ResourceLink),
    /// A resource itself.
    Resource(EmbeddedResource),
    /// A tool that a model wants to use (in conversations only).
    ToolUse(ToolUseContent),
    /// What a tool answered to a model (in conversations only).
    ToolResult(ToolResultContent),
    /// A kind that this client does not know, or a known kind that is malformed: as it was sent.
    Unknown(Raw),
}

/// Text.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct TextContent {
    /// The text.
    pub text: String,
    /// For whom it is.
    #[serde(default)]
    pub annotations: Option<Annotations>,
    /// The whole piece as it was sent.
    #[serde(skip, default = "Raw::nothing")]
    pub raw: Raw,
}

/// A picture.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ImageContent {
    /// The bytes, in Base64.
    pub data: String,
    /// The media type; empty when the server sent none.
    #[serde(default, deserialize_with = "null_is_default")]
    pub mime_type: String,
    /// For whom it is.
    #[serde(default)]
    pub annotations: Option<Annotations>,
    /// The whole piece as it was sent.
    #[serde(skip, default = "Raw::nothing")]
    pub raw: Raw,
}

impl ImageContent {
    /// The bytes.
    ///
    /// # Errors
    /// When the server's Base64 is none.
    pub fn bytes(&self) -> Result<Vec<u8>, Error> {
        base64(&self.data)
    }
}

/// Sound.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct AudioContent {
    /// The bytes, in Base64.
    pub data: String,
    /// The media type; empty when the server sent none.
    #[serde(default, deserialize_with = "null_is_default")]
    pub mime_type: String,
    /// For whom it is.
    #[serde(default)]
    pub annotations: Option<Annotations>,
    /// The whole piece as it was sent.
    #[serde(skip, default = "Raw::nothing")]
    pub raw: Raw,
}

impl AudioContent {
    /// The bytes.
    ///
    /// # Errors
    /// When the server's Base64 is none.
    pub fn bytes(&self) -> Result<Vec<u8>, Error> {
        base64(&self.data)
    }
}

/// The address of a resource. It need not be among those that the server lists.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ResourceLink {
    /// The address.
    pub uri: String,
    /// The name, for programs.
    #[serde(default, deserialize_with = "null_is_default")]
    pub name: String,
    /// The name, for people.
    #[serde(default)]
    pub title: Option<String>,
    /// What it is.
    #[serde(default)]
    pub description: Option<String>,
    /// The media type.
    #[serde(default)]
    pub mime_type: Option<String>,
    /// Pictures of it.
    #[serde(default, deserialize_with = "null_is_default")]
    pub icons: Vec<Icon>,
    /// The size in bytes.
    #[serde(default, deserialize_with = "count")]
    pub size: Option<u64>,
    /// For whom it is.
    #[serde(default)]
    pub annotations: Option<Annotations>,
    /// The whole piece as it was sent, with `_meta`.
    #[serde(skip, default = "Raw::nothing")]
    pub raw: Raw,
}

/// A resource inside a result.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct EmbeddedResource {
    /// The resource.
    pub resource: ResourceContents,
    /// For whom it is.
    pub annotations: Option<Annotations>,
    /// The whole piece as it was sent.
    pub raw: Raw,
}

#[derive(Deserialize)]
struct WireEmbedded<'a> {
    #[serde(borrow)]
    resource: &'a RawValue,
    #[serde(default)]
    annotations: Option<Annotations>,
}

impl EmbeddedResource {
    fn read(raw: Raw) -> Result<Self, serde_json::Error> {
        let WireEmbedded { resource, annotations } = serde_json::from_str(raw.as_str())?;
        let resource = ResourceContents::read(raw.cut(resource.get()))?;
        Ok(EmbeddedResource { resource, annotations, raw })
    }
}

/// A tool that a model wants to use (specification: client/sampling).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ToolUseContent {
    /// By which its result refers to it.
    pub id: String,
    /// The name of the tool.
    pub name: String,
    /// The arguments, as they were sent.
    pub input: Raw,
    /// The whole piece as it was sent, with `_meta`.
    pub raw: Raw,
}

#[derive(Deserialize)]
struct WireUse<'a> {
    id: String,
    name: String,
    #[serde(borrow)]
    input: &'a RawValue,
}

impl ToolUseContent {
    fn read(raw: Raw) -> Result<Self, serde_json::Error> {
        let WireUse { id, name, input } = serde_json::from_str(raw.as_str())?;
        Ok(ToolUseContent { id, name, input: raw.cut(input.get()), raw })
    }
}

/// What a tool answered to a model (specification: client/sampling).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ToolResultContent {
    /// Which use it answers.
    pub tool_use_id: String,
    /// The pieces of the answer.
    pub content: Vec<Content>,
    /// The answer as a JSON value.
    pub structured_content: Option<Raw>,
    /// Whether the tool failed.
    pub is_error: bool,
    /// The whole piece as it was sent, with `_meta`.
    pub raw: Raw,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireResult<'a> {
    tool_use_id: String,
    #[serde(borrow, default)]
    content: Option<Vec<&'a RawValue>>,
    #[serde(borrow, default, deserialize_with = "present")]
    structured_content: Option<&'a RawValue>,
    #[serde(default, deserialize_with = "null_is_default")]
    is_error: bool,
}

impl ToolResultContent {
    fn read(raw: Raw) -> Result<Self, serde_json::Error> {
        let WireResult { tool_use_id, content, structured_content, is_error } =
            serde_json::from_str(raw.as_str())?;
        let content = Content::read_all(&raw, content.as_deref().unwrap_or_default());
        let structured_content = structured_content.map(|value| raw.cut(value.get()));
        Ok(ToolResultContent { tool_use_id, content, structured_content, is_error, raw })
    }
}

/// For whom a piece of content is (specification: server/resources, "Annotations").
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct Annotations {
    /// `user`, `assistant`, or both.
    #[serde(deserialize_with = "null_is_default")]
    pub audience: Vec<String>,
    /// How important it is, from 0 to 1.
    pub priority: Option<f64>,
    /// When it was last changed (ISO 8601).
    pub last_modified: Option<String>,
}

#[derive(Deserialize)]
struct Kind<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
}

/// The `type` of a piece.
fn kind(piece: &str) -> Option<Cow<'_, str>> {
    if let Ok([Some(kind)]) = scan::members(piece, ["type"])
        && let Some(kind) = scan::plain_text(kind)
    {
        return Some(Cow::Borrowed(kind));
    }
    object(piece).ok().map(|Kind { kind }| kind)
}

/// The text of a piece that is nothing but a text, as nearly all are, without parsing it twice. Its
/// JSON was checked with the result that it is a part of.
fn plain_piece(piece: &str) -> Option<String> {
    let [kind, text, annotations] = scan::members(piece, ["type", "text", "annotations"]).ok()?;
    if kind != Some(r#""text""#) || annotations.is_some() {
        return None;
    }
    let text = text?;
    match scan::plain_text(text) {
        Some(text) => Some(String::from(text)),
        None => serde_json::from_str(text).ok(),
    }
}

impl Content {
    /// Reads the pieces of a `content` array, which `whole` contains. A piece that is malformed is
    /// kept as [`Content::Unknown`].
    pub(crate) fn read_all(whole: &Raw, pieces: &[&RawValue]) -> Vec<Content> {
        pieces.iter().map(|piece| Content::read(whole.cut(piece.get()))).collect()
    }

    pub(crate) fn read(raw: Raw) -> Content {
        if let Some(text) = plain_piece(raw.as_str()) {
            return Content::Text(TextContent { text, annotations: None, raw });
        }
        let read = match kind(raw.as_str()).as_deref() {
            Some("text") => {
                raw.parse().map(|c| Content::Text(TextContent { raw: raw.clone(), ..c }))
            }
            Some("image") => {
                raw.parse().map(|c| Content::Image(ImageContent { raw: raw.clone(), ..c }))
            }
            Some("audio") => {
                raw.parse().map(|c| Content::Audio(AudioContent { raw: raw.clone(), ..c }))
            }
            Some("resource_link") => {
                raw.parse().map(|c| Content::ResourceLink(ResourceLink { raw: raw.clone(), ..c }))
            }
            Some("resource") => EmbeddedResource::read(raw.clone()).map(Content::Resource),
            Some("tool_use") => ToolUseContent::read(raw.clone()).map(Content::ToolUse),
            Some("tool_result") => ToolResultContent::read(raw.clone()).map(Content::ToolResult),
            _ => return Content::Unknown(raw),
        };
        read.unwrap_or(Content::Unknown(raw))
    }

    /// The text, if the piece is one.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Content::Text(content) => Some(&content.text),
            _ => None,
        }
    }

    /// The piece as it was sent.
    #[must_use]
    pub fn raw(&self) -> &Raw {
        match self {
            Content::Text(c) => &c.raw,
            Content::Image(c) => &c.raw,
            Content::Audio(c) => &c.raw,
            Content::ResourceLink(c) => &c.raw,
            Content::Resource(c) => &c.raw,
            Content::ToolUse(c) => &c.raw,
            Content::ToolResult(c) => &c.raw,
            Content::Unknown(raw) => raw,
        }
    }

    /// By what the use of a tool is referred to.
    pub(crate) fn tool_use_id(&self) -> Option<&str> {
        match self {
            Content::ToolUse(used) => Some(&used.id),
            _ => None,
        }
    }

    /// Which use of a tool a result answers.
    pub(crate) fn tool_result_id(&self) -> Option<&str> {
        match self {
            Content::ToolResult(result) => Some(&result.tool_use_id),
            _ => None,
        }
    }
}
