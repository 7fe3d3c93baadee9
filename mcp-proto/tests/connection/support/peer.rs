//! The scripted server: what the client wrote to it, and the usual answers.

use mcp_proto::op::Connect;
use mcp_proto::{ConnectionConfig, Era, ProcessId};
use serde_json::{Value, json};

use super::bench::{Bench, config};

/// The notification that ends a legacy handshake.
pub(crate) const INITIALIZED: &str = "notifications/initialized";

/// A message that the client wrote.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sent {
    pub(crate) process: ProcessId,
    pub(crate) line: String,
    pub(crate) message: Value,
}

impl Sent {
    pub(crate) fn method(&self) -> &str {
        self.message["method"].as_str().unwrap_or_default()
    }

    pub(crate) fn id(&self) -> &Value {
        &self.message["id"]
    }

    pub(crate) fn params(&self) -> &Value {
        &self.message["params"]
    }

    pub(crate) fn meta(&self) -> &Value {
        &self.message["params"]["_meta"]
    }
}

/// A result of `server/discover`.
pub(crate) fn discovered(versions: &[&str]) -> Value {
    json!({
        "resultType": "complete",
        "supportedVersions": versions,
        "capabilities": { "tools": {} },
        "instructions": "be kind",
        "ttlMs": 60000,
        "cacheScope": "private",
        "_meta": { "io.modelcontextprotocol/serverInfo": { "name": "peer", "version": "1" } },
    })
}

/// A result of `initialize`.
pub(crate) fn initialized(version: &str) -> Value {
    json!({
        "protocolVersion": version,
        "capabilities": { "tools": {} },
        "serverInfo": { "name": "peer", "version": "1" },
        "instructions": "be kind",
    })
}

impl Bench {
    /// A connection that is ready with a modern server.
    pub(crate) fn modern(config: ConnectionConfig) -> Bench {
        let mut bench = Bench::stdio(config);
        let call = bench.begin(Connect);
        bench.speak_modern();
        bench.done(&call).expect("a modern server");
        bench.trace();
        bench
    }

    /// A connection that is ready with a legacy server.
    pub(crate) fn legacy(config: ConnectionConfig) -> Bench {
        let mut bench = Bench::stdio(config);
        let call = bench.begin(Connect);
        bench.speak_legacy("2025-11-25");
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
    pub(crate) fn speak_legacy(&mut self, version: &str) {
        let probe = self.expect("server/discover");
        self.refuse(&probe, -32601, "Method not found");
        let initialize = self.expect("initialize");
        self.result(&initialize, initialized(version));
        self.expect(INITIALIZED);
    }

    /// Answers what this server's era is asked first.
    pub(crate) fn speak(&mut self, era: Era) {
        match era {
            Era::Modern => self.speak_modern(),
            Era::Legacy => self.speak_legacy("2025-11-25"),
        }
    }

    /// A result as the server's era has it.
    pub(crate) fn complete(&self, mut members: Value) -> Value {
        if self.era() == Era::Modern {
            members["resultType"] = Value::from("complete");
        }
        members
    }

    /// Answers a request with a result of its era, or whatever the members say.
    pub(crate) fn completes(&mut self, request: &Sent, members: Value) {
        let result = self.complete(members);
        self.result(request, result);
    }

    /// Answers a request with this text in the place of the result.
    pub(crate) fn answers(&mut self, request: &Sent, result: &str) {
        let id = request.id();
        self.line(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#));
    }

    pub(crate) fn result(&mut self, request: &Sent, result: Value) {
        self.answers(request, &result.to_string());
    }

    pub(crate) fn refuse(&mut self, request: &Sent, code: i64, message: &str) {
        self.fails(request, json!({ "code": code, "message": message }));
    }

    /// Answers a request with this error object.
    pub(crate) fn fails(&mut self, request: &Sent, error: Value) {
        let answer = json!({ "jsonrpc": "2.0", "id": request.id(), "error": error });
        self.line(&answer.to_string());
    }

    /// The server's era, once it is known.
    pub(crate) fn era(&self) -> Era {
        self.connection.server().expect("a ready connection").era
    }
}

/// Plays a scenario with a ready server of each era.
pub(crate) fn in_both_eras(scenario: impl Fn(&mut Bench)) {
    in_both_eras_with(config(), scenario);
}

/// The same, with other settings.
pub(crate) fn in_both_eras_with(config: ConnectionConfig, scenario: impl Fn(&mut Bench)) {
    scenario(&mut Bench::modern(config.clone()));
    scenario(&mut Bench::legacy(config));
}

/// The same, with a server that offers this.
pub(crate) fn in_both_eras_offering(capabilities: &Value, scenario: impl Fn(&mut Bench)) {
    in_both_eras_offering_with(config(), capabilities, scenario);
}

/// The same, with other settings.
pub(crate) fn in_both_eras_offering_with(
    config: ConnectionConfig,
    capabilities: &Value,
    scenario: impl Fn(&mut Bench),
) {
    for era in [Era::Modern, Era::Legacy] {
        let mut bench = Bench::stdio(config.clone());
        let call = bench.begin(Connect);
        let probe = bench.expect("server/discover");
        let offering = |mut result: Value| {
            result["capabilities"] = capabilities.clone();
            result
        };
        if era == Era::Modern {
            bench.result(&probe, offering(discovered(&["2026-07-28"])));
        } else {
            bench.refuse(&probe, -32601, "Method not found");
            let initialize = bench.expect("initialize");
            bench.result(&initialize, offering(initialized("2025-11-25")));
            bench.expect(INITIALIZED);
        }
        bench.done(&call).expect("a server");
        scenario(&mut bench);
    }
}
