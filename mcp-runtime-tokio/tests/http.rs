//! The client on tokio, over HTTP.
#![cfg(target_os = "linux")]

use mcp_runtime_tokio::{CallOptions, Client, ClientBuilder, Error, ErrorKind, PendingCall};
use tokio::runtime::Builder;

#[path = "../../mcp-runtime-smol/tests/web/mod.rs"]
mod web;

fn block_on<T>(future: impl Future<Output = T>) -> T {
    Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}
