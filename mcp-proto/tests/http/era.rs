//! Finding out what a server speaks over HTTP: what each answer to the probe decides
//! (basic/transports/streamable-http, "Backward Compatibility").

use mcp_proto::op::{Connect, ListTools};
use mcp_proto::{
    Call, Era, EraChoice, ErrorKind, HttpFault, Incompatible, Outcome, ProtocolVersion,
    TransportError,
};
use serde_json::json;

use crate::support::*;

/// A bench with a call that waits for the start, and the first message.
pub(crate) fn starting(era: EraChoice) -> (Bench, Call<Connect>, Posted) {
    let mut config = config();
    config.era = era;
    let mut bench = Bench::new(config, target());
    let call = bench.begin(Connect);
    let first = bench.next_post();
    (bench, call, first)
}

pub(crate) fn probing() -> (Bench, Call<Connect>, Posted) {
    let (bench, call, probe) = starting(EraChoice::Auto);
    assert_eq!(probe.method(), "server/discover");
    (bench, call, probe)
}

pub(crate) const HTML: Headers = &[("content-type", "text/html")];
pub(crate) const TEXT: Headers = &[("content-type", "text/plain")];

const NULL: &str = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Missing ID"}}"#;
const FOREIGN: &str =
    r#"{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"Bad Request"}}"#;
const NO_SESSION: &str =
    r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"No session"}}"#;
const UNKNOWN: &str = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}"#;
const PARAMS: &str = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no"}}"#;

