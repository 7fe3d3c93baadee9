//! What can go wrong, split by whose fault it is.
//!
//! Every call ends with a [`Reply`](crate::Reply) or with one [`Error`]. Its
//! [`kind`](Error::kind) says what happened, its [`outcome`](Error::outcome) whether the server
//! may have done the work, and its text what a person should know and do.

use std::fmt;
use std::time::Duration;

use serde_json::Value;

use crate::interface::{ExitStatus, HttpFailure, HttpFailureKind, IoFailure};
use crate::{Raw, Reply};

/// Why a call has no result.
#[derive(Clone, Debug)]
pub struct Error {
    inner: Box<Inner>,
}

#[derive(Clone, Debug)]
struct Inner {
    kind: ErrorKind,
    outcome: Outcome,
    method: String,
    server: String,
    notes: Vec<String>,
}

/// Whether the server may have done what the call asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing of the request was handed to the transport.
    NotSent,
    /// The server answered in a way that shows it did not run the request.
    NotRun,
    /// The request was sent, and nobody knows what became of it. A `tools/call` may have run.
    Unknown,
}

/// What happened.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The server answered with an error of its own.
    #[error("the server answered with an error: {0}")]
    Server(Box<ServerError>),
    /// The server broke the protocol in its answer to this call.
    #[error("the server broke the protocol: {0}")]
    Peer(PeerError),
    /// Client and server have no revision or era in common.
    #[error("{0}")]
    Incompatible(Incompatible),
    /// The way to the server failed.
    #[error("{0}")]
    Transport(TransportError),
    /// A time ran out.
    #[error("{0}")]
    Timeout(Timeout),
    /// A bound of this client's was reached.
    #[error("{0}")]
    Limit(Limit),
    /// A list could not be read to its end. The pages read so far are kept.
    #[error("{reason}; {} were read before that", pages(.partial))]
    Pagination {
        /// What is wrong with the list.
        reason: PaginationFault,
        /// The pages read so far.
        partial: Box<Reply>,
    },
    /// The server wants input that this client cannot give.
    #[error("the server wants input before it goes on, and this client does not give any: {0}")]
    InputRequired(String),
    /// The call cannot be made with these arguments. Nothing was sent.
    #[error("{0}")]
    Validation(String),
    /// The server has no tool of this name.
    #[error("the server has no tool named {name:?}")]
    ToolNotFound {
        /// The name that was asked for.
        name: String,
    },
    /// The server does not offer what the call needs. Nothing was sent.
    #[error("the server does not offer the capability `{0}`")]
    Capability(String),
    /// The host cancelled the call, or dropped it.
    #[error("the call was cancelled")]
    Cancelled,
    /// The connection was closed.
    #[error("the connection is closed: {0}")]
    Closed(CloseReason),
    /// The driver that moves the bytes is gone, so no call can end any more. An async client needs
    /// its driver to be polled for as long as calls are made.
    #[error(
        "the driver of this client was dropped or has stopped; keep it running while calls are made"
    )]
    DriverGone,
}

fn pages(reply: &Reply) -> String {
    match reply.pages.len() {
        1 => String::from("1 page"),
        n => format!("{n} pages"),
    }
}

/// An error that the server sent.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ServerError {
    /// The code. An integer of any size that does not fit is kept in `raw`, and is 0 here.
    pub code: i64,
    /// The server's words; empty when it sent none.
    pub message: String,
    /// Any further information.
    pub data: Option<Value>,
    /// The whole error object as it was sent.
    pub raw: Raw,
}

impl ServerError {
    /// The meaning of the code, where the specification defines one.
    #[must_use]
    pub fn kind(&self) -> ServerErrorKind {
        match self.code {
            -32700 => ServerErrorKind::ParseError,
            -32600 => ServerErrorKind::InvalidRequest,
            -32601 => ServerErrorKind::MethodNotFound,
            -32602 => ServerErrorKind::InvalidParams,
            -32603 => ServerErrorKind::InternalError,
            -32002 => ServerErrorKind::ResourceNotFound,
            -32020 => ServerErrorKind::HeaderMismatch,
            -32021 => ServerErrorKind::MissingRequiredClientCapability,
            -32022 => ServerErrorKind::UnsupportedProtocolVersion,
            _ => ServerErrorKind::Other,
        }
    }

    /// Whether the code is one that only a server of a modern revision sends.
    #[must_use]
    pub fn is_modern(&self) -> bool {
        matches!(self.code, -32022..=-32020)
    }

