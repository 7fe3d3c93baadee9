//! What a caller may say about one call, callbacks included.

use std::fmt;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::model::Progress;

/// A callback for the progress of one call.
pub type OnProgress = Box<dyn FnMut(Progress) + Send>;

/// What a caller may say about one call.
#[derive(Default)]
pub struct CallOptions {
    core: crate::CallOptions,
    progress: Option<OnProgress>,
}

impl CallOptions {
    /// The defaults.
    #[must_use]
    pub fn new() -> Self {
        CallOptions::default()
    }

    /// How long the call may take in all, the start of the server included. Without it the
    /// connection's `call_timeout` counts from the moment at which the connection is ready.
    #[must_use]
    pub fn timeout(mut self, time: Duration) -> Self {
        self.core.timeout = Some(time);
        self
    }

    /// Members for the `_meta` of this call's requests. They win over the connection's.
    #[must_use]
    pub fn meta(mut self, meta: Map<String, Value>) -> Self {
        self.core.meta = meta;
        self
    }

    /// Asks the server for progress (specification: basic/patterns/progress), and what to do with
    /// it. The callback may take its time: only this call waits for it. One that panics is not
    /// called again, and the call goes on.
    #[must_use]
    pub fn on_progress(mut self, callback: impl FnMut(Progress) + Send + 'static) -> Self {
        self.core.progress = true;
        self.progress = Some(Box::new(callback));
        self
    }

    /// What the connection is told, and the callback.
    #[must_use]
    pub fn split(self) -> (crate::CallOptions, Option<OnProgress>) {
        (self.core, self.progress)
    }
}

impl fmt::Debug for CallOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CallOptions").field(&self.core).finish()
    }
}
