//! What a connection is told once, before it begins.

mod transport;

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub(crate) use transport::mask_url;
pub use transport::{Command, HttpConfig, HttpTransport, StderrPolicy, Transport};

use crate::model::{Implementation, Root};

/// The default of [`ConnectionConfig::discover_timeout`].
pub const DISCOVER_TIMEOUT: Duration = Duration::from_secs(5);
/// The default of [`ConnectionConfig::start_timeout`].
pub const START_TIMEOUT: Duration = Duration::from_secs(60);
/// The default of [`ConnectionConfig::call_timeout`] over stdio and byte streams.
pub const CALL_TIMEOUT: Duration = Duration::from_secs(15);
/// The default of [`ConnectionConfig::call_timeout`] over HTTP.
pub const HTTP_CALL_TIMEOUT: Duration = Duration::from_secs(30);
/// The default of [`HttpConfig::retries`], but for HTTP+SSE.
pub const HTTP_RETRIES: u32 = 3;
/// The default of [`HttpConfig::backoff`].
pub const HTTP_BACKOFF: Duration = Duration::from_secs(1);
/// The default of [`ConnectionConfig::max_message_bytes`].
pub const MAX_MESSAGE_BYTES: usize = 64 * 1024 * 1024;
/// The default of [`ConnectionConfig::max_pages`].
pub const MAX_PAGES: usize = 1000;
/// The default of [`ConnectionConfig::max_list_bytes`].
pub const MAX_LIST_BYTES: usize = 256 * 1024 * 1024;
/// The default of [`ConnectionConfig::max_pending_items`].
pub const MAX_PENDING_ITEMS: usize = 256;
/// The default of [`ConnectionConfig::max_pending_item_bytes`].
pub const MAX_PENDING_ITEM_BYTES: usize = 1024 * 1024;
/// The default of [`ConnectionConfig::max_pending_notifications`].
pub const MAX_PENDING_NOTIFICATIONS: usize = 1000;
/// The default of [`ConnectionConfig::max_pending_notification_bytes`].
pub const MAX_PENDING_NOTIFICATION_BYTES: usize = 4 * 1024 * 1024;
/// The default of [`ConnectionConfig::max_reply_bytes`].
pub const MAX_REPLY_BYTES: usize = 1024 * 1024;
/// The default of [`ConnectionConfig::max_server_requests`].
pub const MAX_SERVER_REQUESTS: usize = 32;
/// How much is held of what a server's tools want in headers and require, in bytes of their names
/// and schemas. A tool beyond it is called without that knowledge.
pub const MAX_HELD_TOOL_BYTES: usize = 4 * 1024 * 1024;
/// How many tools of one list are told one by one to be left out because of their annotations. All
/// of them are left out.
pub const MAX_TOOLS_EXCLUDED: usize = 32;
/// How long each stage of a close waits: after stdin was closed, and again after the request to
/// terminate.
pub const CLOSE_GRACE: Duration = Duration::from_secs(2);
/// After an exit was seen, how long the end of stdout and stderr is waited for; after the end of
/// stdout, how long the exit is. An answer may still be in the pipe.
pub const EXIT_WAIT: Duration = Duration::from_millis(250);
/// How long the body of an error answer over HTTP may take. What has come of it by then counts.
pub const ERROR_BODY_WAIT: Duration = Duration::from_secs(2);
/// How long a stored era is believed. An older one is asked for anew.
pub const STORED_ERA_MAX_AGE: Duration = Duration::from_secs(24 * 60 * 60);
/// How long a start waits for what the host has stored.
pub const LOAD_WAIT: Duration = Duration::from_secs(2);
/// How long the stream of what a legacy server says by itself may be silent before it is opened
/// anew.
pub const STREAM_IDLE: Duration = Duration::from_secs(300);
/// How long the first call waits for that stream, so that nothing is lost that the server says on it.
pub const STREAM_WAIT: Duration = Duration::from_millis(500);
/// How long the pause is before that stream is opened again, unless the server says something else.
/// As long as nothing comes on it, each pause is twice as long as the one before.
pub const STREAM_PAUSE: Duration = Duration::from_secs(1);
/// The longest of these pauses, unless the server asks for longer ones.
pub const STREAM_PAUSE_MAX: Duration = Duration::from_secs(30);
/// The shortest of these pauses, whatever the server asks for.
pub const STREAM_PAUSE_MIN: Duration = Duration::from_millis(100);
/// The shortest pause before the rest of an answer is asked for, whatever the server asks for.
pub const RESUME_PAUSE_MIN: Duration = Duration::from_millis(10);
/// How often in a row asking for the rest of an answer may fail before the call does.
pub const RESUME_ATTEMPTS: u32 = 5;
/// How long a server may take to name the address for messages on the stream of HTTP+SSE.
pub const ENDPOINT_WAIT: Duration = Duration::from_secs(10);
/// How long nothing may come on the stream of HTTP+SSE, from the first request on that has gone
/// unanswered, before the stream is taken for dead: at least this long, and at most twice.
pub const SSE_SILENCE: Duration = Duration::from_secs(60);
/// Where plain HTTP is spoken, when the address has no path.
pub const PLAIN_ENDPOINT: &str = "/rpc";
/// How much of a server's stderr is kept for the text of errors, in bytes.
pub const STDERR_TAIL_BYTES: usize = 4096;

