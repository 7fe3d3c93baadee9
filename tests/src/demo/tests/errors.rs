//! What the server refuses, and with which code.

use super::*;

fn answer(demo: &mut Demo, line: &[u8]) -> Value {
    let mut answers: Vec<Value> = demo.receive(line).into_iter().flat_map(perform).collect();
    assert_eq!(answers.len(), 1, "{}", String::from_utf8_lossy(line));
    answers.remove(0)
}

#[test]
fn what_is_no_request_is_answered_without_an_id() {
    let mut demo = Demo::new(Options::default());
    for (line, code) in [
        (&b"{\"jsonrpc\": \"2.0\", \"id\": 1,"[..], -32700),
        (b"\xff\xfe", -32700),
        (b"[]", -32600),
        (b"5", -32600),
        (b"{\"id\":1,\"method\":\"ping\"}", -32600),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":5}", -32600),
        (b"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}", -32600),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}", -32600),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1}", -32600),
    ] {
        let answer = answer(&mut demo, line);
        assert_eq!(answer["error"]["code"], code, "{answer}");
        assert_eq!(answer.get("id"), Some(&Value::Null));
    }
}

#[test]
fn blank_lines_answers_and_notifications_are_not_answered() {
    let mut demo = Demo::new(Options::default());
    for line in [
        "",
        "\r\n",
        r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/unheard-of"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{}}"#,
    ] {
        assert_eq!(demo.receive(line.as_bytes()), Vec::new(), "{line}");
    }
    assert_eq!(demo.negotiated(), None);
}

#[test]
fn modern_metadata_is_required() {
    const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
    const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
    for meta in [
        json!({}),
        json!({ VERSION: MODERN }),
        json!({ CAPABILITIES: {} }),
        json!({ VERSION: 20260728, CAPABILITIES: {} }),
        json!({ VERSION: MODERN, CAPABILITIES: null }),
        json!({ VERSION: MODERN, CAPABILITIES: [] }),
    ] {
        let mut client = Client::new(Options::default());
        for method in ["tools/list", "server/discover"] {
            let error = client.ask(method, json!({ "_meta": meta }))["error"].take();
            assert_eq!(error["code"], -32602, "{meta}");
        }
    }
    let mut client = Client::new(Options::default());
    assert_eq!(client.ask("tools/list", Value::Null)["error"]["code"], -32602);
}

#[test]
fn an_unsupported_version_is_answered_with_the_supported_ones() {
    for eras in [Eras::Both, Eras::Modern] {
        let mut client = Client::new(only(eras));
        let mut params = with_meta(json!({}));
        params["_meta"]["io.modelcontextprotocol/protocolVersion"] = "2030-01-01".into();
        let error = client.ask("tools/list", params)["error"].take();
        assert_eq!(error["code"], -32022);
        assert_eq!(error["data"]["requested"], "2030-01-01");
        assert_eq!(error["data"]["supported"][0], MODERN);
        let supported = error["data"]["supported"].as_array().unwrap().len();
        assert_eq!(supported, if eras == Eras::Both { 5 } else { 1 });
    }
}

#[test]
fn unknown_names_have_the_code_of_their_kind() {
    for (method, params, modern, legacy) in [
        ("nothing/such", json!({}), -32601, -32601),
        ("logging/setLevel", json!({ "level": "debug" }), -32601, -32601),
        ("tools/call", json!({ "name": "nothing" }), -32602, -32602),
        ("tools/call", json!({}), -32602, -32602),
        ("tools/call", json!({ "name": "echo", "arguments": [] }), -32602, -32602),
        ("tools/list", json!({ "cursor": "from-99" }), -32602, -32602),
        ("tools/list", json!({ "cursor": 5 }), -32602, -32602),
        ("prompts/get", json!({ "name": "nothing" }), -32602, -32602),
        ("prompts/get", json!({ "name": "review" }), -32602, -32602),
        ("prompts/get", json!({ "name": "greeting", "arguments": { "a": 1 } }), -32602, -32602),
        ("resources/read", json!({}), -32602, -32602),
        ("resources/read", json!({ "uri": "demo://nothing" }), -32602, -32002),
    ] {
        let answer = Client::new(Options::default()).ask_modern(method, params.clone());
        assert_eq!(answer["error"]["code"], modern, "{method} {params}");
        let answer = Client::legacy("2025-11-25").ask(method, params.clone());
        assert_eq!(answer["error"]["code"], legacy, "{method} {params}");
    }
    let answer = Client::legacy("2025-11-25").ask("tools/list", json!([]));
    assert_eq!(answer["error"]["code"], -32602);
}

#[test]
fn the_handshake_has_an_order() {
    let mut client = Client::new(only(Eras::Legacy));
    assert_eq!(client.ask("tools/list", json!({}))["error"]["code"], -32601);
    for broken in [
        json!({}),
        json!({ "protocolVersion": "2025-11-25", "clientInfo": { "name": "a", "version": "1" } }),
        json!({ "protocolVersion": "2025-11-25", "capabilities": {} }),
        json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "a" } }),
    ] {
        let answer = client.ask("initialize", broken);
        assert_eq!(answer["error"]["code"], -32602);
    }
    client.ask("initialize", initialize("2025-11-25"));
    assert_eq!(client.ask("tools/list", json!({}))["error"]["code"], -32600);
    assert_eq!(client.ask("ping", json!({}))["result"], json!({}));
    client.notify("notifications/initialized", json!({}));
    assert!(client.ask("tools/list", json!({}))["result"]["tools"].is_array());
    let again = client.ask("initialize", initialize("2025-11-25"));
    assert_eq!(again["error"]["code"], -32600);
}

#[test]
fn cancelling_names_the_request_by_its_exact_id() {
    let mut demo = Demo::new(Options::default());
    for id in [json!(0), json!(""), json!("0")] {
        let params = json!({ "requestId": id });
        let cancel =
            json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
        let actions = demo.receive(cancel.to_string().as_bytes());
        assert_eq!(actions, [Action::Cancel(id)]);
    }
}
