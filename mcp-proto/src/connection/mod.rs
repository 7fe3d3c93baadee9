//! The client side of one server.

use std::sync::Arc;

use crate::error::CloseReason;
use crate::interface::{CallOptions, ConnectionState, Input, Output, Source};
use crate::model::ServerInfo;
use crate::op::{Call, ErasedCall, Operation};
use crate::{ApiMisuse, CallId, ConnectionConfig, Deadline, Now, Transport};

/// The client side of one server: its state, its timers, its calls.
#[derive(Debug)]
pub struct Connection {
    config: Arc<ConnectionConfig>,
    transport: Transport,
    state: ConnectionState,
    next_call: u64,
}

impl Connection {
    /// A connection at rest. Nothing happens before its first call.
    #[must_use]
    pub fn new(
        config: Arc<ConnectionConfig>,
        transport: Transport,
        seed: [u8; 32],
        now: Now,
    ) -> Self {
        let _ = (seed, now);
        let state = ConnectionState::Idle(CloseReason::NotStarted);
        Connection {
            config,
            transport,
            state,
            next_call: 0,
        }
    }

    /// Begins a call: allocates its id and hands in [`Input::Start`].
    ///
    /// # Errors
    /// When the operation or its options cannot be sent.
    pub fn start<O: Operation>(
        &mut self,
        operation: O,
        options: CallOptions,
        now: Now,
    ) -> Result<Call<O>, ApiMisuse> {
        let erased = ErasedCall::new(&operation, options)?;
        self.next_call += 1;
        let id = CallId::new(self.next_call);
        self.handle(Input::Start(id, erased), now);
        Ok(Call::new(id, operation))
    }

    /// Hands in what happened. It is the only thing that changes the connection, and it never
    /// fails, whatever the server sent.
    pub fn handle(&mut self, input: Input<'_>, now: Now) {
        let _ = (input, now);
    }

    /// The next thing to do. Poll until `None` after every input.
    pub fn poll_output(&mut self) -> Option<Output> {
        None
    }

    /// When [`Input::Timeout`] is wanted next.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Deadline> {
        None
    }

    /// Whether bytes of this source may be read and handed in now.
    #[must_use]
    pub fn wants_read(&self, from: Source) -> bool {
        let _ = from;
        true
    }

    /// The state.
    #[must_use]
    pub fn state(&self) -> &ConnectionState {
        &self.state
    }

    /// Whether no process runs and none is being closed.
    #[must_use]
    pub fn at_rest(&self) -> bool {
        true
    }

    /// The server, as it introduced itself, while the connection is ready.
    #[must_use]
    pub fn server(&self) -> Option<&Arc<ServerInfo>> {
        None
    }

    /// The transport.
    #[must_use]
    pub fn transport(&self) -> &Transport {
        &self.transport
    }

    /// The settings.
    #[must_use]
    pub fn config(&self) -> &Arc<ConnectionConfig> {
        &self.config
    }

    /// The bytes of the journal that were recorded since the last time.
    pub fn take_journal(&mut self) -> Vec<u8> {
        Vec::new()
    }
}
