//! Items that wait for the host: bounded by count and by bytes.

use std::collections::VecDeque;

use crate::ConnectionConfig;
use crate::interface::Item;

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
    pub(super) fn pull(&mut self) -> Option<Item> {
        match self.queue.pop_front() {
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
    pub(super) fn put(
        &mut self,
        item: Item,
        bytes: usize,
        config: &ConnectionConfig,
    ) -> Result<Item, usize> {
        if std::mem::take(&mut self.pulled) {
            return Ok(item);
        }
        if bytes > config.max_pending_item_bytes {
            return Err(1);
        }
        let mut dropped = 0;
        while self.queue.len() >= config.max_pending_items + usize::from(config.doctored(6))
            || self.bytes + bytes > config.max_pending_item_bytes
        {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Progress;

    fn item(progress: f64) -> Item {
        Item::Progress(Progress { progress, ..Progress::default() })
    }

    #[test]
    fn the_oldest_items_make_room() {
        let config = ConnectionConfig {
            max_pending_items: 2,
            max_pending_item_bytes: 100,
            ..ConnectionConfig::default()
        };
        let mut waiting = Waiting::default();
        assert_eq!(waiting.put(item(1.0), 10, &config), Err(0));
        assert_eq!(waiting.put(item(2.0), 10, &config), Err(0));
        assert_eq!(waiting.put(item(3.0), 10, &config), Err(1));
        assert_eq!(waiting.put(item(4.0), 95, &config), Err(2));
        assert_eq!(waiting.put(item(5.0), 101, &config), Err(1));
        assert_eq!(waiting.pull(), Some(item(4.0)));
        assert_eq!(waiting.pull(), None);
        assert_eq!(waiting.put(item(6.0), 10, &config), Ok(item(6.0)));
        assert_eq!(waiting.put(item(7.0), 10, &config), Err(0));
    }
}
