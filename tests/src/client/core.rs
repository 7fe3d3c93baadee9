//! The public clients of the runtime crates, behind one trait.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use futures_lite::future::block_on;
use mcp_proto::driver::CallOptions;
use mcp_proto::model::{CallToolResult, Completion, Root, ServerInfo};
use mcp_proto::op::{CallTool, Complete, ToolList};
use mcp_proto::{CloseReason, ConnectionState, Error, Raw, Target};
use mcp_runtime_common::IntoArguments as _;
use serde_json::{Map, Value};

use super::engine::Engine;
use super::offers::Offers;
use super::{Runtime, Setup};
use crate::pipe::PipeEnd;

/// What a method gives: on the blocking client a future that is ready when it is first polled.
pub(super) type Doing<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// A client of one of the runtime crates.
pub(super) trait Core: Offers + Send + Sync {
    fn list_tools(&self) -> Doing<Result<ToolList, Error>>;
    fn call_tool(&self, name: &str, arguments: Value) -> Doing<Result<CallToolResult, Error>>;
    fn call_tool_with(
        &self,
        name: &str,
        arguments: Value,
        options: CallOptions,
    ) -> Doing<Result<CallToolResult, Error>>;
    fn ping(&self) -> Doing<Result<(), Error>>;
    fn complete_with(&self, operation: Complete) -> Doing<Result<Completion, Error>>;
    fn set_roots(&self, roots: Vec<Root>) -> Result<(), Error>;
    fn request(&self, method: &str, params: Map<String, Value>) -> Doing<Result<Raw, Error>>;
    fn begin(
        &self,
        name: &str,
        arguments: Value,
        options: CallOptions,
    ) -> Result<Box<dyn PendingCore>, Error>;
    fn server(&self) -> Option<Arc<ServerInfo>>;
    fn state(&self) -> ConnectionState;
    fn disconnect(&self);
    fn closed(&self) -> Doing<CloseReason>;
    fn close(&self) -> Doing<()>;
    /// Does the work of a client that has no thread for it.
    fn pump(&self) {}
}

/// A call that has begun, on one of the runtime crates.
pub(super) trait PendingCore: Send {
    fn try_take(&mut self) -> Option<Result<CallToolResult, Error>>;
    fn wait(self: Box<Self>) -> Doing<Result<CallToolResult, Error>>;
    fn cancel_handle(&self) -> Box<dyn Fn() + Send + Sync>;
}

/// The client for its own handlers, which must not keep it alive.
#[derive(Clone, Default)]
pub struct Caller(Arc<OnceLock<Weak<dyn Core>>>);

impl Caller {
    fn fill(&self, core: &Arc<dyn Core>) {
        let _ = self.0.set(Arc::downgrade(core));
    }

    /// # Panics
    /// Before the client is connected, and after it was dropped.
    fn core(&self) -> Arc<dyn Core> {
        let core = self.0.get().and_then(Weak::upgrade);
        core.expect("the client of this handler")
    }

    /// Calls a tool.
    ///
    /// # Errors
    /// Those of the call.
    pub async fn call_tool(&self, name: &str, arguments: Value) -> Result<CallToolResult, Error> {
        self.core().call_tool(name, arguments).await
    }

    /// Asks whether the server is there.
    ///
    /// # Errors
    /// Those of the call.
    pub async fn ping(&self) -> Result<(), Error> {
        self.core().ping().await
    }
}

impl fmt::Debug for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Caller").finish_non_exhaustive()
    }
}

