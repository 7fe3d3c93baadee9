//! How a client is made.

use std::fmt;
use std::sync::Arc;

use futures_lite::{AsyncRead, AsyncWrite};
use mcp_proto::driver::{AsyncClient, Driver, Handlers, Held, Hub, Parts, Stream};
use mcp_runtime_common::{ClientOptions, HttpSettings, IntoTarget, Reach};

use crate::runtime::{AsyncIo, stream};
use crate::{Client, Error};

type Spawn = Box<dyn FnOnce(Driver) + Send>;

/// The settings of a client, and what answers its server.
///
/// Drivers are spawned on the global executor of smol, unless [`spawn_with`](Self::spawn_with)
/// names another.
#[derive(Default)]
pub struct ClientBuilder {
    options: ClientOptions,
    handlers: Handlers,
    spawn: Option<Spawn>,
}

impl ClientBuilder {
    mcp_runtime_common::mcp_client_settings!(self => self.options);
    mcp_proto::async_handler_methods!(self => self.handlers);
    mcp_proto::async_builder_methods!(Client, IntoTarget, AsyncRead, AsyncWrite);

    /// What runs the driver, in the place of the global executor of smol: such as
    /// `|driver| executor.spawn(driver).detach()`.
    #[must_use]
    pub fn spawn_with(mut self, spawn: impl FnOnce(Driver) + Send + 'static) -> Self {
        self.spawn = Some(Box::new(spawn));
        self
    }

    fn spawner(&mut self) -> Result<Spawn, Error> {
        let global = || Box::new(|driver| smol::spawn(driver).detach()) as Spawn;
        Ok(self.spawn.take().unwrap_or_else(global))
    }

    fn assemble(
        hub: Arc<Hub>,
        handlers: Handlers,
        stream: Option<Stream>,
        http: HttpSettings,
    ) -> (impl Future<Output = Result<Client, Error>> + use<>, Driver) {
        let process = Arc::new(Held::default());
        let runtime = Box::new(AsyncIo::new(Arc::clone(&process), Reach::new(http)));
        let end = Box::new(move || process.end());
        let (core, driver) = AsyncClient::new(Parts { hub, handlers, runtime, stream, end });
        (Client::ready(core), driver)
    }
}

impl fmt::Debug for ClientBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientBuilder")
            .field("options", &self.options)
            .field("handlers", &self.handlers)
            .finish_non_exhaustive()
    }
}
