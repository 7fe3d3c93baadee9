//! The Model Context Protocol, client side, as state machines without I/O.
//!
//! A [`Connection`] is the client side of one server. It neither reads nor writes, knows no clock
//! and owns no thread: whoever drives it hands in what happened and does what it says. Programs use
//! one of the adapters (`mcp-runtime-blocking`, `mcp-runtime-smol`, `mcp-runtime-tokio`); this crate
//! is for those who write another, who replay a session, or who test a host.
//!
//! # The run loop
//!
//! ```
//! use std::sync::Arc;
//! use std::time::Duration;
//! use mcp_proto::{CallOptions, Command, Connection, ConnectionConfig, Input, Now, Output};
//! use mcp_proto::{ProcessId, StdioInput, StdioOutput, Transport, op};
//!
//! let transport = Transport::Stdio(Command::new("server"));
//! let config = Arc::new(ConnectionConfig::default());
//! let mut now = Now::default();
//! let mut connection = Connection::new(config, transport, [7; 32], now);
//! let call = connection.start(op::ListTools, CallOptions::default(), now)?;
//!
//! // A server that answers two requests, the probe and the list, stands in for the bytes here.
//! let mut answers = [
//!     r#"{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2026-07-28"],"capabilities":{}}}"#,
//!     r#"{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"add","inputSchema":{}}]}}"#,
//! ]
//! .into_iter();
//! let tools = 'run: loop {
//!     while let Some(output) = connection.poll_output() {
//!         match output {
//!             Output::Stdio(_, StdioOutput::Spawn(command)) => assert_eq!(command.program, "server"),
//!             Output::Stdio(_, StdioOutput::Write(line)) => assert!(line.ends_with(b"\n")),
//!             Output::Done(_, done) => break 'run call.finish(done)?,
//!             _ => {}
//!         }
//!     }
//!     // Wait for something to happen, at most until `connection.poll_timeout()`.
//!     now.mono += Duration::from_millis(1);
//!     let line = format!("{}\n", answers.next().ok_or("the server says no more")?);
//!     connection.handle(Input::Stdio(ProcessId::new(1), StdioInput::Stdout(line.as_bytes())), now);
//! };
//! assert_eq!(tools[0].name, "add");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The example `bare-std` is the manual for writing a runtime: it drives processes and HTTP exchanges
//! with the threads and sockets of `std`, and says which promises a performer keeps.
//!
//! # What always holds
//!
//! * [`Connection::handle`] never fails and never panics, whatever the server sent.
//! * The same inputs give the same outputs, byte for byte, however bytes that arrive at one moment
//!   are split. So a [`journal`] of inputs replays.
//! * Every call ends exactly once, with [`Output::Done`].
//! * Nothing that the server controls grows without a bound; each bound is a field of
//!   [`ConnectionConfig`].
//! * A `tools/call` is sent again only for a [`ResendReason`], and each re-send is an output.
//!
//! # Words
//!
//! An **operation** is what a host may ask (module [`op`]); a **call** is one operation under way,
//! which may send several **requests**. A **question** is what only the host can answer; an **item**
//! is what a call brings before its result, or a notification of the server, and waits in a
//! **mailbox**. The **era** of a server is
//! modern (2026-07-28, metadata with each request) or legacy (`initialize` handshake). A
//! **performer** is whoever carries out outputs; an adapter's performer is its **driver**.
//!
//! # Features
//!
//! * `driver` (off by default): the module `driver`, which adapters share. It is the one part with a
//!   mutex and wakers, and still performs no I/O.
//! * `testing` (off by default): the module `testing`, with which hosts are tested: a virtual clock,
//!   a scripted server, and everything that always holds of a connection.
//! * `doctored` (off by default): one of several bugs can be planted in a connection, to show that
//!   its tests would find it. For this crate's own tests.
#![warn(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::exit,
    clippy::iter_over_hash_type,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::too_many_lines
)]

extern crate alloc;

mod config;
mod connection;
mod deprecated;
#[cfg(feature = "driver")]
pub mod driver;
mod era;
mod error;
mod event;
pub mod http1;
mod ids;
mod interface;
pub mod journal;
pub mod meta;
pub mod model;
pub mod op;
mod question;
mod raw;
mod schema;
mod target;
#[cfg(feature = "testing")]
pub mod testing;
mod text;
mod time;
mod transport;
mod version;
pub mod wire;

pub use config::{
    CALL_TIMEOUT, CLOSE_GRACE, Command, ConnectionConfig, DISCOVER_TIMEOUT, ENDPOINT_WAIT,
    ERROR_BODY_WAIT, EXIT_WAIT, EraChoice, HTTP_BACKOFF, HTTP_CALL_TIMEOUT, HTTP_RETRIES,
    HttpConfig, HttpTransport, LOAD_WAIT, MAX_HELD_TOOL_BYTES, MAX_LIST_BYTES, MAX_MESSAGE_BYTES,
    MAX_PAGES, MAX_PENDING_ITEM_BYTES, MAX_PENDING_ITEMS, MAX_PENDING_NOTIFICATION_BYTES,
    MAX_PENDING_NOTIFICATIONS, MAX_REPLY_BYTES, MAX_SERVER_REQUESTS, MAX_TOOLS_EXCLUDED,
    PLAIN_ENDPOINT, RESUME_ATTEMPTS, RESUME_PAUSE_MIN, SSE_SILENCE, START_TIMEOUT,
    STDERR_TAIL_BYTES, STORED_ERA_MAX_AGE, STREAM_IDLE, STREAM_PAUSE, STREAM_PAUSE_MAX,
    STREAM_PAUSE_MIN, STREAM_WAIT, StderrPolicy, Transport,
};
pub use connection::Connection;
pub use deprecated::{DEPRECATIONS, DeprecatedFeature, Deprecation};
pub use error::{
    ApiMisuse, Attempt, CloseReason, Error, ErrorKind, HttpFault, Incompatible, InputFault, Limit,
    Outcome, PaginationFault, PeerError, Phase, ServerError, ServerErrorKind, Timeout,
    TransportError,
};
pub use event::{Event, SkipReason};
pub use ids::{CallId, ExchangeId, ProcessId, QuestionId};
pub use interface::{
    Answer, CallOptions, ConnectionState, ExitStatus, Hearing, HttpFailure, HttpFailureKind,
    HttpInput, HttpOutput, HttpRequest, Input, IoFailure, Item, Mailbox, Method, Output, Owner,
    Question, ResendReason, Sent, Setting, Source, StatusCode, StdioInput, StdioOutput, Stored,
    WaitAnswer, WaitRequest,
};
pub use op::{Call, ErasedCall, Operation, Reply};
pub use raw::Raw;
pub use schema::{
    HeaderParameter, HeaderParameters, HeaderType, InvalidAnnotation, MAX_HEADER_NAME_BYTES,
    MAX_HEADER_PARAMETERS,
};
pub use target::Target;
pub use time::{Deadline, Now, TimerReason};
pub use version::{Era, ProtocolVersion};
