//! Messages to and from the bytes of pipes and the exchanges of HTTP.
//!
//! The rest of the core speaks with a [`Link`]: it sends messages, and is told what happened. It
//! never asks which transport it is.

pub(crate) mod http;
pub(crate) mod stderr;
pub(crate) mod stdio;

use std::time::Duration;

use self::http::Http;
use self::stdio::Stdio;
use crate::error::{HttpFault, TransportError};
use crate::event::SkipReason;
use crate::interface::{
    HttpFailure, HttpOutput, Owner, ResendReason, Source, StatusCode, StdioOutput,
};
use crate::wire::jsonrpc;
use crate::wire::lines::Line;
use crate::{
    CLOSE_GRACE, CallId, Era, Event, ExchangeId, HttpTransport, ProcessId, ProtocolVersion, Raw,
};

/// The way to one server.
#[derive(Debug)]
pub(crate) enum Link {
    Stdio(Box<Stdio>),
    Http(Box<Http>),
}

/// A message on its way out.
#[derive(Debug)]
pub(crate) enum Outgoing<'a> {
    Request {
        id: u64,
        method: &'a str,
        /// What intermediaries may route by: the tool, prompt or resource.
        name: Option<&'a str>,
        /// The arguments that stand in headers, over HTTP.
        mirrored: &'a [(String, String)],
        /// The whole message, as one line.
        line: Vec<u8>,
        owner: Owner,
        /// Whether it goes out under a modern revision.
        modern: bool,
    },
    Notification {
        method: &'a str,
        params: Option<&'a str>,
    },
    Reply {
        id: &'a Raw,
        outcome: Result<&'a str, (i64, &'a str)>,
    },
}

impl Outgoing<'_> {
    fn into_line(self) -> Vec<u8> {
        match self {
            Outgoing::Request { line, .. } => line,
            Outgoing::Notification { method, params } => jsonrpc::notification_line(method, params),
            Outgoing::Reply { id, outcome } => jsonrpc::response_line(id, outcome),
        }
    }

    fn into_body(self) -> Vec<u8> {
        let mut line = self.into_line();
        line.pop();
        line
    }
}

/// Which request's exchange brought a message. Over stdio nobody knows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin {
    pub(crate) request: u64,
    pub(crate) owner: Owner,
    /// The status of an answer that is no success.
    pub(crate) refused: Option<u16>,
}

/// What came of an input.
#[derive(Debug)]
pub(crate) enum Happening {
    /// The text of a message, or of something that should be one.
    Text(String, Option<Origin>),
    /// Something that cannot be a message.
    Bad { why: SkipReason, bytes: u64, answers: Option<u64> },
    /// Something for a reader.
    Event(Event),
    /// Do this with a process.
    Do(ProcessId, StdioOutput),
    /// Do this with an exchange.
    Http(ExchangeId, Owner, HttpOutput),
    /// A request was sent again, for this reason.
    Resent(u64, ResendReason),
    /// The request will have no answer.
    Failed(u64, Failure),
    /// `notifications/initialized` has reached the server, or not.
    Delivered(Result<(), Failure>),
    /// The server does not know the session any more.
    SessionLost,
    /// The stream of HTTP+SSE is there, and messages may be sent.
    EventsOpened,
    /// It is not to be had.
    EventsFailed(Failure),
    /// An exchange is to get on within this time; within the time of a call, if none is said.
    Await(ExchangeId, Option<Duration>),
    /// The connection for this request is being opened, or no longer.
    Connects(u64, bool),
    /// Open the stream of what the server says by itself again after this pause.
    AwaitStream(Duration),
    /// The stream is there, or the server does not offer it.
    StreamSettled,
    /// Ask for the rest of this call's answer after this pause, or not any more.
    AwaitResume(CallId, Option<Duration>),
    /// The exchange has ended.
    Ended(ExchangeId),
    /// Wait for the other signs of the end.
    AwaitExit,
    /// Wait for the next stage of closing.
    AwaitGrace(Duration),
    /// The server can be spoken with no more.
    Lost(TransportError),
    /// Nothing is left of it.
    Gone,
}

/// What came of a message: over pipes hardly ever more than the first.
type Happened = std::iter::Chain<std::option::IntoIter<Happening>, std::vec::IntoIter<Happening>>;

