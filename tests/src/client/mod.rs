//! One client for all runtimes: what a scenario is written against.
//!
//! [`Client`] is a thin coat over the public `Client` of each runtime crate, with methods that
//! block. Nothing of the protocol is in here: each method calls the one of the same name.
//!
//! Handlers are async, as they are on async runtimes; the blocking client runs them to their end
//! on the thread that asks. So a handler may call the client on every runtime ([`Caller`]).

mod core;
mod engine;
mod offers;
mod setup;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use mcp_proto::driver::CallOptions;
use mcp_proto::model::{CallToolResult, Completion, Root, ServerInfo};
use mcp_proto::op::{Complete, ToolList};
use mcp_proto::{CloseReason, ConnectionState, Error, Raw, Target};
use mcp_runtime_common::IntoTarget;
use serde_json::{Map, Value};

use self::core::{Core, PendingCore};
use self::engine::Engine;
use crate::pipe::PipeEnd;

pub use self::core::Caller;
pub use setup::{Handled, Setup};

/// On what a scenario runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runtime {
    /// Threads.
    Blocking,
    /// No thread of the client's: bytes move where calls wait, and where the host pumps.
    Pumped,
    /// The global executor of smol; calls are polled on the thread that makes them.
    Smol,
    /// One thread runs the driver and all calls.
    #[cfg(feature = "tokio")]
    TokioCurrentThread,
    /// Two workers run the driver; calls are polled on the thread that makes them.
    #[cfg(feature = "tokio")]
    TokioMultiThread,
}

impl FromStr for Runtime {
    type Err = String;

    /// Reads what a command line calls it.
    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "blocking" => Ok(Runtime::Blocking),
            "smol" => Ok(Runtime::Smol),
            #[cfg(feature = "tokio")]
            "tokio" => Ok(Runtime::TokioCurrentThread),
            #[cfg(feature = "tokio")]
            "tokio-threads" => Ok(Runtime::TokioMultiThread),
            other => Err(format!("there is no runtime {other} here")),
        }
    }
}

/// A client on some runtime. Clones share one connection.
#[derive(Clone)]
pub struct Client {
    // The client goes before the runtime that it lives on.
    core: Arc<dyn Core>,
    engine: Engine,
}

impl Client {
    /// Launches a server and gets ready to call it.
    ///
    /// # Errors
    /// Those of the runtime's own client.
    pub fn connect(runtime: Runtime, target: impl IntoTarget, setup: Setup) -> Result<Self, Error> {
        let target = target.into_target();
        let target: Target = target.map_err(|misuse| Error::validation(misuse.to_string()))?;
        Client::make(runtime, |engine| core::connect(runtime, engine, target, setup))
    }

    /// Speaks with a server over a byte stream.
    ///
    /// # Errors
    /// Those of the runtime's own client.
    pub fn over(runtime: Runtime, stream: PipeEnd, setup: Setup) -> Result<Self, Error> {
        Client::make(runtime, |engine| core::over(runtime, engine, stream, setup))
    }

    fn make(
        runtime: Runtime,
        make: impl FnOnce(&Engine) -> Result<Arc<dyn Core>, Error>,
    ) -> Result<Self, Error> {
        let engine = Engine::new(runtime);
        Ok(Client { core: make(&engine)?, engine })
    }

    /// Lists the tools.
    ///
    /// # Errors
    /// Those of the call.
    pub fn list_tools(&self) -> Result<ToolList, Error> {
        self.engine.run(self.core.list_tools())
    }

    /// Calls a tool.
    ///
    /// # Errors
    /// Those of the call.
    pub fn call_tool(&self, name: &str, arguments: Value) -> Result<CallToolResult, Error> {
        self.engine.run(self.core.call_tool(name, arguments))
    }

    /// Calls a tool with options. It is polled on this thread, so that a callback which takes its
    /// time holds up this thread and nothing else.
    ///
    /// # Errors
    /// Those of the call.
    pub fn call_tool_with(
        &self,
        name: &str,
        arguments: Value,
        options: CallOptions,
    ) -> Result<CallToolResult, Error> {
        self.engine.run_here(self.core.call_tool_with(name, arguments, options))
    }

    /// Asks whether the server is there.
    ///
    /// # Errors
    /// Those of the call.
    pub fn ping(&self) -> Result<(), Error> {
        self.engine.run(self.core.ping())
    }

    /// Completes an argument, as an operation says.
    ///
    /// # Errors
    /// Those of the call.
    pub fn complete_with(&self, operation: Complete) -> Result<Completion, Error> {
        self.engine.run(self.core.complete_with(operation))
    }

    /// Changes where servers may work.
    ///
    /// # Errors
    /// When one of the roots cannot be meant.
    pub fn set_roots(&self, roots: Vec<Root>) -> Result<(), Error> {
        self.engine.enter(|| self.core.set_roots(roots))
    }

    /// Sends a request of any method.
    ///
    /// # Errors
    /// Those of the call.
    pub fn request(&self, method: &str, params: Map<String, Value>) -> Result<Raw, Error> {
        self.engine.run(self.core.request(method, params))
    }

    /// Begins to call a tool.
    ///
    /// # Errors
    /// When the call cannot be sent as it is.
    pub fn begin(&self, name: &str, arguments: Value) -> Result<Pending, Error> {
        self.begin_with(name, arguments, CallOptions::new())
    }

    /// Begins to call a tool, with options.
    ///
    /// # Errors
    /// When the call cannot be sent as it is.
    pub fn begin_with(
        &self,
        name: &str,
        arguments: Value,
        options: CallOptions,
    ) -> Result<Pending, Error> {
        let core = self.core.begin(name, arguments, options)?;
        Ok(Pending { core, engine: self.engine.clone() })
    }

    /// The server, while the connection is ready.
    pub fn server(&self) -> Option<Arc<ServerInfo>> {
        self.core.server()
    }

    /// The state of the connection.
    pub fn state(&self) -> ConnectionState {
        self.core.state()
    }

    /// Ends the server; the next call launches it again.
    pub fn disconnect(&self) {
        self.core.disconnect();
    }

    /// Waits until nothing runs any more.
    pub fn closed(&self) -> CloseReason {
        self.engine.run(self.core.closed())
    }

    /// Ends the connection for good.
    pub fn close(&self) {
        self.engine.run(self.core.close());
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("state", &self.state()).finish_non_exhaustive()
    }
}

/// A call of a tool that has begun. Dropping it cancels the call.
pub struct Pending {
    core: Box<dyn PendingCore>,
    engine: Engine,
}

impl Pending {
    /// The result, if there is one by now.
    pub fn try_take(&mut self) -> Option<Result<CallToolResult, Error>> {
        let core = &mut self.core;
        self.engine.enter(|| core.try_take())
    }

    /// Waits for the result.
    ///
    /// # Errors
    /// Those of the call.
    pub fn wait(self) -> Result<CallToolResult, Error> {
        self.engine.run_here(self.core.wait())
    }

    /// Something that cancels the call.
    pub fn cancel_handle(&self) -> impl Fn() + Send + Sync + 'static + use<> {
        self.core.cancel_handle()
    }
}

impl fmt::Debug for Pending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pending").finish_non_exhaustive()
    }
}

/// Options with nothing but a timeout.
pub fn within(time: Duration) -> CallOptions {
    CallOptions::new().timeout(time)
}
