//! What a server asks before its era is known.

use std::collections::VecDeque;

use crate::transport::Origin;
use crate::wire::jsonrpc::Message;

/// How many bytes of messages are held until the era is known.
const MAX_BYTES: usize = 1024 * 1024;

/// A message, and the request whose exchange brought it.
pub(crate) type EarlyMessage = (Message, Option<Origin>);

/// The messages that wait until the era is known.
#[derive(Debug)]
pub(crate) struct EarlyMessages {
    messages: VecDeque<EarlyMessage>,
    bytes: usize,
    max: usize,
}

impl EarlyMessages {
    pub(crate) fn new(max: usize) -> Self {
        EarlyMessages { messages: VecDeque::new(), bytes: 0, max }
    }

    #[cfg(feature = "testing")]
    pub(crate) fn len(&self) -> usize {
        self.messages.len()
    }

    /// Keeps a request of the server's until the era is known. `false` when there is no room.
    pub(crate) fn keep(&mut self, message: Message, from: Option<Origin>) -> bool {
        let bytes = match &message {
            Message::Request { id, method, params } => {
                id.len() + method.len() + params.as_ref().map_or(0, crate::Raw::len)
            }
            _ => 0,
        };
        if self.messages.len() >= self.max || self.bytes + bytes > MAX_BYTES {
            return false;
        }
        self.bytes += bytes;
        self.messages.push_back((message, from));
        true
    }

    /// What was held, to be looked at again.
    pub(crate) fn take(&mut self) -> VecDeque<EarlyMessage> {
        self.bytes = 0;
        std::mem::take(&mut self.messages)
    }
}
