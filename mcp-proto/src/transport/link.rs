//! The way to one server, over whichever transport.

use super::happening::Happened;
use super::http::Http;
use super::stdio::Stdio;
use super::{Happening, Outgoing};
use crate::interface::Source;
use crate::{CallId, Era, ExchangeId, HttpTransport, ProcessId, ProtocolVersion};

/// The way to one server.
#[derive(Debug)]
pub(crate) enum Link {
    Stdio(Box<Stdio>),
    Http(Box<Http>),
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
