//! The client as its host sees it.

use std::fmt;
use std::io::{Read, Write};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use mcp_proto::driver::CallOptions;
use mcp_proto::model::{Root, ServerInfo};
use mcp_proto::op::Connect;
use mcp_proto::{ApiMisuse, CloseReason, ConnectionState, Error, Operation};
use mcp_runtime_common::IntoTarget;

use crate::seat::Manner;
use crate::shared::Shared;
use crate::{Background, ClientBuilder, PendingCall};

/// The client of one server.
///
/// Clones share one connection, and any thread may use them. When the last one is dropped, pending
/// calls included, the server is ended: its stdin is closed, and after 100 ms its process group is
/// killed; the drop blocks until then. [`close`](Self::close) is the friendlier end.
///
/// A handler that holds a client keeps it alive until it is closed.
#[derive(Clone)]
pub struct Client {
    handle: Arc<Handle>,
}

/// What ends the connection when it is dropped. The threads of the client do not hold it.
struct Handle {
    shared: Arc<Shared>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.shared.end();
    }
}

impl Client {
    /// Connects to a server and gets ready to call it. The target is a URL, a command line, a list
    /// of a program and its arguments, a [`Command`](crate::Command) that is launched, or an
    /// [`HttpConfig`](crate::proto::HttpConfig).
    ///
    /// # Errors
    /// When the target names no server, or none that can be spoken with. Nothing is left running.
    pub fn connect(target: impl IntoTarget) -> Result<Self, Error> {
        Client::builder().connect(target)
    }

    /// Speaks with a server over a byte stream of one's own, such as a socket. It is never
    /// connected anew: its end is the end of the client. A thread each reads and writes.
    ///
    /// # Errors
    /// When the server cannot be spoken with.
    pub fn over(
        read: impl Read + Send + 'static,
        write: impl Write + Send + 'static,
    ) -> Result<Self, Error> {
        Client::builder().over(read, write)
    }

    /// A client with settings of its own.
    #[must_use]
    pub fn builder() -> ClientBuilder {
        ClientBuilder::default()
    }

    /// A client that is connected. When that fails, its drop ends what was launched.
    pub(crate) fn ready(shared: Arc<Shared>) -> Result<Self, Error> {
        let client = Client { handle: Arc::new(Handle { shared }) };
        client.run(Connect, CallOptions::new())?;
        Ok(client)
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.handle.shared
    }

    /// Runs an operation, with options of its own. Its callbacks, and the handlers of its
    /// questions, run on this thread.
    ///
    /// # Errors
    /// When there is no result, or one that does not fit the operation.
    pub fn run<O: Operation>(
        &self,
        operation: O,
        options: CallOptions,
    ) -> Result<O::Output, Error> {
        let (options, progress) = options.split();
        let call = self.shared().hub.begin(operation, options, true).map_err(refused)?;
        call.finish(self.shared().follow(call.id(), progress))
    }

    /// Begins a call, with options of its own, without waiting for it.
    ///
    /// # Errors
    /// When it cannot be sent as it is.
    pub fn begin_with<O: Operation>(
        &self,
        operation: O,
        options: CallOptions,
    ) -> Result<PendingCall<O>, Error> {
        let shared = self.shared();
        let (options, progress) = options.split();
        let begin = || shared.hub.begin(operation, options, false);
        let call = shared.callbacks.begin(progress, begin).map_err(refused)?;
        shared.work();
        Ok(PendingCall::new(self.clone(), call))
    }

    mcp_runtime_common::mcp_client_methods!(blocking, CallOptions, PendingCall);

    /// The server, as it introduced itself, while the connection is ready.
    #[must_use]
    pub fn server(&self) -> Option<Arc<ServerInfo>> {
        self.shared().hub.server()
    }

    /// Changes where servers may work (specification: client/roots). A legacy server is told
    /// that it may ask anew; a modern one is told when it asks.
    ///
    /// # Errors
    /// When one of the roots must not be told to a server; then nothing changes.
    pub fn set_roots(&self, roots: impl IntoIterator<Item = Root>) -> Result<(), Error> {
        self.shared().hub.set_roots(roots.into_iter().collect())?;
        self.shared().work();
        Ok(())
    }

    /// Where servers may work.
    #[must_use]
    pub fn roots(&self) -> Vec<Root> {
        self.shared().hub.roots()
    }

    /// The state of the connection.
    #[must_use]
    pub fn state(&self) -> ConnectionState {
        self.shared().hub.state()
    }

    /// Moves bytes, and runs the callbacks and handlers that belong to no call which somebody
    /// waits in: for hosts with an event loop of their own, and
    /// [`Background::Never`](crate::Background::Never). Returns when something has been done, at
    /// the latest after `timeout`; with a timeout of zero it does what there is to do, and never
    /// waits.
    ///
    /// The function given to [`on_wake`](ClientBuilder::on_wake) is called when a call of this
    /// process's makes it necessary. What the server writes can only be seen by pumping, so pump
    /// regularly while something is expected of it.
    pub fn pump(&self, timeout: Duration) {
        let shared = self.shared();
        let jobs = || shared.background == Background::Never && shared.run_jobs();
        let timeout = if jobs() { Duration::ZERO } else { timeout };
        let until = shared.hub.now().mono.checked_add(timeout);
        let mut looked = false;
        shared.wait(Manner::Guest, until, |_| {
            let before = std::mem::replace(&mut looked, true);
            if before { Poll::Ready(()) } else { Poll::Pending }
        });
        jobs();
    }

    /// Ends the connection for now: a process ends, and so does a session over HTTP. The next call
    /// begins another one. This does not wait; [`closed`](Self::closed) does.
    pub fn disconnect(&self) {
        self.shared().hub.disconnect();
        self.shared().work();
    }

    /// Waits until nothing runs any more, and says why. A connection that rests is there already.
    #[must_use]
    pub fn closed(&self) -> CloseReason {
        self.shared().wait_for_end()
    }

    /// Ends the connection for good, and waits until nothing of it is left: a process that does not
    /// end by itself is asked to after 2 s, and made to after 2 s more; over HTTP the end of a
    /// session is told, for which the server has 1 s. Calls that still wait end with an error at
    /// once. Closing again, or from several threads, does no harm.
    pub fn close(&self) {
        self.shared().close();
    }
}

fn refused(misuse: ApiMisuse) -> Error {
    Error::validation(misuse.to_string())
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("state", &self.state()).finish_non_exhaustive()
    }
}
