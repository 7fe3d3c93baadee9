//! The runtime-free half of every adapter: a connection behind a mutex, and wakers.
//!
//! A [`Hub`] owns one [`Connection`]. Callers begin calls and wait for their [`Step`]s; whoever
//! drives the connection takes its [`Work`], moves the bytes, and hands in what happened. No user
//! code ever runs under the lock, and the lock is never held while bytes move.
//!
//! Filing is not performing: whoever holds the lock drains the connection's outputs and files
//! each where it belongs, so that outputs keep their order for each process and each call.

mod calls;
mod hub;

pub use calls::{Job, Step};
pub use hub::{Host, Hub, Turn, Work};
