//! The headers of each message, exactly.

use std::collections::BTreeMap;

use mcp_proto::op::{Connect, CustomRequest, ListTools, Ping};
use mcp_proto::{ApiMisuse, HttpConfig, Method, Target, wire};
use serde_json::{Map, Value, json};

use crate::support::*;

const MODERN: &str = "2026-07-28";
const LEGACY: &str = "2025-11-25";

fn headers(post: &Posted) -> BTreeMap<&str, &str> {
    let headers = &post.request.headers;
    let all: BTreeMap<_, _> = headers.iter().map(|(name, value)| (&**name, &**value)).collect();
    assert_eq!(all.len(), headers.len(), "a header is sent twice");
    all
}

/// What every POST has, and these.
fn posted<'a>(more: &[(&'a str, &'a str)]) -> BTreeMap<&'a str, &'a str> {
    let mut all: BTreeMap<_, _> = more.iter().copied().collect();
    all.insert("content-type", "application/json");
    all.insert("accept", "application/json, text/event-stream");
    all.insert("accept-encoding", "gzip");
    all.insert("x-api-key", "configured-secret");
    all
}

fn custom(method: &str, params: Value) -> CustomRequest {
    let Value::Object(params) = params else { panic!("parameters are an object") };
    CustomRequest::new(method, params)
}

/// M-HTTP-03, M-HTTP-04, M-HTTP-05: what intermediaries read stands beside each modern request, the
/// first included.
#[test]
fn modern_requests_are_mirrored() {
    let mut bench = Bench::cold();
    let call = bench.begin(Connect);
    let probe = bench.expect("server/discover");
    let modern = ("mcp-protocol-version", MODERN);
    assert_eq!(headers(&probe), posted(&[modern, ("mcp-method", "server/discover")]));
    bench.result(&probe, discovered(&[MODERN]));
    bench.done(&call).unwrap();

    bench.begin(ListTools);
    bench.begin(Ping);
    bench.begin(tool("add", json!({})));
    let named: [(&str, Value, Option<&str>); 9] = [
        (
            "tools/call",
            json!({ "name": "my-hyphenated-tool", "arguments": {} }),
            Some("my-hyphenated-tool"),
        ),
        ("prompts/get", json!({ "name": "test prompt" }), Some("test prompt")),
        ("resources/read", json!({ "uri": "file:///a.json", "name": "x" }), Some("file:///a.json")),
        ("tasks/get", json!({ "taskId": "t-1" }), Some("t-1")),
        ("tasks/update", json!({ "taskId": "t-1", "name": "x" }), Some("t-1")),
        ("tasks/cancel", json!({ "taskId": "t-1" }), Some("t-1")),
        ("prompts/list", json!({ "name": "x" }), None),
        ("resources/read", json!({ "uri": 7 }), None),
        ("x/y", json!({ "name": "x", "uri": "y" }), None),
    ];
    for (method, params, _) in &named {
        bench.begin(custom(method, params.clone()));
    }
    let posts = bench.take_posts();
    let of = |method, name: Option<&'static str>| {
        let name = name.map(|name| ("mcp-name", name));
        let all: Vec<_> = [modern, ("mcp-method", method)].into_iter().chain(name).collect();
        posted(&all)
    };
    assert_eq!(headers(&posts[0]), of("tools/list", None));
    assert_eq!(headers(&posts[1]), of("server/discover", None));
    assert_eq!(headers(&posts[2]), of("tools/call", Some("add")));
    for (post, (method, _, name)) in posts[3..].iter().zip(named) {
        assert_eq!(headers(post), of(method, name), "{method}");
    }
}

