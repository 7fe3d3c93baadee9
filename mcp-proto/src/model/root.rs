//! Where in the file system a server may work (specification: client/roots).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::ApiMisuse;

/// A folder or file that servers may work in.
///
/// What is named here is told to every server that asks: name only what the user has agreed to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Root {
    /// The address, which begins with `file://`.
    pub uri: String,
    /// The name, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Map::is_empty")]
    pub meta: Map<String, Value>,
}

impl Root {
    /// A root at this address.
    ///
    /// # Errors
    /// When it does not begin with `file://`, or leads upwards with `..`, however that is written.
    pub fn new(uri: impl Into<String>) -> Result<Self, ApiMisuse> {
        let root = Root { uri: uri.into(), name: None, meta: Map::new() };
        root.check()?;
        Ok(root)
    }

    /// With a name, for people.
    #[must_use]
    pub fn with_name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Checks the address and the metadata.
    pub(crate) fn check(&self) -> Result<(), ApiMisuse> {
        let wrong = |why| Err(ApiMisuse::Root { uri: self.uri.clone(), why });
        let Some(path) = self.uri.strip_prefix("file://") else {
            return wrong("a root is a file: its address begins with `file://`");
        };
        // Readers of addresses leave out tabs and line ends, which may stand between two dots.
        if self.uri.chars().any(char::is_control) {
            return wrong("it has control characters");
        }
        if url::Url::parse(&self.uri).is_err() {
            return wrong("it is no URL");
        }
        // Decoded as often as anybody might: `%252e` is a dot to whoever decodes twice.
        let mut path = path.as_bytes().to_vec();
        loop {
            if path.split(|byte| matches!(byte, b'/' | b'\\')).any(|part| part == b"..") {
                return wrong("it leads upwards with `..`");
            }
            let decoded = percent_decoded(&path);
            if decoded == path {
                break;
            }
            path = decoded;
        }
        self.meta.keys().try_for_each(|key| crate::meta::check_key(key))
    }
}

fn percent_decoded(text: &[u8]) -> Vec<u8> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&byte, after)) = rest.split_first() {
        let coded = after.get(..2).filter(|_| byte == b'%');
        let value = coded.and_then(|two| std::str::from_utf8(two).ok());
        match value.and_then(|two| u8::from_str_radix(two, 16).ok()) {
            Some(value) => {
                decoded.push(value);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                decoded.push(byte);
                rest = after;
            }
        }
    }
    decoded
}

#[cfg(test)]
mod tests {
    use super::*;

    /// M-ROOT-06, M-ROOT-07
    #[test]
    fn roots_are_files_and_lead_nowhere_else() {
        for good in [
            "file:///home/user/a",
            "file:///C:/a",
            "file://host/share/a..b",
            "file:///%20/x",
            "file:///",
        ] {
            assert!(Root::new(good).is_ok(), "{good}");
        }
        for bad in [
            "http://a/b",
            "/home/user",
            "file:/x",
            "FILE:///x",
            "",
            "file:///a/../b",
            "file:///a/..",
            "file:///a/%2e%2e/b",
            "file:///a/%2E./b",
            "file:///a/%252e%252e/b",
            "file:///a%2f..%2fb",
            "file:///a\\..\\b",
            "file:///a/.\t./b",
            "file:///a/.\n./b",
            "file:///a\r",
            "file:///a\0b",
        ] {
            assert!(Root::new(bad).is_err(), "{bad}");
        }
        let mut root = Root::new("file:///a").unwrap().with_name("A");
        root.meta.insert("-bad".into(), Value::Null);
        assert!(root.check().is_err());
        root.meta = Map::from_iter([("com.example/k".into(), Value::from(1))]);
        assert!(root.check().is_ok());
        let text = serde_json::to_string(&root).unwrap();
        assert_eq!(text, r#"{"uri":"file:///a","name":"A","_meta":{"com.example/k":1}}"#);
    }
}
