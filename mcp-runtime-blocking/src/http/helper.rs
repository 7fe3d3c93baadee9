//! The thread that keeps the connection's time while nobody waits.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use mcp_proto::Input;
use mcp_proto::driver::Work;

use super::Http;

impl Http {
    pub(super) fn start_helper(self: &Arc<Self>) -> std::io::Result<()> {
        let http = Arc::clone(self);
        let thread = thread::Builder::new().name(String::from("mcp-helper"));
        thread.spawn(move || http.help()).map(drop)
    }

    fn help(self: &Arc<Self>) {
        while !self.ended.load(Ordering::SeqCst) {
            self.helper.clear();
            // Whoever finds a nearer time from now on wakes.
            self.helper_wakes.store(u64::MAX, Ordering::SeqCst);
            let turn = self.hub.turn(Some(&self.dispatcher), &mut Work::new());
            if turn.finished {
                return;
            }
            let next = [turn.deadline, self.reap()].into_iter().flatten().min();
            let now = self.hub.now().mono;
            match next {
                Some(at) if at <= now => {
                    // A subscriber of the host's that panics must not take the helper with it.
                    let hand_in = || self.hub.handle(Input::Timeout);
                    let _ = catch_unwind(AssertUnwindSafe(hand_in));
                }
                next => {
                    let wakes = next.map_or(u64::MAX, nanoseconds);
                    self.helper_wakes.fetch_min(wakes, Ordering::SeqCst);
                    self.helper.park(next.map(|at| at - now));
                }
            }
        }
    }

    /// Sees to it that the helper does not sleep beyond this moment.
    pub(super) fn wake_helper_by(&self, at: Duration) {
        let at = nanoseconds(at);
        if at < self.helper_wakes.fetch_min(at, Ordering::SeqCst) {
            std::task::Wake::wake_by_ref(&self.helper);
        }
    }
}

fn nanoseconds(at: Duration) -> u64 {
    u64::try_from(at.as_nanos()).unwrap_or(u64::MAX)
}
