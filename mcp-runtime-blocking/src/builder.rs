//! How a client is made.

use std::fmt;
use std::io::{Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use mcp_proto::driver::{HandlerError, Hub};
use mcp_proto::model::{
    ElicitRequest, ElicitResult, Notification, SamplingRequest, SamplingResult,
};
use mcp_proto::{Error, Stored, Target, WaitAnswer, WaitRequest};
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

/// The methods by which handlers are registered.
macro_rules! handler_methods {
    ($($(#[$doc:meta])* $place:ident: $name:ident($asked:ty) -> $answer:ty;)*) => {$(
        $(#[$doc])*
        ///
        /// It may call the client.
        #[must_use]
        pub fn $name(
            mut self,
            handler: impl Fn($asked) -> Result<$answer, HandlerError> + Send + Sync + 'static,
        ) -> Self {
            self.callbacks.$place = Some(Box::new(handler));
            self
        }
    )*};
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

    handler_methods! {
        /// Computes metadata for each request, by the method of the request. It wins over the
        /// metadata of the connection. When it fails, so does the call. While
        /// it computes that of `server/discover` and `initialize`, calls wait, its own too.
        request_meta: on_request_meta(String) -> Map<String, Value>;
        /// Answers what a server wants from the user by a form (specification:
        /// client/elicitation). What is filled in is checked against the form before it is sent,
        /// and missing fields are given their defaults.
        elicitation: on_elicitation(ElicitRequest) -> ElicitResult;
        /// Answers what a server wants from the user on a page (specification: client/elicitation,
        /// "URL Mode"). The answer is consent to visit it, and no more.
        url_elicitation: on_url_elicitation(ElicitRequest) -> ElicitResult;
        /// Lets the host's model answer a server (specification: client/sampling).
        sampling: on_sampling(SamplingRequest) -> SamplingResult;
        /// Says how to wait for a server that wants nothing but time before it answers
        /// (specification: basic/patterns/mrtr). The pause goes on meanwhile.
        input_wait: on_input_wait(WaitRequest) -> WaitAnswer;
        /// Loads what was stored under a key, by this process or an earlier one: what a client has
        /// learnt of a server, so that it need not find out again. It has two seconds; without it
        /// each client begins anew.
        load: on_load(String) -> Option<String>;
        /// Stores a value under its key, in the place of an older one.
        save: on_save(Stored) -> ();
    }

    /// Adds a callback for what the server says without being asked: that a list or a resource is
    /// another one now, log messages, progress, and whatever else comes, known or not. It may be
    /// called several times, and each callback sees all of them, in their order.
    ///
    /// Callbacks run on a thread of their own (with [`Background::Never`]: in [`Client::pump`], and
    /// wherever somebody waits). One may take its time: the others that come meanwhile wait, up to
    /// the bounds of [`ConnectionConfig`](crate::proto::ConnectionConfig), and
    /// [`lost`](crate::model::Notification::lost) says how many had no room. One that panics is told
    /// to the log, and called again. It may call the client.
    ///
    /// ```no_run
    /// use mcp_runtime_blocking::{Client, model::NotificationKind};
    ///
    /// let client = Client::builder()
    ///     .on_notification(|told| match told.kind {
    ///         NotificationKind::ToolsChanged => println!("{} has other tools now", told.server),
    ///         NotificationKind::Message(message) => println!("{}", message.text()),
    ///         _ => println!("{}", told.method),
    ///     })
    ///     .connect("npx -y @modelcontextprotocol/server-everything")?;
    /// # drop(client);
    /// # Ok::<(), mcp_runtime_blocking::Error>(())
    /// ```
    #[must_use]
    pub fn on_notification(
        mut self,
        callback: impl Fn(Notification) + Send + Sync + 'static,
    ) -> Self {
        self.callbacks.notifications.push(Box::new(callback));
        self
    }

    /// Whether the host's model may be given tools by servers that it answers; it is declared as
    /// `sampling.tools`. Not by default: without it such requests are refused.
    #[must_use]
    pub fn sampling_tools(mut self, allowed: bool) -> Self {
        self.callbacks.sampling_tools = allowed;
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
