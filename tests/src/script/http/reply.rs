//! Whole answers.

use crate::http::Head;

/// An answer of HTTP, with a length before its body.
#[derive(Clone, Debug)]
pub struct Reply {
    head: Head,
    body: Body,
}

#[derive(Clone, Debug)]
enum Body {
    None,
    /// Text whose names are filled in when it is sent.
    Text(String),
    Bytes(Vec<u8>),
}

impl Reply {
    /// An answer of this status without a body.
    pub fn new(status: u16) -> Self {
        Reply { head: Head::new(status), body: Body::None }
    }

    /// Adds a header.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.head = self.head.header(name, value);
        self
    }

    /// The body, its names filled in; nothing says what it is.
    pub fn body(mut self, text: &str) -> Self {
        self.body = Body::Text(text.to_owned());
        self
    }

    /// A body of this type, its names filled in.
    pub fn typed(self, kind: &str, text: &str) -> Self {
        self.header("Content-Type", kind).body(text)
    }

    /// A message.
    pub fn json(self, message: &str) -> Self {
        self.typed("application/json", message)
    }

    /// The body, byte by byte.
    pub fn bytes(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.body = Body::Bytes(bytes.into());
        self
    }

    /// The head of an answer whose body follows in chunks.
    pub(super) fn chunked_head(&self) -> String {
        self.head.clone().header("Transfer-Encoding", "chunked").finish()
    }

    /// All of it, with the names filled in.
    pub(super) fn write(
        &self,
        fill: impl FnOnce(&str) -> Result<String, String>,
    ) -> Result<Vec<u8>, String> {
        let body = match &self.body {
            Body::None => Vec::new(),
            Body::Text(text) => fill(text)?.into_bytes(),
            Body::Bytes(bytes) => bytes.clone(),
        };
        Ok(self.head.clone().body(&body))
    }
}
