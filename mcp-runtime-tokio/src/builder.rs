//! How a client is made.

use std::sync::Arc;

use mcp_proto::driver::{AsyncClient, Driver, Handlers, Held, Hub, Parts, Stream};
use mcp_runtime_common::{ClientOptions, IntoTarget, mcp_client_settings};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::runtime::{Tokio, stream};
use crate::{Client, Error};

/// The settings of a client, and what answers its server.
#[derive(Debug, Default)]
pub struct ClientBuilder {
    options: ClientOptions,
    handlers: Handlers,
}

impl ClientBuilder {
    mcp_client_settings!(self => self.options);
    mcp_proto::async_handler_methods!(self => self.handlers);

    /// Launches a server and gets ready to call it. The driver is spawned on the current runtime.
    ///
    /// # Errors
    /// When a setting cannot work, the target names no server, or none that can be spoken with.
    pub async fn connect(self, target: impl IntoTarget) -> Result<Client, Error> {
        let (client, driver) = self.connect_with_driver(target)?;
        spawn(driver)?;
        client.await
    }

    /// Speaks with a server over a byte stream of one's own. See [`Client::over`].
    ///
    /// # Errors
    /// When a setting cannot work, or the server cannot be spoken with.
    pub async fn over(
        self,
        read: impl AsyncRead + Send + 'static,
        write: impl AsyncWrite + Send + 'static,
    ) -> Result<Client, Error> {
        let (client, driver) = self.over_with_driver(read, write)?;
        spawn(driver)?;
        client.await
    }

    /// The client to come, and the driver that must be polled for it to come, within the tokio
    /// runtime and for as long as calls are made.
    ///
    /// # Errors
    /// When a setting cannot work, or the target names no server.
    pub fn connect_with_driver<T: IntoTarget>(
        mut self,
        target: T,
    ) -> Result<(impl Future<Output = Result<Client, Error>> + Send + use<T>, Driver), Error> {
        self.options.config.hears.extend(self.handlers.hears());
        let (core, driver) = assemble(self.options.hub(target)?, self.handlers, None);
        Ok((Client::ready(core), driver))
    }

    /// The client to come over a byte stream of one's own, and the driver that must be polled for
    /// it to come.
    ///
    /// # Errors
    /// When a setting cannot work.
    pub fn over_with_driver<R, W>(
        mut self,
        read: R,
        write: W,
    ) -> Result<(impl Future<Output = Result<Client, Error>> + Send + use<R, W>, Driver), Error>
    where
        R: AsyncRead + Send + 'static,
        W: AsyncWrite + Send + 'static,
    {
        self.options.config.hears.extend(self.handlers.hears());
        let stream = stream(Box::pin(read), Box::pin(write));
        let (core, driver) = assemble(self.options.stream_hub()?, self.handlers, Some(stream));
        Ok((Client::ready(core), driver))
    }
}

fn assemble(hub: Arc<Hub>, handlers: Handlers, stream: Option<Stream>) -> (AsyncClient, Driver) {
    let process = Arc::new(Held::default());
    let runtime = Box::new(Tokio::new(Arc::clone(&process)));
    let end = Box::new(move || process.end());
    AsyncClient::new(Parts { hub, handlers, runtime, stream, end })
}

fn spawn(driver: Driver) -> Result<(), Error> {
    let runtime = tokio::runtime::Handle::try_current();
    runtime.map_err(|error| Error::validation(error.to_string()))?.spawn(driver);
    Ok(())
}
