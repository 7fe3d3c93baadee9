//! JSON as it arrived: text that is shared, not copied.

use alloc::sync::Arc;
use std::fmt;
use std::ops::Range;

use serde::de::DeserializeOwned;

/// A JSON value as the server sent it.
///
/// It is a piece of the message that brought it: cloning it and cutting pieces out of it copies
/// nothing, and the message lives as long as any piece of it.
#[derive(Clone)]
pub struct Raw {
    message: Arc<String>,
    range: Range<usize>,
}

impl Raw {
    /// The whole of a text, which the caller knows to be JSON.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        let text = text.into();
        let range = 0..text.len();
        Raw { message: Arc::new(text), range }
    }

    /// Stands where a text is filled in later.
    pub(crate) fn nothing() -> Self {
        Raw::new("")
    }

    /// The JSON text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.message.get(self.range.clone()).unwrap_or_default()
    }

    /// How many bytes the text has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.range.len()
    }

    /// Whether there is no text at all. A JSON value always has some.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.range.is_empty()
    }

    /// Whether the value is the literal `null`.
    #[must_use]
    pub fn is_null(&self) -> bool {
        self.as_str() == "null"
    }

    /// The piece of this value that `part` is. `part` must be borrowed from [`as_str`](Self::as_str);
    /// any other text is copied instead.
    #[must_use]
    pub fn cut(&self, part: &str) -> Raw {
        let whole = self.message.as_ptr() as usize;
        let start = (part.as_ptr() as usize).wrapping_sub(whole);
        match start.checked_add(part.len()) {
            Some(end) if self.range.start <= start && end <= self.range.end => {
                Raw { message: Arc::clone(&self.message), range: start..end }
            }
            _ => Raw::new(part),
        }
    }

    /// The same value, without the rest of a long message around it: what is kept for long must not
    /// keep more than it shows.
    pub(crate) fn alone(&self) -> Raw {
        let much = self.message.len() > 2 * self.len() + 512;
        if much { Raw::new(self.as_str()) } else { self.clone() }
    }

    /// How many bytes are kept for as long as this value is.
    pub(crate) fn weight(&self) -> usize {
        self.message.len()
    }

    /// Decodes the value.
    ///
    /// # Errors
    /// When the value has another shape than `T`.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.as_str())
    }

    /// Whether the text is JSON at all: a message is cut into pieces before anyone parses them.
    pub(crate) fn check(&self) -> Result<(), crate::Error> {
        match serde_json::from_str::<serde::de::IgnoredAny>(self.as_str()) {
            Ok(_) => Ok(()),
            Err(error) => Err(crate::Error::result(crate::wire::json_trouble(&error))),
        }
    }

    /// One member of an object, as it was sent, `null` included. `None` when the value is no object
    /// or has no such member.
    #[must_use]
    pub fn member(&self, name: &str) -> Option<Raw> {
        let members: std::collections::BTreeMap<
            std::borrow::Cow<'_, str>,
            &serde_json::value::RawValue,
        > = serde_json::from_str(self.as_str()).ok()?;
        members.get(name).map(|value| self.cut(value.get()))
    }
}

impl PartialEq for Raw {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Raw {}

impl fmt::Debug for Raw {
    /// Payloads never reach a log: only the size is shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Raw({} bytes)", self.len())
    }
}

impl serde::Serialize for Raw {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::Error as _;
        let value: &serde_json::value::RawValue =
            serde_json::from_str(self.as_str()).map_err(S::Error::custom)?;
        value.serialize(serializer)
    }
}

impl<'de> serde::Deserialize<'de> for Raw {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Box::<serde_json::value::RawValue>::deserialize(deserializer)?;
        Ok(Raw::new(String::from(Box::<str>::from(value))))
    }
}
