//! The doors of a [`Connection`](crate::Connection): what goes in and what comes out.

mod http;

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use http::{
    HttpFailure, HttpFailureKind, HttpInput, HttpOutput, HttpRequest, Method, Sent, StatusCode,
};

use crate::error::{CloseReason, Error};
use crate::event::Event;
use crate::model::{ElicitRequest, Progress, Root, SamplingRequest};
use crate::op::ErasedCall;
use crate::{CallId, Command, ExchangeId, ProcessId, QuestionId, Raw, Reply};

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

/// What happens to a server process, or to the byte stream that stands for one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StdioInput<'a> {
    /// The process runs. Not needed for anything to begin; bytes may be written before.
    Spawned {
        /// The operating system's number of it.
        pid: u32,
    },
    /// The process could not be launched. Nothing else follows for it.
    SpawnFailed(IoFailure),
    /// Bytes of its stdout.
    Stdout(&'a [u8]),
    /// Its stdout has ended.
    StdoutClosed,
    /// Bytes of its stderr.
    Stderr(&'a [u8]),
    /// Its stderr has ended, or was never captured.
    StderrClosed,
    /// How many bytes in all it has taken from [`StdioOutput::Write`].
    Written(u64),
    /// Its stdin takes no more bytes. What was queued for it is dropped.
    WriteFailed(IoFailure),
    /// It has ended and was reaped. After [`StdioOutput::Kill`] exactly one of these follows.
    Exited(ExitStatus),
}

/// An error of the operating system, in a form that a journal can hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IoFailure {
    /// The name of the [`std::io::ErrorKind`], such as `NotFound`.
    pub kind: String,
    /// The system's own words.
    pub text: String,
}

impl From<&std::io::Error> for IoFailure {
    fn from(error: &std::io::Error) -> Self {
        IoFailure { kind: format!("{:?}", error.kind()), text: error.to_string() }
    }
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ExitStatus {
    /// With this status.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// It is gone, but nobody knows how: the host collects its children itself, or the transport
    /// is a byte stream.
    Unknown,
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

/// What is wanted of a server process.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StdioOutput {
    /// Launch it.
    Spawn(Command),
    /// Write these bytes to its stdin: whole lines.
    Write(Vec<u8>),
    /// Close its stdin, after what was queued for it.
    CloseStdin,
    /// Ask the process group to end (SIGTERM).
    Terminate,
    /// End the process group (SIGKILL).
    Kill,
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

/// Where items wait for the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Mailbox {
    /// The items of a call.
    Call(CallId),
}

/// What waits in a mailbox.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Item {
    /// How far a call is.
    Progress(Progress),
}

/// What only the host can answer.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Question {
    /// The metadata of the request that is about to be sent; asked for each request when the host
    /// has registered [`Hearing::RequestMeta`].
    RequestMeta {
        /// The method of the request.
        method: String,
    },
    /// The server wants something from the user (`elicitation/create`).
    Elicit(Box<ElicitRequest>),
    /// The server wants something from the host's model (`sampling/createMessage`).
    Sample(Box<SamplingRequest>),
    /// The server wants nothing but time before it answers; asked when the host has registered
    /// [`Hearing::Wait`]. The pause goes on meanwhile.
    Wait(Box<WaitRequest>),
    /// What was stored under this key, in this process or an earlier one. Asked once, before the
    /// first start, when the host has registered [`Hearing::Load`]; what is bad, old or another
    /// server's is ignored.
    Load {
        /// The key.
        key: String,
    },
    /// Store a value under a key, in the place of an older one; asked when the host has registered
    /// [`Hearing::Save`].
    Save(Stored),
}

/// A value to store, and its key. What it holds is the client's matter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Stored {
    /// The key.
    pub key: String,
    /// The value.
    pub value: String,
}

/// A server wants nothing but time before it answers a call (specification: basic/patterns/mrtr).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct WaitRequest {
    /// The method of the call.
    pub method: String,
    /// How often the server has asked for input or time.
    pub round: u32,
    /// How long the pause is before it is asked again. It grows from round to round.
    pub delay: Duration,
    /// What it wants to have back (`requestState`), as it was sent.
    pub state: Option<Raw>,
    /// Its whole result, as it was sent.
    pub result: Raw,
    /// How long the call has taken until now.
    pub elapsed: Duration,
}

/// How a host wants to wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum WaitAnswer {
    /// For as long as the pause is.
    #[default]
    Pace,
    /// Not at all: the server is asked again at once.
    Retry,
    /// No longer: the call ends, with an error from which it can be resumed.
    Cancel,
}

pub(crate) const ELICITATION: &str = "elicitation";
pub(crate) const SAMPLING: &str = "sampling";

impl Question {
    /// What is asked for, in a word or two.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Question::RequestMeta { .. } => "request metadata",
            Question::Elicit(_) => ELICITATION,
            Question::Sample(_) => SAMPLING,
            Question::Wait(_) => "how to wait",
            Question::Load { .. } => "what is stored",
            Question::Save(_) => "what is to be stored",
        }
    }
}

/// The host's answer to a [`Question`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Answer {
    /// For [`Question::RequestMeta`]: members for `_meta`. Keys of the protocol's own are ignored.
    RequestMeta(Map<String, Value>),
    /// For [`Question::Elicit`]: what an [`ElicitResult`](crate::model::ElicitResult) holds.
    Elicit(Value),
    /// For [`Question::Sample`]: what a [`SamplingResult`](crate::model::SamplingResult) holds.
    Sample(Value),
    /// For [`Question::Wait`].
    Wait(WaitAnswer),
    /// For [`Question::Load`]: the value, if there is one.
    Loaded(Option<String>),
    /// For [`Question::Save`].
    Saved,
    /// The host could not answer. Its reasons never reach the server.
    Failed,
}

/// A setting that may change while the connection lives.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Setting {
    /// The host has a callback of this kind from now on.
    Hear(Hearing),
    /// The metadata that goes into every request, in the place of
    /// [`ConnectionConfig::meta`](crate::ConnectionConfig::meta).
    Meta(Map<String, Value>),
    /// Where servers may work, in the place of
    /// [`ConnectionConfig::roots`](crate::ConnectionConfig::roots).
    Roots(Vec<Root>),
}

impl Setting {
    /// Checks what cannot work.
    ///
    /// # Errors
    /// When the metadata has a key that the specification does not allow.
    pub fn check(&self) -> Result<(), crate::ApiMisuse> {
        match self {
            Setting::Hear(_) | Setting::Roots(_) => Ok(()),
            Setting::Meta(meta) => crate::meta::check_keys(meta),
        }
    }
}

/// What a host may register callbacks for. It decides which capabilities are declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Hearing {
    /// [`Question::RequestMeta`].
    RequestMeta,
    /// [`Question::Elicit`] with a form.
    Elicitation,
    /// [`Question::Elicit`] with a page to visit.
    UrlElicitation,
    /// [`Question::Sample`].
    Sampling,
    /// [`Question::Sample`] with tools for the model.
    SamplingTools,
    /// [`Question::Wait`].
    Wait,
    /// [`Question::Load`].
    Load,
    /// [`Question::Save`].
    Save,
}

impl Hearing {
    /// Whether it is something that a legacy server may come with by itself.
    pub(crate) fn is_of_server(self) -> bool {
        match self {
            Hearing::Elicitation | Hearing::UrlElicitation => true,
            Hearing::Sampling | Hearing::SamplingTools => true,
            Hearing::RequestMeta | Hearing::Wait | Hearing::Load | Hearing::Save => false,
        }
    }
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
    /// After [`Input::Close`], or when a byte stream has ended. Nothing follows.
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
}
