//! Items that wait for the host: bounded by count and by bytes.

use std::collections::VecDeque;

use super::Connection;
use crate::interface::{Hearing, Item, Mailbox, Output};
use crate::model::Notification;
use crate::{CallId, ConnectionConfig, Event};

/// How much may wait in a mailbox.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    items: usize,
    bytes: usize,
}

impl Room {
    fn of_call(config: &ConnectionConfig) -> Self {
        let more = usize::from(config.doctored(6));
        Room { items: config.max_pending_items + more, bytes: config.max_pending_item_bytes }
    }

    fn of_host(config: &ConnectionConfig) -> Self {
        let more = usize::from(config.doctored(20));
        Room {
            items: config.max_pending_notifications + more,
            bytes: config.max_pending_notification_bytes,
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Waiting {
    queue: VecDeque<(usize, Item)>,
    bytes: usize,
    /// The host has asked for an item and has not got one yet.
    pulled: bool,
}

impl Waiting {
    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    #[cfg(feature = "testing")]
    pub(super) fn len(&self) -> usize {
        self.queue.len()
    }

    #[cfg(feature = "testing")]
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The host asks for an item.
    pub(super) fn pull(&mut self, backwards: bool) -> Option<Item> {
        let next = if backwards { self.queue.pop_back() } else { self.queue.pop_front() };
        match next {
            Some((bytes, item)) => {
                self.bytes -= bytes;
                Some(item)
            }
            None => {
                self.pulled = true;
                None
            }
        }
    }

    /// Puts an item in: it is returned when the host waits for one, and the number of items that
    /// were dropped for want of room otherwise.
    pub(super) fn put(&mut self, item: Item, bytes: usize, room: Room) -> Result<Item, usize> {
        if std::mem::take(&mut self.pulled) {
            return Ok(item);
        }
        if bytes > room.bytes {
            return Err(1);
        }
        let mut dropped = 0;
        while self.queue.len() >= room.items || self.bytes + bytes > room.bytes {
            let Some((old, _)) = self.queue.pop_front() else {
                break;
            };
            self.bytes -= old;
            dropped += 1;
        }
        self.bytes += bytes;
        self.queue.push_back((bytes, item));
        Err(dropped)
    }

    /// Drops everything.
    pub(super) fn clear(&mut self) {
        self.queue.clear();
        self.bytes = 0;
    }
}

/// The notifications that wait for the host, and how many of them were dropped.
#[derive(Debug, Default)]
pub(super) struct Notifications {
    waiting: Waiting,
    /// Since one was delivered last.
    lost: u64,
    /// Of these, how many have been told in an event.
    told: u64,
}

impl Notifications {
    #[cfg(feature = "testing")]
    pub(super) fn waiting(&self) -> &Waiting {
        &self.waiting
    }

    /// Drops everything: nobody will ask for it.
    pub(super) fn clear(&mut self) {
        *self = Notifications::default();
    }

    /// How many losses are to be told now. The first of a row is told at once, the others when the
    /// host takes something again: a flood makes no flood of events.
    fn owed(&mut self, all: bool) -> Option<u64> {
        let owes = self.lost > self.told && (all || self.told == 0);
        owes.then(|| self.lost - std::mem::replace(&mut self.told, self.lost))
    }

    /// What is delivered says how many were dropped before it.
    fn stamp(&mut self, item: &mut Item) {
        if let Item::Notification(notification) = item {
            notification.lost = std::mem::take(&mut self.lost);
            self.told = 0;
        }
    }
}

impl Connection {
    /// An item for a call has come; `bytes` is what it weighs.
    pub(super) fn put_item(&mut self, id: CallId, item: Item, bytes: usize) {
        let Some(call) = self.calls.get_mut(id) else {
            return;
        };
        match call.items.put(item, bytes, Room::of_call(&self.config)) {
            Ok(item) => {
                self.outputs.push_back(Output::Item(Mailbox::Call(id), Box::new(item)));
            }
            Err(dropped) => {
                for _ in 0..dropped {
                    self.event(Event::ItemDropped(id));
                }
            }
        }
    }

    /// A notification for the host has come; `bytes` is what it weighs.
    pub(super) fn put_notification(&mut self, notification: Notification, bytes: usize) {
        if !self.hears.contains(&Hearing::Notifications) {
            return;
        }
        let room = Room::of_host(&self.config);
        let item = Item::Notification(notification);
        match self.notifications.waiting.put(item, bytes, room) {
            Ok(item) => self.deliver(item),
            Err(dropped) => {
                self.notifications.lost += dropped as u64;
                self.tell_lost(false);
            }
        }
    }

    fn deliver(&mut self, mut item: Item) {
        self.tell_lost(true);
        self.notifications.stamp(&mut item);
        self.outputs.push_back(Output::Item(Mailbox::Host, Box::new(item)));
    }

    /// Tells how many notifications were lost, as far as it is not told yet.
    pub(super) fn tell_lost(&mut self, all: bool) {
        if let Some(lost) = self.notifications.owed(all).filter(|_| !self.config.doctored(21)) {
            self.event(Event::NotificationsLost { lost });
        }
    }

    pub(super) fn on_pull(&mut self, mailbox: Mailbox) {
        match mailbox {
            Mailbox::Call(id) => {
                let Some(call) = self.calls.get_mut(id) else {
                    return;
                };
                if let Some(item) = call.items.pull(false) {
                    self.outputs.push_back(Output::Item(mailbox, Box::new(item)));
                }
                self.end_if_taken(id);
            }
            Mailbox::Host => {
                if let Some(item) = self.notifications.waiting.pull(self.config.doctored(22)) {
                    self.deliver(item);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Progress;

    fn item(progress: f64) -> Item {
        Item::Progress(Progress { progress, ..Progress::default() })
    }

    #[test]
    fn the_oldest_items_make_room() {
        let room = Room { items: 2, bytes: 100 };
        let mut waiting = Waiting::default();
        assert_eq!(waiting.put(item(1.0), 10, room), Err(0));
        assert_eq!(waiting.put(item(2.0), 10, room), Err(0));
        assert_eq!(waiting.put(item(3.0), 10, room), Err(1));
        assert_eq!(waiting.put(item(4.0), 95, room), Err(2));
        assert_eq!(waiting.put(item(5.0), 101, room), Err(1));
        assert_eq!(waiting.pull(false), Some(item(4.0)));
        assert_eq!(waiting.pull(false), None);
        assert_eq!(waiting.put(item(6.0), 10, room), Ok(item(6.0)));
        assert_eq!(waiting.put(item(7.0), 10, room), Err(0));
    }
}
