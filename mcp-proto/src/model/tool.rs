//! Tools and their results (specification: server/tools).

use std::borrow::Cow;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::{Content, Icon, null_is_default, object, present};
use crate::{Era, Error, Raw};

/// A tool, as its server describes it (specification: server/tools, "Tool").
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Tool {
    /// The name by which it is called. Case counts; it is unique within its server only.
    pub name: String,
    /// The name, for people.
    pub title: Option<String>,
    /// What it does, for a model to read.
    pub description: Option<String>,
    /// The JSON Schema of its arguments, as it was sent.
    pub input_schema: Raw,
    /// The JSON Schema of its structured results, as it was sent.
    pub output_schema: Option<Raw>,
    /// What the server says about its behaviour. Untrusted.
    pub annotations: ToolAnnotations,
    /// Pictures of it.
    pub icons: Vec<Icon>,
    /// Whether it may or must be called as a task (2025-11-25, `execution.taskSupport`).
    pub task_support: TaskSupport,
    /// The whole definition as it was sent, with `_meta` and unknown members.
    pub raw: Raw,
}

/// Hints about a tool's behaviour (specification: schema, `ToolAnnotations`).
///
/// They come from the server: never let an action depend on them unless the server is trusted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct ToolAnnotations {
    /// The name, for people.
    pub title: Option<String>,
    /// As it was sent; see [`read_only`](Self::read_only) for the default.
    pub read_only_hint: Option<bool>,
    /// As it was sent; see [`destructive`](Self::destructive) for the default.
    pub destructive_hint: Option<bool>,
    /// As it was sent; see [`idempotent`](Self::idempotent) for the default.
    pub idempotent_hint: Option<bool>,
    /// As it was sent; see [`open_world`](Self::open_world) for the default.
    pub open_world_hint: Option<bool>,
    #[serde(rename = "readOnly", deserialize_with = "literally_true")]
    old_read_only: bool,
    #[serde(rename = "destructive", deserialize_with = "literally_true")]
    old_destructive: bool,
    #[serde(rename = "requiresConfirmation", deserialize_with = "literally_true")]
    old_confirmation: bool,
}

/// Only `true` counts; what else is there costs the tool nothing.
fn literally_true<'de, D: Deserializer<'de>>(from: D) -> Result<bool, D::Error> {
    let raw = <&RawValue>::deserialize(from)?;
    Ok(raw.get() == "true")
}

impl ToolAnnotations {
    /// Whether the tool changes nothing. Without a hint: no.
    #[must_use]
    pub fn read_only(&self) -> bool {
        self.read_only_hint.unwrap_or(false)
    }

    /// Whether the tool may destroy something. Without a hint: yes.
    #[must_use]
    pub fn destructive(&self) -> bool {
        self.destructive_hint.unwrap_or(true)
    }

    /// Whether calling it twice does no more than calling it once. Without a hint: no.
    #[must_use]
    pub fn idempotent(&self) -> bool {
        self.idempotent_hint.unwrap_or(false)
    }

    /// Whether the tool deals with the world outside. Without a hint: yes.
    #[must_use]
    pub fn open_world(&self) -> bool {
        self.open_world_hint.unwrap_or(true)
    }

    /// Whether `readOnly` is literally `true`: an older style of annotations, which no revision
    /// defines and some servers use. It says nothing of the hints, nor they of it.
    #[must_use]
    pub fn marked_read_only(&self) -> bool {
        self.old_read_only
    }

    /// Whether `destructive` is literally `true`, in the older style.
    #[must_use]
    pub fn marked_destructive(&self) -> bool {
        self.old_destructive
    }

    /// Whether `requiresConfirmation` is literally `true`, in the older style.
    #[must_use]
    pub fn requires_confirmation(&self) -> bool {
        self.old_confirmation
    }
}

/// Whether a tool is called as a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum TaskSupport {
    /// It cannot be. Also the default, and what an unknown value means.
    #[default]
    Forbidden,
    /// It can be.
    Optional,
    /// It must be.
    Required,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wire<'a> {
    name: String,
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    description: Option<String>,
    #[serde(borrow, default, deserialize_with = "present")]
    input_schema: Option<&'a RawValue>,
    #[serde(borrow, default)]
    output_schema: Option<&'a RawValue>,
    #[serde(default)]
    annotations: Option<ToolAnnotations>,
    #[serde(default, deserialize_with = "null_is_default")]
    icons: Vec<Icon>,
    #[serde(borrow, default)]
    execution: Option<Execution<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Execution<'a> {
    #[serde(borrow, default)]
    task_support: Option<Cow<'a, str>>,
}

