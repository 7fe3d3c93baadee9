//! Finding out what a server speaks over HTTP: what each answer to the probe decides
//! (basic/transports/streamable-http, "Backward Compatibility").

use std::time::Duration;

use mcp_proto::op::{Connect, ListTools};
use mcp_proto::{
    Call, Era, EraChoice, ErrorKind, HttpFailureKind, HttpFault, Incompatible, Outcome, Phase,
    ProtocolVersion, Sent, TimerReason, TransportError,
};
use serde_json::json;

use crate::support::*;

/// A bench with a call that waits for the start, and the first message.
fn starting(era: EraChoice) -> (Bench, Call<Connect>, Posted) {
    let mut config = config();
    config.era = era;
    let mut bench = Bench::new(config, target());
    let call = bench.begin(Connect);
    let first = bench.next_post();
    (bench, call, first)
}

fn probing() -> (Bench, Call<Connect>, Posted) {
    let (bench, call, probe) = starting(EraChoice::Auto);
    assert_eq!(probe.method(), "server/discover");
    (bench, call, probe)
}

const HTML: &[(&str, &str)] = &[("content-type", "text/html")];
const TEXT: &[(&str, &str)] = &[("content-type", "text/plain")];

const NULL: &str = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Missing ID"}}"#;
const FOREIGN: &str =
    r#"{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"Bad Request"}}"#;
const NO_SESSION: &str =
    r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"No session"}}"#;
const UNKNOWN: &str = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}"#;
const PARAMS: &str = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no"}}"#;

