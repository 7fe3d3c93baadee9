//! What the core never reads itself: entropy and the clocks.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
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

/// How many nanoseconds the wall clock is ahead of this moment. One before 1970 is wrong anyway.
fn ahead_of(mono: Duration) -> u64 {
    let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    unix.saturating_sub(mono).as_nanos().try_into().unwrap_or(u64::MAX)
}

/// The clocks as the core wants them: durations since a fixed moment.
#[derive(Debug)]
pub struct Clock {
    base: Instant,
    /// The second in which the wall clock was read last, and how many nanoseconds it was ahead.
    second: AtomicU64,
    ahead: AtomicU64,
}

impl Clock {
    /// A clock whose monotonic side begins now. One connection keeps one clock.
    #[must_use]
    pub fn new() -> Self {
        let ahead = AtomicU64::new(ahead_of(Duration::ZERO));
        Clock { base: Instant::now(), second: AtomicU64::new(0), ahead }
    }

    /// The present moment. A call reads it several times, so that the wall clock, at which only
    /// dates look, is read once a second.
    #[must_use]
    pub fn now(&self) -> Now {
        let mono = self.base.elapsed();
        let second = mono.as_secs();
        if self.second.load(Ordering::Relaxed) != second {
            self.second.store(second, Ordering::Relaxed);
            self.ahead.store(ahead_of(mono), Ordering::Relaxed);
        }
        let ahead = Duration::from_nanos(self.ahead.load(Ordering::Relaxed));
        Now { mono, unix: mono.saturating_add(ahead) }
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
