//! The servers over HTTP, met by the client of each runtime. What is counted is what they saw.

use std::sync::Arc;

use mcp_proto::Era;
use mcp_tests::client::{Client, Runtime, Setup};
use mcp_tests::demo::{Answers, HttpDemo, HttpOptions};
use mcp_tests::script::{HttpScript, Reply};
use serde_json::json;

const RUNTIMES: &[Runtime] = &[
    Runtime::Blocking,
    Runtime::Smol,
    #[cfg(feature = "tokio")]
    Runtime::TokioCurrentThread,
    #[cfg(feature = "tokio")]
    Runtime::TokioMultiThread,
];

fn connect(runtime: Runtime, url: &str) -> Client {
    Client::connect(runtime, url, Setup::new())
        .unwrap_or_else(|error| panic!("{runtime:?}: {error}"))
}

#[test]
fn a_thousand_calls_take_one_connection() {
    for &runtime in RUNTIMES {
        for answers in [Answers::Json, Answers::Sse, Answers::Alternate] {
            let demo = HttpDemo::start(HttpOptions { answers, ..HttpOptions::default() }).unwrap();
            let client = connect(runtime, demo.url());
            for n in 0..1000 {
                let sum = client.call_tool("add", json!({ "a": n, "b": 1 })).unwrap();
                assert_eq!(sum.text(), (n + 1).to_string());
            }
            let counters = demo.counters();
            assert_eq!(
                (counters.connections, counters.tool_runs),
                (1, 1000),
                "{runtime:?} {answers:?}"
            );
            client.close();
        }
    }
}

#[test]
fn a_legacy_session_is_ended_with_its_client() {
    for &runtime in RUNTIMES {
        let options = HttpOptions {
            demo: mcp_tests::demo::Options {
                eras: mcp_tests::demo::Eras::Legacy,
                ..mcp_tests::demo::Options::default()
            },
            ..HttpOptions::default()
        };
        let demo = HttpDemo::start(options).unwrap();
        let client = connect(runtime, demo.url());
        assert_eq!(client.server().unwrap().era, Era::Legacy);
        assert_eq!(client.list_tools().unwrap().len(), 5);
        client.close();
        let counters = demo.wait_until(|counters| counters.open == 0);
        assert_eq!((counters.sessions, counters.requests("DELETE")), (1, 1), "{runtime:?}");
        assert_eq!(counters.answers(404), 0, "{runtime:?}");
    }
}

#[test]
fn a_tool_is_not_called_twice_when_an_idle_connection_is_closed() {
    let answer = r#"{"resultType":"complete","content":[{"type":"text","text":"1"}]}"#;
    for &runtime in RUNTIMES {
        let server = HttpScript::modern()
            .expect("tools/call")
            .result(answer)
            .close_at_next_byte()
            .rest()
            .start();
        let client = connect(runtime, server.url());
        assert_eq!(client.call_tool("add", json!({})).unwrap().text(), "1");
        let second = client.call_tool("add", json!({ "a": 1, "b": 1 }));
        let transcript = server.so_far();
        // Whether the client notices before or after it has sent the call: one is all that runs.
        let ran = u64::from(second.is_ok());
        assert_eq!(transcript.count("tools/call") as u64, 1 + ran, "{runtime:?} {second:?}");
        assert_eq!(client.call_tool("add", json!({ "a": 1, "b": 1 })).unwrap().text(), "2");
        client.close();
    }
}

#[test]
fn notifications_may_be_taken_in_any_way() {
    for &runtime in RUNTIMES {
        for taken in [
            Reply::new(200),
            Reply::new(204),
            Reply::new(202).json("{}"),
            Reply::new(200).typed("text/plain", "ok"),
        ] {
            let server = HttpScript::new()
                .refuse_probe()
                .expect("initialize")
                .respond(Reply::new(200).json(
                    r#"{"jsonrpc":"2.0","id":$id,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}"#,
                ))
                .expect("notifications/initialized")
                .respond(taken)
                .rest()
                .start();
            let client = connect(runtime, server.url());
            assert_eq!(client.list_tools().unwrap().len(), 5);
            client.close();
            server.finish().check();
        }
    }
}

#[test]
fn calls_side_by_side_get_their_own_answers() {
    for &runtime in RUNTIMES {
        let demo = HttpDemo::start(HttpOptions::default()).unwrap();
        let client = Arc::new(connect(runtime, demo.url()));
        let calls: Vec<_> =
            (0..8).map(|n| client.begin("add", json!({ "a": n, "b": 100 })).unwrap()).collect();
        for (n, call) in calls.into_iter().enumerate() {
            assert_eq!(call.wait().unwrap().text(), (n + 100).to_string(), "{runtime:?}");
        }
        assert_eq!(demo.counters().tool_runs, 8);
        client.close();
    }
}

#[test]
fn tls_is_spoken_with_a_server_whose_authority_is_trusted() {
    let demo = HttpDemo::start(HttpOptions { tls: true, ..HttpOptions::default() }).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ca.pem");
    std::fs::write(&file, demo.authority().unwrap()).unwrap();
    let client =
        mcp_runtime_blocking::Client::builder().ca_file(&file).connect(demo.url()).unwrap();
    assert_eq!(client.call_tool("add", json!({ "a": 1, "b": 2 })).unwrap().text(), "3");
    client.close();
    let error = mcp_runtime_blocking::Client::connect(demo.url()).unwrap_err();
    assert!(error.to_string().to_lowercase().contains("certificate"), "{error}");
    assert_eq!(demo.counters().tool_runs, 1);
}
