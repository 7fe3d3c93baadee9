//! Errors of the server's and of this client's (specification: basic, "Error Codes").

use mcp_proto::op::{CustomRequest, ListTools, Ping};
use mcp_proto::{ErrorKind, Event, Input, Outcome, ServerErrorKind, TransportError};
use serde_json::{Map, json};

use crate::support::*;

fn custom(method: &str) -> CustomRequest {
    CustomRequest::new(method, Map::new())
}

/// M-BASE-06: an error without an id, or with one that is `null`, disturbs nobody.
#[test]
fn an_error_without_an_id_is_nobodys() {
    in_both_eras(|bench| {
        let call = bench.begin(Ping);
        let sent = bench.next_message();
        bench.line(r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"Parse error"}}"#);
        bench.line(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"data":[1,[2]]}}"#);
        let dropped = |event: &&Event| matches!(event, Event::MessageDropped { .. });
        assert_eq!(bench.events.iter().filter(dropped).count(), 2);
        bench.completes(&sent, json!({}));
        bench.done(&call).unwrap();
    });
}

/// M-BASE-06, M-ERR-02: code, message and data arrive as they were sent, whatever they are.
#[test]
fn errors_keep_their_members() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let cases = [
        (
            r#"{"code":-32603,"message":"boom","data":{"a":[1]}}"#,
            -32603,
            "boom",
            Some(json!({"a":[1]})),
        ),
        (r#"{"code":1,"message":"m","data":[1,"x",null]}"#, 1, "m", Some(json!([1, "x", null]))),
        (r#"{"code":2,"message":"m","data":"text"}"#, 2, "m", Some(json!("text"))),
        (r#"{"code":3,"message":"m","data":null}"#, 3, "m", None),
        (r#"{"code":4}"#, 4, "", None),
        (r#"{"code":-32601.0,"message":null}"#, -32601, "", None),
        (r#"{"code":"-32601","message":"m"}"#, -32601, "m", None),
        (r#"{"code":9223372036854775807,"message":"m"}"#, i64::MAX, "m", None),
        (r#"{"code":99999999999999999999,"message":"kept"}"#, 0, "kept", None),
        (r#"{"code":1e400,"message":"kept"}"#, 0, "kept", None),
        (r#"{"message":"no code"}"#, 0, "no code", None),
        (r#"{"code":5,"message":{"not":"a text"}}"#, 5, "", None),
        (r#""only a text""#, 0, "only a text", None),
        (r#"[7,"x"]"#, 0, "", None),
    ];
    in_both_eras(|bench| {
        for (error, code, message, data) in &cases {
            let call = bench.begin(custom("x/y"));
            let sent = bench.next_message();
            bench.line(&format!(r#"{{"jsonrpc":"2.0","id":{},"error":{error}}}"#, sent.id()));
            let got = bench.error(&call);
            let server = got.server_error().unwrap_or_else(|| panic!("{error}: {got}"));
            assert_eq!((server.code, &*server.message), (*code, *message), "{error}");
            assert_eq!(&server.data, data, "{error}");
            assert_eq!(server.raw.as_str(), *error);
        }
        let call = bench.begin(custom("x/y"));
        let sent = bench.next_message();
        let error = format!(r#"{{"code":-32050,"message":"m","data":{deep}}}"#);
        bench.line(&format!(r#"{{"jsonrpc":"2.0","id":{},"error":{error}}}"#, sent.id()));
        let got = bench.error(&call);
        let server = got.server_error().unwrap();
        assert_eq!((server.code, &*server.message), (-32050, "m"));
        assert_eq!(server.raw.as_str(), error);
    });
}

/// M-BASE-04, M-BASE-05: codes of implementations mean nothing, the old one for resources excepted,
/// and of the reserved range only three are known.
#[test]
fn codes_mean_what_the_specification_says() {
    use ServerErrorKind as Kind;
    let codes = [
        (-32700, Kind::ParseError),
        (-32600, Kind::InvalidRequest),
        (-32601, Kind::MethodNotFound),
        (-32602, Kind::InvalidParams),
        (-32603, Kind::InternalError),
        (-32002, Kind::ResourceNotFound),
        (-32000, Kind::Other),
        (-32001, Kind::Other),
        (-32004, Kind::Other),
        (-32019, Kind::Other),
        (-32020, Kind::HeaderMismatch),
        (-32021, Kind::MissingRequiredClientCapability),
        (-32022, Kind::UnsupportedProtocolVersion),
        (-32023, Kind::Other),
        (-32042, Kind::Other),
        (-32050, Kind::Other),
        (-32099, Kind::Other),
        (0, Kind::Other),
        (42, Kind::Other),
    ];
    let mut bench = Bench::modern(config());
    for (code, kind) in codes {
        let call = bench.begin(custom("x/y"));
        let sent = bench.next_message();
        bench.fails(&sent, json!({ "code": code, "message": "m", "data": [code] }));
        let error = bench.error(&call);
        let server = error.server_error().unwrap();
        assert_eq!((server.kind(), server.code), (kind, code));
        assert_eq!(server.data, Some(json!([code])));
        assert!(error.to_string().contains(&code.to_string()), "{error}");
    }
}

/// M-BASE-07: what this client finds out by itself has no code of a server's.
#[test]
fn local_errors_are_not_the_servers() {
    in_both_eras(|bench| {
        let timed_out = bench.begin(Ping);
        bench.next_message();
        bench.next_deadline();
        let cancelled = bench.begin(Ping);
        bench.cancel(&cancelled);
        let malformed = bench.begin(Ping);
        let sent = bench.take_messages().pop().unwrap();
        bench.line(&format!(r#"{{"id":{}}}"#, sent.id()));
        let lost = bench.begin(Ping);
        bench.input(Input::Disconnect);
        for call in [timed_out, cancelled, malformed, lost] {
            let error = bench.error(&call);
            assert!(error.server_error().is_none(), "{error}");
            assert!(!matches!(error.kind(), ErrorKind::Server(_)));
        }
        bench.take_messages();
    });
}

/// M-ERR-06, M-ERR-07: every failure is one type, which says whose fault it is and whether anything
/// was done; misuse is another type, and is told before anything happens.
#[test]
fn errors_are_of_one_kind_and_misuse_of_another() {
    let mut bench = Bench::modern(config());
    let call = bench.begin(custom("x/y"));
    bench.next_message();
    bench.exit(mcp_proto::ExitStatus::Code(1));
    let error = bench.error(&call);
    assert!(matches!(error.kind(), ErrorKind::Transport(TransportError::Exited { .. })));
    assert_eq!((error.method(), error.server()), ("x/y", "peer"));
    assert_eq!(error.outcome(), Outcome::Unknown);
    assert!(std::error::Error::source(&error).is_some());
    // Also of what was never sent.
    let call = bench.begin(custom("x/y"));
    bench.cancel(&call);
    let error = bench.error(&call);
    assert_eq!((error.method(), error.outcome()), ("x/y", Outcome::NotSent));
    bench.take_messages();

    let now = mcp_proto::Now::at(bench.now);
    for method in ["", "initialize", "subscriptions/listen"] {
        let refused = bench.connection.start(custom(method), Default::default(), now);
        assert!(refused.is_err(), "{method}");
    }
    let mut bad = options(None, false);
    bad.meta.insert("-x".into(), json!(1));
    assert!(bench.connection.start(Ping, bad, now).is_err());
    assert_eq!(bench.connection.poll_output().map(|_| ()), None, "nothing was launched");
}

/// M-RTRY-06: servers that check what a tool returned refuse it as wrong parameters after it ran, so
/// that says nothing about whether it did; of what may be repeated it does.
#[test]
fn wrong_parameters_may_be_found_out_after_a_tool_ran() {
    in_both_eras(|bench| {
        for (code, outcome) in [(-32602, Outcome::Unknown), (-32601, Outcome::NotRun)] {
            let call = bench.begin(tool("x", json!({})));
            let sent = bench.expect("tools/call");
            bench.refuse(&sent, code, "Invalid structured content");
            assert_eq!(bench.error(&call).outcome(), outcome, "{code}");
        }
        let list = bench.begin(ListTools);
        let sent = bench.expect("tools/list");
        bench.refuse(&sent, -32602, "Invalid cursor");
        assert_eq!(bench.error(&list).outcome(), Outcome::NotRun);
    });
}