/// M-HTTP-06: names that no header can carry are encoded, and so is a method of the host's choice.
#[test]
fn names_are_encoded_where_they_must_be() {
    let mut bench = Bench::modern();
    for name in ["工具", " padded ", "=?base64?x?=", "a\r\nx-evil: 1", "é", "a\tb", ""] {
        bench.begin(tool(name, json!({})));
        bench.begin(custom("resources/read", json!({ "uri": name })));
        bench.begin(custom("prompts/get", json!({ "name": name })));
        for post in bench.take_posts() {
            let value = post.header("mcp-name").unwrap();
            assert!(wire::headers::is_value(value) && value.trim() == value, "{value:?}");
            assert_eq!(wire::headers::decode(value).as_deref(), Some(name));
        }
    }
    for (name, value) in [("工具", "=?base64?5bel5YW3?="), ("plain", "plain")] {
        bench.begin(tool(name, json!({})));
        assert_eq!(bench.next_post().header("mcp-name"), Some(value));
    }
    bench.begin(custom("x/é\n", json!({})));
    let value = bench.next_post().header("mcp-method").map(String::from);
    assert_eq!(
        value.as_deref().and_then(|v| wire::headers::decode(v).map(String::from)).as_deref(),
        Some("x/é\n")
    );
}

/// M-ERA-13, M-SESS-01, M-SESS-02: what a legacy server is told with each message.
#[test]
fn legacy_messages_carry_version_and_session() {
    let mut bench = Bench::cold();
    let call = bench.begin(Connect);
    let probe = bench.expect("server/discover");
    bench.says(&probe, 404, "");
    let initialize = bench.expect("initialize");
    assert_eq!(headers(&initialize), posted(&[]));
    bench.welcome(&initialize, "2025-06-18", Some("s-1"));
    let old = posted(&[("mcp-protocol-version", "2025-06-18"), ("mcp-session-id", "s-1")]);
    let notification = bench.expect(INITIALIZED);
    assert_eq!(headers(&notification), old);
    bench.accepts(&notification);
    bench.done(&call).unwrap();
    bench.begin(ListTools);
    let called = bench.begin(tool("add", json!({ "_meta": { "a": 1 } })));
    bench.begin(custom("resources/read", json!({ "uri": "x" })));
    for post in bench.take_posts() {
        assert_eq!(headers(&post), old, "{}", post.method());
    }
    bench.cancel(&called);
    let cancelled = bench.expect("notifications/cancelled");
    assert_eq!(headers(&cancelled), old);
    bench.accepts(&cancelled);
    bench.input(mcp_proto::Input::Close);
    let delete = bench.next_post();
    assert_eq!(delete.request.method, Method::Delete);
    let mut bodiless = old.clone();
    bodiless.remove("content-type");
    assert_eq!(headers(&delete), bodiless);
    bench.accepts(&delete);
}

/// M-SESS-10, M-HTTP-10: a modern server may offer a session; it is not taken.
#[test]
fn modern_servers_have_no_sessions() {
    let mut bench = Bench::cold();
    let call = bench.begin(Connect);
    let probe = bench.expect("server/discover");
    let with_session = [JSON[0], ("mcp-session-id", "s-1")];
    let body = answer(&probe, &discovered(&[MODERN]));
    bench.whole(&probe, 200, &with_session, body.as_bytes());
    bench.done(&call).unwrap();
    let list = bench.begin(ListTools);
    let post = bench.expect("tools/list");
    assert_eq!(post.header("mcp-session-id"), None);
    let body = answer(&post, &json!({ "tools": [] }));
    bench.whole(&post, 200, &with_session, body.as_bytes());
    bench.done(&list).unwrap();
    bench.begin(ListTools);
    assert_eq!(bench.next_post().header("mcp-session-id"), None);
    bench.input(mcp_proto::Input::Close);
    bench.quiet();
}

