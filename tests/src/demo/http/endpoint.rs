//! The MCP endpoint: where a request goes, and what becomes of it.

use std::io::{self, Write};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use super::super::message::{self, Failure, INVALID_REQUEST};
use super::super::serve::Stop;
use super::super::{Action, Demo, Eras, Incoming, Outgoing, SlowCall, modern as envelope};
use super::counters::Tally;
use super::session::Sessions;
use super::{HttpOptions, modern};
use crate::http::{Conn, Head, Request};

/// The one path that there is.
pub(super) const PATH: &str = "/mcp";

/// Whether a connection can be used once more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    Keep,
    Close,
}

/// What a request is answered with.
#[derive(Debug)]
pub(super) enum Reply {
    /// A status alone, with the methods that are allowed if it is about those.
    Status(u16, Option<&'static str>),
    /// A status and a JSON-RPC error.
    Refused(u16, Outgoing),
    /// The answer to the request, and the session that it opens.
    Answer(Outgoing, Option<String>),
    /// A call that takes its time. A legacy one goes on without its connection, until it is told
    /// to stop.
    Run(Box<SlowCall>, Option<InSession>),
    /// The stream of a session.
    Stream(String),
    /// None: the request is left open.
    Nothing,
}

/// A call of a legacy session.
#[derive(Debug)]
pub(super) struct InSession {
    pub(super) session: String,
    pub(super) call: String,
    pub(super) stop: Arc<Stop>,
}

impl Reply {
    /// A JSON-RPC error that is not about any request.
    pub(super) fn refused(status: u16, code: i64, text: impl Into<String>) -> Self {
        Reply::Refused(status, Failure::new(code, text).answer(Value::Null))
    }
}

/// The endpoint of a demo server. All of its connections share it.
#[derive(Debug)]
pub(crate) struct Endpoint {
    pub(super) options: HttpOptions,
    pub(super) tally: Tally,
    pub(super) turns: AtomicU64,
    sessions: Mutex<Sessions>,
}

impl Endpoint {
    pub(crate) fn new(options: HttpOptions) -> Self {
        Endpoint {
            options,
            tally: Tally::default(),
            turns: AtomicU64::new(0),
            sessions: Mutex::new(Sessions::default()),
        }
    }

    pub(super) fn tally(&self) -> &Tally {
        &self.tally
    }

    pub(super) fn sessions(&self) -> MutexGuard<'_, Sessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn expire_sessions(&self) {
        self.sessions().end_all();
    }

    /// Serves a connection until either side closes it.
    pub(super) fn serve(&self, mut conn: Conn) {
        self.tally.count(|counters| {
            counters.connections += 1;
            counters.open += 1;
        });
        while let Ok(Next::Keep) = self.serve_next(&mut conn) {}
        conn.close();
        self.tally.count(|counters| counters.open -= 1);
    }