/// Implements the trait for a runtime crate: `[.await]` where its methods are async, and what it
/// has beyond the others.
macro_rules! cores {
    ($($krate:ident $await:tt $more:tt)*) => {$( cores! { @one $krate $await $more } )*};
    (@one $krate:ident [$($await:tt)*] { $($more:tt)* }) => {
        impl Core for $krate::Client {
            fn list_tools(&self) -> Doing<Result<ToolList, Error>> {
                let client = self.clone();
                Box::pin(async move { client.list_tools()$($await)* })
            }

            fn call_tool(
                &self,
                name: &str,
                arguments: Value,
            ) -> Doing<Result<CallToolResult, Error>> {
                let (client, name) = (self.clone(), name.to_owned());
                Box::pin(async move { client.call_tool(name, arguments)$($await)* })
            }

            fn call_tool_with(
                &self,
                name: &str,
                arguments: Value,
                options: CallOptions,
            ) -> Doing<Result<CallToolResult, Error>> {
                let (client, name) = (self.clone(), name.to_owned());
                Box::pin(async move { client.call_tool_with(name, arguments, options)$($await)* })
            }

            fn ping(&self) -> Doing<Result<(), Error>> {
                let client = self.clone();
                Box::pin(async move { client.ping()$($await)* })
            }

            fn complete_with(&self, operation: Complete) -> Doing<Result<Completion, Error>> {
                let client = self.clone();
                Box::pin(async move { client.run(operation, CallOptions::new())$($await)* })
            }

            fn set_roots(&self, roots: Vec<Root>) -> Result<(), Error> {
                self.set_roots(roots)
            }

            fn request(
                &self,
                method: &str,
                params: Map<String, Value>,
            ) -> Doing<Result<Raw, Error>> {
                let (client, method) = (self.clone(), method.to_owned());
                Box::pin(async move { client.request(method, params)$($await)* })
            }

            fn begin(
                &self,
                name: &str,
                arguments: Value,
                options: CallOptions,
            ) -> Result<Box<dyn PendingCore>, Error> {
                let operation = CallTool::new(name, arguments.into_arguments()?);
                Ok(Box::new(self.begin_with(operation, options)?))
            }

            fn server(&self) -> Option<Arc<ServerInfo>> {
                self.server()
            }

            fn state(&self) -> ConnectionState {
                self.state()
            }

            fn disconnect(&self) {
                self.disconnect();
            }

            fn closed(&self) -> Doing<CloseReason> {
                let client = self.clone();
                Box::pin(async move { client.closed()$($await)* })
            }

            fn close(&self) -> Doing<()> {
                let client = self.clone();
                Box::pin(async move { client.close()$($await)* })
            }

            $($more)*
        }
    };
}

cores! {
    mcp_runtime_blocking [] {
        fn pump(&self) {
            self.pump(PUMP);
        }
    }
    mcp_runtime_smol [.await] {}
}
#[cfg(feature = "tokio")]
cores! { mcp_runtime_tokio [.await] {} }

impl PendingCore for mcp_runtime_blocking::PendingCall<CallTool> {
    fn try_take(&mut self) -> Option<Result<CallToolResult, Error>> {
        self.try_take()
    }

    fn wait(self: Box<Self>) -> Doing<Result<CallToolResult, Error>> {
        Box::pin(async move { (*self).wait() })
    }

    fn cancel_handle(&self) -> Box<dyn Fn() + Send + Sync> {
        let handle = self.cancel_handle();
        Box::new(move || handle.cancel())
    }
}

/// The async runtimes share it.
impl PendingCore for mcp_proto::driver::PendingCall<CallTool> {
    fn try_take(&mut self) -> Option<Result<CallToolResult, Error>> {
        self.try_take()
    }

    fn wait(self: Box<Self>) -> Doing<Result<CallToolResult, Error>> {
        Box::pin(*self)
    }

    fn cancel_handle(&self) -> Box<dyn Fn() + Send + Sync> {
        let handle = self.cancel_handle();
        Box::new(move || handle.cancel())
    }
}

/// A builder with the settings, by the methods that hosts use.
macro_rules! settled {
    ($builder:expr, $setup:ident) => {{
        let config = $setup.config.clone();
        let mut builder = $builder
            .config($setup.config)
            .name(config.name)
            .client_info(config.client_info)
            .send_client_info(config.send_client_info)
            .era(config.era)
            .discover_timeout(config.discover_timeout)
            .start_timeout(config.start_timeout)
            .call_timeout(config.call_timeout.unwrap_or(mcp_proto::CALL_TIMEOUT))
            .max_message_bytes(config.max_message_bytes)
            .meta(config.meta)
            .roots(config.roots)
            .deprecation_notices($setup.notices)
            .sampling_tools($setup.sampling_tools);
        for (name, value) in $setup.env {
            builder = builder.env(name, value);
        }
        if let Some(dir) = $setup.dir {
            builder = builder.dir(dir);
        }
        if let Some(policy) = $setup.stderr {
            builder = builder.stderr(policy);
        }
        if let Some(file) = $setup.ca_file {
            builder = builder.ca_file(file);
        }
        if let Some(journal) = $setup.journal {
            builder = builder.journal(journal);
        }
        if let Some(redactor) = $setup.redactor {
            builder = builder.redact(redactor);
        }
        for (name, value) in $setup.headers {
            builder = builder.header(name, value);
        }
        if let Some(proxy) = $setup.proxy {
            builder = builder.proxy(proxy);
        }
        builder
    }};
}

