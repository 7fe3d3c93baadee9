//! The revisions with sessions.

use super::*;

const SESSION: &str = "Mcp-Session-Id";
const VERSION: &str = "MCP-Protocol-Version";

fn initialize(version: &str) -> Value {
    let client = json!({ "name": "test", "version": "1" });
    let params = json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": client });
    request(0, "initialize", params)
}

fn notification(method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "method": method, "params": params })
}

/// The id of a session in which the handshake is done.
fn session(visitor: &mut Visitor, version: &str) -> String {
    let answer = post(visitor, &[], &initialize(version));
    assert_eq!(answer.message()["result"]["protocolVersion"], version);
    let session = answer.header(SESSION).unwrap().to_owned();
    let headers = [(SESSION, &*session), (VERSION, version)];
    let taken = post(visitor, &headers, &notification("notifications/initialized", json!({})));
    assert_eq!((taken.status, taken.body.len()), (202, 0));
    session
}

fn slow(id: u64) -> Value {
    let params = json!({ "name": "slow", "arguments": { "steps": 0, "until_cancelled": true } });
    request(id, "tools/call", params)
}

#[test]
fn a_session_is_begun_and_ended() {
    for eras in [Eras::Both, Eras::Legacy] {
        let demo = only(eras);
        let mut visitor = Visitor::new(demo.url());
        let session = session(&mut visitor, "2025-11-25");
        assert!(session.bytes().all(|c| c.is_ascii_graphic()));
        let headers = [(SESSION, &*session), (VERSION, "2025-11-25")];
        let tools = post(&mut visitor, &headers, &request(1, "tools/list", json!({})));
        assert_eq!(tools.message()["result"]["tools"][0]["name"], "echo");
        let unknown = post(&mut visitor, &headers, &request(2, "no/method", json!({})));
        assert_eq!((unknown.status, code(&unknown)), (200, -32601));
        assert_eq!(visitor.ask("DELETE", &headers, "").status, 200);
        let gone = post(&mut visitor, &headers, &request(3, "tools/list", json!({})));
        assert_eq!((gone.status, code(&gone)), (404, -32001));
        assert_eq!(visitor.ask("DELETE", &headers, "").status, 404);
        assert_eq!(demo.counters().sessions, 1);
    }
}

#[test]
fn sessions_are_needed_and_may_expire() {
    let demo = start(|_| {});
    let mut visitor = Visitor::new(demo.url());
    let list = request(1, "tools/list", json!({}));
    let answer = post(&mut visitor, &[], &list);
    assert_eq!((answer.status, code(&answer)), (400, -32000));
    let old = session(&mut visitor, "2025-06-18");
    let new = session(&mut visitor, "2025-06-18");
    assert_ne!(old, new);
    demo.expire_sessions();
    let answer = post(&mut visitor, &[(SESSION, &*old), (VERSION, "2025-06-18")], &list);
    assert_eq!(answer.status, 404);
    assert_eq!(visitor.ask("DELETE", &[], "").status, 400);
}

#[test]
fn the_version_is_named_from_2025_06_18_on() {
    let demo = start(|_| {});
    let mut visitor = Visitor::new(demo.url());
    let list = request(1, "tools/list", json!({}));
    for version in ["2025-11-25", "2025-06-18", "2025-03-26"] {
        let session = session(&mut visitor, version);
        let without = post(&mut visitor, &[(SESSION, &*session)], &list).status;
        assert_eq!(without, if version == "2025-03-26" { 200 } else { 400 });
        let with = |named| [(SESSION, &*session), (VERSION, named)];
        assert_eq!(post(&mut visitor, &with(version), &list).status, 200);
        assert_eq!(post(&mut visitor, &with("2024-11-05"), &list).status, 400);
    }
}

