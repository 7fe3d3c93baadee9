//! Notifications for the host: one for each that was asked for, and no loss untold.

use super::NUMBER_KEY;
use super::{Invariants, Rule};
use crate::{Item, Raw};

/// What was asked for and told.
#[derive(Debug, Default)]
pub(super) struct Notifications {
    /// The host has asked for one, and has none yet.
    asked: bool,
    /// How many losses events have told, since one was delivered last.
    lost: u64,
    /// The number of the latest that had one.
    number: u64,
}

impl Notifications {
    pub(super) fn pulled(&mut self) {
        self.asked = true;
    }

    pub(super) fn told(&mut self, lost: u64) {
        self.lost += lost;
    }
}

impl Invariants {
    pub(super) fn on_notification(&mut self, item: &Item) {
        let asked = std::mem::take(&mut self.notifications.asked);
        self.check(asked, Rule::Notifications, || String::from("one came that nobody asked for"));
        let told = std::mem::take(&mut self.notifications.lost);
        let Item::Notification(notification) = item else {
            return self.report(Rule::Notifications, "something else came in its place");
        };
        if let Some(number) = notification.params.as_ref().and_then(numbered) {
            let before = std::mem::replace(&mut self.notifications.number, number);
            self.check(number > before, Rule::Notifications, || {
                format!("number {number} came after number {before}")
            });
        }
        let lost = notification.lost;
        self.check(lost == told, Rule::Notifications, || {
            format!("{lost} were lost before it, and {told} were told")
        });
    }
}

fn numbered(params: &Raw) -> Option<u64> {
    let meta: serde_json::Value = params.member("_meta")?.parse().ok()?;
    meta.get(NUMBER_KEY)?.as_u64()
}
