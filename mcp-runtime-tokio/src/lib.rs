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

mod builder;
mod client;
mod network;
mod runtime;

pub use builder::ClientBuilder;
pub use client::Client;
pub use mcp_proto as proto;
pub use mcp_proto::driver::{CallOptions, CancelHandle, Driver, HandlerError, PendingCall};
pub use mcp_proto::{Command, Error, ErrorKind, Outcome};
pub use mcp_runtime_common::{ClientOptions, IntoArguments, IntoTarget};
