//! Exchanges of HTTP, as a connection wants them and as it is told of them.

use serde::{Deserialize, Serialize};

/// What happens to an HTTP exchange. After [`HttpOutput::Release`] and [`HttpOutput::Abort`]
/// exactly one `End` or `Failed` follows.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HttpInput<'a> {
    /// There is no connection that could be used, and one is being opened. Nothing is sent before
    /// [`Connected`](Self::Connected).
    Connecting,
    /// The connection is there. What was wanted of the exchange by now is done first, and only then
    /// the request is sent: one that was given up while it waited is never sent.
    Connected,
    /// The status line and the headers of the answer.
    Head {
        /// The status.
        status: StatusCode,
        /// Names in lower case, in the order in which they came.
        headers: Vec<(String, String)>,
    },
    /// Bytes of the body, after the transfer coding was undone. The content coding is not.
    Body(&'a [u8]),
    /// The answer is complete, or was released and let go of.
    End,
    /// The exchange is over without a complete answer.
    Failed(HttpFailure),
}

/// A status of HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StatusCode(pub u16);

impl StatusCode {
    /// Whether it is one of 200 to 299.
    #[must_use]
    pub fn is_success(self) -> bool {
        (200..300).contains(&self.0)
    }
}

/// How an exchange failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct HttpFailure {
    /// What went wrong.
    pub kind: HttpFailureKind,
    /// How much of the request was handed to the network.
    pub sent: Sent,
    /// Whether any byte of an answer came.
    pub answered: bool,
    /// The words of the system or the library.
    pub text: String,
}

impl HttpFailure {
    /// A failure.
    #[must_use]
    pub fn new(kind: HttpFailureKind, sent: Sent, answered: bool, text: impl Into<String>) -> Self {
        HttpFailure { kind, sent, answered, text: text.into() }
    }

    /// Whether the same request may meet a better fate a moment later.
    pub(crate) fn is_transient(&self) -> bool {
        use HttpFailureKind::{Closed, Connect, Resolve};
        matches!(self.kind, Closed | Connect | Resolve)
    }
}

/// What went wrong with an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum HttpFailureKind {
    /// The name of the server was not resolved.
    Resolve,
    /// No connection came about.
    Connect,
    /// TLS was not agreed on; most often a certificate is not trusted.
    Tls,
    /// The proxy refused.
    Proxy,
    /// The connection ended before the answer was complete.
    Closed,
    /// The answer breaks the rules of HTTP.
    Malformed,
    /// The exchange was aborted.
    Aborted,
}

/// How much of a request was handed to the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sent {
    /// Nothing: the server knows of nothing.
    None,
    /// Some of it, or nobody knows how much.
    Some,
    /// All of it.
    All,
}

/// What is wanted of an HTTP exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HttpOutput {
    /// Begin it: send this request, following no redirect and repeating nothing.
    Send(Box<HttpRequest>),
    /// What was wanted of it has come. If the rest of its body comes within 50 ms, the connection
    /// can be used again; otherwise it is let go of.
    Release,
    /// End it at once, in whatever state, and let go of its connection.
    Abort,
}

/// A request of HTTP.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HttpRequest {
    /// The method.
    pub method: Method,
    /// The whole address, without a fragment.
    pub url: String,
    /// Names in lower case. `host`, `content-length` and the like are the performer's to add.
    pub headers: Vec<(String, String)>,
    /// The body; empty for none.
    pub body: Vec<u8>,
}

impl std::fmt::Debug for HttpRequest {
    /// Values of headers, bodies and the query of the address may be secret: only names and the
    /// size are shown.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<_> = self.headers.iter().map(|(name, _)| name).collect();
        write!(
            f,
            "HttpRequest({:?} {} {names:?}, {} bytes)",
            self.method,
            crate::config::mask_url(&self.url),
            self.body.len()
        )
    }
}

/// A method of HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
#[non_exhaustive]
pub enum Method {
    /// `GET`.
    Get,
    /// `POST`.
    Post,
    /// `DELETE`.
    Delete,
}

impl Method {
    /// The name, as it is sent.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Method::Get => "GET",
            Method::Post => "POST",
            Method::Delete => "DELETE",
        }
    }
}
