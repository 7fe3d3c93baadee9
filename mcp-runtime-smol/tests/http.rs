//! The client on smol, over HTTP.
#![cfg(target_os = "linux")]

use mcp_runtime_smol::{CallOptions, Client, ClientBuilder, Error, ErrorKind, PendingCall};

mod web;

fn block_on<T>(future: impl Future<Output = T>) -> T {
    smol::block_on(future)
}