/// The handlers of an async builder, which run as they are.
macro_rules! async_builder {
    ($krate:ident, $setup:ident, $caller:expr) => {{
        let mut builder = settled!($krate::Client::builder(), $setup);
        if let Some(handler) = $setup.request_meta {
            let caller = $caller.clone();
            builder = builder.on_request_meta(move |method| handler(caller.clone(), method));
        }
        if let Some(handler) = $setup.elicitation {
            let caller = $caller.clone();
            builder = builder.on_elicitation(move |request| {
                let answer = handler(caller.clone(), request.raw);
                async move { answer.await.map(Into::into) }
            });
        }
        if let Some(handler) = $setup.url_elicitation {
            let caller = $caller.clone();
            builder = builder.on_url_elicitation(move |asked| handler(caller.clone(), asked));
        }
        if let Some(handler) = $setup.sampling {
            let caller = $caller.clone();
            builder = builder.on_sampling(move |asked| handler(caller.clone(), asked));
        }
        if let Some(handler) = $setup.input_wait {
            let caller = $caller.clone();
            builder = builder.on_input_wait(move |asked| handler(caller.clone(), asked));
        }
        for callback in $setup.notifications {
            let caller = $caller.clone();
            builder = builder.on_notification(move |told| callback(caller.clone(), told));
        }
        builder
    }};
}

fn blocking(setup: Setup, caller: &Caller) -> mcp_runtime_blocking::ClientBuilder {
    let mut builder = settled!(mcp_runtime_blocking::Client::builder(), setup);
    if let Some(handler) = setup.request_meta {
        let caller = caller.clone();
        builder = builder.on_request_meta(move |method| block_on(handler(caller.clone(), method)));
    }
    if let Some(handler) = setup.elicitation {
        let caller = caller.clone();
        builder = builder.on_elicitation(move |request| {
            block_on(handler(caller.clone(), request.raw)).map(Into::into)
        });
    }
    if let Some(handler) = setup.url_elicitation {
        let caller = caller.clone();
        builder = builder.on_url_elicitation(move |asked| block_on(handler(caller.clone(), asked)));
    }
    if let Some(handler) = setup.sampling {
        let caller = caller.clone();
        builder = builder.on_sampling(move |asked| block_on(handler(caller.clone(), asked)));
    }
    if let Some(handler) = setup.input_wait {
        let caller = caller.clone();
        builder = builder.on_input_wait(move |asked| block_on(handler(caller.clone(), asked)));
    }
    for callback in setup.notifications {
        let caller = caller.clone();
        builder = builder.on_notification(move |told| block_on(callback(caller.clone(), told)));
    }
    builder
}

const NEVER: mcp_runtime_blocking::Background = mcp_runtime_blocking::Background::Never;

/// How long a host that pumps does so before it looks at what else there is to do.
const PUMP: Duration = Duration::from_millis(10);

/// A client in a host that pumps it, for as long as anybody else has it.
fn pumped(client: mcp_runtime_blocking::Client) -> Arc<dyn Core> {
    let core: Arc<dyn Core> = Arc::new(client);
    let pumped = Arc::downgrade(&core);
    std::thread::spawn(move || {
        while let Some(core) = pumped.upgrade() {
            core.pump();
        }
    });
    core
}

/// Launches a server.
pub(super) fn connect(
    runtime: Runtime,
    engine: &Engine,
    target: Target,
    setup: Setup,
) -> Result<Arc<dyn Core>, Error> {
    let caller = Caller::default();
    let core: Arc<dyn Core> = match runtime {
        Runtime::Blocking => Arc::new(blocking(setup, &caller).connect(target)?),
        Runtime::Pumped => pumped(blocking(setup, &caller).background(NEVER).connect(target)?),
        Runtime::Smol => {
            let builder = async_builder!(mcp_runtime_smol, setup, caller);
            Arc::new(engine.run(async move { builder.connect(target).await })?)
        }
        #[cfg(feature = "tokio")]
        Runtime::TokioCurrentThread | Runtime::TokioMultiThread => {
            let builder = async_builder!(mcp_runtime_tokio, setup, caller);
            Arc::new(engine.run(async move { builder.connect(target).await })?)
        }
    };
    caller.fill(&core);
    Ok(core)
}

/// Speaks over a stream.
pub(super) fn over(
    runtime: Runtime,
    engine: &Engine,
    (read, write): PipeEnd,
    setup: Setup,
) -> Result<Arc<dyn Core>, Error> {
    let caller = Caller::default();
    let core: Arc<dyn Core> = match runtime {
        Runtime::Blocking => Arc::new(blocking(setup, &caller).over(read, write)?),
        Runtime::Pumped => pumped(blocking(setup, &caller).background(NEVER).over(read, write)?),
        Runtime::Smol => {
            let builder = async_builder!(mcp_runtime_smol, setup, caller);
            Arc::new(engine.run(async move { builder.over(read, write).await })?)
        }
        #[cfg(feature = "tokio")]
        Runtime::TokioCurrentThread | Runtime::TokioMultiThread => {
            let builder = async_builder!(mcp_runtime_tokio, setup, caller);
            Arc::new(engine.run(async move { builder.over(read, write).await })?)
        }
    };
    caller.fill(&core);
    Ok(core)
}
