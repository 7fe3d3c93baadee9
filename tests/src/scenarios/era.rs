//! Finding out what a server speaks.

use std::time::Duration;

use mcp_proto::{
    ConnectionConfig, Era, EraChoice, Error, ErrorKind, Incompatible, Outcome, ProtocolVersion,
};
use serde_json::{Value, json};

use super::{Over, Stage};
use super::conversation::echo;
use crate::client::Setup;
use crate::logs;
use crate::script::{Script, Transcript};

const DISCOVERED: &str = r#"{"supportedVersions":["2026-07-28"],"capabilities":{}}"#;
const INITIALIZED: &str = r#"{"protocolVersion":"2025-11-25","capabilities":{}}"#;

/// For servers that never answer the probe.
fn soon(config: &mut ConnectionConfig) {
    config.discover_timeout = Duration::from_millis(50);
}

/// An answer to the probe that names versions.
fn refusal(supported: &str) -> String {
    let data = format!(r#"{{"supported":{supported},"requested":"2026-07-28"}}"#);
    let error = format!(r#"{{"code":-32022,"message":"Unsupported","data":{data}}}"#);
    format!(r#"{{"jsonrpc":"2.0","id":$id,"error":{error}}}"#)
}

/// A start that fails: its error, and what the server was told.
fn failed(on: &Stage, script: Script, setup: Setup) -> (Error, Transcript) {
    let (client, playing) = on.try_play(script, setup);
    let error = client.unwrap_err();
    (error, playing.finish().check())
}

/// M-ERA-19, M-ERA-02
pub fn any_other_error_means_legacy(on: &Stage) {
    for code in [-32601, -32602, -32600, -32000, -32603, -32700, -32002, 0, 404] {
        let script = Script::new()
            .expect("server/discover")
            .error(code, "initialize first")
            .handshake("2025-11-25")
            .answer_rest();
        let (client, playing) = on.play(script);
        assert_eq!(client.server().unwrap().era, Era::Legacy, "after {code}");
        assert_eq!(echo(&client, "hi"), "hi");
        client.close();
        playing.finish().check();
    }
}

/// M-ERA-19
pub fn answers_that_are_no_discovery_mean_legacy(on: &Stage) {
    let answers = [
        r#"{"jsonrpc":"2.0","id":$id,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":$id,"result":5}"#,
        r#"{"jsonrpc":"2.0","id":$id,"result":{"supportedVersions":"2026-07-28"}}"#,
        r#"{"jsonrpc":"2.0","id":$id}"#,
        r#"{"jsonrpc":"2.0","id":$id,"error":"initialize first"}"#,
    ];
    for answer in answers {
        let script = Script::new().expect("server/discover").send(answer).handshake("2024-11-05");
        let (client, playing) = on.play(script.answer_rest());
        assert_eq!(client.server().unwrap().version, ProtocolVersion::V2024_11_05, "{answer}");
        client.close();
        playing.finish().check();
    }
}

/// M-ERA-08, M-ERA-19
pub fn silence_means_legacy(on: &Stage) {
    let setup = Setup::new().with(soon);
    let name = setup.server_name().to_owned();
    let script = Script::new().expect("server/discover").handshake("2025-06-18").answer_rest();
    let (client, playing) = on.play_with(script, setup);
    assert_eq!(client.server().unwrap().era, Era::Legacy);
    logs::wait_for(&name, "no answer to server/discover");
    assert_eq!(echo(&client, "hi"), "hi");
    client.close();
    let written = playing.finish().check();
    assert_eq!(written.count("notifications/cancelled"), 0, "no part of the start is cancelled");
}

/// M-ERA-02, M-CONN-15
pub fn the_first_usable_answer_decides(on: &Stage) {
    let asked = Script::new().expect_as("server/discover", "probe").expect_as("initialize", "start");
    let refused =
        r#"{"jsonrpc":"2.0","id":$start.id,"error":{"code":-32600,"message":"no handshake"}}"#;
    let late = [
        (asked.clone().result_for("probe", DISCOVERED).result_for("start", INITIALIZED), Era::Modern),
        (asked.clone().send(refused).result_for("probe", DISCOVERED), Era::Modern),
        (
            asked
                .result_for("start", INITIALIZED)
                .expect("notifications/initialized")
                .result_for("probe", DISCOVERED),
            Era::Legacy,
        ),
    ];
    for (script, era) in late {
        let (client, playing) = on.play_with(script.answer_rest(), Setup::new().with(soon));
        assert_eq!(client.server().unwrap().era, era);
        client.close();
        playing.finish().check();
    }
}

/// M-ERA-12, M-ERA-13
pub fn an_initialize_result_that_cannot_be_spoken_ends_the_connection(on: &Stage) {
    let results = [
        (r#"{"protocolVersion":"2026-07-28","capabilities":{}}"#, "2026-07-28"),
        (r#"{"protocolVersion":"1999-01-01","capabilities":{}}"#, "1999-01-01"),
        (r#"{"protocolVersion":20251125,"capabilities":{}}"#, "(no text)"),
        (r#"{"capabilities":{}}"#, "(none)"),
        ("[]", "(a result that is no object)"),
    ];
    for (result, told) in results {
        let script = Script::new()
            .expect("server/discover")
            .error(-32601, "Method not found")
            .expect("initialize")
            .result(result)
            .expect_end();
        let (error, written) = failed(on, script, Setup::new());
        let ErrorKind::Incompatible(Incompatible::Initialize { answered, .. }) = error.kind() else {
            panic!("{error:?}");
        };
        assert_eq!(answered, told);
        assert_eq!(error.outcome(), Outcome::NotSent);
        assert_eq!(written.count("notifications/initialized"), 0);
    }
}

/// M-ERA-01
pub fn nothing_modern_leaks_into_a_legacy_session(on: &Stage) {
    let script = Script::legacy("2025-11-25")
        .expect("tools/list")
        .result(r#"{"tools":[],"resultType":"whatever","ttlMs":5}"#)
        .expect("tools/call")
        .result(r#"{"content":[],"resultType":"input_required"}"#)
        .expect("tools/call")
        .result(r#"{"content":[],"structuredContent":[1]}"#)
        .answer_rest();
    let (client, playing) = on.play(script);
    assert_eq!(client.list_tools().unwrap().len(), 0);
    assert!(client.call_tool("x", json!({})).is_ok());
    let result = client.call_tool("x", json!({})).unwrap();
    assert!(result.structured_content.is_none(), "only an object counts there");
    client.close();
    let written = playing.finish().check();
    for message in &written.messages()[1..] {
        assert!(!message.to_string().contains("io.modelcontextprotocol"), "{message}");
    }
}

/// M-ERA-17
pub fn a_refused_version_is_asked_for_once_more(on: &Stage) {
    let refused = refusal(r#"["2026-07-28"]"#);
    let script = Script::new()
        .expect("server/discover")
        .send(&refused)
        .expect("server/discover")
        .result(DISCOVERED)
        .answer_rest();
    let (client, playing) = on.play(script);
    assert_eq!(client.server().unwrap().era, Era::Modern);
    client.close();
    assert_eq!(playing.finish().check().count("initialize"), 0);

    let twice = Script::new().repeat(2, Script::new().expect("server/discover").send(&refused));
    let (error, written) = failed(on, twice.expect_end(), Setup::new());
    assert_eq!(error.server_error().unwrap().code, -32022);
    assert_eq!(written.count("initialize"), 0);
}

/// M-ERA-17, M-ERA-18
pub fn versions_in_common_are_chosen(on: &Stage) {
    let listed = r#"["2031-01-01","2025-06-18","2025-03-26"]"#;
    let result = format!(r#"{{"supportedVersions":{listed},"capabilities":{{}}}}"#);
    let told = Script::new().expect("server/discover");
    for script in [told.clone().result(&result), told.send(&refusal(listed))] {
        let (client, playing) = on.play(script.handshake("2025-06-18").answer_rest());
        assert_eq!(client.server().unwrap().version, ProtocolVersion::V2025_06_18);
        client.close();
        let written = playing.finish().check();
        let asked_for = &written.of("initialize")[0]["params"]["protocolVersion"];
        assert_eq!(asked_for, "2025-06-18");
    }
}

/// M-ERA-18, M-ERA-07
pub fn without_a_version_in_common_the_lists_are_told(on: &Stage) {
    let unknown = r#"["2031-01-01"]"#;
    let result = format!(r#"{{"supportedVersions":{unknown},"capabilities":{{}}}}"#);
    let told = Script::new().expect("server/discover");
    let cases = [
        (told.clone().result(&result), EraChoice::Auto, "2031-01-01"),
        (told.clone().send(&refusal(unknown)), EraChoice::Auto, "2031-01-01"),
        (told.send(&refusal(r#"["2025-11-25"]"#)), EraChoice::Modern, "2025-11-25"),
    ];
    for (script, era, offer) in cases {
        let (error, written) = failed(on, script.expect_end(), Setup::new().era(era));
        let kind = error.kind();
        assert!(matches!(kind, ErrorKind::Incompatible(Incompatible::Versions { .. })), "{kind:?}");
        let text = error.to_string();
        assert!(text.contains(offer) && text.contains("2026-07-28"), "{text}");
        assert_eq!(written.count("initialize"), 0);
    }
}

/// M-ERA-07
pub fn a_forced_era_is_not_left(on: &Stage) {
    let legacy = Script::new().expect("server/discover").error(-32601, "Method not found");
    let (error, written) = failed(on, legacy.expect_end(), Setup::new().era(EraChoice::Modern));
    assert!(matches!(error.kind(), ErrorKind::Incompatible(Incompatible::Attempts { .. })));
    assert_eq!(written.count("initialize"), 0);

    let target = on.demo(&["--era", "modern"]);
    let error = on.connect(target, Setup::new().era(EraChoice::Legacy)).unwrap_err();
    let text = error.to_string();
    // Over HTTP such a server misses the headers first.
    let code = if on.over == Over::Http { "-32020" } else { "-32601" };
    assert!(text.contains("initialize") && text.contains(code), "{text}");
}

/// M-NOTE-06
pub fn what_a_server_asks_before_its_era_is_known_is_held(on: &Stage) {
    let script = Script::new()
        .expect_as("server/discover", "probe")
        .ask("\"a\"", "ping", "{}")
        .ask("\"b\"", "x/unknown", "{}")
        .send(r#"{"jsonrpc":"2.0","id":$probe.id,"error":{"code":-32601,"message":"no"}}"#)
        .expect_as("initialize", "start")
        .expect_response("\"a\"")
        .result_for("start", INITIALIZED)
        .expect("notifications/initialized")
        .expect_response("\"b\"")
        .answer_rest();
    let (client, playing) = on.play(script);
    let written = playing.wait_until(|it| it.responses().len() == 2);
    assert_eq!(written.responses()[0]["result"], json!({}));
    assert_eq!(written.responses()[1]["error"]["code"], -32601);
    client.close();
    playing.finish().check();
}

/// M-ERA-04, M-CAP-07
pub fn every_modern_request_carries_its_metadata(on: &Stage) {
    let key = |name: &str| format!("io.modelcontextprotocol/{name}");
    let (client, playing) = on.play(Script::modern().answer_rest());
    client.list_tools().unwrap();
    echo(&client, "hi");
    client.ping().unwrap();
    client.request("prompts/list", serde_json::Map::new()).unwrap();
    client.close();
    let written = playing.finish().check();
    assert_eq!(written.messages().len(), 5);
    for message in written.messages() {
        let meta = &message["params"]["_meta"];
        assert_eq!(meta[key("protocolVersion")], "2026-07-28", "{message}");
        assert!(meta[key("clientCapabilities")].is_object(), "{message}");
        assert!(meta[key("clientInfo")]["version"].is_string(), "{message}");
    }
}

/// M-ERA-23, M-ERA-14
pub fn identity_goes_along_unless_switched_off(on: &Stage) {
    let anonymous = Setup::new().with(|config| config.send_client_info = false);
    for (setup, sent) in [(Setup::new(), true), (anonymous, false)] {
        let setup = setup.with(|config| {
            config.client_info.name = "a host".to_owned();
            config.client_info.website_url = Some("https://example.com/".to_owned());
        });
        let (client, playing) = on.play_with(Script::modern().answer_rest(), setup);
        client.list_tools().unwrap();
        client.close();
        for message in playing.finish().check().messages() {
            let info = &message["params"]["_meta"]["io.modelcontextprotocol/clientInfo"];
            let told = json!({ "name": "a host", "websiteUrl": "https://example.com/" });
            let members = |name: &str| (info.get(name), told.get(name).filter(|_| sent));
            for name in ["name", "websiteUrl"] {
                let (told, wanted) = members(name);
                assert_eq!(told, wanted, "{message}");
            }
        }
    }
}

/// M-ERA-10
pub fn a_ping_is_what_the_era_has_for_it(on: &Stage) {
    let ping = |script: Script| {
        let (client, playing) = on.play(script.answer_rest());
        client.ping().unwrap();
        client.close();
        playing.finish().check().methods().pop().unwrap()
    };
    assert_eq!(ping(Script::modern()), "server/discover");
    assert_eq!(ping(Script::legacy("2025-11-25")), "ping");
}

/// M-ERA-15, M-ERA-16
pub fn a_modern_server_may_stay_anonymous(on: &Stage) {
    let result = r#"{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},
        "instructions":"use it","_meta":{"io.modelcontextprotocol/serverInfo":{"name":5}}}"#;
    let result = result.replace('\n', "");
    for result in [result.as_str(), DISCOVERED] {
        let (client, playing) = on.play(Script::new().expect("server/discover").result(result));
        let server = client.server().unwrap();
        assert_eq!(server.implementation, None);
        let told = serde_json::from_str::<Value>(result).unwrap();
        assert_eq!(server.instructions.as_deref(), told["instructions"].as_str());
        client.close();
        playing.finish().check();
    }
}

/// M-ERA-19
pub fn a_server_that_dies_of_the_probe_is_greeted_as_legacy(on: &Stage) {
    let endings: [fn(Script) -> Script; 2] = [|it| it.exit(1), |it| it.error(-32600, "bye").exit(1)];
    for ending in endings {
        let first = ending(Script::new().expect("server/discover"));
        let then = Script::new().handshake("2025-11-25").answer_rest();
        let (target, _folder) = on.one_after_the_other(first, then);
        let client = on.connect(target, Setup::new()).unwrap();
        assert_eq!(client.server().unwrap().era, Era::Legacy);
        assert_eq!(echo(&client, "hi"), "hi");
        client.close();
    }
}
