//! Why a request over HTTP has no answer.

use super::http;
use crate::error::HttpFault;
use crate::interface::{HttpFailure, StatusCode};

/// Why a request has no answer, although the server can be spoken with.
#[derive(Clone, Debug)]
pub(crate) enum Failure {
    /// The exchange itself failed.
    Exchange(HttpFailure),
    /// A status that is no success, without an error of the server's own.
    Status { status: u16, challenge: Option<String>, text: String },
    /// A success with an answer that is of no use.
    Unusable(String),
    /// The event stream ended without the answer.
    Ended,
    /// The connection broke while the event stream was open.
    StreamBroken,
    /// The answer is larger than the limit.
    TooLarge,
    /// A redirect that is not followed.
    Redirect { status: u16, to: String },
    /// The server does not know the session any more.
    SessionGone,
    /// The server names an address for messages that must not be followed.
    Endpoint(String),
    /// The event stream ended without the answer, and the rest of it could not be had.
    NotResumed(Box<Failure>),
}

impl Failure {
    /// The fault to tell the host.
    pub(crate) fn fault(self) -> HttpFault {
        match self {
            Failure::Exchange(failure) => HttpFault::Exchange(failure),
            Failure::Status { status: status @ (401 | 403), challenge, text } => {
                HttpFault::Authorization { status, challenge, text }
            }
            Failure::Status { status: status @ 500..600, text, .. } => {
                HttpFault::Trouble { status, text }
            }
            Failure::Status { status, text, .. } => HttpFault::Status { status, text },
            Failure::Unusable(what) => HttpFault::Unusable(what),
            Failure::Ended | Failure::StreamBroken => HttpFault::StreamClosed,
            Failure::TooLarge => HttpFault::Unusable(String::from("an answer over the limit")),
            Failure::Redirect { status, to } => HttpFault::Redirect { status, to },
            Failure::SessionGone => HttpFault::SessionGone,
            Failure::Endpoint(to) => HttpFault::Endpoint(to),
            Failure::NotResumed(why) => HttpFault::NotResumed(Box::new(why.fault())),
        }
    }

    /// Whether the request would be answered in a new session.
    pub(crate) fn is_lost_session(&self) -> bool {
        match self {
            Failure::NotResumed(why) => why.is_lost_session(),
            _ => matches!(self, Failure::SessionGone),
        }
    }

    /// A status that is no success, of an answer whose body nobody reads.
    pub(crate) fn status(status: StatusCode, headers: &[(String, String)]) -> Self {
        let challenge = http::header(headers, "www-authenticate").map(String::from);
        Failure::Status { status: status.0, challenge, text: String::new() }
    }

    /// Whether the same request may meet a better fate a moment later.
    pub(crate) fn is_transient(&self) -> bool {
        match self {
            Failure::Exchange(failure) => failure.is_transient(),
            Failure::Status { status, .. } => (500..600).contains(status),
            Failure::StreamBroken => true,
            _ => false,
        }
    }
}
