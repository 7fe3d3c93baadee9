//! The client as its host sees it.

use mcp_proto::driver::AsyncClient;
use mcp_proto::op::Connect;
use mcp_runtime_common::IntoTarget;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::{CallOptions, ClientBuilder, Error, PendingCall};

/// The client of one server.
///
/// Clones share one connection. When the last one is dropped, calls that still run included, the
/// server is ended: its stdin is closed, and after 100 ms its process group is killed. The drop
/// blocks until then, and needs no runtime. [`close`](Self::close) is the friendlier end.
#[derive(Clone, Debug)]
pub struct Client {
    core: AsyncClient,
}

impl Client {
    /// Launches a server and gets ready to call it. The driver is spawned on the current runtime.
    ///
    /// # Errors
    /// When the target names no server, or none that can be spoken with.
    pub async fn connect(target: impl IntoTarget) -> Result<Self, Error> {
        Client::builder().connect(target).await
    }

    /// Speaks with a server over a byte stream of one's own, such as a socket. It is never
    /// connected anew: its end is the end of the client.
    ///
    /// # Errors
    /// When the server cannot be spoken with.
    pub async fn over(
        read: impl AsyncRead + Send + 'static,
        write: impl AsyncWrite + Send + 'static,
    ) -> Result<Self, Error> {
        Client::builder().over(read, write).await
    }

    /// A client with settings of its own.
    #[must_use]
    pub fn builder() -> ClientBuilder {
        ClientBuilder::default()
    }

    mcp_proto::async_client_methods!(self => self.core);
    mcp_runtime_common::mcp_client_methods!(async, CallOptions, PendingCall);

    /// The client, once it is connected.
    pub(crate) async fn ready(core: AsyncClient) -> Result<Self, Error> {
        core.begin_with(Connect, CallOptions::new())?.await?;
        Ok(Client { core })
    }
}
