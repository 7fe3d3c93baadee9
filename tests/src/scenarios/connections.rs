//! Connections over HTTP: how many there are, and whom they lead to.

use mcp_proto::Era;
use serde_json::json;

use super::Stage;
use super::conversation::echo;
use crate::client::Setup;
use crate::demo::{Answers, Eras, HttpDemo, HttpOptions, Options};

/// M-HTTP-01
pub fn a_thousand_calls_take_one_connection(on: &Stage) {
    for answers in [Answers::Json, Answers::Sse] {
        let demo = HttpDemo::start(HttpOptions { answers, ..HttpOptions::default() }).unwrap();
        let client = on.connect(demo.url(), Setup::new()).unwrap();
        for n in 0..1000 {
            let sum = client.call_tool("add", json!({ "a": n, "b": 1 })).unwrap();
            assert_eq!(sum.text(), (n + 1).to_string());
        }
        client.close();
        let counted = demo.counters();
        assert_eq!((counted.connections, counted.tool_runs), (1, 1000), "{answers:?}");
    }
}

/// M-SESS-02
pub fn a_session_is_ended_with_its_client(on: &Stage) {
    let demo = Options { eras: Eras::Legacy, ..Options::default() };
    let demo = HttpDemo::start(demo.into()).unwrap();
    let client = on.connect(demo.url(), Setup::new()).unwrap();
    assert_eq!(client.server().unwrap().era, Era::Legacy);
    assert_eq!(client.list_tools().unwrap().len(), 5);
    client.close();
    let counted = demo.wait_until(|counters| counters.open == 0);
    assert_eq!((counted.sessions, counted.requests("DELETE"), counted.answers(404)), (1, 1, 0));
}

/// M-ERR-01
pub fn a_private_authority_is_trusted_when_it_is_named(on: &Stage) {
    let demo = HttpDemo::start(HttpOptions { tls: true, ..HttpOptions::default() }).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ca.pem");
    std::fs::write(&file, demo.authority().unwrap()).unwrap();
    let client = on.connect(demo.url(), Setup::new().ca_file(&file)).unwrap();
    assert_eq!(echo(&client, "hi"), "hi");
    client.close();
    let error = on.connect(demo.url(), Setup::new()).unwrap_err();
    assert!(error.to_string().to_lowercase().contains("certificate"), "{error}");
    assert_eq!(demo.counters().tool_runs, 1);
}
