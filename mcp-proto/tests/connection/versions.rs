//! Agreeing on a revision (specification: basic/versioning, "Protocol Version Negotiation").

use mcp_proto::op::{Connect, ListTools};
use mcp_proto::{
    Call, EraChoice, ErrorKind, Incompatible, Outcome, ProtocolVersion, ServerErrorKind,
};
use serde_json::{Value, json};

use crate::support::*;

fn starting(era: EraChoice) -> (Bench, Call<Connect>) {
    let mut config = config();
    config.era = era;
    let mut bench = Bench::stdio(config);
    let call = bench.begin(Connect);
    (bench, call)
}

fn unsupported(supported: &Value) -> Value {
    let data = json!({ "supported": supported, "requested": "2026-07-28" });
    json!({ "code": -32022, "message": "Unsupported protocol version", "data": data })
}

/// M-ERA-17: a refused version that the server then lists is asked for once more, and the server
/// stays modern whatever comes next.
#[test]
fn a_refused_version_is_retried_and_never_a_reason_to_fall_back() {
    let (mut bench, call) = starting(EraChoice::Auto);
    let probe = bench.expect("server/discover");
    bench.fails(&probe, unsupported(&json!(["2027-01-01", "2026-07-28"])));
    let again = bench.expect("server/discover");
    assert_ne!(probe.id(), again.id());
    bench.result(&again, discovered(&["2026-07-28"]));
    assert_eq!(bench.done(&call).unwrap().version, ProtocolVersion::V2026_07_28);
    bench.quiet();

    // A second refusal, another error, garbage, death: all of them are errors.
    let answers = [
        unsupported(&json!(["2026-07-28"])),
        json!({ "code": -32601, "message": "Method not found" }),
        json!({ "code": -32602, "message": "Invalid params" }),
    ];
    for answer in answers {
        let (mut bench, call) = starting(EraChoice::Auto);
        let probe = bench.expect("server/discover");
        bench.fails(&probe, unsupported(&json!(["2026-07-28"])));
        let again = bench.expect("server/discover");
        bench.fails(&again, answer.clone());
        let error = bench.error(&call);
        assert_eq!(error.server_error().map(|e| e.code), answer["code"].as_i64(), "{error}");
        bench.quiet();
    }
}

/// M-ERA-17: silence after a refused version is no reason to fall back either.
#[test]
fn a_modern_server_that_falls_silent_runs_into_the_timeout() {
    let (mut bench, call) = starting(EraChoice::Auto);
    let probe = bench.expect("server/discover");
    bench.fails(&probe, unsupported(&json!(["2026-07-28"])));
    bench.expect("server/discover");
    while bench.is_pending(&call) {
        bench.next_deadline();
    }
    assert!(bench.error(&call).is_timeout());
    bench.quiet();
}

/// M-ERA-17: nor is its death: it is not launched again to be greeted with `initialize`.
#[test]
fn a_modern_server_that_dies_is_not_taken_for_a_legacy_one() {
    let (mut bench, call) = starting(EraChoice::Auto);
    let probe = bench.expect("server/discover");
    bench.fails(&probe, unsupported(&json!(["2026-07-28"])));
    bench.expect("server/discover");
    bench.exit(mcp_proto::ExitStatus::Code(1));
    assert!(matches!(bench.error(&call).kind(), ErrorKind::Transport(_)));
    bench.quiet();
}

/// M-ERA-17, M-ERA-18: a server that lists legacy versions only is greeted with one of them.
#[test]
fn a_listed_legacy_version_is_used() {
    let listed = ["1999-01-01", "2024-11-05", "2025-06-18"];
    for refused in [true, false] {
        let (mut bench, call) = starting(EraChoice::Auto);
        let probe = bench.expect("server/discover");
        if refused {
            bench.fails(&probe, unsupported(&json!(listed)));
        } else {
            bench.result(&probe, discovered(&listed));
        }
        let initialize = bench.expect("initialize");
        assert_eq!(initialize.params()["protocolVersion"], "2025-06-18");
        bench.result(&initialize, initialized("2025-06-18"));
        bench.expect(INITIALIZED);
        assert_eq!(bench.done(&call).unwrap().version, ProtocolVersion::V2025_06_18);
    }
}

