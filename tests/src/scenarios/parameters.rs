//! Arguments that stand in headers as well, and servers that insist on it.

use mcp_proto::{ErrorKind, Outcome, ServerErrorKind};
use serde_json::{Value, json};

use super::Stage;
use super::exchanges::{connect, soon};
use crate::client::Setup;
use crate::logs;
use crate::script::{HttpScript, Script};

const QUERY: &str = r#"{"name":"query","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"n":{"type":"integer","x-mcp-header":"N"}},"required":["region"]}}"#;
const BAD: &str = r#"{"name":"bad","inputSchema":{"type":"object","properties":{"a":{"type":"number","x-mcp-header":"A"}}}}"#;

fn listed(tools: &[&str]) -> String {
    format!(r#"{{"resultType":"complete","tools":[{}]}}"#, tools.join(","))
}

/// M-HDR-01, M-HDR-11, M-HDR-13
pub fn arguments_stand_in_headers(on: &Stage) {
    let mut script = HttpScript::modern().expect("tools/list").result(&listed(&[QUERY]));
    for _ in 0..2 {
        script = script.expect("tools/call").text("\"done\"");
    }
    let server = script.start();
    let config = soon(&server).header("mcp-param-n", "configured");
    let client = on.connect(config, Setup::new()).unwrap();
    client.list_tools().unwrap();
    client.call_tool("query", json!({ "region": "工具\r\nx: y", "n": -7 })).unwrap();
    client.call_tool("query", json!({ "region": "us-west1", "n": null })).unwrap();
    client.close();
    let seen = server.finish().check();
    let calls: Vec<_> = seen.messages("tools/call").map(|it| it.request.clone()).collect();
    let header = |at: usize, name| calls[at].header(name);
    assert_eq!(header(0, "mcp-param-region"), Some("=?base64?5bel5YW3DQp4OiB5?="));
    assert_eq!(header(0, "mcp-param-n"), Some("-7"));
    assert_eq!(header(1, "mcp-param-region"), Some("us-west1"));
    assert_eq!(header(1, "mcp-param-n"), None);
    assert_eq!(header(0, "x"), None);
}

/// M-HDR-02
pub fn a_refusal_of_headers_lists_the_tools_and_calls_once_more(on: &Stage) {
    for ends_well in [true, false] {
        let script = HttpScript::modern()
            .expect("tools/call")
            .error(400, -32020, "no Mcp-Param-Region")
            .expect("tools/list")
            .result(&listed(&[BAD, QUERY]))
            .expect("tools/call");
        let script = match ends_well {
            true => script.text("\"done\""),
            false => script.error(400, -32020, "no Mcp-Param-Region"),
        };
        let server = script.start();
        let client = connect(on, &server);
        let called = client.call_tool("query", json!({ "region": "eu" }));
        match called {
            Ok(result) => assert!(ends_well && result.text() == "done"),
            Err(error) => {
                let ErrorKind::Server(of_server) = error.kind() else { panic!("{error}") };
                assert_eq!(of_server.kind(), ServerErrorKind::HeaderMismatch);
                assert_eq!((error.outcome(), ends_well), (Outcome::NotRun, false));
            }
        }
        client.close();
        let seen = server.finish().check();
        let headers: Vec<_> = seen
            .messages("tools/call")
            .map(|it| it.request.header("mcp-param-region").map(String::from))
            .collect();
        assert_eq!(headers, [None, Some(String::from("eu"))]);
    }
}

/// M-HDR-03: the host's log names the tool and what is wrong with it.
pub fn tools_with_invalid_annotations_are_left_out(on: &Stage) {
    let script = HttpScript::modern().expect("tools/list").result(&listed(&[BAD, QUERY]));
    let server = script.start();
    let setup = Setup::new();
    let name = setup.server_name().to_owned();
    let client = on.connect(soon(&server), setup).unwrap();
    let tools = client.list_tools().unwrap();
    assert_eq!(tools.iter().map(|tool| &*tool.name).collect::<Vec<_>>(), ["query"]);
    assert!(tools.malformed[0].contains("bad"), "{:?}", tools.malformed);
    logs::wait_for(&name, "left out");
    let told = logs::of(&name);
    let warning = told.iter().find(|line| line.starts_with("WARN") && line.contains("left out"));
    assert!(warning.is_some_and(|it| it.contains("bad") && it.contains("integer")), "{told:?}");
    let error = client.call_tool("bad", json!({ "a": 1 })).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Validation(_)), "{error}");
    client.close();
    assert_eq!(server.finish().check().count("tools/call"), 0);
}

/// M-HDR-14, M-TOOL-08: over stdio annotations mean nothing, but what is required is.
pub fn without_headers_annotations_mean_nothing(on: &Stage) {
    let script = Script::modern()
        .expect("tools/list")
        .result(&listed(&[BAD, QUERY]))
        .expect("tools/call")
        .result(r#"{"resultType":"complete","content":[]}"#);
    let (client, playing) = on.play(script);
    assert_eq!(client.list_tools().unwrap().len(), 2);
    let error = client.call_tool("query", json!({ "n": 1 })).unwrap_err();
    let ErrorKind::Validation(why) = error.kind() else { panic!("{error}") };
    assert!(why.contains("region") && why.contains("query"), "{why}");
    assert_eq!(error.outcome(), Outcome::NotSent);
    client.call_tool("bad", json!({ "a": 1.5 })).unwrap();
    client.close();
    playing.finish().check();
}

/// M-TOOL-08, M-HDR-10: what a header cannot carry, or lacks, is told before anything is sent.
pub fn arguments_that_cannot_be_sent_are_told_at_once(on: &Stage) {
    let server = HttpScript::modern().expect("tools/list").result(&listed(&[QUERY])).start();
    let client = connect(on, &server);
    client.list_tools().unwrap();
    let wrong: [Value; 4] = [
        json!({}),
        json!({ "region": 7 }),
        json!({ "region": "eu", "n": 9_007_199_254_740_992_u64 }),
        json!({ "region": "eu", "n": "1" }),
    ];
    for arguments in wrong {
        let error = client.call_tool("query", arguments).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Validation(_)), "{error}");
        assert_eq!(error.outcome(), Outcome::NotSent);
    }
    client.close();
    assert_eq!(server.finish().check().count("tools/call"), 0);
}
