//! Resources, their templates, and what is in them (specification: server/resources).

use serde::Deserialize;

use super::{Annotations, Icon, count, null_is_default, object};
use crate::{Error, Raw};

/// A resource, as its server lists it (specification: server/resources, "Resource").
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Resource {
    /// The address.
    pub uri: String,
    /// The name, for programs.
    pub name: String,
    /// The name, for people.
    #[serde(default)]
    pub title: Option<String>,
    /// What it is, for a model to read.
    #[serde(default)]
    pub description: Option<String>,
    /// The media type.
    #[serde(default)]
    pub mime_type: Option<String>,
    /// The size in bytes, before any encoding.
    #[serde(default, deserialize_with = "count")]
    pub size: Option<u64>,
    /// For whom it is.
    #[serde(default)]
    pub annotations: Option<Annotations>,
    /// Pictures of it.
    #[serde(default, deserialize_with = "null_is_default")]
    pub icons: Vec<Icon>,
    /// The whole entry as it was sent, with `_meta` and unknown members.
    #[serde(skip, default = "Raw::nothing")]
    pub raw: Raw,
}

/// A family of resources (specification: server/resources, "Resource Templates").
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ResourceTemplate {
    /// The addresses, as a URI template (RFC 6570).
    pub uri_template: String,
    /// The name, for programs.
    pub name: String,
    /// The name, for people.
    #[serde(default)]
    pub title: Option<String>,
    /// What it is for, for a model to read.
    #[serde(default)]
    pub description: Option<String>,
    /// The media type, when all of them have the same.
    #[serde(default)]
    pub mime_type: Option<String>,
    /// For whom it is.
    #[serde(default)]
    pub annotations: Option<Annotations>,
    /// Pictures of it.
    #[serde(default, deserialize_with = "null_is_default")]
    pub icons: Vec<Icon>,
    /// The whole entry as it was sent, with `_meta` and unknown members.
    #[serde(skip, default = "Raw::nothing")]
    pub raw: Raw,
}

impl Resource {
    pub(crate) fn read(raw: Raw) -> Result<Self, serde_json::Error> {
        let resource = object(raw.as_str())?;
        Ok(Resource { raw, ..resource })
    }

    /// The name to show to people: the title, else the name.
    #[must_use]
    pub fn display_name(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.name)
    }
}

impl ResourceTemplate {
    pub(crate) fn read(raw: Raw) -> Result<Self, serde_json::Error> {
        let template = object(raw.as_str())?;
        Ok(ResourceTemplate { raw, ..template })
    }

    /// The name to show to people: the title, else the name.
    #[must_use]
    pub fn display_name(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.name)
    }
}

/// What is at an address: a text or bytes (specification: server/resources, "Resource Contents").
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ResourceContents {
    /// The address. It may be that of a part of what was asked for.
    pub uri: String,
    /// The media type.
    pub mime_type: Option<String>,
    /// The text or the bytes.
    pub data: ResourceData,
    /// For whom it is.
    pub annotations: Option<Annotations>,
    /// The whole item as it was sent, with `_meta` and unknown members.
    pub raw: Raw,
}

/// What a resource holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResourceData {
    /// Text.
    Text(String),
    /// Bytes, in Base64 as they were sent; see [`ResourceContents::bytes`].
    Blob(String),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wire {
    uri: String,
    #[serde(default)]
    mime_type: Option<String>,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    blob: Option<String>,
    #[serde(default)]
    annotations: Option<Annotations>,
}

impl ResourceContents {
    /// Reads an item. One with both a text and bytes, or with neither, is malformed.
    pub(crate) fn read(raw: Raw) -> Result<Self, serde_json::Error> {
        let Wire { uri, mime_type, text, blob, annotations } = object(raw.as_str())?;
        let wrong = <serde_json::Error as serde::de::Error>::custom;
        let data = match (text, blob) {
            (Some(text), None) => ResourceData::Text(text),
            (None, Some(blob)) => ResourceData::Blob(blob),
            (Some(_), Some(_)) => return Err(wrong("both `text` and `blob`")),
            (None, None) => return Err(wrong("neither `text` nor `blob`")),
        };
        Ok(ResourceContents { uri, mime_type, data, annotations, raw })
    }

    /// Whether it is text.
    #[must_use]
    pub fn is_text(&self) -> bool {
        matches!(self.data, ResourceData::Text(_))
    }

    /// Whether it is bytes.
    #[must_use]
    pub fn is_binary(&self) -> bool {
        matches!(self.data, ResourceData::Blob(_))
    }

    /// The text, if it is one.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match &self.data {
            ResourceData::Text(text) => Some(text),
            ResourceData::Blob(_) => None,
        }
    }

    /// The bytes: decoded from Base64, or those of the text.
    ///
    /// # Errors
    /// When the server's Base64 is none.
    pub fn bytes(&self) -> Result<Vec<u8>, Error> {
        match &self.data {
            ResourceData::Text(text) => Ok(text.as_bytes().to_vec()),
            ResourceData::Blob(blob) => super::base64(blob),
        }
    }
}

/// What a server answered to `resources/read`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ReadResourceResult {
    /// What is at the address; several items for one that stands for many, and perhaps none.
    pub contents: Vec<ResourceContents>,
    /// What is wrong with the items that were left out because they are malformed.
    pub malformed: Vec<String>,
    /// The whole result as it was sent, with `_meta` and unknown members.
    pub raw: Raw,
}
