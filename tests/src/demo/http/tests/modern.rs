//! Revision 2026-07-28.

use super::*;

const VERSION: &str = "2026-07-28";

fn with_meta(mut params: Value) -> Value {
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = VERSION.into();
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
    params
}

fn headers<'a>(method: &'a str, name: Option<&'a str>) -> Vec<(&'a str, &'a str)> {
    let mut headers = vec![("MCP-Protocol-Version", VERSION), ("Mcp-Method", method)];
    headers.extend(name.map(|name| ("Mcp-Name", name)));
    headers
}

fn ask(visitor: &mut Visitor, method: &str, name: Option<&str>, params: Value) -> Answer {
    post(visitor, &headers(method, name), &request(1, method, with_meta(params)))
}

fn call(visitor: &mut Visitor, tool: &str, arguments: Value) -> Answer {
    ask(visitor, "tools/call", Some(tool), json!({ "name": tool, "arguments": arguments }))
}

fn text(answer: &Answer) -> String {
    answer.message()["result"]["content"][0]["text"].as_str().unwrap().to_owned()
}

#[test]
fn a_client_needs_no_handshake() {
    for eras in [Eras::Both, Eras::Modern] {
        let demo = only(eras);
        let mut visitor = Visitor::new(demo.url());
        let found = ask(&mut visitor, "server/discover", None, json!({})).message();
        assert_eq!(found["result"]["supportedVersions"][0], VERSION);
        let sum = call(&mut visitor, "add", json!({ "a": 1, "b": 2 }));
        assert_eq!((sum.status, &*text(&sum)), (200, "3"));
        assert_eq!(sum.header("content-type"), Some("application/json"));
        assert_eq!(sum.header("mcp-session-id"), None);
        let counters = demo.counters();
        assert_eq!((counters.connections, counters.requests("POST")), (1, 2));
        assert_eq!((counters.tool_runs, counters.messages("tools/call")), (1, 1));
    }
}

#[test]
fn answers_come_as_the_server_likes() {
    let cases = [
        (Answers::Json, [false, false]),
        (Answers::Sse, [true, true]),
        (Answers::Alternate, [false, true]),
    ];
    for (answers, expected) in cases {
        let demo = start(|options| options.answers = answers);
        let mut visitor = Visitor::new(demo.url());
        let kinds = [(), ()].map(|()| {
            let answer = ask(&mut visitor, "tools/list", None, json!({}));
            assert_eq!(answer.message()["id"], 1);
            answer.header("content-type") == Some("text/event-stream")
        });
        assert_eq!(kinds, expected, "{answers:?}");
        assert_eq!(demo.counters().connections, 1);
    }
}

#[test]
fn progress_comes_before_the_answer() {
    let meta = json!({ "progressToken": "t" });
    let params = json!({ "name": "slow", "arguments": { "steps": 2 }, "_meta": meta });
    for (answers, count) in [(Answers::Auto, 3), (Answers::Sse, 3), (Answers::Json, 1)] {
        let demo = start(|options| options.answers = answers);
        let mut visitor = Visitor::new(demo.url());
        let answer = ask(&mut visitor, "tools/call", Some("slow"), params.clone());
        let messages = answer.messages();
        assert_eq!(messages.len(), count, "{answers:?}");
        assert_eq!(messages[count - 1]["id"], 1);
        assert!(messages[..count - 1].iter().all(|it| it["params"]["progressToken"] == "t"));
        assert_eq!(ask(&mut visitor, "tools/list", None, json!({})).status, 200);
    }
}

#[test]
fn a_blob_is_as_long_as_it_says() {
    for answers in [Answers::Json, Answers::Sse] {
        let demo = start(|options| options.answers = answers);
        let mut visitor = Visitor::new(demo.url());
        let blob = call(&mut visitor, "blob", json!({ "bytes": 1_000_000 }));
        assert_eq!(text(&blob), "x".repeat(1_000_000));
        assert_eq!(blob.header("content-length").is_some(), answers == Answers::Json);
        assert_eq!(call(&mut visitor, "fail", json!({})).status, 200);
    }
}

