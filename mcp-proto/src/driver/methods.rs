//! What the clients and builders of all async runtimes have in common, written once.

/// Gives a client of an async runtime its methods, inside `impl Client { .. }`:
/// `async_client_methods!(self => self.core);`, where the expression is the
/// [`AsyncClient`](crate::driver::AsyncClient).
#[macro_export]
macro_rules! async_client_methods {
    ($this:ident => $core:expr) => {
        /// Runs an operation, with options of its own.
        ///
        /// # Errors
        /// When there is no result, or one that does not fit the operation.
        pub async fn run<O: $crate::Operation>(
            &$this,
            operation: O,
            options: $crate::driver::CallOptions,
        ) -> ::std::result::Result<O::Output, $crate::Error> {
            $core.begin_with(operation, options)?.await
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

        /// The state of the connection.
        #[must_use]
        pub fn state(&$this) -> $crate::ConnectionState {
            $core.state()
        }

        /// Ends the server. The next call launches it again.
        pub fn disconnect(&$this) {
            $core.disconnect();
        }

        /// Waits until nothing runs any more, and says why. A connection that rests is there
        /// already.
        pub async fn closed(&$this) -> $crate::CloseReason {
            $core.closed().await
        }

        /// Ends the connection for good, and waits until its process is gone: a server that does
        /// not end by itself is asked to after 2 s, and made to after 2 s more. Calls that still
        /// wait end with an error at once. Closing again, or from several tasks, does no harm.
        pub async fn close(&$this) {
            $core.close().await;
        }
    };
}

/// Gives a builder of an async runtime the methods by which handlers are registered, inside
/// `impl ClientBuilder { .. }`: `async_handler_methods!(self => self.handlers);`, where the
/// expression is the place of the [`Handlers`](crate::driver::Handlers).
#[macro_export]
macro_rules! async_handler_methods {
    ($this:ident => $handlers:expr) => {
        $crate::async_handler_methods! { @each $this, $handlers;
            /// Computes metadata for each request, by the method of the request. It wins over the
            /// metadata of the connection. When it fails, so does the call.
            on_request_meta(::std::string::String)
                -> $crate::driver::serde_json::Map<::std::string::String, $crate::driver::serde_json::Value>;
            /// Answers what a server wants from the user (specification: client/elicitation). It
            /// is handed the parameters as they were sent, and gives the result to send.
            on_elicitation($crate::Raw) -> $crate::driver::serde_json::Value;
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
