//! What the client sent.

use serde_json::Value;

use crate::http::Request;

/// A request that was read to its end.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    /// The how many-th connection it came on, from 1.
    pub connection: u64,
    /// The request.
    pub request: Request,
    /// The message in it; null when there is none.
    pub message: Value,
}

impl Recorded {
    /// The JSON-RPC method, if it is a message that has one.
    pub fn method(&self) -> Option<&str> {
        self.message.get("method").and_then(Value::as_str)
    }

    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.request.header(name)
    }
}

/// What a scripted server over HTTP has seen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HttpTranscript {
    pub(super) requests: Vec<Recorded>,
    pub(super) connections: u64,
    pub(super) closed: Vec<u64>,
    pub(super) failures: Vec<String>,
    pub(super) left: usize,
}

impl HttpTranscript {
    /// All requests, in the order in which they arrived.
    pub fn requests(&self) -> &[Recorded] {
        &self.requests
    }

    /// The requests with this JSON-RPC method.
    pub fn messages<'a>(&'a self, method: &'a str) -> impl Iterator<Item = &'a Recorded> {
        self.requests.iter().filter(move |it| it.method() == Some(method))
    }

    /// How many messages of this JSON-RPC method came.
    pub fn count(&self, method: &str) -> usize {
        self.messages(method).count()
    }

    /// How many requests of this HTTP method came.
    pub fn count_http(&self, method: &str) -> usize {
        self.requests.iter().filter(|it| it.request.method == method).count()
    }

    /// How many connections the client has opened.
    pub fn connections(&self) -> u64 {
        self.connections
    }

    /// The connections that the client has closed, in that order.
    pub fn closed(&self) -> &[u64] {
        &self.closed
    }

    /// How many requests are still expected.
    pub fn left(&self) -> usize {
        self.left
    }

    /// What went wrong, in the server's words: requests that were not expected, and steps that
    /// could not be performed.
    pub fn failures(&self) -> &[String] {
        &self.failures
    }

    /// All requests that were expected have come, and no other ones.
    ///
    /// # Panics
    /// When that is not so.
    #[track_caller]
    pub fn check(self) -> Self {
        assert!(self.failures.is_empty() && self.left == 0, "{self:#?}");
        self
    }
}