/// What a legacy server says to the probe.
fn legacy_answers() -> Vec<(u16, &'static [(&'static str, &'static str)], String)> {
    let mut all: Vec<(u16, &[_], String)> = Vec::new();
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

fn fault_of(kind: &ErrorKind) -> &HttpFault {
    let ErrorKind::Transport(TransportError::Http(fault)) = kind else { panic!("{kind}") };
    fault
}

/// A transient failure of the start.
fn fails(bench: &mut Bench, post: &Posted, how: u16) {
    match how {
        0 => bench.breaks(post, HttpFailureKind::Connect, Sent::None),
        1 => bench.breaks(post, HttpFailureKind::Resolve, Sent::None),
        2 => bench.breaks(post, HttpFailureKind::Closed, Sent::All),
        3 => {
            bench.head(post, 200, SSE);
            bench.breaks(post, HttpFailureKind::Closed, Sent::All);
        }
        status => bench.whole(post, status, TEXT, b"outage"),
    }
}

/// M-RTRY-01, M-RTRY-02, M-RTRY-03: an outage is waited for, 1, 2 and 4 s, and decides nothing.
#[test]
fn an_outage_is_waited_for_and_decides_nothing() {
    for how in [0, 1, 2, 3, 500, 502, 503, 504, 599] {
        // It ends in time.
        let (mut bench, call, probe) = probing();
        fails(&mut bench, &probe, how);
        for pause in [1, 2, 4] {
            bench.advance(Duration::from_millis(pause * 1000 - 1));
            bench.quiet();
            bench.advance(Duration::from_millis(1));
            let again = bench.expect("server/discover");
            assert_ne!(again.id(), probe.id());
            if pause < 4 {
                fails(&mut bench, &again, how);
            } else {
                bench.result(&again, discovered(&["2026-07-28"]));
            }
        }
        assert_eq!(bench.done(&call).unwrap().era, Era::Modern);

        // It does not.
        let (mut bench, call, mut probe) = probing();
        for _ in 0..3 {
            fails(&mut bench, &probe, how);
            assert!(bench.is_pending(&call));
            assert_eq!(bench.next_deadline(), TimerReason::StartRetry);
            probe = bench.expect("server/discover");
        }
        fails(&mut bench, &probe, how);
        let error = bench.error(&call);
        match (how, fault_of(error.kind())) {
            (0..=2, HttpFault::Exchange(failure)) => assert_eq!(failure.text, "scripted"),
            (3, HttpFault::StreamClosed) => {}
            (_, HttpFault::Status { status, .. }) => assert_eq!(*status, how),
            (_, fault) => panic!("{how}: {fault:?}"),
        }
        assert_eq!(error.outcome(), Outcome::NotSent);
        bench.quiet();
    }
}

/// M-RTRY-03, M-RTRY-04: failures that will not pass are told at once.
#[test]
fn what_will_not_pass_is_told_at_once() {
    for kind in [HttpFailureKind::Tls, HttpFailureKind::Proxy, HttpFailureKind::Malformed] {
        let (mut bench, call, probe) = probing();
        bench.breaks(&probe, kind, Sent::None);
        let error = bench.error(&call);
        assert!(matches!(fault_of(error.kind()), HttpFault::Exchange(f) if f.kind == kind));
        bench.quiet();
    }
    let (mut bench, call, probe) = probing();
    bench.whole(&probe, 302, &[("location", "/login")], b"");
    let error = bench.error(&call);
    assert!(matches!(fault_of(error.kind()), HttpFault::Redirect { status: 302, .. }), "{error}");
    assert!(error.to_string().contains("/login"), "{error}");
    bench.quiet();
}

/// M-ERA-08, M-TIME-11: silence over HTTP is an outage, and no sign of an era.
#[test]
fn silence_is_no_sign_of_an_era() {
    for head in [false, true] {
        let (mut bench, call, probe) = probing();
        if head {
            bench.head(&probe, 200, SSE);
        }
        bench.advance(Duration::from_millis(4999));
        assert!(bench.is_pending(&call));
        bench.advance(Duration::from_millis(1));
        let error = bench.error(&call);
        let ErrorKind::Timeout(timeout) = error.kind() else { panic!("{error}") };
        assert_eq!((timeout.phase, timeout.after), (Phase::Start, Duration::from_secs(5)));
        assert!(!bench.watch.is_open(probe.exchange), "its exchange is over");
        bench.quiet();
    }
}

/// M-ERA-07, M-CONN-15: a demanded era is asked for alone, and has all the time of the start.
#[test]
fn a_demanded_era_is_asked_for_alone() {
    for (status, head, body) in legacy_answers() {
        let (mut bench, call, probe) = starting(EraChoice::Modern);
        assert_eq!(probe.method(), "server/discover");
        bench.whole(&probe, status, head, body.as_bytes());
        let error = bench.error(&call);
        let attempts = |kind: &_| {
            let ErrorKind::Incompatible(Incompatible::Attempts { forced, attempts }) = kind else {
                return false;
            };
            *forced == Some(Era::Modern) && attempts.len() == 1
        };
        assert!(attempts(error.kind()), "{status} {body}: {error}");
        bench.quiet();
    }
    for (era, method) in [(EraChoice::Modern, "server/discover"), (EraChoice::Legacy, "initialize")]
    {
        let (mut bench, call, first) = starting(era);
        assert_eq!(first.method(), method);
        bench.advance(Duration::from_secs(59));
        assert!(bench.is_pending(&call));
        bench.advance(Duration::from_secs(1));
        assert!(bench.error(&call).is_timeout());
        bench.quiet();
    }
    let (mut bench, call, initialize) = starting(EraChoice::Legacy);
    assert_eq!(initialize.params()["protocolVersion"], "2025-11-25");
    bench.welcome(&initialize, "2024-11-05", Some("s-1"));
    let notification = bench.expect(INITIALIZED);
    bench.accepts(&notification);
    assert_eq!(bench.done(&call).unwrap().version, ProtocolVersion::V2024_11_05);
    let (mut bench, call, initialize) = starting(EraChoice::Legacy);
    bench.says(&initialize, 404, "");
    bench.error(&call);
    bench.quiet();
}

/// M-CONN-09, M-ERA-21: when everything has failed, the error names each attempt, those included
/// that this version cannot make.
#[test]
fn the_error_names_each_attempt() {
    let (mut bench, call, probe) = probing();
    bench.whole(&probe, 404, TEXT, b"nothing here");
    let initialize = bench.expect("initialize");
    bench.whole(&initialize, 405, HTML, b"<html>");
    let error = bench.error(&call);
    let ErrorKind::Incompatible(Incompatible::Attempts { forced: None, attempts }) = error.kind()
    else {
        panic!("{error}");
    };
    let methods: Vec<_> = attempts.iter().map(|attempt| attempt.method).collect();
    assert_eq!(methods, ["server/discover", "initialize", "HTTP+SSE", "plain HTTP"]);
    let text = error.to_string();
    for words in ["404", "405", "nothing here", "not built"] {
        assert!(text.contains(words), "{text}");
    }
    bench.quiet();
}

/// M-CONN-09, M-RTRY-02: an outage that begins between the two questions is told with both, and
/// each question has retries of its own.
#[test]
fn the_error_of_an_outage_names_what_was_met_before() {
    let (mut bench, call, probe) = probing();
    fails(&mut bench, &probe, 503);
    bench.advance(Duration::from_secs(1));
    let again = bench.expect("server/discover");
    bench.whole(&again, 404, TEXT, b"nothing here");
    for pause in [1, 2, 4] {
        let initialize = bench.expect("initialize");
        fails(&mut bench, &initialize, 0);
        bench.advance(Duration::from_secs(pause));
    }
    let initialize = bench.expect("initialize");
    fails(&mut bench, &initialize, 0);
    let error = bench.error(&call);
    assert!(matches!(fault_of(error.kind()), HttpFault::Exchange(_)));
    let text = error.to_string();
    for words in ["could not be reached", "server/discover", "404"] {
        assert!(text.contains(words), "{text}");
    }
    bench.quiet();
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
