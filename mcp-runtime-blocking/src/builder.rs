//! How a client is made.

use std::fmt;
use std::io::{Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use mcp_proto::driver::{HandlerError, Hub};
use mcp_proto::{Error, Raw, Target};
use mcp_runtime_common::{ClientOptions, IntoTarget, mcp_client_settings};
use serde_json::{Map, Value};

use crate::Client;
use crate::callbacks::Callbacks;
use crate::shared::{Reach, Shared};
use crate::stream::Stream;
use crate::wake::OnWake;

/// Who moves the bytes of a connection while no call waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Background {
    /// A thread of the client's, so that pings are answered, stderr is drained and the end of a
    /// server is seen at any time. A second thread begins when callbacks have to run that belong
    /// to no waiting call.
    #[default]
    Helper,
    /// Nobody: no thread is started for a server process. Bytes move, and callbacks run, while a
    /// call waits and in [`Client::pump`].
    ///
    /// Over HTTP this holds for the exchanges of calls that wait. One that nobody waits in, such as
    /// that of a call made with `begin`, has a thread for as long as it lasts, because it blocks in
    /// the operating system; so has the lookup of a name. None stays once these have ended.
    Never,
}

/// The settings of a client, and what answers its server.
#[derive(Default)]
pub struct ClientBuilder {
    options: ClientOptions,
    callbacks: Callbacks,
    background: Background,
    on_wake: Option<OnWake>,
}

impl ClientBuilder {
    mcp_client_settings!(self => self.options);

    /// Who moves bytes while no call waits. A thread of the client's by default.
    #[must_use]
    pub fn background(mut self, background: Background) -> Self {
        self.background = background;
        self
    }

    /// Calls a function, on any thread, when a call made with `begin` has ended; with
    /// [`Background::Never`] also when there is something to [`pump`](Client::pump). It must
    /// return soon and must not use the client: let it wake the host's event loop.
    #[must_use]
    pub fn on_wake(mut self, wake: impl Fn() + Send + Sync + 'static) -> Self {
        // It is called in the middle of everything, which a panic must not tear down.
        self.on_wake = Some(Arc::new(move || drop(catch_unwind(AssertUnwindSafe(&wake)))));
        self
    }

    /// Computes metadata for each request, by the method of the request. It wins over the metadata
    /// of the connection. When it fails, so does the call. It may call the client.
    #[must_use]
    pub fn on_request_meta(
        mut self,
        handler: impl Fn(String) -> Result<Map<String, Value>, HandlerError> + Send + Sync + 'static,
    ) -> Self {
        self.callbacks.request_meta = Some(Box::new(handler));
        self
    }

    /// Answers what a server wants from the user (specification: client/elicitation). It is handed
    /// the parameters as they were sent, and gives the result to send. It may call the client.
    #[must_use]
    pub fn on_elicitation(
        mut self,
        handler: impl Fn(Raw) -> Result<Value, HandlerError> + Send + Sync + 'static,
    ) -> Self {
        self.callbacks.elicitation = Some(Box::new(handler));
        self
    }

    /// Connects to a server, launched or reached over HTTP, and gets ready to call it. See [`Client::connect`].
    ///
    /// # Errors
    /// When a setting cannot work, the target names no server, or none that can be spoken with.
    pub fn connect(mut self, target: impl IntoTarget) -> Result<Client, Error> {
        self.options.config.hears.extend(self.callbacks.hears());
        let target = target.into_target().map_err(|wrong| Error::validation(wrong.to_string()))?;
        let reach = match &target {
            Target::Http(_) => Reach::Http(self.options.http.clone()),
            _ => Reach::Process,
        };
        let hub = self.options.hub(target)?;
        self.assemble(hub, reach)
    }

    /// Speaks with a server over a byte stream of one's own. See [`Client::over`].
    ///
    /// # Errors
    /// When a setting cannot work, or the server cannot be spoken with.
    pub fn over(
        mut self,
        read: impl Read + Send + 'static,
        write: impl Write + Send + 'static,
    ) -> Result<Client, Error> {
        self.options.config.hears.extend(self.callbacks.hears());
        let hub = self.options.stream_hub()?;
        self.assemble(hub, Reach::Stream(Stream::Silent(Box::new(read), Box::new(write))))
    }

    fn assemble(self, hub: Arc<Hub>, reach: Reach) -> Result<Client, Error> {
        let shared = Shared::new(hub, reach, self.callbacks, self.background, self.on_wake);
        Client::ready(shared.map_err(|error| Error::validation(error.to_string()))?)
    }
}

impl fmt::Debug for ClientBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientBuilder")
            .field("options", &self.options)
            .field("handlers", &self.callbacks.hears())
            .field("background", &self.background)
            .finish_non_exhaustive()
    }
}
