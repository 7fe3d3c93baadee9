//! What waits for the host, and where.

use serde::{Deserialize, Serialize};

use crate::CallId;
use crate::model::{Notification, Progress};

/// Where items wait for the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Mailbox {
    /// The items of a call.
    Call(CallId),
    /// The notifications of the server, for a host that has registered
    /// [`Hearing::Notifications`](crate::Hearing::Notifications).
    Host,
}

/// What waits in a mailbox.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Item {
    /// How far a call is.
    Progress(Progress),
    /// A notification of the server's.
    Notification(Notification),
}
