//! JSON-RPC as servers really speak it.

use serde_json::{Map, json};

use super::Stage;
use super::conversation::echo;
use crate::client::Setup;
use crate::logs;
use crate::script::Script;

/// M-BASE-01
pub fn ids_match_however_they_are_spelled(on: &Stage) {
    let answer = |id: &str| format!(r#"{{"id":{id},"jsonrpc":"2.0","result":{{"content":[]}}}}"#);
    let script = Script::modern()
        .expect("tools/call")
        .send(&answer("$id.string"))
        .expect("tools/call")
        .send(&answer("$id.float"))
        .expect_as("tools/call", "first")
        .expect_as("tools/call", "second")
        .text_for("second", "\"2\"")
        .send(&answer("$first.id.string"))
        .answer_rest();
    let (client, playing) = on.play(script);
    for _ in 0..2 {
        assert!(client.call_tool("x", json!({})).unwrap().content.is_empty());
    }
    let first = client.begin("x", json!({})).unwrap();
    playing.wait_until(|it| it.count("tools/call") == 3);
    let second = client.call_tool("x", json!({})).unwrap();
    assert_eq!(second.text(), "2");
    assert_eq!(first.wait().unwrap().text(), "");
    client.close();
    playing.finish().check();
}

/// M-BASE-02, M-NOTE-03
pub fn unknown_notifications_are_nothing(on: &Stage) {
    let log = r#"{"type":3,"message":"hi"}"#;
    let script = Script::new()
        .notify("window/logMessage", log)
        .expect("server/discover")
        .error(-32601, "Method not found")
        .notify("window/logMessage", log)
        .handshake("2025-11-25")
        .notify("window/logMessage", "null")
        .send(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#)
        .send(r#"{"method":"notifications/cancelled"}"#)
        .notify("notifications/progress", r#"{"progressToken":{},"progress":"far"}"#)
        .answer_rest();
    let (client, playing) = on.play(script);
    assert_eq!(echo(&client, "hi"), "hi");
    client.close();
    let written = playing.finish().check();
    assert!(written.responses().is_empty(), "{:?}", written.responses());
}

/// M-BASE-08, M-PROG-03
pub fn batches_of_old_servers_are_taken_apart(on: &Stage) {
    let script = Script::legacy("2025-03-26")
        .send("[]")
        .expect_as("tools/call", "call")
        .send(concat!(
            r#"[{"jsonrpc":"2.0","method":"notifications/progress","#,
            r#""params":{"progressToken":1,"progress":1}},"#,
            r#"7,{"jsonrpc":"2.0","id":"s1","method":"ping"},"#,
            r#"{"jsonrpc":"2.0","id":$call.id,"result":{"content":[]}}]"#,
        ))
        .expect_response("\"s1\"")
        .answer_rest();
    let (client, playing) = on.play(script);
    assert!(client.call_tool("x", json!({})).unwrap().content.is_empty());
    playing.wait_until(|it| it.responses().len() == 1);
    assert_eq!(echo(&client, "hi"), "hi");
    client.close();
    playing.finish().check();
}

/// M-NOTE-06
pub fn pings_are_answered_in_every_state(on: &Stage) {
    let script = Script::new()
        .expect("server/discover")
        .error(-32600, "initialize first")
        .expect_as("initialize", "start")
        .ask("\"p1\"", "ping", "{}")
        .expect_response("\"p1\"")
        .result_for("start", r#"{"protocolVersion":"2025-11-25","capabilities":{}}"#)
        .expect("notifications/initialized")
        .send(r#"{"jsonrpc":"2.0","id":"p2","method":"ping"}"#)
        .expect_response("\"p2\"")
        .ask("7", "no/such", "{}")
        .expect_response("7")
        .expect("ping")
        .error(-32601, "Method not found")
        .answer_rest();
    let (client, playing) = on.play(script);
    let written = playing.wait_until(|it| it.responses().len() == 3);
    assert_eq!(written.responses()[0]["result"], json!({}));
    assert_eq!(written.responses()[1]["result"], json!({}));
    assert_eq!(written.responses()[2]["error"]["code"], -32601);
    let error = client.ping().unwrap_err();
    assert_eq!(error.server_error().unwrap().code, -32601, "which does not end the connection");
    client.close();
    playing.finish().check();
}

/// M-BASE-02, M-BASE-06
pub fn missing_members_are_no_failure(on: &Stage) {
    let script = Script::new()
        .expect("server/discover")
        .send(r#"{"id":$id,"error":{"code":-32601}}"#)
        .expect("initialize")
        .send(r#"{"id":$id,"result":{"protocolVersion":"2024-11-05"}}"#)
        .expect("notifications/initialized")
        .expect("tools/list")
        .send(r#"{"id":$id,"result":{"tools":[{"name":"a"}]}}"#)
        .answer_rest();
    let (client, playing) = on.play(script);
    assert!(client.server().unwrap().implementation.is_none());
    assert_eq!(client.list_tools().unwrap()[0].name, "a");
    client.close();
    let written = playing.finish().check();
    assert_eq!(written.of("tools/list")[0]["params"], json!({}));
}

/// M-BASE-01
pub fn ids_of_the_server_are_given_back_as_they_came(on: &Stage) {
    let ids = [
        "-9007199254740993",
        "18446744073709551615",
        "-9223372036854775808",
        "0",
        r#""a\u0000b""#,
        r#""""#,
        r#""5""#,
    ];
    let mut script = Script::legacy("2025-11-25").expect_as("tools/call", "call");
    for id in ids {
        script = script.ask(id, "ping", "{}").expect_response(id);
    }
    let (client, playing) = on.play(script.text_for("call", "\"hi\"").answer_rest());
    assert_eq!(echo(&client, ""), "hi");
    client.close();
    let written = playing.finish().check();
    assert_eq!(written.responses().len(), ids.len());
}

/// M-BASE-09
pub fn a_modern_server_may_not_ask(on: &Stage) {
    let setup = Setup::new().on_elicitation(|_, _| async { Ok(json!({ "action": "accept" })) });
    let name = setup.server_name().to_owned();
    let script = Script::new()
        .expect_as("server/discover", "probe")
        .ask("\"a\"", "sampling/createMessage", "{}")
        .ask("\"b\"", "ping", "{}")
        .result_for("probe", r#"{"supportedVersions":["2026-07-28"],"capabilities":{}}"#)
        .ask("\"c\"", "elicitation/create", "{}")
        .ask("\"d\"", "ping", "{}")
        .answer_rest();
    let (client, playing) = on.play_with(script, setup);
    assert_eq!(echo(&client, "hi"), "hi");
    logs::wait_for(&name, "a modern server must not send requests");
    client.close();
    let written = playing.finish().check();
    assert!(written.responses().is_empty(), "{:?}", written.responses());
}

/// M-UNTR-13
pub fn answers_to_nothing_are_discarded(on: &Stage) {
    let setup = Setup::new();
    let name = setup.server_name().to_owned();
    let stray = |id: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[]}}}}"#);
    let script = Script::modern()
        .expect_as("tools/call", "call")
        .send(&stray("999"))
        .send(&stray("\"x\""))
        .send(&stray("-1"))
        .send(&stray("1"))
        .text_for("call", "\"mine\"")
        .send(&stray("$call.id"))
        .answer_rest();
    let (client, playing) = on.play_with(script, setup);
    assert_eq!(echo(&client, ""), "mine");
    assert_eq!(echo(&client, "hi"), "hi");
    logs::wait_for(&name, "it answers no request");
    client.close();
    playing.finish().check();
}

/// M-BASE-16
pub fn what_a_server_calls_itself_changes_nothing(on: &Stage) {
    let infos = [r#"{"name":"mcp-demo","version":"1"}"#, r#"{"name":"evil\n","version":""}"#, "7"];
    let said = infos.map(|info| {
        let key = "io.modelcontextprotocol/serverInfo";
        let result = format!(
            r#"{{"supportedVersions":["2026-07-28"],"capabilities":{{}},"_meta":{{"{key}":{info}}}}}"#
        );
        let script = Script::new().expect("server/discover").result(&result).answer_rest();
        let (client, playing) = on.play(script);
        client.list_tools().unwrap();
        assert_eq!(echo(&client, "hi"), "hi");
        client.close();
        playing.finish().check().lines().to_vec()
    });
    assert_eq!(said[0], said[1]);
    assert_eq!(said[0], said[2]);
}

/// M-BASE-12, M-ERA-06
pub fn metadata_of_the_host_goes_along(on: &Stage) {
    let mut trace = Map::new();
    trace.insert("traceparent".to_owned(), json!("00-0af7651916cd43dd8448eb211c80319c-b7ad6b71-01"));
    trace.insert("com.example/x".to_owned(), json!({ "deep": [1] }));
    let meta = trace.clone();
    let setup = Setup::new().with(|config| config.meta = meta);
    let (client, playing) = on.play_with(Script::modern().answer_rest(), setup);
    client.list_tools().unwrap();
    client.ping().unwrap();
    assert_eq!(echo(&client, "hi"), "hi");
    client.close();
    for message in playing.finish().check().messages() {
        for (key, value) in &trace {
            assert_eq!(&message["params"]["_meta"][key], value, "{message}");
        }
    }
}
