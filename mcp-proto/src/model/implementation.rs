//! Who is speaking: `Implementation`, and icons.

use serde::{Deserialize, Serialize};

use super::null_is_default;

/// The name and version of a client or server (specification: schema, `Implementation`).
///
/// It is what the other side says of itself, and is verified by nobody: show it, decide nothing
/// by it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct Implementation {
    /// The name, for programs.
    #[serde(deserialize_with = "null_is_default")]
    pub name: String,
    /// The name, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The version.
    #[serde(deserialize_with = "null_is_default")]
    pub version: String,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Where to read about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub website_url: Option<String>,
    /// Pictures of it.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    pub icons: Vec<Icon>,
}

impl Implementation {
    /// An implementation with the two members that the specification demands.
    #[must_use]
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Implementation { name: name.into(), version: version.into(), ..Implementation::default() }
    }

    /// The name to show to people: the title, else the name.
    #[must_use]
    pub fn display_name(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.name)
    }
}

/// A picture (specification: basic, `icons`). The address is untrusted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct Icon {
    /// The address: an `https:` or `data:` URI. Others must be refused.
    #[serde(deserialize_with = "null_is_default")]
    pub src: String,
    /// The media type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// The sizes at which it looks right, such as `48x48` or `any`.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    pub sizes: Vec<String>,
    /// The theme it is meant for: `light` or `dark`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub theme: Option<String>,
}