    fn serve_next(&self, conn: &mut Conn) -> io::Result<Next> {
        let request = match Request::read(conn) {
            Ok(Some(request)) => request,
            Ok(None) => return Ok(Next::Close),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                let text = format!("This is not HTTP: {error}\n");
                let head = Head::new(400).header("Connection", "close");
                conn.write_all(&head.body(text.as_bytes()))?;
                return Ok(Next::Close);
            }
            Err(error) => return Err(error),
        };
        let next = self.answer(&request, conn)?;
        Ok(if request.keeps_alive() { next } else { Next::Close })
    }

    /// Answers a request on its connection.
    pub(crate) fn answer(&self, request: &Request, conn: &mut Conn) -> io::Result<Next> {
        self.tally.count(|counters| {
            *counters.requests.entry(request.method.clone()).or_default() += 1;
        });
        let reply = match refusal_of_head(request) {
            Some(status) => Reply::Status(status, None),
            None => self.route(request, conn),
        };
        self.perform(reply, conn)
    }

    fn route(&self, request: &Request, conn: &Conn) -> Reply {
        let legacy = self.options.demo.eras != Eras::Modern;
        match &*request.method {
            "POST" => self.post(request, conn),
            "GET" if legacy && self.options.get_stream => self.get(request, conn),
            "DELETE" if legacy && self.options.sessions => self.delete(request),
            _ if legacy && self.options.sessions => Reply::Status(405, Some("POST, DELETE")),
            _ => Reply::Status(405, Some("POST")),
        }
    }

    fn post(&self, request: &Request, conn: &Conn) -> Reply {
        if !lists(request, "content-type", "application/json") {
            return Reply::Status(415, None);
        }
        let accepts = |kind| lists(request, "accept", kind);
        if !(accepts("application/json") && accepts("text/event-stream")) {
            return Reply::refused(406, INVALID_REQUEST, "Not acceptable: both types are needed");
        }
        let incoming = match message::parse(&request.body) {
            Ok(Incoming::Blank) => {
                return Reply::refused(400, INVALID_REQUEST, "Invalid request: an empty body");
            }
            Ok(incoming) => incoming,
            Err(failure) => return Reply::Refused(400, failure.answer(Value::Null)),
        };
        if let Incoming::Request { method, .. } | Incoming::Notification { method, .. } = &incoming
        {
            self.tally.count(|counters| {
                *counters.messages.entry(method.clone()).or_default() += 1;
            });
        }
        let is_modern = match self.options.demo.eras {
            Eras::Modern => true,
            Eras::Legacy => false,
            Eras::Both => is_marked(&incoming) || modern::is_named(request),
        };
        if is_modern {
            self.modern(request, incoming)
        } else {
            self.legacy(request, incoming, conn)
        }
    }

    fn modern(&self, request: &Request, incoming: Incoming) -> Reply {
        let mut demo = Demo::new(self.options.demo.clone());
        match &incoming {
            Incoming::Request { id, method, params } => {
                if let Err(failure) = modern::check(&demo, request, method, params) {
                    return Reply::Refused(400, failure.answer(id.clone()));
                }
            }
            // This revision has no message of the kind that would mean anything here.
            Incoming::Notification { .. } => return Reply::Status(202, None),
            _ => return Reply::refused(400, INVALID_REQUEST, "Invalid request: a response"),
        }
        let is_tool = is_tool_call(&incoming);
        match self.counted(is_tool, demo.take(incoming)) {
            Some(Action::Send(answer))
                if answer.error_code() == Some(message::METHOD_NOT_FOUND) =>
            {
                Reply::Refused(404, answer)
            }
            Some(Action::Send(answer)) => Reply::Answer(answer, None),
            Some(Action::Run(call)) => Reply::Run(call.into(), None),
            _ => Reply::Nothing,
        }
    }

    /// The one action that a request leads to, counted when it runs a tool.
    pub(super) fn counted(&self, is_tool: bool, actions: Vec<Action>) -> Option<Action> {
        let action = actions.into_iter().next();
        let runs = match &action {
            Some(Action::Send(answer)) => answer.error_code().is_none(),
            Some(Action::Run(_)) => true,
            _ => false,
        };
        if is_tool && runs {
            self.tally.count(|counters| counters.tool_runs += 1);
        }
        action
    }
}

/// What is wrong with a request before anybody looks at what it asks for.
fn refusal_of_head(request: &Request) -> Option<u16> {
    let is_loopback = |origin: &str| {
        let host = origin.split_once("://").map_or(origin, |(_, host)| host);
        ["localhost", "127.0.0.1", "[::1]"].iter().any(|it| {
            let rest = host.strip_prefix(it);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
        })
    };
    match request.all("host").count() {
        1 => {}
        0 if !request.is_1_1 => {}
        _ => return Some(400),
    }
    if request.path() != PATH {
        return Some(404);
    }
    request.header("origin").filter(|origin| !is_loopback(origin)).map(|_| 403)
}

/// Whether a header that holds media types holds this one.
pub(super) fn lists(request: &Request, header: &str, kind: &str) -> bool {
    let kinds = request.all(header).flat_map(|value| value.split(','));
    let bare = |it: &str| it.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    kinds.map(bare).any(|it| it == kind)
}

fn is_marked(incoming: &Incoming) -> bool {
    match incoming {
        Incoming::Request { params, .. } => envelope::is_marked(params),
        _ => false,
    }
}

pub(super) fn is_tool_call(incoming: &Incoming) -> bool {
    matches!(incoming, Incoming::Request { method, .. } if method == "tools/call")
}
