//! The client as its host sees it.

use futures_lite::{AsyncRead, AsyncWrite};
use mcp_proto::driver::AsyncClient;
use mcp_proto::op::Connect;
use mcp_runtime_common::IntoTarget;

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
    mcp_proto::async_client_methods!(
        self => self.core; ClientBuilder, IntoTarget, AsyncRead, AsyncWrite
    );
    mcp_runtime_common::mcp_client_methods!(async, CallOptions, PendingCall);

    /// The client, once it is connected.
    pub(crate) async fn ready(core: AsyncClient) -> Result<Self, Error> {
        core.begin_with(Connect, CallOptions::new())?.await?;
        Ok(Client { core })
    }
}