impl From<Line> for Happening {
    fn from(line: Line) -> Self {
        match line {
            Line::Text(text) => Happening::Text(text, None),
            Line::Bad { why, bytes, answers } => Happening::Bad { why, bytes, answers },
        }
    }
}

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

impl Link {
    pub(crate) fn is_http(&self) -> bool {
        matches!(self, Link::Http(_))
    }

    /// Whether nothing can be begun any more: a byte stream has one life.
    pub(crate) fn is_spent(&self) -> bool {
        matches!(self, Link::Stdio(stdio) if stdio.is_spent())
    }

    pub(crate) fn is_stream(&self) -> bool {
        matches!(self, Link::Stdio(stdio) if stdio.is_stream())
    }

    pub(crate) fn at_rest(&self) -> bool {
        match self {
            Link::Stdio(stdio) => stdio.at_rest(),
            Link::Http(http) => http.at_rest(),
        }
    }

    /// Gets ready to be spoken through.
    pub(crate) fn launch(&mut self) -> Vec<Happening> {
        match self {
            Link::Stdio(stdio) => stdio.launch().into_iter().collect(),
            Link::Http(http) => {
                http.launch();
                Vec::new()
            }
        }
    }

    /// The transport that is spoken over HTTP, or tried.
    pub(crate) fn http(&self) -> Option<HttpTransport> {
        match self {
            Link::Stdio(_) => None,
            Link::Http(http) => Some(http.transport()),
        }
    }

    /// Whether a legacy server can ask and tell anything by itself.
    pub(crate) fn is_heard(&self) -> bool {
        self.http() != Some(HttpTransport::Plain)
    }

    /// Another transport over HTTP is tried.
    pub(crate) fn turn(&mut self, transport: HttpTransport) -> Vec<Happening> {
        match self {
            Link::Http(http) if http.transport() != transport => http.turn(transport),
            _ => Vec::new(),
        }
    }

    /// Opens the stream of HTTP+SSE.
    pub(crate) fn open_events(&mut self) -> Vec<Happening> {
        match self {
            Link::Stdio(_) => Vec::new(),
            Link::Http(http) => http.open_events(),
        }
    }

    /// Whether this exchange may name the address for messages, which is a secret.
    pub(crate) fn brings_endpoint(&self, id: ExchangeId) -> bool {
        matches!(self, Link::Http(http) if http.brings_endpoint(id))
    }

    /// The address for messages that the server has named.
    pub(crate) fn messages_to(&self) -> Option<&str> {
        match self {
            Link::Stdio(_) => None,
            Link::Http(http) => http.messages_to().map(url::Url::as_str),
        }
    }

    /// The era is decided.
    pub(crate) fn agreed(&mut self, era: Era, version: ProtocolVersion) {
        if let Link::Http(http) = self {
            http.agreed(era, version);
        }
    }

    /// Sends a message. `None` when it cannot be sent now.
    pub(crate) fn send(&mut self, message: Outgoing<'_>) -> Option<Happened> {
        match self {
            Link::Stdio(stdio) => {
                let answers_server = matches!(message, Outgoing::Reply { .. });
                let initialized = matches!(
                    message,
                    Outgoing::Notification { method: "notifications/initialized", .. }
                );
                let sent = stdio.write(message.into_line(), answers_server)?;
                let delivered = initialized.then_some(Happening::Delivered(Ok(())));
                Some(Some(sent).into_iter().chain(delivered.into_iter().collect::<Vec<_>>()))
            }
            Link::Http(http) => http.send(message).map(|all| None.into_iter().chain(all)),
        }
    }

    /// The request was answered.
    pub(crate) fn answered(&mut self, request: u64) -> Option<Happening> {
        match self {
            Link::Stdio(_) => None,
            Link::Http(http) => http.answered(request),
        }
    }

    /// Nobody waits for the answer any more, and the server is told nothing in words.
    pub(crate) fn drop_request(&mut self, request: u64) -> Option<Happening> {
        match self {
            Link::Stdio(_) => None,
            Link::Http(http) => http.abandon(request),
        }
    }

