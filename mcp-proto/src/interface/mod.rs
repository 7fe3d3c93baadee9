//! The doors of a [`Connection`](crate::Connection): what goes in and what comes out.

mod http;
mod mailbox;
mod process;
mod question;
mod setting;

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use http::{
    HttpFailure, HttpFailureKind, HttpInput, HttpOutput, HttpRequest, Method, Sent, StatusCode,
};
pub use mailbox::{Item, Mailbox};
pub use process::{ExitStatus, IoFailure, StdioInput, StdioOutput};
pub use question::{Answer, Question, Stored, WaitAnswer, WaitRequest};
pub(crate) use question::{ELICITATION, SAMPLING};
pub use setting::{Hearing, Setting};

use crate::error::{CloseReason, Error};
use crate::event::Event;
use crate::op::ErasedCall;
use crate::{CallId, ExchangeId, ProcessId, QuestionId, Reply};

/// Everything that changes a connection. A journal holds all of it.
#[derive(Debug)]
#[non_exhaustive]
pub enum Input<'a> {
    /// The deadline of [`poll_timeout`](crate::Connection::poll_timeout) has come. Early and late
    /// ones do no harm.
    Timeout,
    /// A call begins. [`Connection::start`](crate::Connection::start) makes this input.
    Start(CallId, ErasedCall),
    /// The host no longer wants the call. It ends with an error at once.
    Cancel(CallId),
    /// The host answers a question.
    Answer(QuestionId, Answer),
    /// The host changes a setting.
    Set(Setting),
    /// The host asks for the next item of a mailbox. At most one is outstanding for each; a second
    /// is a no-op.
    Pull(Mailbox),
    /// The connection goes to rest; its next use begins it anew.
    Disconnect,
    /// The connection ends for good.
    Close,
    /// Something happened to a server process.
    Stdio(ProcessId, StdioInput<'a>),
    /// Something happened to an HTTP exchange.
    Http(ExchangeId, HttpInput<'a>),
}

/// What a connection wants done, in order.
#[derive(Debug)]
#[non_exhaustive]
pub enum Output {
    /// Do this with a server process. The order holds for each process.
    Stdio(ProcessId, StdioOutput),
    /// Do this with an HTTP exchange, which serves this owner. Exchanges run side by side.
    Http(ExchangeId, Owner, HttpOutput),
    /// Ask the host, who answers with [`Input::Answer`].
    Ask(QuestionId, Owner, Question),
    /// The question, which was asked on behalf of this owner, needs no answer any more: close its
    /// dialog. Its answer would be ignored.
    Withdraw(QuestionId, Owner),
    /// The item that [`Input::Pull`] asked for. It counts as taken.
    Item(Mailbox, Box<Item>),
    /// The call has ended. It comes once for every call, after the items that were pulled; a
    /// result waits until its items were pulled, while cancellation and timeout drop them.
    Done(CallId, Result<Reply, Error>),
    /// The state of the connection has changed. `Idle` and `Closed` come when the last process has
    /// gone.
    Connection(ConnectionState),
    /// A request of this call is sent once more, and this is why it may be.
    Resend(CallId, ResendReason),
    /// Something that a reader wants to see. Nothing has to be done about it.
    Event(Event),
}

/// On whose behalf something is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Owner {
    /// A call: its own thread or task answers.
    Call(CallId),
    /// The stream of what a legacy server says by itself. It lives long.
    Stream,
    /// The connection itself.
    Connection,
}

/// Why a request may be sent again: the server proved that it did not run it. The list is closed,
/// and each reason has a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ResendReason {
    /// The server refused the protocol version and named one that both speak. Once per call.
    Version,
    /// The server redirected the request with 307 or 308, within its origin. Five times at most.
    Redirect,
    /// The event stream of a modern server's answer ended without it (basic/transports/streamable-http:
    /// the end of the stream cancels the request). Once per call.
    BrokenModernStream,
    /// An idempotent request met a transient failure. Never a `tools/call`. As often as
    /// [`HttpConfig::retries`](crate::HttpConfig::retries) says.
    Retry,
    /// The server had forgotten the session, and an idempotent request goes to the new one. Once.
    NewSession,
    /// The server refused the headers of a `tools/call` (-32020), and its tools were listed anew. Once
    /// per call.
    HeaderMismatch,
    /// The server wants input, or time, before it runs the request, and gets it. Ten times per call.
    InputRequired,
}

/// The state of a connection, as its host sees it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ConnectionState {
    /// The server is being started, or asked what it speaks. Calls wait.
    Starting,
    /// The era is decided; calls are sent.
    Ready,
    /// Nothing has run yet, or nothing runs any more, and this is why. The next call begins the
    /// connection anew.
    Idle(CloseReason),
    /// After [`Input::Close`], or when a byte stream has ended. Nothing follows, but the notifications
    /// that came before such an end can still be pulled.
    Closed(CloseReason),
}

/// Where bytes are read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Source {
    /// The stdout of a process.
    Stdout(ProcessId),
    /// The stderr of a process.
    Stderr(ProcessId),
    /// The answer of an HTTP exchange.
    Exchange(ExchangeId),
}

/// What a host may say about one call.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct CallOptions {
    /// How long the call may take in all, the start of the server included. Without it
    /// [`ConnectionConfig::call_timeout`](crate::ConnectionConfig::call_timeout) counts from the
    /// moment at which the connection is ready.
    pub timeout: Option<Duration>,
    /// Members for the `_meta` of this call's requests. They win over the connection's.
    pub meta: Map<String, Value>,
    /// Whether progress is wanted. The server is asked for it, and its items must be pulled.
    pub progress: bool,
    /// Whether everything is wanted that the server sends for this call before its result: progress,
    /// and each notification on the stream of its answer. Its items must be pulled.
    pub stream: bool,
}

impl CallOptions {
    /// Whether the server is to tell how far the call is.
    pub(crate) fn wants_progress(&self) -> bool {
        self.progress || self.stream
    }
}
