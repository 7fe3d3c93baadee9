//! What the clients and builders of all async runtimes have in common, written once.

/// Gives a client of an async runtime its methods, inside `impl Client { .. }`:
/// `async_client_methods!(self => self.core; ClientBuilder, IntoTarget, AsyncRead, AsyncWrite);`,
/// where the expression is the [`AsyncClient`](crate::driver::AsyncClient), and the traits are what
/// names a server and what streams of that runtime are.
#[macro_export]
macro_rules! async_client_methods {
    ($this:ident => $core:expr; $builder:ident, $target:path, $read:path, $write:path) => {
        /// Connects to a server, launched or reached over HTTP, and gets ready to call it.
        ///
        /// # Errors
        /// When the target names no server, or none that can be spoken with.
        pub async fn connect(target: impl $target) -> ::std::result::Result<Self, $crate::Error> {
            $builder::default().connect(target).await
        }

        /// Speaks with a server over a byte stream of one's own, such as a socket. It is never
        /// connected anew: its end is the end of the client.
        ///
        /// # Errors
        /// When the server cannot be spoken with.
        pub async fn over(
            read: impl $read + Send + 'static,
            write: impl $write + Send + 'static,
        ) -> ::std::result::Result<Self, $crate::Error> {
            $builder::default().over(read, write).await
        }

        /// A client with settings of its own.
        #[must_use]
        pub fn builder() -> $builder {
            $builder::default()
        }

        /// Runs an operation, with options of its own.
        ///
        /// # Errors
        /// When there is no result, or one that does not fit the operation.
        pub async fn run<O: $crate::Operation>(
            &$this,
            operation: O,
            options: $crate::driver::CallOptions,
        ) -> ::std::result::Result<O::Output, $crate::Error> {
            $core.run(operation, options).await
        }

        /// Begins a call, with options of its own, without waiting for it.
        ///
        /// # Errors
        /// When it cannot be sent as it is.
        pub fn begin_with<O: $crate::Operation>(
            &$this,
            operation: O,
            options: $crate::driver::CallOptions,
        ) -> ::std::result::Result<$crate::driver::PendingCall<O>, $crate::Error> {
            $core.begin_with(operation, options)
        }

        /// The server, as it introduced itself, while the connection is ready.
        #[must_use]
        pub fn server(&$this) -> ::std::option::Option<::std::sync::Arc<$crate::model::ServerInfo>> {
            $core.server()
        }

        /// Changes where servers may work (specification: client/roots). A legacy server is told
        /// that it may ask anew; a modern one is told when it asks.
        ///
        /// # Errors
        /// When one of the roots must not be told to a server; then nothing changes.
        pub fn set_roots(
            &$this,
            roots: impl ::core::iter::IntoIterator<Item = $crate::model::Root>,
        ) -> ::std::result::Result<(), $crate::Error> {
            $core.set_roots(roots.into_iter().collect())
        }

        /// Where servers may work.
        #[must_use]
        pub fn roots(&$this) -> ::std::vec::Vec<$crate::model::Root> {
            $core.roots()
        }

        /// The state of the connection.
        #[must_use]
        pub fn state(&$this) -> $crate::ConnectionState {
            $core.state()
        }

        /// Ends the connection for now: a process ends, and so does a session over HTTP. The next
        /// call begins another one.
        pub fn disconnect(&$this) {
            $core.disconnect();
        }

        /// Waits until nothing runs any more, and says why. A connection that rests is there
        /// already.
        pub async fn closed(&$this) -> $crate::CloseReason {
            $core.closed().await
        }

        /// Ends the connection for good, and waits until nothing of it is left: a process that does
        /// not end by itself is asked to after 2 s, and made to after 2 s more; over HTTP the end of
        /// a session is told, for which the server has 1 s. Calls that still wait end with an error
        /// at once. Closing again, or from several tasks, does no harm.
        pub async fn close(&$this) {
            $core.close().await;
        }
    };
}