#[test]
fn headers_have_to_fit_the_body() {
    let demo = start(|_| {});
    let mut visitor = Visitor::new(demo.url());
    let params = json!({ "name": "echo", "arguments": { "message": "x" } });
    let body = request(7, "tools/call", with_meta(params));
    let mut refused = |headers: &[(&str, &str)]| {
        let answer = post(&mut visitor, headers, &body);
        assert_eq!(answer.message()["id"], 7, "{headers:?}");
        (answer.status, code(&answer))
    };
    let [version, method, name] =
        [("MCP-Protocol-Version", VERSION), ("mcp-METHOD", "tools/call"), ("Mcp-Name", "echo")];
    for headers in [
        &[method, name][..],
        &[version, name],
        &[version, method],
        &[("MCP-Protocol-Version", "2025-11-25"), method, name],
        &[version, ("Mcp-Method", "Tools/call"), name],
        &[version, method, ("Mcp-Name", "add")],
        &[version, method, ("Mcp-Name", "=?base64?YWRk?=")],
        &[version, method, ("Mcp-Name", "=?base64?!?=")],
        &[version, method, ("Mcp-Name", "é")],
        &[version, method, name, name],
    ] {
        assert_eq!(refused(headers), (400, -32020), "{headers:?}");
    }
    assert_eq!(demo.counters().tool_runs, 0);
    let coded = [version, method, ("Mcp-Name", "=?base64?ZWNobw==?=")];
    assert_eq!(post(&mut visitor, &coded, &body).status, 200);
    let uri = "demo://greeting/Welt";
    let read = ask(&mut visitor, "resources/read", Some(uri), json!({ "uri": uri }));
    assert_eq!(read.message()["result"]["contents"][0]["text"], "Hello, Welt!");
    let prompt = ask(&mut visitor, "prompts/get", None, json!({ "name": "greeting" }));
    assert_eq!(code(&prompt), -32020);
}

#[test]
fn metadata_and_versions_are_needed() {
    let demo = start(|_| {});
    let mut visitor = Visitor::new(demo.url());
    let bare = request(1, "tools/list", json!({}));
    let answer = post(&mut visitor, &headers("tools/list", None), &bare);
    assert_eq!((answer.status, code(&answer)), (400, -32602));
    let mut params = with_meta(json!({}));
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = "2099-01-01".into();
    let headers = [("MCP-Protocol-Version", "2099-01-01")];
    let answer = post(&mut visitor, &headers, &request(1, "tools/list", params));
    assert_eq!((answer.status, code(&answer)), (400, -32022));
    assert_eq!(answer.message()["error"]["data"]["supported"][0], VERSION);
    let answer = ask(&mut visitor, "no/method", None, json!({}));
    assert_eq!((answer.status, code(&answer)), (404, -32601));
    let answer = call(&mut visitor, "no tool", json!({}));
    assert_eq!((answer.status, code(&answer)), (200, -32602));
    let headers = [("MCP-Protocol-Version", VERSION)];
    let response = json!({ "jsonrpc": "2.0", "id": 1, "result": {} });
    assert_eq!(post(&mut visitor, &headers, &response).status, 400);
    let notification = json!({ "jsonrpc": "2.0", "method": "notifications/x" });
    let answer = post(&mut visitor, &headers, &notification);
    assert_eq!((answer.status, answer.body.len()), (202, 0));
}

#[test]
fn a_modern_only_server_says_so_to_legacy_clients() {
    let demo = only(Eras::Modern);
    let mut visitor = Visitor::new(demo.url());
    let answer = post(&mut visitor, &[], &request(1, "initialize", json!({})));
    assert_eq!((answer.status, code(&answer)), (400, -32020));
    assert_eq!(answer.message()["error"]["data"]["supported"], json!([VERSION]));
    assert!(answer.message()["error"]["message"].as_str().unwrap().contains(VERSION));
    for method in ["GET", "DELETE"] {
        let answer = visitor.ask(method, &[("Mcp-Session-Id", "x")], "");
        assert_eq!((answer.status, answer.header("allow")), (405, Some("POST")));
    }
}

#[test]
fn closing_the_connection_cancels_its_call() {
    for answers in [Answers::Json, Answers::Sse] {
        let demo = start(|options| options.answers = answers);
        let mut visitor = Visitor::new(demo.url());
        let arguments = json!({ "steps": 0, "until_cancelled": true });
        let params = with_meta(json!({ "name": "slow", "arguments": arguments }));
        let body = request(1, "tools/call", params).to_string();
        let headers = [&TYPES[..], &headers("tools/call", Some("slow"))].concat();
        visitor.send("POST", &headers, &body);
        demo.wait_until(|counters| counters.tool_runs == 1);
        drop(visitor);
        let counters = demo.wait_until(|counters| counters.open == 0);
        assert_eq!(counters.cancelled, 1);
    }
}
