//! The timers of a connection: at most one for each reason.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::{Deadline, TimerReason};

#[derive(Debug, Default)]
pub(crate) struct Timers {
    at: BTreeMap<TimerReason, Duration>,
    queue: BTreeSet<(Duration, TimerReason)>,
}

impl Timers {
    pub(crate) fn set(&mut self, reason: TimerReason, at: Duration) {
        if let Some(old) = self.at.insert(reason, at) {
            self.queue.remove(&(old, reason));
        }
        self.queue.insert((at, reason));
    }

    pub(crate) fn clear(&mut self, reason: TimerReason) {
        if let Some(old) = self.at.remove(&reason) {
            self.queue.remove(&(old, reason));
        }
    }

    pub(crate) fn is_set(&self, reason: TimerReason) -> bool {
        self.at.contains_key(&reason)
    }

    pub(crate) fn next(&self) -> Option<Deadline> {
        self.queue.first().map(|&(at, reason)| Deadline { at, reason })
    }

    #[cfg(feature = "testing")]
    pub(crate) fn reasons(&self) -> impl Iterator<Item = TimerReason> {
        self.at.keys().copied()
    }

    /// Takes the first timer that has run out.
    pub(crate) fn pop(&mut self, now: Duration) -> Option<TimerReason> {
        let &(at, reason) = self.queue.first()?;
        if at > now {
            return None;
        }
        self.clear(reason);
        Some(reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_is_moved_not_doubled() {
        let s = Duration::from_secs;
        let mut timers = Timers::default();
        timers.set(TimerReason::Start, s(5));
        timers.set(TimerReason::Grace, s(3));
        timers.set(TimerReason::Start, s(2));
        assert_eq!(timers.pop(s(1)), None);
        assert_eq!(timers.pop(s(4)), Some(TimerReason::Start));
        assert_eq!(timers.pop(s(4)), Some(TimerReason::Grace));
        assert_eq!(timers.next(), None);
    }
}
