//! What a connection holds: bounded, of use to somebody, and nothing at the end.

use super::{Invariants, Last, Rule};
use crate::{Connection, ConnectionConfig, Now, TimerReason};

/// How much of the body of an error answer is kept.
const ERROR_BODY: usize = 64 * 1024;
/// What a decoder keeps beside the data of a message: a name, a line end.
const BESIDE: usize = 1100;
/// How many answers to requests of a server's are on their way over HTTP at once.
const REPLIES: usize = 8;

/// The bounds that the settings give.
#[derive(Debug)]
pub(super) struct Bounds {
    messages: usize,
    pages: usize,
    list_bytes: usize,
    items: usize,
    item_bytes: usize,
    server_requests: usize,
    notifications: usize,
    notification_bytes: usize,
}

impl Bounds {
    pub(super) fn of(config: &ConnectionConfig) -> Self {
        Bounds {
            messages: config.max_message_bytes,
            pages: config.max_pages,
            list_bytes: config.max_list_bytes,
            items: config.max_pending_items,
            item_bytes: config.max_pending_item_bytes,
            server_requests: config.max_server_requests,
            notifications: config.max_pending_notifications,
            notification_bytes: config.max_pending_notification_bytes,
        }
    }

    /// Whether a list may be so large.
    pub(super) fn hold_list(&self, pages: usize, bytes: usize) -> bool {
        pages <= self.pages && bytes <= self.list_bytes
    }
}

impl Invariants {
    /// All outputs were polled.
    pub fn drained(&mut self, connection: &Connection, now: Now) {
        let deadline = connection.poll_timeout();
        let queued = deadline.is_some_and(|deadline| deadline.reason == TimerReason::Output);
        self.check(!queued, Rule::NoBusyLoop, || String::from("no output is queued, it says"));
        if let Some(deadline) = deadline {
            let kept = self.last != Last::Timeout || deadline.at > now.mono;
            self.check(kept, Rule::NoBusyLoop, || {
                format!("the deadline of {} was kept, and stays", deadline.reason)
            });
        }
        if let Last::Cancel(id) = self.last {
            let ended = !self.calls.contains_key(&id);
            self.check(ended, Rule::Cancel, || format!("{id} was cancelled, and is still open"));
        }
        if self.closed {
            let timers = deadline.is_some();
            self.check(!timers, Rule::Closed, || format!("closed, and waits for {deadline:?}"));
        }
        self.check_census(connection, deadline.is_some());
        self.last = Last::Other;
    }

    fn check_census(&mut self, connection: &Connection, waits: bool) {
        let census = connection.census();
        let Bounds { messages, pages, list_bytes, items, item_bytes, server_requests, .. } =
            self.bounds;
        let Bounds { notifications, notification_bytes, .. } = self.bounds;
        let held = [
            ("pages", census.pages, pages),
            ("bytes of pages", census.page_bytes, list_bytes),
            ("items", census.items, items),
            ("bytes of items", census.item_bytes, item_bytes),
            ("notifications", census.notifications, notifications),
            ("bytes of notifications", census.notification_bytes, notification_bytes),
            ("questions of the server's", census.server_questions, server_requests),
            ("messages before the era is known", census.held, server_requests),
            ("bytes of one message", census.buffered, messages.max(ERROR_BODY) + BESIDE),
            ("bytes of tools", census.tool_bytes, crate::MAX_HELD_TOOL_BYTES),
            ("answers to the server", census.replies, REPLIES),
        ];
        for (what, held, most) in held {
            self.check(held <= most, Rule::Bounds, || format!("{held} {what}, of at most {most}"));
        }
        if let Some(orphan) = census.orphans.first() {
            self.report(Rule::NothingLeft, format!("nobody waits for {orphan}"));
        }
        let open = self.calls.len();
        self.check(census.calls == open, Rule::NothingLeft, || {
            format!("{} calls are kept, and {open} are open", census.calls)
        });
        let asked = self.questions.len();
        self.check(census.questions == asked, Rule::NothingLeft, || {
            format!("{} questions are kept, and {asked} are open", census.questions)
        });
        let moves = waits || !connection.at_rest() || asked > 0 || census.items > 0;
        self.check(open == 0 || moves, Rule::Progress, || {
            format!("nothing will ever move the {open} open calls")
        });
    }

    /// The connection was closed, and everything that it told to end has ended.
    pub fn end(&mut self, connection: &Connection) {
        let open = self.calls.len();
        self.check(open == 0, Rule::EndsOnce, || format!("{open} calls have no end"));
        self.check(self.closed, Rule::Closed, || String::from("the end was not told"));
        self.check(connection.at_rest(), Rule::NothingLeft, || String::from("something runs"));
        let census = connection.census();
        let empty = crate::testing::Census::default();
        self.check(census == empty, Rule::NothingLeft, || {
            format!("at the end there is {census:?}")
        });
    }
}
