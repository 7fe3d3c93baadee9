//! What the core never reads itself: entropy and the clocks.

use std::io;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use mcp_proto::Now;

/// The seed of a connection, from the operating system.
///
/// # Errors
/// When the operating system gives no random bytes.
pub fn seed() -> io::Result<[u8; 32]> {
    let mut seed = [0; 32];
    getrandom::fill(&mut seed).map_err(|error| {
        io::Error::other(format!("the operating system gives no random bytes: {error}"))
    })?;
    Ok(seed)
}

/// The clocks as the core wants them: durations since a fixed moment.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    base: Instant,
}

impl Clock {
    /// A clock whose monotonic side begins now. One connection keeps one clock.
    #[must_use]
    pub fn new() -> Self {
        Clock { base: Instant::now() }
    }

    /// The present moment.
    #[must_use]
    pub fn now(&self) -> Now {
        Now {
            mono: self.base.elapsed(),
            // A wall clock before 1970 is wrong anyway.
            unix: SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default(),
        }
    }

    /// How long it is from now to a moment on the monotonic clock; zero when it is over.
    #[must_use]
    pub fn until(&self, at: Duration) -> Duration {
        at.saturating_sub(self.base.elapsed())
    }

    /// A moment on the monotonic clock for the timers of a runtime. `None` when it is further
    /// away than the platform can say.
    #[must_use]
    pub fn instant(&self, at: Duration) -> Option<Instant> {
        self.base.checked_add(at)
    }
}

impl Default for Clock {
    fn default() -> Self {
        Clock::new()
    }
}
