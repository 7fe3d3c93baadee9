//! The whole conversation with the demo server, in each era.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_proto::driver::CallOptions;
use mcp_proto::{CloseReason, ConnectionState, Era, EraChoice, ProtocolVersion};
use serde_json::{Map, Value, json};

use super::Stage;
use crate::client::{Client, Setup};
use crate::demo::{Eras, Options, Revision};
use crate::script::Script;

const TOOLS: [&str; 5] = ["echo", "add", "fail", "slow", "blob"];

/// M-CONN-01, M-ERA-02, M-ERA-03
pub fn a_modern_server(on: &Stage) {
    let client = on.connect(on.demo(&[]), Setup::new()).unwrap();
    let server = client.server().unwrap();
    assert_eq!((server.era, server.version), (Era::Modern, ProtocolVersion::V2026_07_28));
    converse(&client);
    client.close();
    assert!(matches!(client.state(), ConnectionState::Closed(CloseReason::Closed)));
}

/// M-ERA-02, M-ERA-15
pub fn a_legacy_server(on: &Stage) {
    let client = on.connect(on.demo(&["--era", "legacy"]), Setup::new()).unwrap();
    let server = client.server().unwrap();
    assert_eq!((server.era, server.version), (Era::Legacy, ProtocolVersion::V2025_11_25));
    converse(&client);
    client.close();
}

/// M-ERA-01, M-ERA-13
pub fn each_legacy_revision(on: &Stage) {
    for revision in Revision::LEGACY {
        let (client, playing) = on.play(Script::legacy(revision.name()).answer_rest());
        let server = client.server().unwrap();
        assert_eq!(server.version.as_str(), revision.name());
        assert_eq!(server.era, Era::Legacy);
        converse(&client);
        client.close();
        let written = playing.finish().check();
        assert_eq!(written.count("initialize"), 1);
        let first = &written.of("initialize")[0]["params"];
        assert_eq!(first["protocolVersion"], "2025-11-25", "the newest that has a handshake");
        assert_eq!(written.methods()[2], "notifications/initialized");
        assert!(written.messages()[1..].iter().all(|message| {
            let meta = message.pointer("/params/_meta").and_then(Value::as_object);
            meta.is_none_or(|meta| !meta.keys().any(|key| key.contains('/')))
        }));
    }
}

/// M-ERA-07, M-CONN-15
pub fn either_era_when_forced(on: &Stage) {
    let offered = Options::default();
    assert_eq!(offered.eras, Eras::Both);
    for (choice, era) in [(EraChoice::Modern, Era::Modern), (EraChoice::Legacy, Era::Legacy)] {
        let setup = Setup::new().era(choice);
        let script = Script::new().answer_rest_with(offered.clone());
        let (client, playing) = on.play_with(script, setup);
        assert_eq!(client.server().unwrap().era, era);
        converse(&client);
        client.close();
        let written = playing.finish().check();
        let greeted = written.count("initialize") + written.count("notifications/initialized");
        assert_eq!(greeted, if era == Era::Legacy { 2 } else { 0 });
        if era == Era::Legacy {
            assert_eq!(written.count("server/discover"), 0);
        }
    }
}

/// M-TOOL-09, M-PAGE-04
pub fn pages_are_joined(on: &Stage) {
    for size in ["1", "2", "500"] {
        for era in ["modern", "legacy"] {
            let target = on.demo(&["--era", era, "--page-size", size]);
            let client = on.connect(target, Setup::new()).unwrap();
            let tools = client.list_tools().unwrap();
            let names: Vec<_> = tools.iter().map(|tool| tool.name.as_str()).collect();
            assert_eq!(names, TOOLS, "{era}, pages of {size}");
            client.close();
        }
    }
}

/// M-BASE-10, M-NOTE-04
pub fn methods_of_the_hosts_choice(on: &Stage) {
    let client = on.connect(on.demo(&[]), Setup::new()).unwrap();
    let prompts = client.request("prompts/list", Map::new()).unwrap();
    let prompts: Value = prompts.parse().unwrap();
    assert_eq!(prompts["prompts"][0]["name"], "greeting");
    let params = json!({ "uri": "demo://readme" });
    let read = client.request("resources/read", params.as_object().unwrap().clone()).unwrap();
    let read: Value = read.parse().unwrap();
    assert_eq!(read["contents"][0]["uri"], "demo://readme");
    let error = client.request("no/such", Map::new()).unwrap_err();
    assert_eq!(error.server_error().unwrap().code, -32601);
    assert_eq!(echo(&client, "still there"), "still there");
    client.close();
}

/// Uses everything that the demo server has for tools.
fn converse(client: &Client) {
    let server = client.server().unwrap();
    assert_eq!(server.implementation.as_ref().unwrap().name, "mcp-demo");
    assert!(server.instructions.as_ref().unwrap().contains("add"));
    assert!(server.capabilities.has(&["tools"]));
    assert!(matches!(client.state(), ConnectionState::Ready));

    let tools = client.list_tools().unwrap();
    let names: Vec<_> = tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, TOOLS);
    assert_eq!(tools[1].description.as_deref(), Some("Adds two numbers"));

    assert_eq!(echo(client, "grüße\n\u{1f980}"), "grüße\n\u{1f980}");
    let sum = client.call_tool("add", json!({ "a": 19, "b": 23 })).unwrap();
    assert_eq!(sum.text(), "42");
    if server.version >= ProtocolVersion::V2025_06_18 {
        assert_eq!(sum.structured::<Value>().unwrap()["sum"], 42);
    }
    let failed = client.call_tool("fail", json!({})).unwrap();
    assert!(failed.is_error);
    assert_eq!(client.call_tool("blob", json!({ "bytes": 100_000 })).unwrap().text().len(), 100_000);
    assert_eq!(steps(client, 3), [1.0, 2.0, 3.0]);
    client.ping().unwrap();
}

/// Calls the tool `echo`.
pub(super) fn echo(client: &Client, text: &str) -> String {
    let result = client.call_tool("echo", json!({ "message": text }));
    result.unwrap_or_else(|error| panic!("{error}")).text().into_owned()
}

/// Calls the tool `slow`, and returns how far it said to be.
fn steps(client: &Client, steps: u64) -> Vec<f64> {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let seeing = Arc::clone(&seen);
    let options = CallOptions::new()
        .timeout(Duration::from_secs(60))
        .on_progress(move |progress| seeing.lock().unwrap().push(progress.progress));
    let done = client.call_tool_with("slow", json!({ "steps": steps }), options).unwrap();
    assert_eq!(done.text(), format!("Done after {steps} steps."));
    let seen = seen.lock().unwrap();
    seen.clone()
}