/// The settings of one connection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct ConnectionConfig {
    /// What errors call the server. Set by the adapter to the target when the host gives none.
    pub name: String,
    /// Who the host is; sent in `initialize` and with each modern request.
    pub client_info: Implementation,
    /// Whether modern requests carry `client_info`. The specification asks for it; on by default.
    pub send_client_info: bool,
    /// Which era is spoken.
    pub era: EraChoice,
    /// Automatic era only: how long `server/discover` may stay unanswered before `initialize` is
    /// sent as well. 5 s by default.
    pub discover_timeout: Duration,
    /// How long the start may take, from the launch to the answer that decides the era. 60 s by
    /// default, since `npx` and `uvx` may have to download the server first.
    pub start_timeout: Duration,
    /// How long a call may take that brings no timeout of its own, counted from the moment at
    /// which the connection is ready. By default 15 s over stdio and 30 s over HTTP.
    pub call_timeout: Option<Duration>,
    /// The longest message that is accepted, in bytes: 64 MiB by default. A longer one fails the
    /// call that it answers.
    pub max_message_bytes: usize,
    /// How many pages one list may have: 1000 by default.
    pub max_pages: usize,
    /// How many bytes all pages of one list may have together: 256 MiB by default.
    pub max_list_bytes: usize,
    /// How many items of a call (progress, and what a streamed call brings) may wait for the host
    /// in one mailbox: 256 by default. Beyond it the oldest is dropped, with an event.
    pub max_pending_items: usize,
    /// How many bytes the items of one mailbox may have: 1 MiB by default. An item that is larger
    /// than this alone is dropped, with an event.
    pub max_pending_item_bytes: usize,
    /// How many notifications may wait for the host's callbacks: 1000 by default. Beyond it the
    /// oldest is dropped, with an event, and the next one that is delivered says how many were.
    pub max_pending_notifications: usize,
    /// How many bytes these may have: 4 MiB by default. One that is larger than this alone is
    /// dropped.
    pub max_pending_notification_bytes: usize,
    /// How many bytes of answers that the server asked for (pongs, refusals) may wait to be
    /// written: 1 MiB by default. Beyond it nothing more is read from that server until it reads.
    pub max_reply_bytes: usize,
    /// How many requests of the server's may be open at once: 32 by default. Further ones are
    /// refused. The same number bounds what is held until the era is known.
    pub max_server_requests: usize,
    /// Metadata of the host's that goes into the `_meta` of every request.
    pub meta: Map<String, Value>,
    /// Callbacks that the host has from the start; more can come with
    /// [`Setting::Hear`](crate::Setting::Hear).
    pub hears: Vec<crate::Hearing>,
    /// Where servers may work; it can be changed with [`Setting::Roots`](crate::Setting::Roots).
    pub roots: Vec<Root>,
    /// Whether a journal is recorded; see [`journal`](crate::journal).
    pub journal: bool,
    /// The number of the bug that is planted, to show that tests find it; 0 for none.
    #[cfg(feature = "doctored")]
    pub doctored: u8,
}

