//! Finding out what a server speaks, over stdio (specification: basic/transports/stdio, "Backward
//! Compatibility"; basic/versioning).

use std::time::Duration;

use mcp_proto::op::{Connect, Ping};
use mcp_proto::{Era, model::Implementation};
use mcp_proto::{
    EraChoice, ErrorKind, Event, Incompatible, Outcome, ProtocolVersion, ServerErrorKind,
    TimerReason,
};
use serde_json::{Value, json};

use crate::support::*;

/// A bench with a call that waits for the start.
fn starting(era: EraChoice) -> (Bench, mcp_proto::Call<Connect>) {
    let mut config = config();
    config.era = era;
    let mut bench = Bench::stdio(config);
    let call = bench.begin(Connect);
    (bench, call)
}

/// M-ERA-01, M-ERA-02, M-ERA-03: the newest revision needs neither `initialize` nor a session.
#[test]
fn a_server_that_answers_the_probe_is_modern() {
    let (mut bench, call) = starting(EraChoice::Auto);
    bench.speak_modern();
    let info = bench.done(&call).unwrap();
    assert_eq!((info.era, info.version), (Era::Modern, ProtocolVersion::V2026_07_28));
    assert_eq!(bench.connection.server(), Some(&info));
    let decided = Event::EraDecided { era: info.era, version: info.version };
    assert!(bench.events.contains(&decided));
    bench.quiet();
}

/// M-ERA-01, M-ERA-02, M-ERA-13: each legacy revision is agreed on in the handshake, which the
/// client confirms before it asks for anything.
#[test]
fn every_legacy_revision_is_spoken() {
    for version in ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"] {
        let (mut bench, call) = starting(EraChoice::Auto);
        let ping = bench.begin(Ping);
        bench.speak_legacy(version);
        let info = bench.done(&call).unwrap();
        assert_eq!((info.era, info.version.as_str()), (Era::Legacy, version));
        let sent = bench.expect("ping");
        assert_eq!(sent.message.get("params"), Some(&json!({})), "no metadata of the modern era");
        bench.completes(&sent, json!({}));
        bench.done(&ping).unwrap();
    }
}

/// M-ERA-14, M-ERA-23: the host says who it is, in either era, unless it is told not to.
#[test]
fn the_host_introduces_itself() {
    let mut config = config();
    config.client_info.title = Some("A Bench".into());
    config.client_info.description = Some("for tests".into());
    config.client_info.website_url = Some("https://example.com".into());
    let info = serde_json::to_value(&config.client_info).unwrap();
    assert_eq!(info["name"], "bench");
    assert_eq!(info["websiteUrl"], "https://example.com");
    for send in [true, false] {
        config.send_client_info = send;
        let mut bench = Bench::stdio(config.clone());
        bench.begin(Connect);
        let probe = bench.expect("server/discover");
        let said = probe.meta().get("io.modelcontextprotocol/clientInfo");
        assert_eq!(said, send.then_some(&info));
        bench.refuse(&probe, -32601, "no");
        // The handshake of the legacy era cannot do without.
        assert_eq!(bench.expect("initialize").params()["clientInfo"], info);
    }
    config.client_info = Implementation::new("bench", "");
    assert!(config.check().unwrap_err().to_string().contains("client_info.version"));
    config.client_info = Implementation::new("", "1");
    assert!(config.check().unwrap_err().to_string().contains("client_info.name"));
}

/// M-ERA-15, M-ERA-16: what a server says of itself is readable, and all of it may be missing.
#[test]
fn servers_introduce_themselves_or_do_not() {
    in_both_eras(|bench| {
        let server = bench.connection.server().unwrap();
        assert_eq!(server.instructions.as_deref(), Some("be kind"));
        assert_eq!(server.implementation.as_ref().map(|it| it.name.as_str()), Some("peer"));
        assert!(server.capabilities.has(&["tools"]));
    });
    let (mut bench, call) = starting(EraChoice::Auto);
    let probe = bench.expect("server/discover");
    bench.result(&probe, json!({ "supportedVersions": ["2026-07-28"], "instructions": null }));
    let info = bench.done(&call).unwrap();
    assert_eq!((&info.implementation, &info.instructions), (&None, &None));
    assert!(!info.capabilities.has(&["tools"]));

    let (mut bench, call) = starting(EraChoice::Legacy);
    let initialize = bench.expect("initialize");
    bench.result(&initialize, json!({ "protocolVersion": "2024-11-05", "serverInfo": ["x", "1"] }));
    let info = bench.done(&call).unwrap();
    assert_eq!((&info.implementation, &info.instructions), (&None, &None));
}

