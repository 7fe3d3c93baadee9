//! How a world is set up: the client's settings, and what kind of server there is.

use alloc::sync::Arc;
use std::time::Duration;

use crate::{
    Command, ConnectionConfig, EraChoice, Hearing, HttpConfig, HttpTransport, ProtocolVersion,
    Transport,
};

/// The address of the server over Streamable HTTP.
pub const URL: &str = "http://server.test/mcp";
/// The address of the server over HTTP+SSE.
const SSE_URL: &str = "http://server.test/sse";
/// The address of the server over plain HTTP.
const PLAIN_URL: &str = "http://server.test/plain";
/// An address that leaves open what is spoken there.
const OPEN_URL: &str = "http://server.test/";

/// Everything about a [`World`](super::World) that is decided before its first step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Setup {
    /// How the server is reached.
    pub wire: Wire,
    /// Whether the address leaves open which transport the server speaks over HTTP.
    pub open: bool,
    /// Whether the server is a modern one. Over HTTP+SSE there are none.
    pub modern: bool,
    /// Which era the client speaks.
    pub choice: Choice,
    /// Which legacy version the server speaks: 2025-11-25 and the three before it.
    pub version: u8,
    /// How a legacy server takes the probe.
    pub probed: Probed,
    /// Whether a legacy server over HTTP has sessions.
    pub sessions: bool,
    /// Whether the server is up before the first step.
    pub ready: bool,
    /// Whether the host has a callback for metadata.
    pub metadata: bool,
    /// Whether the host has callbacks for what servers ask.
    pub elicitation: bool,
    /// Whether the host has a callback for notifications.
    pub notified: bool,
    /// Whether the bounds are so small that they are met.
    pub small: bool,
    /// Whether the performer lets go at once of what it was told to end.
    pub lets_go: bool,
    /// How bytes that arrive at one moment are split.
    pub split: Split,
    /// The bug that is planted in the connection (feature `doctored`); 0 for none.
    pub doctored: u8,
}

/// How a server is reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Wire {
    /// A process that is launched.
    #[default]
    Stdio,
    /// A byte stream.
    Stream,
    /// Streamable HTTP, each answer one JSON text.
    Json,
    /// Streamable HTTP, each answer an event stream.
    Events,
    /// HTTP+SSE, the deprecated transport: one event stream for all answers.
    Sse,
    /// Plain HTTP, each answer one JSON text.
    Plain,
}

impl Wire {
    /// All of them.
    pub const ALL: [Wire; 6] =
        [Wire::Stdio, Wire::Stream, Wire::Json, Wire::Events, Wire::Sse, Wire::Plain];

    /// Whether it is HTTP.
    #[must_use]
    pub fn is_http(self) -> bool {
        !matches!(self, Wire::Stdio | Wire::Stream)
    }

    /// Whether answers come as events.
    pub(super) fn has_events(self) -> bool {
        matches!(self, Wire::Events | Wire::Sse)
    }
}

/// Which era the client speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// Whichever the server speaks.
    #[default]
    Auto,
    /// The server's, and no other.
    Fitting,
    /// The other one.
    Other,
}

/// How a legacy server takes the probe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Probed {
    /// It says that it knows no such method.
    #[default]
    Refuses,
    /// It says nothing.
    Silent,
    /// It dies.
    Dies,
}

/// How bytes that arrive at one moment are split. It must make no difference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Split {
    /// Not at all.
    #[default]
    Whole,
    /// Each byte alone.
    Bytes,
    /// By these lengths in turn. 0 counts as 1.
    Lengths([u8; 3]),
}

impl Split {
    /// The pieces.
    pub fn cut<'a>(&self, bytes: &'a [u8]) -> Vec<&'a [u8]> {
        match self {
            Split::Whole => vec![bytes],
            Split::Bytes => bytes.chunks(1).collect(),
            Split::Lengths(lengths) => {
                let mut rest = bytes;
                let mut all = Vec::new();
                for length in lengths.iter().cycle() {
                    if rest.is_empty() {
                        break;
                    }
                    let (head, tail) = rest.split_at(usize::from(*length).clamp(1, rest.len()));
                    all.push(head);
                    rest = tail;
                }
                all
            }
        }
    }
}

