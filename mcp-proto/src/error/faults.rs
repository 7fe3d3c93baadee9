//! What is wrong with a server, or with the way to it.

use crate::interface::{ExitStatus, HttpFailure, HttpFailureKind, IoFailure};

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

/// Why a server does not get the input that it wants.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InputFault {
    /// It asks again and again.
    #[error("it has asked {0} times, which is as often as it may")]
    TooManyRounds(u32),
    /// Nobody can tell what it wants.
    #[error("what it asks for is malformed ({0})")]
    Malformed(String),
    /// It wants something that this client does not do. Nobody was asked.
    #[error("it asks for `{method}`, and {why}")]
    Refused {
        /// The method.
        method: String,
        /// Why it is not done.
        why: String,
    },
    /// The host had no answer, or none that fits. The reason is in the host's own log.
    #[error("the host has no answer to its question ({question})")]
    Unanswered {
        /// What was asked.
        question: &'static str,
    },
    /// The host does not want to wait any longer.
    #[error("the host does not want to wait any longer")]
    Stopped,
    /// Another server is there now, which does not ask in this way.
    #[error("the server that asked is gone, and the one in its place does not ask in this way")]
    OtherServer,
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
    /// The transport that it was tried over, where there were several.
    pub over: Option<crate::HttpTransport>,
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
    let over = |a: &Attempt| a.over.map(|over| format!(" over {over}")).unwrap_or_default();
    let met = |a: &Attempt| format!("`{}`{} met: {}", a.method, over(a), a.met);
    let met: Vec<_> = attempts.iter().map(met).collect();
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
    /// The server is in trouble (5xx), which may pass. What may be sent again has been, as often as
    /// the configuration says.
    #[error("the server is in trouble, which may pass: HTTP status {status}{}", quoted(.text))]
    Trouble {
        /// The status.
        status: u16,
        /// The beginning of the body, escaped.
        text: String,
    },
    /// The server answered with another status that is no success.
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
    /// The event stream ended without the answer, and what was asked for the rest of it failed.
    #[error("the event stream ended before the answer came, and could not be resumed: {0}")]
    NotResumed(Box<HttpFault>),
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
    /// On the stream of HTTP+SSE, the server names an address for messages elsewhere.
    #[error(
        "the server names {0:?} as the address for messages, which is not followed: it has to be a \
         URL of the origin that the event stream comes from"
    )]
    Endpoint(String),
    /// The configuration names no address that can be reached.
    #[error("{0}")]
    Address(crate::ApiMisuse),
}

impl HttpFault {
    /// Whether the server answered that it is in trouble, which may pass (5xx).
    pub(super) fn is_trouble(&self) -> bool {
        match self {
            HttpFault::NotResumed(why) => why.is_trouble(),
            _ => matches!(self, HttpFault::Trouble { .. }),
        }
    }
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
