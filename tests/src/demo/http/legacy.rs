//! The revisions from 2025-03-26 to 2025-11-25: sessions, GET and DELETE.

use super::super::{Action, Demo, Eras, Incoming, Revision};
use super::endpoint::{Endpoint, InSession, Reply, is_tool_call, lists};
use super::modern::VERSION;
use crate::http::{Conn, Request};

const SESSION: &str = "Mcp-Session-Id";

/// What deployed servers say about a request that they cannot place.
const BAD_REQUEST: i64 = -32000;
const SESSION_NOT_FOUND: i64 = -32001;

impl Endpoint {
    pub(super) fn legacy(&self, request: &Request, incoming: Incoming, conn: &Conn) -> Reply {
        if let Some(id) = request.header(SESSION).filter(|_| self.options.sessions) {
            return self.in_session(id, request, incoming, conn);
        }
        if matches!(&incoming, Incoming::Request { method, .. } if method == "initialize") {
            return self.initialize(incoming);
        }
        if !self.options.sessions {
            return self.alone(request, incoming);
        }
        let text = format!("Bad Request: {SESSION} is required");
        match (self.options.demo.eras, self.options.demo.refusal) {
            (Eras::Legacy, Some(code)) => Reply::refused(400, code, text),
            (Eras::Legacy, None) => Reply::Nothing,
            _ => Reply::refused(400, BAD_REQUEST, text),
        }
    }

    fn initialize(&self, incoming: Incoming) -> Reply {
        let mut demo = Demo::new(self.options.demo.clone());
        let Some(Action::Send(answer)) = demo.take(incoming).into_iter().next() else {
            return Reply::Nothing;
        };
        let accepted = demo.negotiated().is_some() && self.options.sessions;
        let session = accepted.then(|| self.sessions().begin(demo));
        if session.is_some() {
            self.tally.count(|counters| counters.sessions += 1);
        }
        Reply::Answer(answer, session)
    }

    fn in_session(&self, id: &str, request: &Request, incoming: Incoming, conn: &Conn) -> Reply {
        let is_tool = is_tool_call(&incoming);
        let is_request = matches!(incoming, Incoming::Request { .. });
        let mut sessions = self.sessions();
        let Some(session) = sessions.find(id) else { return not_found() };
        let agreed = session.demo.negotiated();
        if let Some(refusal) = agreed.and_then(|agreed| refuse_version(request, agreed)) {
            return refusal;
        }
        let actions = session.take(incoming);
        match self.counted(is_tool, actions) {
            Some(Action::Send(answer)) => Reply::Answer(answer, None),
            Some(Action::Run(slow)) => {
                let call = slow.id().to_string();
                match session.begin_call(call.clone(), conn.handle()) {
                    Some(stop) => Reply::Run(
                        slow.into(),
                        Some(InSession { session: id.to_owned(), call, stop }),
                    ),
                    None => Reply::Nothing,
                }
            }
            _ if is_request => Reply::Nothing,
            _ => Reply::Status(202, None),
        }
    }

    /// A request outside of any session: served as one of the version that it names.
    fn alone(&self, request: &Request, incoming: Incoming) -> Reply {
        let version = request.header(VERSION).unwrap_or(Revision::V2025_03_26.name());
        let Some(revision) = Revision::legacy(version) else {
            let code = self.options.demo.refusal.unwrap_or(BAD_REQUEST);
            let text = format!("Bad Request: Unsupported protocol version: {version}");
            return Reply::refused(400, code, text);
        };
        let is_tool = is_tool_call(&incoming);
        let mut demo = Demo::agreed(self.options.demo.clone(), revision);
        match self.counted(is_tool, demo.take(incoming)) {
            Some(Action::Send(answer)) => Reply::Answer(answer, None),
            Some(Action::Run(call)) => Reply::Run(call.into(), None),
            _ => Reply::Status(202, None),
        }
    }

    pub(super) fn get(&self, request: &Request, conn: &Conn) -> Reply {
        if !lists(request, "accept", "text/event-stream") {
            return Reply::Status(406, None);
        }
        let Some(id) = request.header(SESSION) else { return missing() };
        let mut sessions = self.sessions();
        let Some(session) = sessions.find(id) else { return not_found() };
        if session.open_stream(conn.handle()) {
            return Reply::Stream(id.to_owned());
        }
        Reply::refused(409, BAD_REQUEST, "Conflict: one stream is open already")
    }

    pub(super) fn delete(&self, request: &Request) -> Reply {
        let Some(id) = request.header(SESSION) else { return missing() };
        if self.sessions().end(id) { Reply::Status(200, None) } else { not_found() }
    }
}

fn missing() -> Reply {
    Reply::refused(400, BAD_REQUEST, format!("Bad Request: {SESSION} is required"))
}

fn not_found() -> Reply {
    Reply::refused(404, SESSION_NOT_FOUND, "Session not found")
}

/// From 2025-06-18 on each request names the version that was agreed on.
fn refuse_version(request: &Request, agreed: Revision) -> Option<Reply> {
    let is_right = match request.header(VERSION) {
        Some(version) => version == agreed.name(),
        None => agreed < Revision::V2025_06_18,
    };
    let named = request.header(VERSION).unwrap_or("missing");
    let text = format!("Bad Request: {VERSION} is {named}, and {} was agreed on", agreed.name());
    (!is_right).then(|| Reply::refused(400, BAD_REQUEST, text))
}