    /// Nobody waits for the answer any more: the server is told, in the way of its transport
    /// (specification: basic/patterns/cancellation).
    pub(crate) fn abandon(&mut self, request: u64, reason: &str, modern: bool) -> Vec<Happening> {
        let unheard = self.is_unsent(request) || (self.is_http() && modern);
        let mut all: Vec<_> = self.drop_request(request).into_iter().collect();
        if !unheard {
            let params = format!(r#"{{"requestId":{request},"reason":"{reason}"}}"#);
            let method = "notifications/cancelled";
            let told = self.send(Outgoing::Notification { method, params: Some(&params) });
            all.extend(told.into_iter().flatten());
        }
        all
    }

    /// Whether the server cannot know of the request yet.
    pub(crate) fn is_unsent(&self, request: u64) -> bool {
        match self {
            Link::Stdio(_) => false,
            Link::Http(http) => http.is_unsent(request),
        }
    }

    pub(crate) fn close(&mut self) -> Vec<Happening> {
        match self {
            Link::Stdio(stdio) => stdio.close(),
            Link::Http(http) => http.close(),
        }
    }

    pub(crate) fn exit_awaited(&mut self) -> Vec<Happening> {
        match self {
            Link::Stdio(stdio) => stdio.exit_awaited(),
            Link::Http(_) => Vec::new(),
        }
    }

    pub(crate) fn grace_over(&mut self) -> Vec<Happening> {
        match self {
            Link::Stdio(stdio) => stdio.grace_over(),
            Link::Http(http) => http.grace_over(),
        }
    }

    /// An exchange has not got on in its time.
    pub(crate) fn overdue(&mut self, id: ExchangeId) -> Vec<Happening> {
        match self {
            Link::Stdio(_) => Vec::new(),
            Link::Http(http) => http.overdue(id),
        }
    }

    /// Somebody can hear what a legacy server says by itself.
    pub(crate) fn listen(&mut self) -> Vec<Happening> {
        match self {
            Link::Stdio(_) => Vec::new(),
            Link::Http(http) => http.listen(),
        }
    }

    /// What it says by itself is of a session that is over.
    pub(crate) fn listen_no_more(&mut self) -> Option<Happening> {
        match self {
            Link::Stdio(_) => None,
            Link::Http(http) => http.stop_stream(),
        }
    }

    /// The pause after which it is listened to again is over.
    pub(crate) fn listen_again(&mut self) -> Vec<Happening> {
        match self {
            Link::Stdio(_) => Vec::new(),
            Link::Http(http) => http.listen_again(),
        }
    }

    /// The pause is over after which the rest of a call's answer is asked for.
    pub(crate) fn resume(&mut self, call: CallId) -> Vec<Happening> {
        match self {
            Link::Stdio(_) => Vec::new(),
            Link::Http(http) => http.resume_now(call),
        }
    }

    pub(crate) fn last_words(&self) -> String {
        match self {
            Link::Stdio(stdio) => stdio.last_words(),
            Link::Http(_) => String::new(),
        }
    }

    /// The process that was launched last.
    pub(crate) fn latest(&self) -> Option<ProcessId> {
        match self {
            Link::Stdio(stdio) => Some(stdio.latest()),
            Link::Http(_) => None,
        }
    }

    pub(crate) fn wants_read(&self, from: Source) -> bool {
        match (self, from) {
            (Link::Stdio(stdio), Source::Stdout(id)) => stdio.wants_stdout(id),
            (Link::Http(http), Source::Exchange(id)) => http.wants_read(id),
            _ => true,
        }
    }
}

#[cfg(feature = "testing")]
impl Link {
    /// Counts what is held.
    pub(crate) fn census(&self, census: &mut crate::testing::Census) {
        match self {
            Link::Stdio(stdio) => {
                (census.buffered, census.reply_bytes) = stdio.holds();
            }
            Link::Http(http) => {
                (census.exchanges, census.replies, census.buffered) = http.holds();
            }
        }
    }

    /// The requests whose answers are to come on the stream of HTTP+SSE.
    pub(crate) fn awaited(&self) -> Vec<u64> {
        match self {
            Link::Stdio(_) => Vec::new(),
            Link::Http(http) => http.awaited(),
        }
    }

    pub(crate) fn resumes(&self, call: CallId) -> bool {
        matches!(self, Link::Http(http) if http.resumes(call))
    }

    pub(crate) fn has_exchange(&self, id: ExchangeId) -> bool {
        matches!(self, Link::Http(http) if http.has(id))
    }
}

/// How long each stage of closing a process waits.
pub(crate) fn close_stage() -> Happening {
    Happening::AwaitGrace(CLOSE_GRACE)
}
