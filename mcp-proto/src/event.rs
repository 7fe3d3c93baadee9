//! Decisions that a reader wants to see and a test wants to assert.

use crate::interface::ExitStatus;
use crate::{CallId, ProcessId};

/// Something that happened inside a connection. Nothing has to be done about it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// The server's era and revision are known.
    EraDecided {
        /// Which era.
        era: crate::Era,
        /// Which revision.
        version: crate::ProtocolVersion,
    },
    /// The server has not answered `server/discover` in time; `initialize` is sent as well.
    ProbeUnanswered,
    /// The server died of the probe. It is launched again and greeted with `initialize`.
    ProbeKilled(ProcessId),
    /// What the host had stored of the server is not used, and this is why.
    StoredIgnored {
        /// Why.
        why: &'static str,
    },
    /// The server is of another era than what was stored of it says.
    StoredWrong,
    /// The host could not store what was learnt of the server.
    NotStored,
    /// The server does not speak the transport that was tried before, and this one is tried.
    TransportTried(crate::HttpTransport),
    /// The server had forgotten the session, and a new one is begun.
    SessionReplaced,
    /// The stream of what a legacy server says by itself is open.
    StreamOpened,
    /// The server does not offer that stream, which it need not. It answered with this status.
    StreamNotOffered {
        /// The status.
        status: u16,
    },
    /// A request of this call is sent again after a pause.
    RetryScheduled {
        /// Which call.
        call: CallId,
        /// How long the pause is.
        after: std::time::Duration,
    },
    /// The stream of this call's answer has ended before the answer. The rest is asked for after a
    /// pause; the request is not sent again.
    ResumeScheduled {
        /// Which call.
        call: CallId,
        /// How long the pause is.
        after: std::time::Duration,
    },
    /// A line of the server's stdout that is no message was skipped. Its text is not kept.
    LineSkipped {
        /// What is wrong with it.
        why: SkipReason,
        /// How long it is.
        bytes: u64,
    },
    /// A message of the server's that means nothing to this client was dropped.
    MessageDropped {
        /// Why.
        why: &'static str,
        /// The method, when there is one, escaped and bounded.
        method: Option<String>,
    },
    /// An item was dropped because too many waited for the host.
    ItemDropped(CallId),
    /// A tool is left out of the lists of its server, since what it wants in headers breaks the rules
    /// of the specification. At most [`MAX_TOOLS_EXCLUDED`](crate::MAX_TOOLS_EXCLUDED) are told for
    /// a list.
    ToolExcluded {
        /// The name of the tool, escaped and bounded.
        tool: String,
        /// What is wrong with it.
        why: String,
    },
    /// Notifications were dropped because too many waited for the host: so many since this was told
    /// last.
    NotificationsLost {
        /// How many.
        lost: u64,
    },
    /// A log message of the server's, escaped and bounded (specification: server/utilities/logging).
    Log {
        /// How bad it is.
        level: crate::model::LoggingLevel,
        /// The part of the server that says it.
        logger: Option<String>,
        /// What it says.
        text: String,
    },
    /// A member of a server's request means nothing in its era.
    MemberIgnored {
        /// Which one.
        member: &'static str,
    },
    /// A handler's answer is not sent, since it does not fit what was asked. The reason holds
    /// nothing of the answer but the names of its fields.
    AnswerDropped {
        /// What was asked.
        question: &'static str,
        /// Why.
        why: String,
    },
    /// A feature that the specification has deprecated is used, for the first time on this
    /// connection.
    Deprecated(crate::DeprecatedFeature),
    /// A line of the server's stderr, escaped and bounded.
    Stderr(String),
    /// A server process has ended.
    Exited {
        /// Which one.
        process: ProcessId,
        /// How.
        status: ExitStatus,
    },
}

/// Why a line was skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SkipReason {
    /// It is no JSON.
    #[error("not JSON")]
    NotJson,
    /// It is JSON, but no JSON-RPC message.
    #[error("not a JSON-RPC message")]
    NotAMessage,
    /// It is not UTF-8.
    #[error("not UTF-8")]
    NotUtf8,
    /// It is longer than `max_message_bytes`.
    #[error("too long")]
    TooLong,
}
