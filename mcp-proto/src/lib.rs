//! The Model Context Protocol, client side, as state machines without I/O.
#![warn(clippy::disallowed_methods, clippy::disallowed_types, clippy::iter_over_hash_type)]

mod config;
mod connection;
#[cfg(feature = "driver")]
pub mod driver;
mod era;
mod error;
mod event;
mod ids;
mod interface;
pub mod journal;
pub mod meta;
pub mod model;
pub mod op;
mod raw;
mod target;
mod text;
mod time;
mod transport;
mod version;
pub mod wire;

pub use config::{
    CALL_TIMEOUT, CLOSE_GRACE, Command, ConnectionConfig, DISCOVER_TIMEOUT, EXIT_WAIT, EraChoice,
    MAX_LIST_BYTES, MAX_MESSAGE_BYTES, MAX_PAGES, MAX_PENDING_ITEM_BYTES, MAX_PENDING_ITEMS,
    MAX_REPLY_BYTES, MAX_SERVER_REQUESTS, START_TIMEOUT, STDERR_TAIL_BYTES, StderrPolicy,
    Transport,
};
pub use connection::Connection;
pub use error::{
    ApiMisuse, Attempt, CloseReason, Error, ErrorKind, Incompatible, Limit, Outcome,
    PaginationFault, PeerError, Phase, ServerError, ServerErrorKind, Timeout, TransportError,
};
pub use event::{Event, SkipReason};
pub use ids::{CallId, ProcessId, QuestionId};
pub use interface::{
    Answer, CallOptions, ConnectionState, ExitStatus, Hearing, Input, IoFailure, Item, Mailbox,
    Output, Owner, Question, ResendReason, Setting, Source, StdioInput, StdioOutput,
};
pub use op::{Call, ErasedCall, Operation, Reply};
pub use raw::Raw;
pub use target::Target;
pub use time::{Deadline, Now, TimerReason};
pub use version::{Era, ProtocolVersion};
