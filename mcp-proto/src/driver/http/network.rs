//! What an async runtime provides for HTTP.

use core::fmt;
use core::net::SocketAddr;
use core::task::{Context, Poll};
use std::io;
use std::time::Duration;

use crate::driver::BoxFuture;

/// The network, as far as HTTP needs it. All of it is called and polled on any thread, also where
/// nothing else of the runtime is at hand. A future that is dropped gives up what it was at.
pub trait Network: Send + Sync {
    /// The proxy through which a server is reached, if there is one.
    ///
    /// # Errors
    /// When one is named that cannot be used; with the text to tell the host.
    fn proxy(&self, server: &Address) -> Result<Option<Via>, String>;

    /// Finds the addresses of a host, the best one first.
    fn resolve(&self, host: &str, port: u16) -> BoxFuture<io::Result<Vec<SocketAddr>>>;

    /// Opens a connection to one address.
    fn connect(&self, to: SocketAddr) -> BoxFuture<io::Result<Box<dyn Socket>>>;

    /// Agrees on TLS with the server of this name.
    fn secure(&self, socket: Box<dyn Socket>, host: &str)
    -> BoxFuture<io::Result<Box<dyn Socket>>>;

    /// Waits for as long.
    fn sleep(&self, time: Duration) -> BoxFuture<()>;
}

/// A connection to a server or a proxy. Dropping it closes it.
pub trait Socket: Send {
    /// Reads what is there. `Ok(0)` is the end.
    ///
    /// # Errors
    /// When the connection is broken.
    fn poll_read(&mut self, cx: &mut Context<'_>, into: &mut [u8]) -> Poll<io::Result<usize>>;

    /// Writes as many bytes as fit.
    ///
    /// # Errors
    /// When it takes no more bytes.
    fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>>;

    /// Lets go of what it holds back.
    ///
    /// # Errors
    /// When it takes no more bytes.
    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// Whether neither bytes nor the end have arrived that nobody has read yet. It asks the system
    /// rather than to believe what was known a while ago.
    fn is_silent(&mut self) -> bool;

    /// Whether a write that failed may have sent something all the same.
    fn holds_back(&self) -> bool;
}

/// Who is spoken to: what a URL says about it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Address {
    /// Whether over TLS.
    pub https: bool,
    /// A name, or an address; an IPv6 address without brackets.
    pub host: String,
    /// The port.
    pub port: u16,
}

impl Address {
    /// The port that a URL need not name.
    #[must_use]
    pub fn default_port(&self) -> u16 {
        if self.https { 443 } else { 80 }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&crate::http1::authority(&self.host, self.port, self.default_port()))
    }
}

/// A proxy, which is asked for a tunnel (`CONNECT`), whatever the scheme of the server.
#[derive(Clone, PartialEq, Eq)]
pub struct Via {
    /// A name, or an address; an IPv6 address without brackets.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The header `Proxy-Authorization`.
    pub authorization: Option<String>,
}

impl fmt::Debug for Via {
    /// Without the secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Via({}:{})", self.host, self.port)
    }
}

/// The network of a runtime that has none.
pub(crate) struct NoNetwork;

fn none<T: Send + 'static>() -> BoxFuture<io::Result<T>> {
    let text = "this runtime has no network";
    Box::pin(std::future::ready(Err(io::Error::new(io::ErrorKind::Unsupported, text))))
}

impl Network for NoNetwork {
    fn proxy(&self, _: &Address) -> Result<Option<Via>, String> {
        Ok(None)
    }

    fn resolve(&self, _: &str, _: u16) -> BoxFuture<io::Result<Vec<SocketAddr>>> {
        none()
    }

    fn connect(&self, _: SocketAddr) -> BoxFuture<io::Result<Box<dyn Socket>>> {
        none()
    }

    fn secure(&self, _: Box<dyn Socket>, _: &str) -> BoxFuture<io::Result<Box<dyn Socket>>> {
        none()
    }

    fn sleep(&self, _: Duration) -> BoxFuture<()> {
        Box::pin(std::future::pending())
    }
}
