//! Opening a connection to a server: its addresses, the way through a proxy, TLS.

use core::net::SocketAddr;
use core::pin::Pin;
use core::task::{Context, Poll};
use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use super::network::{Address, Network, Socket, Via};
use super::tunnel::tunnel;
use crate::driver::BoxFuture;
use crate::interface::{HttpFailure, HttpFailureKind, Sent};

/// How long it may take to find the addresses of a host and to connect to one of them.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a proxy may take to open a tunnel, and again how long it may take to agree on TLS.
pub const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// How long one address is tried before the next one is tried beside it (RFC 8305, section 5).
pub const NEXT_ADDRESS: Duration = Duration::from_millis(250);

/// A connection that is being opened. Dropping it gives it up.
pub(super) type Opening = BoxFuture<Result<Box<dyn Socket>, HttpFailure>>;

/// Begins to open a connection.
pub(super) fn open(network: &Arc<dyn Network>, server: &Arc<Address>) -> Opening {
    Box::pin(run(Arc::clone(network), Arc::clone(server)))
}

async fn run(
    network: Arc<dyn Network>,
    server: Arc<Address>,
) -> Result<Box<dyn Socket>, HttpFailure> {
    let via = network.proxy(&server).map_err(|text| failure(HttpFailureKind::Proxy, text))?;
    let mut socket = match &via {
        None => dial(&network, &server.host, server.port, "").await?,
        Some(Via { host, port, .. }) => dial(&network, host, *port, "the proxy ").await?,
    };
    if let Some(via) = via {
        let opened = tunnel(socket, &via, &server);
        let late = || format!("the proxy opened no tunnel within {HANDSHAKE_TIMEOUT:?}");
        let opened = within(&*network, HANDSHAKE_TIMEOUT, opened).await;
        socket = opened
            .unwrap_or_else(|| Err(late()))
            .map_err(|text| failure(HttpFailureKind::Proxy, text))?;
    }
    if server.https {
        let secured = network.secure(socket, &server.host);
        let late = || format!("no agreement on TLS within {HANDSHAKE_TIMEOUT:?}");
        let secured = within(&*network, HANDSHAKE_TIMEOUT, secured).await;
        socket = secured
            .map_or_else(|| Err(late()), |done| done.map_err(|error| error.to_string()))
            .map_err(|text| failure(HttpFailureKind::Tls, text))?;
    }
    Ok(socket)
}

/// Finds the addresses and connects to the first that answers.
async fn dial(
    network: &Arc<dyn Network>,
    host: &str,
    port: u16,
    whose: &str,
) -> Result<Box<dyn Socket>, HttpFailure> {
    let (resolve, connect) = (HttpFailureKind::Resolve, HttpFailureKind::Connect);
    let late = |kind, what| {
        failure(kind, format!("{whose}{host}:{port}: {what} within {CONNECT_TIMEOUT:?}"))
    };
    let clock = &mut network.sleep(CONNECT_TIMEOUT);
    let found = before(clock, network.resolve(host, port)).await;
    let found = found
        .ok_or_else(|| late(resolve, "no address was found"))?
        .map_err(|error| failure(resolve, format!("{whose}{host}: {error}")))?;
    let race = Race::new(Arc::clone(network), alternate(found));
    let connected = before(clock, race).await.ok_or_else(|| late(connect, "no connection"))?;
    connected.map_err(|text| failure(connect, format!("{whose}{host}: {text}")))
}

/// A failure before anything of the request was sent.
fn failure(kind: HttpFailureKind, text: impl Into<String>) -> HttpFailure {
    HttpFailure::new(kind, Sent::None, false, text)
}

/// Waits for a future, at most for so long.
async fn within<F: Future + Unpin>(
    network: &dyn Network,
    time: Duration,
    future: F,
) -> Option<F::Output> {
    before(&mut network.sleep(time), future).await
}

/// Waits for a future, at most until the clock is over.
async fn before<F: Future + Unpin>(clock: &mut BoxFuture<()>, mut future: F) -> Option<F::Output> {
    std::future::poll_fn(|cx| match Pin::new(&mut future).poll(cx) {
        Poll::Ready(done) => Poll::Ready(Some(done)),
        Poll::Pending => clock.as_mut().poll(cx).map(|()| None),
    })
    .await
}

/// The same addresses, with the families taking turns: if one of them leads nowhere, the other is
/// tried soon (RFC 8305, section 4).
#[must_use]
pub fn alternate(found: Vec<SocketAddr>) -> VecDeque<SocketAddr> {
    let six_first = found.first().is_some_and(SocketAddr::is_ipv6);
    let (mut first, mut second): (VecDeque<_>, VecDeque<_>) =
        found.into_iter().partition(|address| address.is_ipv6() == six_first);
    let mut all = VecDeque::with_capacity(first.len() + second.len());
    while !first.is_empty() || !second.is_empty() {
        all.extend(first.pop_front());
        all.extend(second.pop_front());
    }
    all
}

type Connecting = BoxFuture<io::Result<Box<dyn Socket>>>;

/// Attempts to connect to several addresses: one after the other, and beside each other once they
/// take long. The first that succeeds ends the others.
struct Race {
    network: Arc<dyn Network>,
    left: VecDeque<SocketAddr>,
    running: Vec<(SocketAddr, Connecting)>,
    /// When the next one begins although others are under way.
    next: Option<BoxFuture<()>>,
    failed: Vec<String>,
}

impl Race {
    fn new(network: Arc<dyn Network>, left: VecDeque<SocketAddr>) -> Self {
        Race { network, left, running: Vec::new(), next: None, failed: Vec::new() }
    }

    fn begin_next(&mut self) -> bool {
        let Some(address) = self.left.pop_front() else { return false };
        self.running.push((address, self.network.connect(address)));
        self.next = (!self.left.is_empty()).then(|| self.network.sleep(NEXT_ADDRESS));
        true
    }
}

impl Future for Race {
    /// The error names each address and what became of it.
    type Output = Result<Box<dyn Socket>, String>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        loop {
            let mut connected = None;
            this.running.retain_mut(|(address, attempt)| match attempt.as_mut().poll(cx) {
                _ if connected.is_some() => true,
                Poll::Pending => true,
                Poll::Ready(Ok(socket)) => {
                    connected = Some(socket);
                    false
                }
                Poll::Ready(Err(error)) => {
                    this.failed.push(format!("{address}: {error}"));
                    false
                }
            });
            if let Some(socket) = connected {
                return Poll::Ready(Ok(socket));
            }
            let late = this.next.as_mut().is_some_and(|next| next.as_mut().poll(cx).is_ready());
            if (late || this.running.is_empty()) && this.begin_next() {
                continue;
            }
            return match &this.running[..] {
                [] if this.failed.is_empty() => Poll::Ready(Err(String::from("no address"))),
                [] => Poll::Ready(Err(this.failed.join(", "))),
                _ => Poll::Pending,
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_take_turns() {
        let all = |texts: &[&str]| texts.iter().map(|it| it.parse().unwrap()).collect::<Vec<_>>();
        let found = all(&["[::1]:1", "[::2]:1", "[::3]:1", "10.0.0.1:1"]);
        assert_eq!(alternate(found), all(&["[::1]:1", "10.0.0.1:1", "[::2]:1", "[::3]:1"]));
        let found = all(&["10.0.0.1:1", "10.0.0.2:1", "[::1]:1"]);
        assert_eq!(alternate(found), all(&["10.0.0.1:1", "[::1]:1", "10.0.0.2:1"]));
    }
}
