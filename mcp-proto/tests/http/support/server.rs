//! The scripted server: the usual answers.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use mcp_proto::op::Connect;
use mcp_proto::{ConnectionConfig, Era, Hearing, Method};
use serde_json::{Value, json};

use super::bench::{Bench, config, target};
use super::posted::Posted;

/// The notification that ends a legacy handshake.
pub(crate) const INITIALIZED: &str = "notifications/initialized";
/// The headers of an answer.
pub(crate) type Headers = &'static [(&'static str, &'static str)];
/// The headers of a JSON answer.
pub(crate) const JSON: Headers = &[("content-type", "application/json")];
/// The headers of an event stream.
pub(crate) const SSE: Headers = &[("content-type", "text/event-stream")];

/// A result of `server/discover`.
pub(crate) fn discovered(versions: &[&str]) -> Value {
    json!({
        "resultType": "complete",
        "supportedVersions": versions,
        "capabilities": { "tools": {} },
        "ttlMs": 0,
        "cacheScope": "private",
    })
}

/// A result of `initialize`.
pub(crate) fn initialized(version: &str) -> Value {
    json!({
        "protocolVersion": version,
        "capabilities": { "tools": {} },
        "serverInfo": { "name": "peer", "version": "1" },
    })
}

/// The message that answers a request with a result.
pub(crate) fn answer(to: &Posted, result: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": to.id(), "result": result }).to_string()
}

/// The message that answers a request with an error.
pub(crate) fn refusal(to: &Posted, code: i64) -> String {
    let error = json!({ "code": code, "message": "scripted" });
    json!({ "jsonrpc": "2.0", "id": to.id(), "error": error }).to_string()
}

/// An event of a stream.
pub(crate) fn event(message: &str) -> String {
    format!("event: message\ndata: {message}\n\n")
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

impl Bench {
    /// A server that has not been spoken with.
    pub(crate) fn cold() -> Bench {
        Bench::new(config(), target())
    }

    /// A connection that is ready with a modern server.
    pub(crate) fn modern() -> Bench {
        Bench::modern_with(config())
    }

    pub(crate) fn modern_with(config: ConnectionConfig) -> Bench {
        let mut bench = Bench::new(config, target());
        let call = bench.begin(Connect);
        bench.speak_modern();
        bench.done(&call).expect("a modern server");
        bench.trace();
        bench
    }

    /// A connection that is ready with a legacy server that has sessions.
    pub(crate) fn legacy() -> Bench {
        Bench::legacy_with(config())
    }

    pub(crate) fn legacy_with(config: ConnectionConfig) -> Bench {
        let mut bench = Bench::new(config, target());
        let call = bench.begin(Connect);
        bench.speak_legacy("2025-11-25", Some("session-1"));
        bench.done(&call).expect("a legacy server");
        bench.trace();
        bench
    }

    /// Answers the probe as a modern server does.
    pub(crate) fn speak_modern(&mut self) {
        let probe = self.expect("server/discover");
        self.result(&probe, discovered(&["2026-07-28"]));
    }

    /// Answers the probe and `initialize` as a legacy server does.
    pub(crate) fn speak_legacy(&mut self, version: &str, session: Option<&str>) {
        let probe = self.expect("server/discover");
        self.says(&probe, 400, &refusal(&probe, -32600));
        self.greet(version, session);
    }

    /// Answers `initialize` and takes the notification that follows.
    pub(crate) fn greet(&mut self, version: &str, session: Option<&str>) {
        let initialize = self.expect("initialize");
        self.welcome(&initialize, version, session);
        let notification = self.expect(INITIALIZED);
        self.accepts(&notification);
        let hears = &self.connection.config().hears;
        if hears.contains(&Hearing::Elicitation) || hears.contains(&Hearing::Notifications) {
            self.offers_no_stream();
        }
    }

    /// Refuses to open a stream for what belongs to no answer, as most servers do.
    pub(crate) fn offers_no_stream(&mut self) {
        let get = self.next_post();
        assert_eq!(get.request.method, Method::Get);
        self.whole(&get, 405, &[], b"");
    }

    /// Answers `initialize`.
    pub(crate) fn welcome(&mut self, initialize: &Posted, version: &str, session: Option<&str>) {
        let session = session.map(|id| ("mcp-session-id", id));
        let headers: Vec<_> = JSON.iter().copied().chain(session).collect();
        self.head(initialize, 200, &headers);
        self.body(initialize, answer(initialize, &initialized(version)).as_bytes());
        self.ends(initialize);
    }

    /// Takes a notification or an answer.
    pub(crate) fn accepts(&mut self, post: &Posted) {
        self.head(post, 202, &[]);
        self.ends(post);
    }

    /// A whole answer with this status and this JSON.
    pub(crate) fn says(&mut self, to: &Posted, status: u16, body: &str) {
        self.whole(to, status, JSON, body.as_bytes());
    }

    /// A whole answer.
    pub(crate) fn whole(&mut self, to: &Posted, status: u16, head: &[(&str, &str)], body: &[u8]) {
        self.head(to, status, head);
        self.body(to, body);
        self.ends(to);
    }

    /// A JSON answer with a result.
    pub(crate) fn result(&mut self, to: &Posted, result: Value) {
        self.says(to, 200, &answer(to, &result));
    }

    /// A JSON answer with a result as the server's era has it.
    pub(crate) fn completes(&mut self, to: &Posted, members: Value) {
        let result = self.complete(members);
        self.result(to, result);
    }

    /// An event stream begins, and brings these bytes.
    pub(crate) fn streams(&mut self, to: &Posted, text: &str) {
        self.head(to, 200, SSE);
        self.body(to, text.as_bytes());
    }

    /// A result as the server's era has it.
    pub(crate) fn complete(&self, mut members: Value) -> Value {
        if self.era() == Era::Modern {
            members["resultType"] = Value::from("complete");
        }
        members
    }

    /// The event with a result of the server's era.
    pub(crate) fn completion(&self, to: &Posted, members: Value) -> String {
        event(&answer(to, &self.complete(members)))
    }

    /// The server's era, once it is known.
    pub(crate) fn era(&self) -> Era {
        self.connection.server().expect("a ready connection").era
    }
}

/// Plays a scenario with a ready server of each era.
pub(crate) fn in_both_eras(scenario: impl Fn(&mut Bench)) {
    scenario(&mut Bench::modern());
    scenario(&mut Bench::legacy());
}