/// M-ERA-19: any error that no modern server sends means legacy, whatever its code.
#[test]
fn the_fallback_hangs_on_no_code() {
    let errors = [
        json!({ "code": -32601, "message": "Method not found" }),
        json!({ "code": -32602, "message": "initialize first" }),
        json!({ "code": -32600, "message": "Invalid request" }),
        json!({ "code": -32000, "message": "Bad Request: Server not initialized" }),
        json!({ "code": -32050, "message": "reserved, but nothing that is defined" }),
        json!({ "code": 0, "message": "" }),
        json!({ "code": "-32601" }),
        json!({}),
        json!("not initialized"),
        json!([1]),
    ];
    for error in errors {
        let (mut bench, call) = starting(EraChoice::Auto);
        let probe = bench.expect("server/discover");
        bench.fails(&probe, error.clone());
        let initialize = bench.expect("initialize");
        assert_eq!(initialize.params()["protocolVersion"], "2025-11-25", "the newest: {error}");
        let waits = bench.connection.poll_timeout().map(|deadline| deadline.reason);
        assert_eq!(waits, Some(TimerReason::Start), "the probe's time is over");
        assert!(initialize.params().get("_meta").is_none());
        bench.result(&initialize, initialized("2025-11-25"));
        bench.expect(INITIALIZED);
        assert_eq!(bench.done(&call).unwrap().era, Era::Legacy);
    }
}

/// M-ERA-19: so does an answer that is none.
#[test]
fn an_unusable_answer_to_the_probe_means_legacy() {
    let results = [
        "{}",
        "null",
        "5",
        "[]",
        r#"{"supportedVersions":"2026-07-28"}"#,
        r#"{"resultType":"input_required","supportedVersions":["2026-07-28"]}"#,
        r#"{"protocolVersion":"2025-11-25"}"#,
        r#"{"supportedVersions":["2026-07-28"]"#,
    ];
    for result in results {
        let (mut bench, call) = starting(EraChoice::Auto);
        let probe = bench.expect("server/discover");
        bench.answers(&probe, result);
        let initialize = bench.expect("initialize");
        bench.result(&initialize, initialized("2025-11-25"));
        bench.expect(INITIALIZED);
        assert_eq!(bench.done(&call).unwrap().era, Era::Legacy, "{result}");
    }
}

