//! How the server chooses an era, and what each revision gets to see.

use super::*;

#[test]
fn a_modern_client_discovers_and_calls_without_a_handshake() {
    for eras in [Eras::Both, Eras::Modern] {
        let mut client = Client::new(only(eras));
        let discovered = client.ask_modern("server/discover", json!({}))["result"].take();
        assert_eq!(discovered["supportedVersions"][0], MODERN);
        let legacy = discovered["supportedVersions"].as_array().unwrap().len() - 1;
        assert_eq!(legacy, if eras == Eras::Both { 4 } else { 0 });
        assert_eq!(discovered["capabilities"]["tools"], json!({}));
        assert!(discovered["instructions"].is_string());
        for method in ["server/discover", "tools/list"] {
            let result = client.ask_modern(method, json!({}))["result"].take();
            assert_eq!(result["resultType"], "complete");
            assert_eq!(result["ttlMs"], 60_000);
            assert_eq!(result["cacheScope"], "public");
            let info = &result["_meta"]["io.modelcontextprotocol/serverInfo"];
            assert_eq!(info["name"], "mcp-demo");
        }
        let called = client.call("fail", json!({}));
        assert_eq!(called["resultType"], "complete");
        assert_eq!(called.get("ttlMs"), None, "a call is not cacheable");
        assert_eq!(client.demo.negotiated(), None);
    }
}

#[test]
fn every_legacy_revision_gets_its_own_shape() {
    for (at, revision) in Revision::LEGACY.into_iter().enumerate() {
        let mut client = Client::legacy(revision.name());
        assert_eq!(client.demo.negotiated(), Some(revision));
        let list = client.ask("tools/list", json!({}))["result"].take();
        assert_eq!(names(&list, "tools"), ["echo", "add", "fail", "slow", "blob"]);
        for modern in ["resultType", "ttlMs", "cacheScope", "_meta"] {
            assert_eq!(list.get(modern), None, "{modern} in {}", revision.name());
        }
        let add = &list["tools"][1];
        assert_eq!(add.get("outputSchema").is_some(), at < 2);
        assert_eq!(add.get("annotations").is_some(), at < 3);
        let params = json!({ "name": "add", "arguments": { "a": 1, "b": 2 } });
        let sum = client.ask("tools/call", params)["result"].take();
        assert_eq!(text(&sum), "3");
        assert_eq!(sum.get("structuredContent").is_some(), at < 2);
    }
}

#[test]
fn an_unknown_revision_is_answered_with_the_newest() {
    let mut client = Client::new(Options::default());
    let answer = client.ask("initialize", initialize("1999-01-01"));
    assert_eq!(answer["result"]["protocolVersion"], "2025-11-25");
    let mut client = Client::new(Options::default());
    let answer = client.ask("initialize", initialize(MODERN));
    assert_eq!(answer["result"]["protocolVersion"], "2025-11-25");
}

#[test]
fn both_eras_live_in_one_process() {
    let mut client = Client::legacy("2025-06-18");
    let modern = client.ask_modern("tools/list", json!({}));
    assert_eq!(modern["result"]["resultType"], "complete");
    let legacy = client.ask("tools/list", json!({}));
    assert_eq!(legacy["result"].get("resultType"), None);
    assert_eq!(client.ask("ping", json!({}))["result"], json!({}));
}

#[test]
fn ping_is_answered_before_the_handshake_but_is_unknown_to_the_modern_era() {
    let mut client = Client::new(Options::default());
    assert_eq!(client.ask("ping", json!({}))["result"], json!({}));
    assert_eq!(client.ask_modern("ping", json!({}))["error"]["code"], -32601);
    let mut client = Client::new(only(Eras::Modern));
    assert_eq!(client.ask("ping", json!({}))["error"]["code"], -32602);
}

#[test]
fn a_legacy_only_server_knows_no_probe() {
    let mut client = Client::new(only(Eras::Legacy));
    let refused = client.ask_modern("server/discover", json!({}));
    assert_eq!(refused["error"]["code"], -32601);
    client.ask("initialize", initialize("2025-11-25"));
    client.notify("notifications/initialized", json!({}));
    let refused = client.ask_modern("server/discover", json!({}));
    assert_eq!(refused["error"]["code"], -32601);
    let list = client.ask_modern("tools/list", json!({}));
    assert_eq!(list["result"].get("resultType"), None, "it does not read the metadata");
}

#[test]
fn a_legacy_only_server_may_keep_silent_until_it_is_initialized() {
    let mut client = Client::new(Options { refusal: None, ..only(Eras::Legacy) });
    let params = with_meta(json!({}));
    let probe = json!({ "jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": params });
    assert_eq!(client.send(&probe), Vec::<Value>::new());
    let answer = client.ask("initialize", initialize("2024-11-05"));
    assert_eq!(answer["result"]["protocolVersion"], "2024-11-05");
}

#[test]
fn a_modern_only_server_tells_a_legacy_client_what_it_speaks() {
    let mut client = Client::new(only(Eras::Modern));
    let error = client.ask("initialize", initialize("2025-11-25"))["error"].take();
    assert!(error["message"].as_str().unwrap().contains(MODERN), "{error}");
    let data = json!({ "supported": [MODERN], "requested": "2025-11-25" });
    assert_eq!(error["data"], data);
}