/// M-ERA-07, M-ERA-18: with a forced era, or without a version in common, that is an error which
/// names both sides.
#[test]
fn no_common_version_is_an_error_that_names_them() {
    let cases = [
        (EraChoice::Auto, json!(["1999-01-01", "2030-01-01"])),
        (EraChoice::Modern, json!(["2025-11-25"])),
        (EraChoice::Auto, json!([])),
        (EraChoice::Auto, json!([7, null])),
    ];
    for (era, listed) in cases {
        for refused in [true, false] {
            let (mut bench, call) = starting(era);
            let probe = bench.expect("server/discover");
            if refused {
                bench.fails(&probe, unsupported(&listed));
            } else {
                bench.result(&probe, json!({ "supportedVersions": listed.clone() }));
            }
            let error = bench.error(&call);
            let ErrorKind::Incompatible(Incompatible::Versions { offered, wanted }) = error.kind()
            else {
                panic!("{error}");
            };
            let names: Vec<_> =
                listed.as_array().unwrap().iter().filter_map(Value::as_str).collect();
            assert_eq!(offered, &names);
            assert!(wanted.contains(&"2026-07-28".into()));
            assert!(names.iter().all(|name| error.to_string().contains(name)), "{error}");
            assert_eq!(error.outcome(), Outcome::NotSent);
            bench.quiet();
        }
    }
}

/// M-ERA-18: a list that has the modern version anywhere makes the server modern.
#[test]
fn the_newest_common_version_is_chosen() {
    let (mut bench, call) = starting(EraChoice::Auto);
    let probe = bench.expect("server/discover");
    bench.result(&probe, discovered(&["2025-11-25", "2099-01-01", "2026-07-28", "2024-11-05"]));
    assert_eq!(bench.done(&call).unwrap().version, ProtocolVersion::V2026_07_28);
}

/// M-ERA-12, M-ERA-13: an answer to `initialize` that names no version which it can carry ends the
/// connection, and says what stood there.
#[test]
fn an_unusable_initialize_result_disconnects() {
    let answers = [
        (json!({ "protocolVersion": "1999-01-01" }), "1999-01-01"),
        // A revision that this client knows, but that no handshake leads to.
        (json!({ "protocolVersion": "2026-07-28" }), "2026-07-28"),
        (json!({ "protocolVersion": 7 }), ""),
        (json!({ "protocolVersion": null }), ""),
        (json!({ "capabilities": {} }), ""),
        (json!([]), ""),
        (json!("ok"), ""),
    ];
    for era in [EraChoice::Auto, EraChoice::Legacy] {
        for (answer, name) in &answers {
            let (mut bench, call) = starting(era);
            if era == EraChoice::Auto {
                let probe = bench.expect("server/discover");
                bench.refuse(&probe, -32601, "no");
            }
            let initialize = bench.expect("initialize");
            bench.result(&initialize, answer.clone());
            let error = bench.error(&call);
            let ErrorKind::Incompatible(Incompatible::Initialize { answered, .. }) = error.kind()
            else {
                panic!("{answer}: {error}");
            };
            assert!(answered.contains(name) && error.to_string().contains("2025-11-25"), "{error}");
            assert!(bench.trace().contains(&"process#1 close stdin".into()));
            bench.quiet();
        }
    }
}

/// M-ERA-12: also while the probe is still unanswered: with an `initialize` result the server has
/// said what it is.
#[test]
fn an_unusable_initialize_result_decides_at_once() {
    let (mut bench, call) = starting(EraChoice::Auto);
    bench.expect("server/discover");
    bench.next_deadline();
    let initialize = bench.expect("initialize");
    bench.result(&initialize, initialized("1999-01-01"));
    let error = bench.error(&call);
    assert!(matches!(error.kind(), ErrorKind::Incompatible(Incompatible::Initialize { .. })));
}

