//! Connections to servers over HTTP, on async-io and futures-rustls.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use async_io::{Async, Timer};
use futures_lite::{AsyncRead, AsyncWrite};
use futures_rustls::TlsConnector;
use futures_rustls::client::TlsStream;
use mcp_proto::driver::{Address, BoxFuture, Network, Socket, Via};
use mcp_runtime_common::{Reach, Tls, is_silent, tune};

/// The network, on the reactor that serves every executor.
pub(crate) struct AsyncNet(pub(crate) Arc<Reach>);

impl Network for AsyncNet {
    fn proxy(&self, server: &Address) -> Result<Option<Via>, String> {
        self.0.proxy(server)
    }

    fn resolve(&self, host: &str, port: u16) -> BoxFuture<io::Result<Vec<SocketAddr>>> {
        self.0.resolve(host, port)
    }

    fn connect(&self, to: SocketAddr) -> BoxFuture<io::Result<Box<dyn Socket>>> {
        Box::pin(async move {
            let tcp = Async::<TcpStream>::connect(to).await?;
            tune(&tcp)?;
            Ok(Box::new(Tcp { tcp, empty: true }) as Box<dyn Socket>)
        })
    }

    fn secure(
        &self,
        socket: Box<dyn Socket>,
        host: &str,
    ) -> BoxFuture<io::Result<Box<dyn Socket>>> {
        let (config, name) = (self.0.tls(), Tls::server_name(host));
        Box::pin(async move {
            let (config, name) = (config.await?, name?);
            let connecting = TlsConnector::from(config).connect(name, Io(socket));
            let secured = connecting.await.map_err(Tls::explain)?;
            Ok(Box::new(Secured(secured)) as Box<dyn Socket>)
        })
    }

    fn sleep(&self, time: Duration) -> BoxFuture<()> {
        Box::pin(async move {
            Timer::after(time).await;
        })
    }
}

/// A connection. `Async` tries to read before it waits, which costs a system call each time that
/// the driver is woken for another reason; this one remembers that there was nothing.
struct Tcp {
    tcp: Async<TcpStream>,
    empty: bool,
}

impl Socket for Tcp {
    fn poll_read(&mut self, cx: &mut Context<'_>, into: &mut [u8]) -> Poll<io::Result<usize>> {
        if self.empty {
            ready!(self.tcp.poll_readable(cx))?;
            self.empty = false;
        }
        let read = Pin::new(&mut self.tcp).poll_read(cx, into);
        // What does not fill the buffer was all there is, but for the end.
        self.empty = match &read {
            Poll::Ready(Ok(n)) => (1..into.len()).contains(n),
            Poll::Ready(Err(_)) => false,
            Poll::Pending => true,
        };
        read
    }

    fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.tcp).poll_write(cx, bytes)
    }

    fn poll_flush(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn is_silent(&mut self) -> bool {
        is_silent(&self.tcp)
    }

    fn holds_back(&self) -> bool {
        false
    }
}

/// A connection, as futures-rustls wants it.
struct Io(Box<dyn Socket>);

impl AsyncRead for Io {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        self.0.poll_read(cx, into)
    }
}

impl AsyncWrite for Io {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.0.poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.poll_flush(cx)
    }

    fn poll_close(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        // It is closed when it is dropped.
        self.poll_flush(cx)
    }
}

/// A connection under TLS.
struct Secured(TlsStream<Io>);

impl Socket for Secured {
    fn poll_read(&mut self, cx: &mut Context<'_>, into: &mut [u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_read(cx, into)
    }

    fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn is_silent(&mut self) -> bool {
        // What was decrypted by now, and then what the system holds.
        let read = self.poll_read(&mut Context::from_waker(Waker::noop()), &mut [0]);
        read.is_pending() && self.0.get_mut().0.0.is_silent()
    }

    fn holds_back(&self) -> bool {
        true
    }
}
