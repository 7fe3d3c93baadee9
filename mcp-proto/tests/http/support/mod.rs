//! A connection over HTTP, with a virtual clock and a scripted performer and server.

mod bench;
mod posted;
mod server;
#[path = "../../connection/support/split.rs"]
mod split;
#[path = "../../connection/support/trace.rs"]
mod trace;
mod watch;

pub(crate) use bench::{Bench, config, options, target, tool};
pub(crate) use posted::Posted;
/// What the words of hostile servers know a message by.
pub(crate) use posted::Posted as Sent;
pub(crate) use server::{
    Headers, INITIALIZED, JSON, SSE, answer, discovered, event, gzip, in_both_eras, initialized,
    refusal,
};
pub(crate) use split::{Split, same_however_split};
