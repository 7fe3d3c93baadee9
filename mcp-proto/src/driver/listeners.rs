//! The callbacks of an async client for notifications of its server.

use core::task::{Context, Poll};
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::Hub;
use super::handlers::{BoxFuture, HandlerFailure, Handlers};
use crate::model::Notification;

/// A callback for notifications.
pub(super) type Listener = Box<dyn Fn(Notification) -> BoxFuture<()> + Send + Sync>;

/// What failures call them.
const NOTIFICATIONS: &str = "notifications";

/// One notification at a time, with all callbacks for it at once: so each of them sees all of them
/// in their order, and those that wait meanwhile are bounded by the connection.
#[derive(Default)]
pub(super) struct Showing {
    open: Vec<BoxFuture<()>>,
}

impl Showing {
    /// Whether a callback is at work.
    pub(super) fn is_busy(&self) -> bool {
        !self.open.is_empty()
    }

    /// Shows the host what there is. Callbacks that take their time go on with the next poll.
    pub(super) fn poll(&mut self, hub: &Hub, with: &Handlers, cx: &mut Context<'_>) {
        loop {
            self.advance(hub, cx);
            if self.is_busy() {
                return;
            }
            let Poll::Ready(Some(notification)) = hub.poll_notification(cx) else { return };
            self.begin(hub, with, *notification);
            if !self.is_busy() {
                // Each of them has panicked.
                hub.notification_done();
            }
        }
    }

    fn begin(&mut self, hub: &Hub, with: &Handlers, notification: Notification) {
        for listener in &with.notifications {
            let notification = notification.clone();
            let begun = HandlerFailure::guard(NOTIFICATIONS, || Ok(listener(notification)));
            match begun {
                Ok(future) => self.open.push(future),
                Err(failure) => hub.failed(&failure),
            }
        }
    }

    /// Lets the callbacks work. One that panics has dealt with it, and is called again.
    fn advance(&mut self, hub: &Hub, cx: &mut Context<'_>) {
        let busy = self.is_busy();
        self.open.retain_mut(|future| {
            let polled = HandlerFailure::guard(NOTIFICATIONS, || match future.as_mut().poll(cx) {
                Poll::Pending => Ok(false),
                Poll::Ready(()) => Ok(true),
            });
            let over = polled.unwrap_or_else(|failure| {
                hub.failed(&failure);
                true
            });
            if over {
                drop_quietly(std::mem::replace(future, Box::pin(std::future::pending())));
            }
            !over
        });
        if busy && !self.is_busy() {
            hub.notification_done();
        }
    }
}

impl Drop for Showing {
    fn drop(&mut self) {
        self.open.drain(..).for_each(drop_quietly);
    }
}

fn drop_quietly(future: BoxFuture<()>) {
    let _ = catch_unwind(AssertUnwindSafe(|| drop(future)));
}