impl Setup {
    /// The version that the server speaks.
    #[must_use]
    pub fn speaks(&self) -> &'static str {
        match (self.modern, self.version % 4) {
            (true, _) => ProtocolVersion::V2026_07_28.as_str(),
            (false, 0) => ProtocolVersion::V2025_11_25.as_str(),
            (false, 1) => ProtocolVersion::V2025_06_18.as_str(),
            (false, 2) => ProtocolVersion::V2025_03_26.as_str(),
            (false, _) => ProtocolVersion::V2024_11_05.as_str(),
        }
    }

    /// Whether the server has sessions. The stream of HTTP+SSE is one.
    #[must_use]
    pub fn has_sessions(&self) -> bool {
        !self.modern && (self.sessions || self.wire == Wire::Sse)
    }

    /// The same without what cannot be.
    pub(super) fn possible(self) -> Self {
        let sse = self.wire == Wire::Sse;
        // A client of modern servers only has nothing to say to this one.
        let choice = if sse && self.choice == Choice::Other { Choice::Auto } else { self.choice };
        Setup {
            modern: self.modern && !sse,
            open: self.open && self.wire.is_http(),
            choice,
            ..self
        }
    }

    /// Whether a modern server over HTTP refuses calls of tools without their headers.
    #[must_use]
    pub fn wants_headers(&self) -> bool {
        self.modern && self.version % 5 == 2
    }

    /// The transport.
    #[must_use]
    pub fn transport(&self) -> Transport {
        match self.wire {
            Wire::Stdio => Transport::Stdio(Command::new("server")),
            Wire::Stream => Transport::Stream,
            _ => Transport::Http(self.http().header("x-api-key", "configured-secret")),
        }
    }

    fn http(&self) -> HttpConfig {
        match self.wire {
            _ if self.open => HttpConfig::new(OPEN_URL),
            Wire::Sse => HttpConfig::new(SSE_URL),
            Wire::Plain => HttpConfig::new(PLAIN_URL).over(HttpTransport::Plain),
            _ => HttpConfig::new(URL),
        }
    }

    /// The client's settings.
    #[must_use]
    pub fn config(&self) -> Arc<ConnectionConfig> {
        let mut config = ConnectionConfig {
            name: String::from("peer"),
            era: match (self.choice, self.modern) {
                (Choice::Auto, _) => EraChoice::Auto,
                (Choice::Fitting, true) | (Choice::Other, false) => EraChoice::Modern,
                (Choice::Fitting, false) | (Choice::Other, true) => EraChoice::Legacy,
            },
            ..ConnectionConfig::default()
        };
        if self.metadata {
            config.hears.push(Hearing::RequestMeta);
        }
        if self.elicitation {
            config.hears.extend([Hearing::Elicitation, Hearing::Sampling, Hearing::Wait]);
        }
        if self.notified {
            config.hears.push(Hearing::Notifications);
        }
        if self.small {
            config.max_message_bytes = 700;
            config.max_pages = 5;
            config.max_list_bytes = 400;
            config.max_pending_items = 3;
            config.max_pending_item_bytes = 300;
            config.max_pending_notifications = 2;
            config.max_pending_notification_bytes = 400;
            config.max_reply_bytes = 120;
            config.max_server_requests = 2;
            config.start_timeout = Duration::from_secs(20);
        } else {
            // No bound may be so large that a simulation never meets it.
            config.max_message_bytes = 16 * 1024;
            config.max_pages = 20;
            config.max_list_bytes = 8 * 1024;
            config.max_pending_items = 16;
            config.max_pending_notifications = 8;
            config.max_reply_bytes = 2 * 1024;
            config.max_server_requests = 4;
        }
        #[cfg(feature = "doctored")]
        {
            config.doctored = self.doctored;
        }
        Arc::new(config)
    }
}