    /// The versions that an [`UnsupportedProtocolVersion`](ServerErrorKind::UnsupportedProtocolVersion)
    /// error lists (`data.supported`); legacy servers send the same list with -32602.
    #[must_use]
    pub fn supported_versions(&self) -> Vec<String> {
        let listed = self.data.as_ref().and_then(|data| data.get("supported"));
        let listed = listed.and_then(Value::as_array).into_iter().flatten();
        listed.filter_map(Value::as_str).map(String::from).collect()
    }

    /// The capabilities that the server wants declared (`data.requiredCapabilities`).
    #[must_use]
    pub fn required_capabilities(&self) -> Option<&Value> {
        self.data.as_ref().and_then(|data| data.get("requiredCapabilities"))
    }
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = match self.kind() {
            ServerErrorKind::Other => String::new(),
            kind => format!(" ({kind:?})"),
        };
        if self.message.is_empty() {
            write!(f, "code {}{named}, without a message", self.code)
        } else {
            write!(f, "{} (code {}{named})", crate::text::excerpt(&self.message), self.code)
        }
    }
}

/// The meaning of a server's error code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServerErrorKind {
    /// -32700.
    ParseError,
    /// -32600.
    InvalidRequest,
    /// -32601.
    MethodNotFound,
    /// -32602; also an unknown tool, resource, prompt, cursor or task.
    InvalidParams,
    /// -32603.
    InternalError,
    /// -32002, which servers of 2025-11-25 and earlier send.
    ResourceNotFound,
    /// -32020.
    HeaderMismatch,
    /// -32021.
    MissingRequiredClientCapability,
    /// -32022.
    UnsupportedProtocolVersion,
    /// Any other code: it has no meaning that a client may assume.
    Other,
}

/// How a server broke the protocol.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PeerError {
    /// The line that answers this call is no JSON-RPC message.
    #[error("its answer is not a valid JSON-RPC message ({0})")]
    Malformed(String),
    /// The result has another shape than the method asks for.
    #[error("the result does not fit the method: {0}")]
    Result(String),
    /// `resultType` is a value that the client neither knows nor has declared.
    #[error("the result has the unknown type {0:?}")]
    ResultType(String),
    /// On the exchange of this request came the result of another.
    #[error("it answered with the result of another request")]
    ForeignResult,
    /// The server asks for input in answer to a method that does not allow it.
    #[error("it asks for input in answer to a method that does not allow it")]
    InputRequired,
}

/// Why there is no common revision.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Incompatible {
    /// The server lists versions, none of which this client may use.
    #[error(
        "no protocol version in common: the server offers {}, this client may use {}",
        list(.offered), list(.wanted)
    )]
    Versions {
        /// What the server offers.
        offered: Vec<String>,
        /// What this client may use, given the forced era.
        wanted: Vec<String>,
    },
    /// The server answered `initialize` with a version that this client cannot speak.
    #[error(
        "the server answered `initialize` with protocol version {answered:?}, \
         which this client cannot speak; it can speak {}", list(.wanted)
    )]
    Initialize {
        /// The server's answer, or what stood in its place.
        answered: String,
        /// What this client may use.
        wanted: Vec<String>,
    },
    /// The server spoke neither era, or not the forced one.
    #[error("{}", neither(*.forced, .attempts))]
    Attempts {
        /// The era that the configuration demands, if it demands one.
        forced: Option<crate::Era>,
        /// What was tried, in order.
        attempts: Vec<Attempt>,
    },
}

/// One attempt to find out what a server speaks.
#[derive(Clone, Debug, PartialEq)]
pub struct Attempt {
    /// The method that was tried.
    pub method: &'static str,
    /// What it met.
    pub met: String,
}

fn list(versions: &[String]) -> String {
    match versions {
        [] => String::from("none"),
        _ => crate::text::excerpt(&versions.join(", ")),
    }
}

fn neither(forced: Option<crate::Era>, attempts: &[Attempt]) -> String {
    let met: Vec<_> = attempts.iter().map(|a| format!("`{}` met: {}", a.method, a.met)).collect();
    let met = met.join("; ");
    match forced {
        None => format!("the server speaks neither the modern nor the legacy era: {met}"),
        Some(era) => format!(
            "the server does not speak the {era} era, which the configuration demands: {met}; \
             with the automatic era it may be reached"
        ),
    }
}

