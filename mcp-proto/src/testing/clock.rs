//! The virtual clock.

use std::time::Duration;

use crate::Now;

/// A clock that stands still until a test moves it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    now: Now,
}

impl Default for Clock {
    /// It starts somewhere: neither clock of a real performer starts at zero.
    fn default() -> Self {
        let now = Now { mono: Duration::from_secs(1000), unix: Duration::from_secs(1_800_000_000) };
        Clock { now }
    }
}

impl Clock {
    /// The moment.
    #[must_use]
    pub fn now(&self) -> Now {
        self.now
    }

    /// Time passes.
    pub fn advance(&mut self, by: Duration) {
        self.now.mono = self.now.mono.saturating_add(by);
        self.now.unix = self.now.unix.saturating_add(by);
    }

    /// Time passes until this moment of the monotonic clock. It never goes back.
    pub fn reach(&mut self, at: Duration) {
        self.advance(at.saturating_sub(self.now.mono));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_goes_forward_only() {
        let mut clock = Clock::default();
        let begin = clock.now();
        clock.reach(begin.mono + Duration::from_secs(2));
        clock.reach(begin.mono);
        assert_eq!(clock.now().mono, begin.mono + Duration::from_secs(2));
        assert_eq!(clock.now().unix, begin.unix + Duration::from_secs(2));
    }
}