/// M-ERA-17: legacy servers list their versions too, with a code of their own; they are asked for
/// one of these once.
#[test]
fn a_legacy_refusal_that_lists_versions_is_followed_once() {
    let refusal = json!({
        "code": -32602,
        "message": "Unsupported protocol version",
        "data": { "supported": ["2024-11-05"], "requested": "2025-11-25" },
    });
    let (mut bench, call) = starting(EraChoice::Legacy);
    let initialize = bench.expect("initialize");
    bench.fails(&initialize, refusal.clone());
    let again = bench.expect("initialize");
    assert_eq!(again.params()["protocolVersion"], "2024-11-05");
    bench.result(&again, initialized("2024-11-05"));
    bench.expect(INITIALIZED);
    assert_eq!(bench.done(&call).unwrap().version, ProtocolVersion::V2024_11_05);

    let (mut bench, call) = starting(EraChoice::Legacy);
    for _ in 0..2 {
        let initialize = bench.expect("initialize");
        bench.fails(&initialize, refusal.clone());
    }
    assert!(bench.error(&call).to_string().contains("Unsupported protocol version"));
    bench.quiet();
}

/// M-ERA-18: versions that the probe's late answer lists are used when `initialize` is refused,
/// whichever of the two comes first.
#[test]
fn a_late_list_of_versions_helps_after_a_refusal() {
    for refused_first in [true, false] {
        let (mut bench, call) = starting(EraChoice::Auto);
        let probe = bench.expect("server/discover");
        bench.next_deadline();
        let initialize = bench.expect("initialize");
        if refused_first {
            bench.refuse(&initialize, -32602, "Unsupported protocol version");
            bench.result(&probe, discovered(&["2025-03-26"]));
        } else {
            bench.result(&probe, discovered(&["2025-03-26"]));
            bench.quiet();
            bench.refuse(&initialize, -32602, "Unsupported protocol version");
        }
        let again = bench.expect("initialize");
        assert_eq!(again.params()["protocolVersion"], "2025-03-26");
        bench.result(&again, initialized("2025-03-26"));
        bench.expect(INITIALIZED);
        assert_eq!(bench.done(&call).unwrap().version, ProtocolVersion::V2025_03_26);
    }
}

/// M-ERA-25, M-ERA-26: the typed errors of a running server keep their code and data; only a
/// refused version is tried again, once, and says so.
#[test]
fn typed_errors_reach_the_host() {
    let required = json!({ "requiredCapabilities": { "sampling": {} } });
    for (code, kind, data) in [
        (-32020, ServerErrorKind::HeaderMismatch, json!({ "header": "Mcp-Name" })),
        (-32021, ServerErrorKind::MissingRequiredClientCapability, required.clone()),
        (
            -32022,
            ServerErrorKind::UnsupportedProtocolVersion,
            json!({ "supported": ["2099-01-01"] }),
        ),
    ] {
        let mut bench = Bench::modern(config());
        let call = bench.begin(ListTools);
        let sent = bench.expect("tools/list");
        bench.fails(&sent, json!({ "code": code, "message": "no", "data": data.clone() }));
        let error = bench.error(&call);
        let server = error.server_error().unwrap();
        assert_eq!((server.kind(), server.code, &server.data), (kind, code, &Some(data)));
        assert_eq!(error.outcome(), Outcome::NotRun);
        bench.quiet();
    }
}

/// M-ERA-17: a call whose version is refused is sent once more with a new id, and no third time.
#[test]
fn a_call_is_sent_again_after_a_version_refusal() {
    let mut bench = Bench::modern(config());
    let call = bench.begin(tool("x", json!({ "a": 1 })));
    let first = bench.expect("tools/call");
    bench.fails(&first, unsupported(&json!(["2026-07-28"])));
    let second = bench.expect("tools/call");
    assert_ne!(first.id(), second.id());
    assert_eq!(first.params(), second.params());
    let trace = bench.trace();
    let resend = trace.iter().position(|line| line == "call#2 resend: Version").unwrap();
    let write = trace.iter().rposition(|line| line.contains("tools/call")).unwrap();
    assert!(resend < write);
    bench.fails(&second, unsupported(&json!(["2026-07-28"])));
    let error = bench.error(&call);
    assert_eq!(error.server_error().unwrap().code, -32022);
    bench.quiet();
}
