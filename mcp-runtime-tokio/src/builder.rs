//! How a client is made.

use std::sync::Arc;

use mcp_proto::driver::{AsyncClient, Driver, Handlers, Held, Hub, Parts, Stream};
use mcp_runtime_common::{ClientOptions, HttpSettings, IntoTarget, Reach};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::runtime::{Tokio, stream};
use crate::{Client, Error};

/// The settings of a client, and what answers its server.
///
/// Drivers are spawned on the runtime within which they are made. One that is polled by hand must
/// be polled within a runtime.
#[derive(Debug, Default)]
pub struct ClientBuilder {
    options: ClientOptions,
    handlers: Handlers,
}

impl ClientBuilder {
    mcp_runtime_common::mcp_client_settings!(self => self.options);
    mcp_proto::async_handler_methods!(self => self.handlers);
    mcp_proto::async_builder_methods!(Client, IntoTarget, AsyncRead, AsyncWrite);

    fn spawner(&mut self) -> Result<impl FnOnce(Driver) + use<>, Error> {
        let runtime = tokio::runtime::Handle::try_current();
        let runtime = runtime.map_err(|error| Error::validation(error.to_string()))?;
        Ok(move |driver| drop(runtime.spawn(driver)))
    }

    fn assemble(
        hub: Arc<Hub>,
        handlers: Handlers,
        stream: Option<Stream>,
        http: HttpSettings,
    ) -> (impl Future<Output = Result<Client, Error>> + use<>, Driver) {
        let process = Arc::new(Held::default());
        let runtime = Box::new(Tokio::new(Arc::clone(&process), Reach::new(http)));
        let end = Box::new(move || process.end());
        let (core, driver) = AsyncClient::new(Parts { hub, handlers, runtime, stream, end });
        (Client::ready(core), driver)
    }
}