/// M-ERA-19, M-UNTR-02: and so does an answer over the bound; what was met is told when nothing
/// else helps.
#[test]
fn an_answer_to_the_probe_over_the_bound_means_legacy() {
    let mut config = config();
    config.max_message_bytes = 600;
    let mut bench = Bench::stdio(config);
    let call = bench.begin(Connect);
    let probe = bench.expect("server/discover");
    bench.answers(&probe, &format!(r#"{{"instructions":"{}"}}"#, "x".repeat(600)));
    let initialize = bench.expect("initialize");
    bench.refuse(&initialize, -32601, "no such method");
    let text = bench.error(&call).to_string();
    for part in ["`server/discover`", "too long", "`initialize`", "no such method"] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

/// M-ERA-08, M-ERA-19: silence means legacy, but not for ever: both questions are out then.
#[test]
fn silence_past_the_discover_timeout_means_legacy() {
    let mut config = config();
    config.discover_timeout = Duration::from_millis(700);
    let mut bench = Bench::stdio(config);
    let call = bench.begin(Connect);
    bench.expect("server/discover");
    bench.advance(Duration::from_millis(699));
    bench.quiet();
    bench.advance(Duration::from_millis(1));
    assert!(bench.events.contains(&Event::ProbeUnanswered));
    let initialize = bench.expect("initialize");
    bench.result(&initialize, initialized("2025-06-18"));
    bench.expect(INITIALIZED);
    assert_eq!(bench.done(&call).unwrap().version, ProtocolVersion::V2025_06_18);
    // `initialize` must not be cancelled, and the probe was never understood.
    bench.quiet();
}

/// M-ERA-08: by default it is five seconds, and sixty for the whole start.
#[test]
fn a_slow_start_is_waited_for() {
    let (mut bench, call) = starting(EraChoice::Auto);
    let probe = bench.expect("server/discover");
    let begun = bench.now;
    assert_eq!(bench.next_deadline(), TimerReason::Discover);
    assert_eq!(bench.now - begun, Duration::from_secs(5));
    bench.expect("initialize");
    bench.advance(Duration::from_millis(54_999));
    assert!(bench.is_pending(&call));
    bench.result(&probe, discovered(&["2026-07-28"]));
    assert_eq!(bench.done(&call).unwrap().era, Era::Modern, "the late answer wins");
}

/// M-ERA-02, M-TIME-08: a late discover result wins until an initialize result has arrived.
#[test]
fn the_first_usable_answer_decides() {
    let (mut bench, call) = starting(EraChoice::Auto);
    let probe = bench.expect("server/discover");
    bench.next_deadline();
    let initialize = bench.expect("initialize");
    bench.result(&initialize, initialized("2025-11-25"));
    bench.expect(INITIALIZED);
    bench.result(&probe, discovered(&["2026-07-28"]));
    assert_eq!(bench.done(&call).unwrap().era, Era::Legacy);
    assert_eq!(bench.era(), Era::Legacy);
    bench.quiet();

    let (mut bench, call) = starting(EraChoice::Auto);
    let probe = bench.expect("server/discover");
    bench.next_deadline();
    let initialize = bench.expect("initialize");
    bench.result(&probe, discovered(&["2026-07-28"]));
    bench.result(&initialize, initialized("2025-11-25"));
    assert_eq!(bench.done(&call).unwrap().era, Era::Modern);
    assert_eq!(bench.era(), Era::Modern);
    bench.quiet();
}

/// M-ERA-02: an error answer to `initialize` does not decide while the probe is out.
#[test]
fn a_slow_modern_server_may_refuse_initialize() {
    let (mut bench, call) = starting(EraChoice::Auto);
    let probe = bench.expect("server/discover");
    bench.next_deadline();
    let initialize = bench.expect("initialize");
    bench.refuse(&initialize, -32601, "Method not found: initialize");
    assert!(bench.is_pending(&call));
    bench.result(&probe, discovered(&["2026-07-28"]));
    assert_eq!(bench.done(&call).unwrap().era, Era::Modern);
}

/// M-ERA-07: a forced era never asks the other era's question, and waits for the whole start.
#[test]
fn forced_eras_ask_one_question() {
    for (era, question) in
        [(EraChoice::Modern, "server/discover"), (EraChoice::Legacy, "initialize")]
    {
        let (mut bench, call) = starting(era);
        let sent = bench.expect(question);
        bench.advance(Duration::from_secs(59));
        bench.quiet();
        bench.refuse(&sent, -32601, "Method not found");
        let error = bench.error(&call);
        assert!(matches!(
            error.kind(),
            ErrorKind::Incompatible(Incompatible::Attempts { forced: Some(_), .. })
        ));
        assert!(error.to_string().contains(question), "{error}");
        assert_eq!(error.outcome(), Outcome::NotSent);
        bench.quiet();
        assert!(bench.trace().contains(&"process#1 close stdin".into()));
    }
    let (mut bench, call) = starting(EraChoice::Legacy);
    let initialize = bench.expect("initialize");
    bench.result(&initialize, initialized("2025-03-26"));
    bench.expect(INITIALIZED);
    assert_eq!(bench.done(&call).unwrap().version, ProtocolVersion::V2025_03_26);
}

/// M-ERA-04, M-ERA-10: each modern request, the probe included, carries its metadata.
#[test]
fn modern_requests_carry_their_metadata() {
    let mut bench = Bench::stdio(config());
    let ping = bench.begin(Ping);
    let probe = bench.expect("server/discover");
    bench.result(&probe, discovered(&["2026-07-28"]));
    let asked = bench.expect("server/discover");
    assert_ne!(probe.id(), asked.id());
    bench.result(&asked, discovered(&["2026-07-28"]));
    bench.done(&ping).unwrap();
    let call = bench.begin(tool("x", json!({})));
    let called = bench.expect("tools/call");
    for sent in [probe, asked, called.clone()] {
        let want = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": "bench", "version": "0.1" },
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        assert_eq!(sent.meta(), &want, "{}", sent.method());
    }
    bench.result(&called, json!({ "content": [] }));
    bench.done(&call).unwrap();
}

/// M-BASE-16: what a server calls itself changes nothing but what is shown.
#[test]
fn names_decide_nothing() {
    let traces = ["mcp-server-everything", "", "évil \u{202e}\n"].map(|name| {
        let mut bench = Bench::stdio(config());
        let call = bench.begin(tool("x", json!({})));
        let probe = bench.expect("server/discover");
        let mut result = discovered(&["2026-07-28"]);
        let info = json!({ "name": name, "version": name, "title": name, "icons": [{}] });
        result["_meta"]["io.modelcontextprotocol/serverInfo"] = info;
        bench.result(&probe, result);
        let sent = bench.expect("tools/call");
        bench.completes(&sent, json!({ "content": [] }));
        bench.done(&call).unwrap();
        bench.whole_trace()
    });
    assert_eq!(traces[0], traces[1]);
    assert_eq!(traces[0], traces[2]);
}

/// M-ERA-25, M-ERA-26: an error that only modern servers send is handed on, never taken for a
/// legacy server's.
#[test]
fn modern_errors_to_the_probe_are_the_servers_last_word() {
    let required = json!({ "requiredCapabilities": { "elicitation": {} } });
    for (code, kind, data) in [
        (-32020, ServerErrorKind::HeaderMismatch, Value::Null),
        (-32021, ServerErrorKind::MissingRequiredClientCapability, required),
    ] {
        let (mut bench, call) = starting(EraChoice::Auto);
        let probe = bench.expect("server/discover");
        bench.fails(&probe, json!({ "code": code, "message": "no", "data": data.clone() }));
        let error = bench.error(&call);
        let server = error.server_error().unwrap();
        assert_eq!((server.kind(), server.code), (kind, code));
        assert_eq!(server.required_capabilities(), data.get("requiredCapabilities"));
        bench.quiet();
    }
}