/// What a legacy server says to the probe.
pub(crate) fn legacy_answers() -> Vec<(u16, Headers, String)> {
    let mut all: Vec<(u16, Headers, String)> = Vec::new();
    for status in [400, 402, 404, 405, 406, 409, 410, 415, 422, 429, 451, 499] {
        all.push((status, &[], String::new()));
        all.push((status, HTML, "<html>{}</html>".into()));
        all.push((status, JSON, "{}".into()));
        all.push((status, JSON, "null".into()));
        all.push((status, TEXT, "Bad Request".into()));
    }
    for status in [200, 400, 404, 405, 422] {
        for text in [NULL, FOREIGN, NO_SESSION, UNKNOWN, PARAMS] {
            all.push((status, JSON, text.into()));
            all.push((status, TEXT, text.into()));
            all.push((status, SSE, event(text)));
        }
    }
    for status in [200, 201, 202, 204] {
        for head in [JSON, HTML, TEXT, SSE, &[]] {
            all.push((status, head, String::new()));
        }
    }
    all.push((200, HTML, "<html>Please log in</html>".into()));
    all.push((200, JSON, "<html>".into()));
    all.push((200, JSON, "{}".into()));
    all.push((200, JSON, "[]".into()));
    all.push((200, JSON, r#"{"jsonrpc":"2.0","id":1}"#.into()));
    all.push((200, JSON, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#.into()));
    all.push((200, JSON, r#"{"jsonrpc":"2.0","id":1,"result":null}"#.into()));
    all.push((200, JSON, r#"{"jsonrpc":"2.0","id":9,"result":{}}"#.into()));
    all.push((200, SSE, event("hello")));
    all.push((200, SSE, ": nothing\n\n".into()));
    all.push((200, SSE, "data: {\"jsonrpc\":".into()));
    all.push((200, &[("content-encoding", "br")], "x".into()));
    all
}

/// M-ERA-02, M-ERA-19, M-ERA-20: whatever is no answer of a modern server's leads to `initialize`.
#[test]
fn what_no_modern_server_says_means_legacy() {
    for (status, head, body) in legacy_answers() {
        let (mut bench, call, probe) = probing();
        bench.whole(&probe, status, head, body.as_bytes());
        let initialize = bench.next_post();
        assert_eq!(initialize.method(), "initialize", "{status} {head:?} {body}");
        bench.quiet();
        bench.welcome(&initialize, "2025-11-25", None);
        let notification = bench.expect(INITIALIZED);
        bench.accepts(&notification);
        let info = bench.done(&call).unwrap();
        assert_eq!((info.era, info.version), (Era::Legacy, ProtocolVersion::V2025_11_25));
    }
}

/// M-ERA-02, M-ERA-03, M-ERA-18: a server that answers the probe is modern, as JSON or as events.
#[test]
fn a_server_that_answers_the_probe_is_modern() {
    for stream in [false, true] {
        let (mut bench, call, probe) = probing();
        let message = answer(&probe, &discovered(&["1999-01-01", "2026-07-28", "2025-06-18"]));
        if stream {
            bench.streams(&probe, &format!("id: 1\r\ndata:\r\n\r\n{}", event(&message)));
        } else {
            bench.says(&probe, 200, &message);
        }
        let info = bench.done(&call).unwrap();
        assert_eq!((info.era, info.version), (Era::Modern, ProtocolVersion::V2026_07_28));
        bench.quiet();
    }
}

/// M-ERA-17, M-ERA-20, M-ERA-25: an error that only modern servers send is told, and no `initialize`
/// hides it.
#[test]
fn errors_of_modern_servers_are_no_reason_to_fall_back() {
    for code in [-32020, -32021] {
        for (status, stream) in [(400, false), (200, false), (200, true), (404, false)] {
            let (mut bench, call, probe) = probing();
            let message = refusal(&probe, code);
            if stream {
                bench.streams(&probe, &event(&message));
            } else {
                bench.says(&probe, status, &message);
            }
            let error = bench.error(&call);
            assert_eq!(error.server_error().map(|error| error.code), Some(code), "{status}");
            bench.quiet();
        }
    }
}

fn unsupported(to: &Posted, versions: &[&str]) -> String {
    let data = json!({ "supported": versions, "requested": "2026-07-28" });
    let error = json!({ "code": -32022, "message": "no", "data": data });
    json!({ "jsonrpc": "2.0", "id": to.id(), "error": error }).to_string()
}

/// M-ERA-17: a server that refuses the version and lists it is asked once more with the same one.
#[test]
fn a_version_that_is_refused_and_listed_is_asked_for_once_more() {
    let (mut bench, call, probe) = probing();
    bench.says(&probe, 400, &unsupported(&probe, &["2026-07-28"]));
    let again = bench.expect("server/discover");
    assert_ne!(again.id(), probe.id());
    assert_eq!(again.header("mcp-protocol-version"), Some("2026-07-28"));
    bench.result(&again, discovered(&["2026-07-28"]));
    bench.done(&call).unwrap();
    bench.quiet();

    let (mut bench, call, probe) = probing();
    bench.says(&probe, 400, &unsupported(&probe, &["2026-07-28"]));
    let again = bench.expect("server/discover");
    bench.says(&again, 400, &unsupported(&again, &["2026-07-28"]));
    assert_eq!(bench.error(&call).server_error().map(|error| error.code), Some(-32022));
    bench.quiet();
}

/// M-ERA-17: a server that lists legacy versions only is greeted with the newest of them, unless
/// the modern era is demanded.
#[test]
fn a_server_that_lists_legacy_versions_is_greeted_with_one() {
    let versions = ["2024-11-05", "2025-06-18", "1999-01-01"];
    let (mut bench, call, probe) = probing();
    bench.says(&probe, 400, &unsupported(&probe, &versions));
    let initialize = bench.expect("initialize");
    assert_eq!(initialize.params()["protocolVersion"], "2025-06-18");
    bench.welcome(&initialize, "2025-06-18", None);
    let notification = bench.expect(INITIALIZED);
    bench.accepts(&notification);
    bench.done(&call).unwrap();

    for (era, versions) in [(EraChoice::Modern, &versions[..]), (EraChoice::Auto, &["1999-01-01"])]
    {
        let (mut bench, call, probe) = starting(era);
        bench.says(&probe, 400, &unsupported(&probe, versions));
        let error = bench.error(&call);
        let versions =
            |kind: &_| matches!(kind, ErrorKind::Incompatible(Incompatible::Versions { .. }));
        assert!(versions(error.kind()), "{error}");
        bench.quiet();
    }
}

/// M-ERR-03, M-ERA-20: a server that wants authorization has not said what it speaks.
#[test]
fn authorization_decides_nothing() {
    for status in [401, 403] {
        for body in ["", FOREIGN, "<html>"] {
            let (mut bench, call, probe) = probing();
            let challenge = r#"Bearer resource_metadata="https://x/""#;
            bench.whole(
                &probe,
                status,
                &[JSON[0], ("WWW-Authenticate", challenge)],
                body.as_bytes(),
            );
            let error = bench.error(&call);
            let ErrorKind::Transport(TransportError::Http(fault)) = error.kind() else {
                panic!("{error}");
            };
            let HttpFault::Authorization { status: told, challenge: Some(is), .. } = fault else {
                panic!("{fault:?}");
            };
            assert_eq!((*told, &**is), (status, challenge));
            assert_eq!(error.outcome(), Outcome::NotSent);
            bench.quiet();
            // The next call asks again.
            let list = bench.begin(ListTools);
            bench.speak_modern();
            let post = bench.expect("tools/list");
            bench.completes(&post, json!({ "tools": [] }));
            bench.done(&list).unwrap();
        }
    }
}

/// M-ERA-12: an answer to `initialize` in another revision ends the start, a modern one as well.
#[test]
fn initialize_must_agree_on_a_legacy_revision() {
    for version in ["1999-01-01", "2026-07-28"] {
        let (mut bench, call, probe) = probing();
        bench.says(&probe, 400, "");
        let initialize = bench.expect("initialize");
        bench.welcome(&initialize, version, None);
        let error = bench.error(&call);
        let answered = |kind: &_| matches!(kind, ErrorKind::Incompatible(Incompatible::Initialize { answered, .. }) if answered == version);
        assert!(answered(error.kind()), "{error}");
        bench.quiet();
    }
}
