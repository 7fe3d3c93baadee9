//! A Model Context Protocol client for tokio, on a current-thread runtime as well as on a
//! multi-thread one. The runtime needs its I/O driver and its timers (`enable_all`).
//!
//! ```no_run
//! # async fn example() -> Result<(), mcp_runtime_tokio::Error> {
//! use serde_json::json;
//!
//! let client =
//!     mcp_runtime_tokio::Client::connect("npx -y @modelcontextprotocol/server-everything").await?;
//! for tool in &client.list_tools().await? {
//!     println!("{}", tool.name);
//! }
//! println!("{}", client.call_tool("echo", json!({ "message": "hi" })).await?.text());
//! client.close().await;
//! # Ok(())
//! # }
//! ```
//!
//! A [`Client`] talks to one server. It is cheap to clone and works from any task. What moves its
//! bytes is a [`Driver`], a future that [`Client::connect`] spawns on the runtime;
//! [`ClientBuilder::connect_with_driver`] leaves that to the caller.
//!
//! A server may ask in turn, for something that the user knows or that the host's model says. What
//! answers it is registered before the connection is made: [`ClientBuilder::on_elicitation`],
//! [`ClientBuilder::on_url_elicitation`], [`ClientBuilder::on_sampling`]. What has no handler is not
//! declared, and refused.
//!
//! What happens on the way is told to `tracing`, under the target `mcp`, with nothing of a payload.
//! A subscriber may be run by whoever moves the bytes: it must not call the client.

mod builder;
mod client;
mod network;
mod runtime;

pub use builder::ClientBuilder;
pub use client::Client;
pub use mcp_proto as proto;
pub use mcp_proto::driver::{CallOptions, CancelHandle, Driver, HandlerError, PendingCall};
pub use mcp_proto::{Command, Error, ErrorKind, Outcome, WaitAnswer, WaitRequest, model, op};
pub use mcp_runtime_common::{ClientOptions, IntoArguments, IntoTarget, Notices};