/// How the way to the server failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TransportError {
    /// The process could not be launched.
    #[error("`{command}` could not be launched: {}", .failure.text)]
    Spawn {
        /// The command line.
        command: String,
        /// The system's error.
        failure: IoFailure,
    },
    /// The process ended.
    #[error("{}", exited(*.status, *.unanswered, .stderr))]
    Exited {
        /// How it ended. `None` when it closed its stdin or stdout and still runs.
        status: Option<ExitStatus>,
        /// What it was asked during its start and did not answer.
        unanswered: Option<&'static str>,
        /// The last of its stderr.
        stderr: String,
    },
    /// The byte stream ended.
    #[error("the byte stream has ended")]
    StreamEnded,
    /// An HTTP exchange brought no answer.
    #[error("{0}")]
    Http(HttpFault),
}

/// Why an HTTP exchange brought no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HttpFault {
    /// The exchange failed.
    #[error("{}", exchange(.0))]
    Exchange(HttpFailure),
    /// The server answered with a status that is no success.
    #[error("the server answered with HTTP status {status}{}", quoted(.text))]
    Status {
        /// The status.
        status: u16,
        /// The beginning of the body, escaped.
        text: String,
    },
    /// The server asks for authorization (401), or forbids the request (403).
    #[error("the server asks for authorization (HTTP status {status}){}", quoted(.text))]
    Authorization {
        /// The status.
        status: u16,
        /// The header `WWW-Authenticate`.
        challenge: Option<String>,
        /// The beginning of the body, escaped.
        text: String,
    },
    /// The answer is of no use.
    #[error("the server sent {0}, which is no answer; is this the endpoint of an MCP server?")]
    Unusable(String),
    /// The event stream ended without the answer.
    #[error("the event stream ended before the answer came")]
    StreamClosed,
    /// A redirect that is not followed.
    #[error(
        "the server redirects (HTTP status {status}) to {to:?}, which is not followed: only 307 \
         and 308 within the same origin are"
    )]
    Redirect {
        /// The status.
        status: u16,
        /// Where to, escaped.
        to: String,
    },
    /// The server does not know the session any more.
    #[error("the server has ended the session")]
    SessionGone,
}

fn quoted(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(": {text}") }
}

fn exchange(failure: &HttpFailure) -> String {
    let what = match failure.kind {
        HttpFailureKind::Resolve => "the server's name could not be resolved",
        HttpFailureKind::Connect => "the server could not be reached",
        HttpFailureKind::Tls => {
            "TLS failed; is the server's certificate one that this system trusts?"
        }
        HttpFailureKind::Proxy => "the proxy did not let the request through",
        HttpFailureKind::Closed => "the connection ended before the answer was complete",
        HttpFailureKind::Malformed => "the answer breaks the rules of HTTP",
        HttpFailureKind::Aborted => "the exchange was aborted",
    };
    format!("{what}{}", quoted(&failure.text))
}

fn exited(status: Option<ExitStatus>, unanswered: Option<&str>, stderr: &str) -> String {
    let how = match status {
        Some(ExitStatus::Code(code)) => format!("exited with status {code}"),
        Some(ExitStatus::Signal(signal)) => format!("was ended by signal {signal}"),
        Some(ExitStatus::Unknown) => String::from("has ended, its exit status is not known"),
        None => String::from("closed its stdin or stdout without ending"),
    };
    let before = unanswered.map(|method| format!(" before answering `{method}`"));
    let before = before.unwrap_or_default();
    match stderr.trim() {
        "" => format!("the server {how}{before}; it wrote nothing on stderr"),
        words => format!("the server {how}{before}; its last words on stderr: {words}"),
    }
}

/// Which time ran out.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Timeout {
    /// In which phase.
    pub phase: Phase,
    /// How long was waited.
    pub after: Duration,
}

impl fmt::Display for Timeout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.phase {
            Phase::Start => "the server did not finish its start",
            Phase::Answer => "the server did not answer",
            Phase::Host => "the host did not answer a question of this call's",
            Phase::Close => "the previous server process did not end",
        };
        write!(f, "{what} within {:?}", self.after)
    }
}

/// A phase of a call's life in which a time can run out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Phase {
    /// Waiting for the server to start and to decide the era.
    Start,
    /// Waiting for the server's answer.
    Answer,
    /// Waiting for an answer of the host's.
    Host,
    /// Waiting for the previous process to end, before a new one is launched.
    Close,
}

/// A bound that was reached.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} is larger than the limit of {limit} ({setting})")]
#[non_exhaustive]
pub struct Limit {
    /// What was too large.
    pub what: &'static str,
    /// The bound.
    pub limit: usize,
    /// The setting that changes the bound.
    pub setting: &'static str,
}

/// What is wrong with a paginated list.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PaginationFault {
    /// A cursor came a second time.
    #[error("the list repeats a cursor, so it has no end")]
    RepeatedCursor,
    /// There are more pages than `max_pages`.
    #[error("the list has more than {0} pages (max_pages)")]
    TooManyPages(usize),
    /// The pages have more bytes than `max_list_bytes`.
    #[error("the list has more than {0} bytes (max_list_bytes)")]
    TooManyBytes(usize),
}

