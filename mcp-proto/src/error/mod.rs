//! What can go wrong, split by whose fault it is.
//!
//! Every call ends with a [`Reply`](crate::Reply) or with one [`Error`]. Its
//! [`kind`](Error::kind) says what happened, its [`outcome`](Error::outcome) whether the server
//! may have done the work, and its text what a person should know and do.

mod faults;
mod limits;
mod misuse;
mod server;

use std::fmt;

pub use faults::{Attempt, HttpFault, Incompatible, InputFault, PeerError, TransportError};
pub use limits::{CloseReason, Limit, PaginationFault, Phase, Timeout};
pub use misuse::ApiMisuse;
pub use server::{ServerError, ServerErrorKind};

use crate::Reply;
use crate::op::Continuation;

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
    continuation: Option<Box<Continuation>>,
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
    /// The server wants input before it answers, and does not get it. See
    /// [`Error::continuation`].
    #[error("the server wants input before it answers: {0}")]
    InputRequired(InputFault),
    /// The call cannot be made with these arguments. Nothing was sent.
    #[error("{0}")]
    Validation(String),
    /// The server has no tool of this name.
    #[error("the server has no tool named {name:?}")]
    ToolNotFound {
        /// The name that was asked for.
        name: String,
    },
    /// The server has no resource at this address.
    #[error("the server has no resource at {uri:?}: {error}")]
    ResourceNotFound {
        /// The address that was asked for.
        uri: String,
        /// What the server said.
        error: Box<ServerError>,
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

impl Error {
    pub(crate) fn new(kind: ErrorKind, outcome: Outcome) -> Self {
        let inner = Inner {
            kind,
            outcome,
            method: String::new(),
            server: String::new(),
            notes: Vec::new(),
            continuation: None,
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

    /// The same error, better understood.
    pub(crate) fn turned(mut self, kind: ErrorKind, outcome: Outcome) -> Self {
        (self.inner.kind, self.inner.outcome) = (kind, outcome);
        self
    }

    pub(crate) fn with(mut self, outcome: Outcome) -> Self {
        self.inner.outcome = outcome;
        self
    }

    pub(crate) fn continued(mut self, from: Continuation) -> Self {
        self.inner.continuation = Some(Box::new(from));
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
            ErrorKind::Server(error) | ErrorKind::ResourceNotFound { error, .. } => Some(error),
            _ => None,
        }
    }

    /// From where the call can go on that ended while its server waited for input; see
    /// [`Resume`](crate::op::Resume). Every error has it that ends such a call, whatever ended it.
    #[must_use]
    pub fn continuation(&self) -> Option<&Continuation> {
        self.inner.continuation.as_deref()
    }

    /// Whether the server itself said that it has no result: by an error of its own, which
    /// [`server_error`](Self::server_error) holds, or by a status that tells of trouble (HTTP 5xx).
    #[must_use]
    pub fn is_server(&self) -> bool {
        self.server_error().is_some() || self.is_transient()
    }

    /// Whether the server said that it is in trouble, which may pass (HTTP 5xx). What may be sent
    /// again has been; a `tools/call` never is, and its outcome is unknown.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        matches!(self.kind(), ErrorKind::Transport(TransportError::Http(fault)) if fault.is_trouble())
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