/// M-CONN-17, M-CONN-18, M-CONN-19: configured headers go out with everything; those that look like
/// mirrors of parameters do so on legacy servers only, whose first message is `initialize`.
#[test]
fn configured_headers_go_out_with_everything() {
    let target = || {
        target()
            .header("Authorization", "Bearer token")
            .header("mcp-param-Region", "eu")
            .header("MCP-PARAM-X", "1")
    };
    let mut bench = Bench::new(config(), target());
    bench.begin(Connect);
    let probe = bench.expect("server/discover");
    assert_eq!(probe.header("authorization"), Some("Bearer token"));
    assert_eq!(probe.header("mcp-param-region"), None);
    bench.result(&probe, discovered(&[MODERN]));
    bench.begin(tool("x", json!({})));
    let post = bench.expect("tools/call");
    assert_eq!(post.header("authorization"), Some("Bearer token"));
    assert_eq!((post.header("mcp-param-region"), post.header("mcp-param-x")), (None, None));

    let mut bench = Bench::new(config(), target());
    bench.begin(Connect);
    let list = bench.begin(ListTools);
    bench.speak_legacy(LEGACY, Some("s-1"));
    bench.cancel(&list);
    bench.input(mcp_proto::Input::Close);
    let methods: Vec<_> = bench.posts.iter().skip(1).map(Posted::method).collect();
    let want = ["initialize", INITIALIZED, "tools/list", "notifications/cancelled", ""];
    assert_eq!(methods, want);
    for post in &bench.posts[1..] {
        assert_eq!(post.header("authorization"), Some("Bearer token"), "{}", post.line());
        assert_eq!(post.header("mcp-param-region"), Some("eu"), "{}", post.line());
        assert_eq!(post.header("mcp-param-x"), Some("1"), "{}", post.line());
    }
}

/// M-CONN-14, M-CONN-20: what a host may not set is refused before anything is sent.
#[test]
fn headers_that_are_not_the_hosts_are_refused() {
    let owned = [
        "accept",
        "Accept-Encoding",
        "connection",
        "Content-Length",
        "content-type",
        "expect",
        "host",
        "keep-alive",
        "Last-Event-ID",
        "mcp-method",
        "Mcp-Name",
        "mcp-protocol-version",
        "Mcp-Session-Id",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    ];
    let refused = |name: &str, value: &str| {
        let config = HttpConfig::new("http://server.test/mcp").header(name, value);
        let refused = matches!(config.endpoint(), Err(ApiMisuse::Header { .. }));
        assert_eq!(refused, matches!(Target::http(config), Err(ApiMisuse::Header { .. })));
        refused
    };
    for name in owned {
        assert!(refused(name, "x"), "{name}");
    }
    for (name, value) in [("a b", "x"), ("", "x"), ("x", "a\r\nb: c"), ("x", "é"), ("x", "\0")] {
        assert!(refused(name, value), "{name:?}: {value:?}");
    }
    for name in ["authorization", "X-Api-Key", "mcp-param-x", "cookie", "user-agent", "origin"] {
        assert!(!refused(name, "a\tb c"), "{name}");
    }
}

/// M-HTTP-03, M-HTTP-04: metadata and headers go out with each request, a page included.
#[test]
fn each_page_is_a_request_of_its_own() {
    let mut bench = Bench::modern();
    let list = bench.begin(ListTools);
    for (cursor, next) in [(None, Some("é")), (Some("é"), Some("")), (Some(""), None)] {
        let post = bench.expect("tools/list");
        assert_eq!(post.params()["cursor"].as_str(), cursor);
        assert_eq!(post.header("mcp-method"), Some("tools/list"));
        assert_eq!(post.header("mcp-protocol-version"), Some(MODERN));
        assert_eq!(post.meta()["io.modelcontextprotocol/protocolVersion"], MODERN);
        let mut page = Map::new();
        page.insert("tools".into(), json!([{ "name": format!("{cursor:?}") }]));
        page.extend(next.map(|next| ("nextCursor".into(), json!(next))));
        bench.completes(&post, Value::Object(page));
    }
    assert_eq!(bench.done(&list).unwrap().len(), 3);
    bench.quiet();
}