/// Why nothing runs.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CloseReason {
    /// Nothing has run yet.
    #[error("nothing was started yet")]
    NotStarted,
    /// The host asked for a rest.
    #[error("the host disconnected it")]
    Disconnected,
    /// The host closed it.
    #[error("the host closed it")]
    Closed,
    /// The way to the server failed.
    #[error("{0}")]
    Transport(TransportError),
    /// The start failed.
    #[error("its start failed: {0}")]
    Start(String),
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, outcome: Outcome) -> Self {
        let inner = Inner {
            kind,
            outcome,
            method: String::new(),
            server: String::new(),
            notes: Vec::new(),
        };
        Error { inner: Box::new(inner) }
    }

    /// A result whose shape does not fit its method.
    pub(crate) fn result(why: impl fmt::Display) -> Self {
        Error::new(ErrorKind::Peer(PeerError::Result(why.to_string())), Outcome::Unknown)
    }

    /// A call that cannot be made with these arguments.
    #[must_use]
    pub fn validation(why: impl Into<String>) -> Self {
        Error::new(ErrorKind::Validation(why.into()), Outcome::NotSent)
    }

    /// The driver is gone. `sent` says whether the call may have reached the server.
    #[must_use]
    pub fn driver_gone(sent: bool) -> Self {
        Error::new(ErrorKind::DriverGone, if sent { Outcome::Unknown } else { Outcome::NotSent })
    }

    pub(crate) fn of(mut self, server: &str, method: &str) -> Self {
        self.inner.server = String::from(server);
        self.inner.method = String::from(method);
        self
    }

    pub(crate) fn note(mut self, note: impl Into<String>) -> Self {
        self.inner.notes.push(note.into());
        self
    }

    /// What happened.
    #[must_use]
    pub fn kind(&self) -> &ErrorKind {
        &self.inner.kind
    }

    /// Whether the server may have done the work.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        self.inner.outcome
    }

    /// The method of the call; empty for calls that have none.
    #[must_use]
    pub fn method(&self) -> &str {
        &self.inner.method
    }

    /// The server that the call was made to, by the name in its configuration.
    #[must_use]
    pub fn server(&self) -> &str {
        &self.inner.server
    }

    /// The server's own error, if it sent one.
    #[must_use]
    pub fn server_error(&self) -> Option<&ServerError> {
        match self.kind() {
            ErrorKind::Server(error) => Some(error),
            _ => None,
        }
    }

    /// Whether a time ran out.
    #[must_use]
    pub fn is_timeout(&self) -> bool {
        matches!(self.kind(), ErrorKind::Timeout(_))
    }

    /// Whether the way to the server failed: launch, exit, time, or an answer over the limit.
    /// After such an error of a `tools/call` look at [`outcome`](Self::outcome).
    #[must_use]
    pub fn is_transport(&self) -> bool {
        use ErrorKind::{Limit, Timeout, Transport};
        matches!(self.kind(), Transport(_) | Timeout(_) | Limit(_))
    }

    /// The pages of a list that could not be read to its end.
    #[must_use]
    pub fn partial(&self) -> Option<&Reply> {
        match self.kind() {
            ErrorKind::Pagination { partial, .. } => Some(partial),
            _ => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { kind, method, server, notes, .. } = &*self.inner;
        if !server.is_empty() {
            write!(f, "server `{server}`: ")?;
        }
        if !method.is_empty() {
            write!(f, "`{method}`: ")?;
        }
        write!(f, "{kind}")?;
        for note in notes {
            write!(f, "; {note}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.inner.kind)
    }
}

/// A use of the interface that can never work. It is returned before anything happens.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ApiMisuse {
    /// A setting has a value that cannot work.
    #[error("the setting `{setting}` must {must}")]
    Setting {
        /// The setting.
        setting: &'static str,
        /// What it must be.
        must: &'static str,
    },
    /// Parameters of a request that cannot be written.
    #[error("the parameters of `{method}` cannot be sent: {why}")]
    Params {
        /// The method.
        method: String,
        /// What is wrong with them.
        why: String,
    },
    /// A key for `_meta` that the specification does not allow.
    #[error("`_meta` key {key:?}: {why}")]
    MetaKey {
        /// The key.
        key: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A header that cannot be sent.
    #[error("header {name:?}: {why}")]
    Header {
        /// The name.
        name: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A target that names no server.
    #[error("{0}")]
    Target(String),
}
