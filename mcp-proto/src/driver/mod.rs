//! The runtime-free half of every adapter: a connection behind a mutex, and wakers.
//!
//! A [`Hub`] owns one [`Connection`](crate::Connection). Callers begin calls and wait for their [`Step`]s; whoever
//! drives the connection takes its [`Work`], moves the bytes, and hands in what happened. No user
//! code ever runs under the lock, and the lock is never held while bytes move.
//!
//! Filing is not performing: whoever holds the lock drains the connection's outputs and files
//! each where it belongs, so that outputs keep their order for each process and each call.
//!
//! For async runtimes the rest is here too: an [`AsyncClient`] with its [`PendingCall`]s, and the
//! [`Driver`], a future that performs the work on anything that is a [`Runtime`].

mod calls;
mod client;
mod handlers;
mod http;
mod hub;
#[cfg(all(test, interleaved))]
mod interleavings;
mod listeners;
mod methods;
mod options;
mod peer;
mod pending;
mod performer;
mod runtime;
mod seat;
mod sync;
mod tickets;

pub use calls::{Job, Step};
pub use client::{AsyncClient, Driver, Parts};
pub use handlers::{BoxFuture, HandlerError, HandlerFailure, HandlerFault, Handlers};
pub use http::{
    Address, CONNECT_TIMEOUT, HANDSHAKE_TIMEOUT, MAX_IDLE, NEXT_ADDRESS, Network, Socket, Via,
    alternate,
};
pub use hub::{Exchanges, Host, Hub, Turn, Work};
pub use options::{CallOptions, OnProgress};
pub use pending::{CancelHandle, PendingCall};
// For the macros.
#[doc(hidden)]
pub use serde_json;

pub use runtime::{Held, Launched, ProcessHandle, ReadHalf, Runtime, Stream, Timer, WriteHalf};
pub use tickets::{Ticket, Want, Wanted};