#[test]
fn a_legacy_only_server_refuses_the_probe_as_it_is_told() {
    for refusal in [-32601, -32600, -32000] {
        let demo = start(|options| {
            options.demo =
                Options { eras: Eras::Legacy, refusal: Some(refusal), ..Options::default() };
        });
        let mut visitor = Visitor::new(demo.url());
        let answer = post(&mut visitor, &[], &request(1, "server/discover", json!({})));
        assert_eq!((answer.status, code(&answer)), (400, refusal));
        assert_eq!(answer.message()["id"], Value::Null);
    }
}

#[test]
fn without_sessions_each_request_is_served_by_itself() {
    let demo = start(|options| options.sessions = false);
    let mut visitor = Visitor::new(demo.url());
    let answer = post(&mut visitor, &[], &initialize("2025-11-25"));
    assert_eq!((answer.status, answer.header(SESSION)), (200, None));
    let list = request(1, "tools/list", json!({}));
    assert_eq!(post(&mut visitor, &[(VERSION, "2025-11-25")], &list).status, 200);
    assert_eq!(post(&mut visitor, &[], &list).status, 200);
    assert_eq!(post(&mut visitor, &[(VERSION, "2024-01-01")], &list).status, 400);
    let initialized = notification("notifications/initialized", json!({}));
    assert_eq!(post(&mut visitor, &[], &initialized).status, 202);
    assert_eq!(visitor.ask("DELETE", &[(SESSION, "x")], "").status, 405);
}

#[test]
fn a_call_is_cancelled_by_a_notification_and_not_by_its_connection() {
    let demo = start(|_| {});
    let mut visitor = Visitor::new(demo.url());
    let session = session(&mut visitor, "2025-11-25");
    let headers = [(SESSION, &*session), (VERSION, "2025-11-25")];
    let all = [&TYPES[..], &headers].concat();
    let mut kept = Visitor::new(demo.url());
    kept.send("POST", &all, &slow(1).to_string());
    let mut left = Visitor::new(demo.url());
    left.send("POST", &all, &slow(2).to_string());
    demo.wait_until(|counters| counters.tool_runs == 2);
    drop(left);
    let cancel = |id: u64| notification("notifications/cancelled", json!({ "requestId": id }));
    assert_eq!(post(&mut visitor, &headers, &cancel(1)).status, 202);
    assert_eq!(kept.rest(), (Vec::new(), false));
    assert_eq!(demo.wait_until(|counters| counters.open == 2).cancelled, 1);
    post(&mut visitor, &headers, &cancel(2));
    assert_eq!(demo.wait_until(|counters| counters.open == 1).cancelled, 2);
    post(&mut visitor, &headers, &cancel(3));
    kept = Visitor::new(demo.url());
    kept.send("POST", &all, &slow(3).to_string());
    demo.wait_until(|counters| counters.tool_runs == 3);
    drop(demo);
    assert_eq!(kept.rest().0, b"");
}

#[test]
fn one_stream_is_open_at_a_time() {
    let demo = start(|options| options.get_stream = true);
    let mut visitor = Visitor::new(demo.url());
    let session = session(&mut visitor, "2025-11-25");
    let headers = [(SESSION, &*session), ("Accept", "text/event-stream")];
    let mut stream = Visitor::new(demo.url());
    stream.send("GET", &headers, "");
    assert_eq!(stream.head().0, 200);
    assert_eq!(stream.chunk().unwrap(), b": open\n\n");
    assert_eq!(visitor.ask("GET", &headers, "").status, 409);
    assert_eq!(visitor.ask("GET", &headers[1..], "").status, 400);
    assert_eq!(visitor.ask("GET", &headers[..1], "").status, 406);
    assert_eq!(demo.counters().streams, 1);
    drop(stream);
    demo.wait_until(|counters| counters.streams == 0);
    let mut stream = Visitor::new(demo.url());
    stream.send("GET", &headers, "");
    assert_eq!(stream.head().0, 200);
    assert_eq!(visitor.ask("DELETE", &headers, "").status, 200);
    demo.wait_until(|counters| counters.streams == 0);
}
