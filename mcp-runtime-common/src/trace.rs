//! Events of the core on their way to `tracing`.

use mcp_proto::Event;
use mcp_proto::model::LoggingLevel;
use tracing::{debug, error, info, warn};

/// Hands an event to `tracing`, under the target `mcp`. Call it outside of every lock: subscribers
/// are code of the host's.
///
/// Nothing of a payload is in it but the log messages that a server sends to be logged. What servers
/// have written is escaped and bounded by the core. A server's stderr is no sign of an error, so its
/// lines are mere debug output.
pub fn event(server: &str, event: &Event) {
    match event {
        Event::EraDecided { era, version } => {
            debug!(target: "mcp", server, %era, %version, "connected");
        }
        Event::ProbeUnanswered => {
            info!(target: "mcp", server, "no answer to server/discover yet; initialize is sent too");
        }
        Event::ProbeKilled(process) => {
            info!(target: "mcp", server, %process, "the server ended at server/discover; it is launched again");
        }
        Event::LineSkipped { why, bytes } => {
            warn!(target: "mcp", server, ?why, bytes, "a line of stdout is no message; skipped");
        }
        Event::MessageDropped { why, method } => {
            debug!(target: "mcp", server, why, method = method.as_deref(), "message dropped");
        }
        Event::ItemDropped(call) => {
            warn!(target: "mcp", server, %call, "too many items wait for the host; one was dropped");
        }
        Event::ToolExcluded { tool, why } => {
            warn!(target: "mcp", server, tool, why, "the tool is left out of the list");
        }
        Event::NotificationsLost { lost } => {
            warn!(target: "mcp", server, lost, "too many notifications wait for the host; the oldest were dropped");
        }
        Event::Log { level, logger, text } => log(server, *level, logger.as_deref(), text),
        Event::MemberIgnored { member } => {
            warn!(target: "mcp", server, member, "a member means nothing in this era; ignored");
        }
        Event::AnswerDropped { question, why } => {
            warn!(target: "mcp", server, question, why, "a handler's answer does not fit; not sent");
        }
        Event::Deprecated(feature) => {
            let feature = feature.deprecation().name;
            debug!(target: "mcp", server, feature, "a deprecated feature is used");
        }
        Event::Stderr(line) => debug!(target: "mcp", server, line, "stderr"),
        Event::Exited { process, status } => {
            info!(target: "mcp", server, %process, ?status, "the server process has ended");
        }
        // A newer core may know more.
        other => debug!(target: "mcp", server, event = ?other),
    }
}

/// A log message of the server's, at the level of the local log that it has.
fn log(server: &str, level: LoggingLevel, logger: Option<&str>, text: &str) {
    let name = level.as_str();
    match level {
        LoggingLevel::Debug => {
            debug!(target: "mcp", server, level = name, logger, text, "log message");
        }
        LoggingLevel::Info | LoggingLevel::Notice => {
            info!(target: "mcp", server, level = name, logger, text, "log message");
        }
        LoggingLevel::Warning => {
            warn!(target: "mcp", server, level = name, logger, text, "log message");
        }
        LoggingLevel::Error
        | LoggingLevel::Critical
        | LoggingLevel::Alert
        | LoggingLevel::Emergency => {
            error!(target: "mcp", server, level = name, logger, text, "log message");
        }
    }
}