impl Default for ConnectionConfig {
    fn default() -> Self {
        ConnectionConfig {
            name: String::new(),
            client_info: Implementation::new("mcp-proto", env!("CARGO_PKG_VERSION")),
            send_client_info: true,
            era: EraChoice::Auto,
            discover_timeout: DISCOVER_TIMEOUT,
            start_timeout: START_TIMEOUT,
            call_timeout: None,
            max_message_bytes: MAX_MESSAGE_BYTES,
            max_pages: MAX_PAGES,
            max_list_bytes: MAX_LIST_BYTES,
            max_pending_items: MAX_PENDING_ITEMS,
            max_pending_item_bytes: MAX_PENDING_ITEM_BYTES,
            max_pending_notifications: MAX_PENDING_NOTIFICATIONS,
            max_pending_notification_bytes: MAX_PENDING_NOTIFICATION_BYTES,
            max_reply_bytes: MAX_REPLY_BYTES,
            max_server_requests: MAX_SERVER_REQUESTS,
            meta: Map::new(),
            hears: Vec::new(),
            roots: Vec::new(),
            journal: false,
            #[cfg(feature = "doctored")]
            doctored: 0,
        }
    }
}

impl ConnectionConfig {
    /// Whether this bug is planted. Without the feature none is, and nothing of them is compiled.
    #[cfg(feature = "doctored")]
    pub(crate) fn doctored(&self, bug: u8) -> bool {
        self.doctored == bug
    }

    #[cfg(not(feature = "doctored"))]
    #[allow(clippy::unused_self, reason = "it looks at itself where bugs can be planted")]
    pub(crate) const fn doctored(&self, _bug: u8) -> bool {
        false
    }

    /// Checks what cannot work.
    ///
    /// # Errors
    /// [`ApiMisuse`](crate::ApiMisuse), which names the setting and what it may be.
    pub fn check(&self) -> Result<(), crate::ApiMisuse> {
        let wrong = |setting, must| Err(crate::ApiMisuse::Setting { setting, must });
        if self.client_info.name.is_empty() {
            return wrong("client_info.name", "not be empty");
        }
        if self.client_info.version.is_empty() {
            return wrong("client_info.version", "not be empty");
        }
        crate::meta::check_keys(&self.meta)?;
        let positive = [
            ("max_message_bytes", self.max_message_bytes),
            ("max_pages", self.max_pages),
            ("max_list_bytes", self.max_list_bytes),
            ("max_pending_items", self.max_pending_items),
            ("max_pending_item_bytes", self.max_pending_item_bytes),
            ("max_pending_notifications", self.max_pending_notifications),
            ("max_pending_notification_bytes", self.max_pending_notification_bytes),
            ("max_reply_bytes", self.max_reply_bytes),
            ("max_server_requests", self.max_server_requests),
        ];
        self.roots.iter().try_for_each(Root::check)?;
        for (setting, value) in positive {
            if value == 0 {
                return wrong(setting, "be at least 1");
            }
        }
        let times = [
            ("discover_timeout", self.discover_timeout),
            ("start_timeout", self.start_timeout),
            ("call_timeout", self.call_timeout.unwrap_or(CALL_TIMEOUT)),
        ];
        for (setting, value) in times {
            if value.is_zero() {
                return wrong(setting, "be longer than zero");
            }
        }
        Ok(())
    }
}

/// Which era the client speaks with a server.
///
/// "Modern" are revisions with per-request metadata (2026-07-28), "legacy" those with the
/// `initialize` handshake (2025-11-25 and earlier).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EraChoice {
    /// The server decides: `server/discover` first, `initialize` when that leads nowhere.
    #[default]
    Auto,
    /// Modern only: `initialize` is never sent.
    Modern,
    /// Legacy only: `server/discover` is never sent.
    Legacy,
}