/// Gives a builder of an async runtime the methods that make a client, inside
/// `impl ClientBuilder { .. }`:
/// `async_builder_methods!(Client, IntoTarget, AsyncRead, AsyncWrite);`. The builder has the fields
/// `options` and `handlers`, and two functions: `spawner`, which gives what spawns a driver, and
/// `assemble`, which makes a client of a hub, handlers, perhaps a stream, and what the options say
/// about HTTP.
#[macro_export]
macro_rules! async_builder_methods {
    ($client:ident, $target:path, $read:path, $write:path) => {
        /// Connects to a server, launched or reached over HTTP, and gets ready to call it. The
        /// driver is spawned.
        ///
        /// # Errors
        /// When a setting cannot work, the target names no server, or none that can be spoken
        /// with.
        pub async fn connect(
            mut self,
            target: impl $target,
        ) -> ::std::result::Result<$client, $crate::Error> {
            let spawn = self.spawner()?;
            let (client, driver) = self.connect_with_driver(target)?;
            spawn(driver);
            client.await
        }

        /// Speaks with a server over a byte stream of one's own; see [`over`]($client::over). The
        /// driver is spawned.
        ///
        /// # Errors
        /// When a setting cannot work, or the server cannot be spoken with.
        pub async fn over(
            mut self,
            read: impl $read + Send + 'static,
            write: impl $write + Send + 'static,
        ) -> ::std::result::Result<$client, $crate::Error> {
            let spawn = self.spawner()?;
            let (client, driver) = self.over_with_driver(read, write)?;
            spawn(driver);
            client.await
        }

        /// The client to come, and the driver that must be polled for it to come and for as long
        /// as calls are made.
        ///
        /// # Errors
        /// When a setting cannot work, or the target names no server.
        pub fn connect_with_driver<T: $target>(
            mut self,
            target: T,
        ) -> ::std::result::Result<
            (
                impl Future<Output = ::std::result::Result<$client, $crate::Error>> + Send + use<T>,
                $crate::driver::Driver,
            ),
            $crate::Error,
        > {
            self.options.config.hears.extend(self.handlers.hears());
            let hub = self.options.hub(target)?;
            Ok(Self::assemble(hub, self.handlers, None, self.options.http))
        }

        /// The client to come over a byte stream of one's own, and the driver that must be polled
        /// for it to come and for as long as calls are made.
        ///
        /// # Errors
        /// When a setting cannot work.
        pub fn over_with_driver<R, W>(
            mut self,
            read: R,
            write: W,
        ) -> ::std::result::Result<
            (
                impl Future<Output = ::std::result::Result<$client, $crate::Error>>
                + Send
                + use<R, W>,
                $crate::driver::Driver,
            ),
            $crate::Error,
        >
        where
            R: $read + Send + 'static,
            W: $write + Send + 'static,
        {
            self.options.config.hears.extend(self.handlers.hears());
            let hub = self.options.stream_hub()?;
            let stream = Some(stream(read, write));
            Ok(Self::assemble(hub, self.handlers, stream, self.options.http))
        }
    };
}

/// Gives a builder of an async runtime the methods by which handlers are registered, inside
/// `impl ClientBuilder { .. }`: `async_handler_methods!(self => self.handlers);`, where the
/// expression is the place of the [`Handlers`](crate::driver::Handlers).
#[macro_export]
macro_rules! async_handler_methods {
    ($this:ident => $handlers:expr) => {
        /// Whether the host's model may be given tools by servers that it answers; it is declared
        /// as `sampling.tools`. Not by default: without it such requests are refused.
        #[must_use]
        pub fn sampling_tools(mut $this, allowed: bool) -> Self {
            $handlers.sampling_tools = allowed;
            $this
        }

        /// Adds a callback for what the server says without being asked: that a list or a resource
        /// is another one now, log messages, progress, and whatever else comes, known or not. It
        /// may be called several times, and each callback sees all of them, in their order.
        ///
        /// A callback may take its time: the others that come meanwhile wait, up to the bounds of
        /// [`ConnectionConfig`]($crate::ConnectionConfig), and
        /// [`lost`]($crate::model::Notification::lost) says how many had no room. One that panics is
        /// told to the log, and called again. It may call the client.
        #[must_use]
        pub fn on_notification<F, T>(mut $this, callback: F) -> Self
        where
            F: Fn($crate::model::Notification) -> T + Send + Sync + 'static,
            T: Future<Output = ()> + Send + 'static,
        {
            $handlers.on_notification(callback);
            $this
        }

        $crate::async_handler_methods! { @each $this, $handlers;
            /// Computes metadata for each request, by the method of the request. It wins over the
            /// metadata of the connection. When it fails, so does the call. While it computes that
            /// of `server/discover` and `initialize`, calls wait, its own too.
            on_request_meta(::std::string::String)
                -> $crate::driver::serde_json::Map<::std::string::String, $crate::driver::serde_json::Value>;
            /// Answers what a server wants from the user by a form (specification:
            /// client/elicitation). What is filled in is checked against the form before it is
            /// sent, and missing fields are given their defaults.
            on_elicitation($crate::model::ElicitRequest) -> $crate::model::ElicitResult;
            /// Answers what a server wants from the user on a page (specification:
            /// client/elicitation, "URL Mode"). The answer is consent to visit it, and no more.
            on_url_elicitation($crate::model::ElicitRequest) -> $crate::model::ElicitResult;
            /// Lets the host's model answer a server (specification: client/sampling).
            on_sampling($crate::model::SamplingRequest) -> $crate::model::SamplingResult;
            /// Says how to wait for a server that wants nothing but time before it answers
            /// (specification: basic/patterns/mrtr). The pause goes on meanwhile.
            on_input_wait($crate::WaitRequest) -> $crate::WaitAnswer;
            /// Loads what was stored under a key, by this process or an earlier one: what a client
            /// has learnt of a server, so that it need not find out again. It has two seconds;
            /// without it each client begins anew.
            on_load(::std::string::String) -> ::std::option::Option<::std::string::String>;
            /// Stores a value under its key, in the place of an older one.
            on_save($crate::Stored) -> ();
        }
    };
    (@each $this:ident, $handlers:expr; $(
        $(#[$doc:meta])* $name:ident($asked:ty) -> $answer:ty;
    )*) => {$(
        $(#[$doc])*
        ///
        /// Its future runs beside the call, or beside the driver when no call asks, and is dropped
        /// when nobody wants its answer any more. It may call the client; one that holds a client
        /// keeps it alive until the connection is closed.
        #[must_use]
        pub fn $name<F, T>(mut $this, handler: F) -> Self
        where
            F: Fn($asked) -> T + Send + Sync + 'static,
            T: Future<Output = ::std::result::Result<$answer, $crate::driver::HandlerError>>
                + Send + 'static,
        {
            $handlers.$name(handler);
            $this
        }
    )*};
}
