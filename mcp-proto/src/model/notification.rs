//! What a server says without being asked (specification: basic, "Notifications").

use alloc::sync::Arc;

use serde::Deserialize;

use super::{LogMessage, Progress, object};
use crate::{CallId, Raw};

/// A notification of a server's.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Notification {
    /// What the configuration calls the server.
    pub server: Arc<str>,
    /// The method, such as `notifications/tools/list_changed`.
    pub method: String,
    /// The parameters, as they were sent.
    pub params: Option<Raw>,
    /// What it says, as far as the specification knows the method and the parameters fit it.
    pub kind: NotificationKind,
    /// The call on whose stream it came. Over stdio nobody knows, so there is none; but progress
    /// has its call everywhere.
    pub call: Option<CallId>,
    /// How many notifications were dropped just before this one, because too many waited for the
    /// host.
    pub lost: u64,
}

/// What a notification says.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum NotificationKind {
    /// A log message (`notifications/message`; server/utilities/logging).
    Message(LogMessage),
    /// The list of tools is another one now.
    ToolsChanged,
    /// The list of prompts is another one now.
    PromptsChanged,
    /// The list of resources is another one now.
    ResourcesChanged,
    /// What is at this address is another thing now. It may lie below the address that the host has
    /// subscribed to (server/resources, "Subscriptions").
    ResourceUpdated {
        /// The address.
        uri: String,
    },
    /// What the user did on a page is finished (2025-11-25: client/elicitation). Legacy servers
    /// only: a modern one is asked again.
    ElicitationComplete {
        /// The id of the elicitation.
        elicitation_id: String,
    },
    /// How far a call is.
    Progress(Progress),
    /// Anything else: the method is unknown, or its parameters do not fit.
    Other,
}

impl NotificationKind {
    /// Reads what a notification says.
    pub(crate) fn read(method: &str, params: Option<&Raw>) -> Self {
        let known = match method {
            "notifications/message" => {
                params.and_then(LogMessage::read).map(NotificationKind::Message)
            }
            "notifications/tools/list_changed" => Some(NotificationKind::ToolsChanged),
            "notifications/prompts/list_changed" => Some(NotificationKind::PromptsChanged),
            "notifications/resources/list_changed" => Some(NotificationKind::ResourcesChanged),
            "notifications/resources/updated" => updated(params),
            "notifications/elicitation/complete" => complete(params),
            "notifications/progress" => {
                params.and_then(|params| params.parse().ok()).map(NotificationKind::Progress)
            }
            _ => None,
        };
        known.unwrap_or(NotificationKind::Other)
    }
}

fn updated(params: Option<&Raw>) -> Option<NotificationKind> {
    #[derive(Deserialize)]
    struct Updated {
        uri: String,
    }
    let Updated { uri } = object(params?.as_str()).ok()?;
    Some(NotificationKind::ResourceUpdated { uri })
}

fn complete(params: Option<&Raw>) -> Option<NotificationKind> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Complete {
        elicitation_id: String,
    }
    let Complete { elicitation_id } = object(params?.as_str()).ok()?;
    Some(NotificationKind::ElicitationComplete { elicitation_id })
}