/// The name of a tool and the text of its input schema, where there are such.
pub(crate) fn tool_outline(tool: &str) -> Option<(Cow<'_, str>, Option<&str>)> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Outline<'a> {
        #[serde(borrow)]
        name: Cow<'a, str>,
        #[serde(borrow, default)]
        input_schema: Option<&'a RawValue>,
    }
    let outline: Outline<'_> = object(tool).ok()?;
    Some((outline.name, outline.input_schema.map(RawValue::get)))
}

impl Tool {
    /// Reads a definition.
    ///
    /// # Errors
    /// When it has no name, or a member of the wrong type. Only the size and position of the
    /// trouble are told, never its text.
    pub(crate) fn read(raw: Raw) -> Result<Self, serde_json::Error> {
        let wire: Wire<'_> = object(raw.as_str())?;
        let task_support = match wire.execution.and_then(|e| e.task_support).as_deref() {
            Some("optional") => TaskSupport::Optional,
            Some("required") => TaskSupport::Required,
            _ => TaskSupport::Forbidden,
        };
        Ok(Tool {
            input_schema: wire.input_schema.map_or_else(|| Raw::new("{}"), |s| raw.cut(s.get())),
            output_schema: wire.output_schema.map(|s| raw.cut(s.get())),
            name: wire.name,
            title: wire.title,
            description: wire.description,
            annotations: wire.annotations.unwrap_or_default(),
            icons: wire.icons,
            task_support,
            raw,
        })
    }

    /// The name to show to people: the title, else the annotations' title, else the name
    /// (specification: schema, `BaseMetadata`).
    #[must_use]
    pub fn display_name(&self) -> &str {
        let title = self.title.as_deref().or(self.annotations.title.as_deref());
        title.unwrap_or(&self.name)
    }
}

/// What a tool answered (specification: server/tools, "Tool Result").
///
/// A failure of the tool's is data too, with [`is_error`](Self::is_error) set: hand it to the
/// model, which may correct itself.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CallToolResult {
    /// The pieces of the answer, in order.
    pub content: Vec<Content>,
    /// The answer as a JSON value. On legacy servers only an object counts.
    pub structured_content: Option<Raw>,
    /// Whether the tool failed.
    pub is_error: bool,
    /// The whole result as it was sent, with `_meta` and unknown members.
    pub raw: Raw,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireResult<'a> {
    #[serde(borrow, default)]
    content: Option<Vec<&'a RawValue>>,
    #[serde(borrow, default, deserialize_with = "present")]
    structured_content: Option<&'a RawValue>,
    #[serde(default)]
    is_error: Option<bool>,
}

impl CallToolResult {
    pub(crate) fn read(raw: Raw, era: Era) -> Result<Self, Error> {
        let wire: WireResult<'_> = serde_json::from_str(raw.as_str())
            .map_err(|e| Error::result(crate::wire::json_trouble(&e)))?;
        let counts = |value: &&RawValue| match era {
            Era::Modern => true,
            Era::Legacy => value.get().starts_with('{'),
        };
        let structured = wire.structured_content.filter(counts);
        Ok(CallToolResult {
            content: Content::read_all(&raw, wire.content.as_deref().unwrap_or_default()),
            structured_content: structured.map(|value| raw.cut(value.get())),
            is_error: wire.is_error.unwrap_or(false),
            raw,
        })
    }

    /// All texts of the answer, joined by line ends.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        let mut texts = self.content.iter().filter_map(Content::as_text);
        let first = texts.next().unwrap_or_default();
        match texts.next() {
            None => Cow::Borrowed(first),
            Some(second) => {
                let mut all = String::from(first);
                for text in std::iter::once(second).chain(texts) {
                    all.push('\n');
                    all.push_str(text);
                }
                Cow::Owned(all)
            }
        }
    }

    /// The structured answer, decoded.
    ///
    /// # Errors
    /// When there is none, or it has another shape than `T`.
    pub fn structured<T: DeserializeOwned>(&self) -> Result<T, Error> {
        let raw = self
            .structured_content
            .as_ref()
            .ok_or_else(|| Error::result("there is no structuredContent"))?;
        raw.parse().map_err(|e| {
            Error::result(format_args!("structuredContent: {}", crate::wire::json_trouble(&e)))
        })
    }
}
