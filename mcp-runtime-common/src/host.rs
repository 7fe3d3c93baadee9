//! What a hub asks of its surroundings, answered the same way in every adapter.

use std::fmt;
use std::sync::Arc;

use mcp_proto::driver::{HandlerFailure, Host, Hub};
use mcp_proto::{ApiMisuse, Connection, ConnectionConfig, Error, Event, Now, Transport};

use crate::{ClientOptions, Clock, IntoTarget, JournalWriter, Notices, Redactor};

/// The clocks of the system, `tracing` for events, and a thread that writes the journal.
struct Surroundings {
    clock: Clock,
    server: String,
    notices: Notices,
    journal: Option<Arc<JournalWriter>>,
    redactor: Option<Redactor>,
}

impl fmt::Debug for Surroundings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Surroundings").field("server", &self.server).finish_non_exhaustive()
    }
}

impl Host for Surroundings {
    fn now(&self) -> Now {
        self.clock.now()
    }

    fn event(&self, event: Event) {
        crate::trace(&self.server, &event);
        if let Event::Deprecated(feature) = event {
            self.notices.used(feature);
        } else {
            self.notices.settle();
        }
    }

    fn handler_failed(&self, failure: &HandlerFailure) {
        tracing::warn!(target: "mcp", server = self.server.as_str(), "{failure}");
    }

    fn record(&self, bytes: Vec<u8>) {
        if let Some(journal) = &self.journal {
            journal.send_redacted(bytes, self.redactor.as_ref());
        }
    }
}

impl ClientOptions {
    /// A connection to this target, at rest, behind its lock.
    ///
    /// # Errors
    /// When the target names no server, or a setting cannot work.
    pub fn hub(&self, target: impl IntoTarget) -> Result<Arc<Hub>, Error> {
        let target = target.into_target();
        self.build(target.and_then(|target| self.connection(&target)))
    }

    /// A connection over a byte stream of the host's own, at rest, behind its lock.
    ///
    /// # Errors
    /// When a setting cannot work.
    pub fn stream_hub(&self) -> Result<Arc<Hub>, Error> {
        self.build(self.stream())
    }

    fn build(
        &self,
        parts: Result<(ConnectionConfig, Transport), ApiMisuse>,
    ) -> Result<Arc<Hub>, Error> {
        let (config, transport) = parts.map_err(|misuse| Error::validation(misuse.to_string()))?;
        let seed = crate::seed().map_err(|error| Error::validation(error.to_string()))?;
        let surroundings = Surroundings {
            clock: Clock::new(),
            server: config.name.clone(),
            notices: self.notices.clone(),
            journal: self.journal.clone(),
            redactor: self.redactor.clone(),
        };
        let now = surroundings.clock.now();
        let connection = Connection::new(Arc::new(config), transport, seed, now);
        Ok(Hub::new(connection, Box::new(surroundings)))
    }
}
