//! What has to hold over HTTP on smol and on tokio alike. Whoever includes it provides `Client` and
//! `block_on`.

use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::{Duration, Instant};

use mcp_proto::op::CallTool;
use mcp_proto::{HttpConfig, HttpFailure, HttpFault, TransportError};
use serde_json::{Map, Value, json};

use super::{CallOptions, Client, Error, ErrorKind, PendingCall};

mod aborts;
mod addresses;
mod calls;
mod ends;
mod reuse;
mod server;
mod streams;
mod tls;
mod tunnels;

/// How long an abort may take.
pub(crate) const ABORT: Duration = Duration::from_millis(50);

pub(crate) async fn echo(client: &Client, message: &str) -> Result<String, Error> {
    let result = client.call_tool("echo", json!({ "message": message })).await?;
    Ok(result.text().into_owned())
}

/// Begins the same call, without waiting for it.
pub(crate) fn begin(client: &Client, message: &str) -> PendingCall<CallTool> {
    let arguments = Map::from_iter([(String::from("message"), Value::from(message))]);
    client.begin_with(CallTool::new("echo", arguments), CallOptions::new()).unwrap()
}

/// Does it until it takes no longer than it may: a busy machine adds its own time. What it has to
/// leave behind holds each time.
#[track_caller]
pub(crate) fn within(time: Duration, mut act: impl FnMut() -> Duration) {
    let took: Vec<_> = (0..10).map(|_| act()).take_while(|took| *took > time).collect();
    assert!(took.len() < 10, "each takes too long: {took:?}");
}

pub(crate) fn timed<T>(act: impl FnOnce() -> T) -> (T, Duration) {
    let begin = Instant::now();
    (act(), begin.elapsed())
}

/// Waits for word from a server.
pub(crate) async fn word<T>(from: &Receiver<T>) -> T {
    loop {
        match from.try_recv() {
            Ok(word) => return word,
            Err(TryRecvError::Empty) => futures_lite::future::yield_now().await,
            Err(TryRecvError::Disconnected) => panic!("the server says no more"),
        }
    }
}

/// The failure of an exchange, as the error of a call tells it.
#[track_caller]
pub(crate) fn failure(error: &Error) -> &HttpFailure {
    match error.kind() {
        ErrorKind::Transport(TransportError::Http(HttpFault::Exchange(failure))) => failure,
        _ => panic!("no exchange failed: {error}"),
    }
}

/// A server whose requests are repeated soon.
pub(crate) fn impatient(url: String) -> HttpConfig {
    let mut config = HttpConfig::new(url);
    config.backoff = Duration::from_millis(1);
    config
}
