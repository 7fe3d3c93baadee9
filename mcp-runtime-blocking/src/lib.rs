//! A Model Context Protocol client for programs without an async runtime.
//!
//! ```no_run
//! # fn main() -> Result<(), mcp_runtime_blocking::Error> {
//! use serde_json::json;
//!
//! let client =
//!     mcp_runtime_blocking::Client::connect("npx -y @modelcontextprotocol/server-everything")?;
//! for tool in &client.list_tools()? {
//!     println!("{}", tool.name);
//! }
//! println!("{}", client.call_tool("echo", json!({ "message": "hi" }))?.text());
//! client.close();
//! # Ok(())
//! # }
//! ```
//!
//! A [`Client`] talks to one server. It is cheap to clone, and any number of threads may call it at
//! once. The thread that waits for an answer moves the bytes itself, so a call costs no switch
//! between threads; a helper does it while nobody waits ([`Background`]).
//!
//! [`Client::begin`] makes a call that nobody has to wait in. A host with an event loop of its own
//! gets along without any thread of the client's: [`ClientBuilder::on_wake`] and [`Client::pump`].
//!
//! The [`guide`] has a short example for each thing that a client does.
//!
//! A server may ask in turn, for something that the user knows or that the host's model says. What
//! answers it is registered before the connection is made: [`ClientBuilder::on_elicitation`],
//! [`ClientBuilder::on_url_elicitation`], [`ClientBuilder::on_sampling`]. What has no handler is not
//! declared, and refused.
//!
//! What happens on the way is told to `tracing`, under the target `mcp`, with nothing of a payload.
//! A subscriber may be run by whoever moves the bytes: it must not call the client.

mod builder;
mod callbacks;
mod client;
mod desk;
pub mod guide;
mod http;
#[cfg(all(test, interleaved))]
mod interleavings;
mod pending;
mod pipes;
mod seat;
mod server;
mod shared;
mod stream;
mod sync;
mod table;
mod wake;

pub use builder::{Background, ClientBuilder};
pub use client::Client;
pub use mcp_proto as proto;
pub use mcp_proto::driver::{CallOptions, HandlerError};
pub use mcp_proto::{Command, Error, ErrorKind, Outcome, WaitAnswer, WaitRequest, model, op};
pub use mcp_runtime_common::{ClientOptions, IntoArguments, IntoTarget, Notices};
pub use pending::{CancelHandle, PendingCall};
