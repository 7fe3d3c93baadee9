//! Connections to servers over HTTP, on tokio and tokio-rustls.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use mcp_proto::driver::{Address, BoxFuture, Network, Socket, Via};
use mcp_runtime_common::{Reach, Tls, is_silent, tune};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::runtime::Handle;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// The network of the runtime that polls the driver. Callers poll on threads that know of no
/// runtime, or of another one.
pub(crate) struct TokioNet {
    pub(crate) reach: Arc<Reach>,
    pub(crate) runtime: Handle,
}

impl Network for TokioNet {
    fn proxy(&self, server: &Address) -> Result<Option<Via>, String> {
        self.reach.proxy(server)
    }

    fn resolve(&self, host: &str, port: u16) -> BoxFuture<io::Result<Vec<SocketAddr>>> {
        self.reach.resolve(host, port)
    }

    fn connect(&self, to: SocketAddr) -> BoxFuture<io::Result<Box<dyn Socket>>> {
        let connecting = async move {
            let tcp = TcpStream::connect(to).await?;
            tune(&tcp)?;
            Ok(Box::new(Tcp(tcp)) as Box<dyn Socket>)
        };
        Box::pin(Within { runtime: self.runtime.clone(), future: Box::pin(connecting) })
    }

    fn secure(
        &self,
        socket: Box<dyn Socket>,
        host: &str,
    ) -> BoxFuture<io::Result<Box<dyn Socket>>> {
        let (config, name) = (self.reach.tls(), Tls::server_name(host));
        Box::pin(async move {
            let (config, name) = (config.await?, name?);
            let connecting = TlsConnector::from(config).connect(name, Io(socket));
            let secured = connecting.await.map_err(Tls::explain)?;
            Ok(Box::new(Secured(secured)) as Box<dyn Socket>)
        })
    }

    fn sleep(&self, time: Duration) -> BoxFuture<()> {
        let _runtime = self.runtime.enter();
        Box::pin(tokio::time::sleep(time))
    }
}

/// A future that is polled within its runtime, wherever it is polled from.
struct Within<F: ?Sized> {
    runtime: Handle,
    future: Pin<Box<F>>,
}

impl<F: Future + ?Sized> Future for Within<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = &mut *self;
        let _runtime = this.runtime.enter();
        this.future.as_mut().poll(cx)
    }
}

struct Tcp(TcpStream);

impl Socket for Tcp {
    fn poll_read(&mut self, cx: &mut Context<'_>, into: &mut [u8]) -> Poll<io::Result<usize>> {
        read(Pin::new(&mut self.0), cx, into)
    }

    fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn is_silent(&mut self) -> bool {
        is_silent(&self.0)
    }

    fn holds_back(&self) -> bool {
        false
    }
}

fn read(
    from: Pin<&mut impl AsyncRead>,
    cx: &mut Context<'_>,
    into: &mut [u8],
) -> Poll<io::Result<usize>> {
    let mut into = ReadBuf::new(into);
    ready!(from.poll_read(cx, &mut into))?;
    Poll::Ready(Ok(into.filled().len()))
}

/// A connection, as tokio-rustls wants it.
struct Io(Box<dyn Socket>);

impl AsyncRead for Io {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let bytes = ready!(self.0.poll_read(cx, into.initialize_unfilled()))?;
        into.advance(bytes);
        Poll::Ready(Ok(()))
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

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        // It is closed when it is dropped.
        self.poll_flush(cx)
    }
}

/// A connection under TLS.
struct Secured(TlsStream<Io>);

impl Socket for Secured {
    fn poll_read(&mut self, cx: &mut Context<'_>, into: &mut [u8]) -> Poll<io::Result<usize>> {
        read(Pin::new(&mut self.0), cx, into)
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
