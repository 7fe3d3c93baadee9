//! Which transport a server speaks, where its address leaves that open.

use std::time::Duration;

use mcp_proto::model::Root;
use mcp_proto::op::{Connect, ListTools};
use mcp_proto::{
    ApiMisuse, Call, Era, EraChoice, ErrorKind, Event, HttpConfig, HttpTransport, Incompatible,
    Input, Method, Setting, Target,
};
use serde_json::json;

use crate::era::TEXT;
use crate::sse::{ENDPOINT, greeted};
use crate::support::*;

const OPEN: &str = "http://server.test/";

/// A start with an address that leaves the transport open, and the first message.
fn starting(url: &str, era: EraChoice) -> (Bench, Call<Connect>) {
    let mut config = config();
    config.era = era;
    let mut bench = Bench::new(config, HttpConfig::new(url));
    let call = bench.begin(Connect);
    (bench, call)
}

/// Streamable HTTP is refused with this status.
fn refuses(bench: &mut Bench, url: &str, status: u16) {
    for method in ["server/discover", "initialize"] {
        let post = bench.expect(method);
        assert_eq!(post.request.url, url);
        bench.whole(&post, status, TEXT, b"nothing here");
    }
}

fn tried(bench: &Bench) -> Vec<HttpTransport> {
    let tried = |event: &Event| match event {
        Event::TransportTried(transport) => Some(*transport),
        _ => None,
    };
    bench.events.iter().filter_map(tried).collect()
}

/// M-CONN-03, M-CONN-04, M-CONN-10: what an address says about its transport.
#[test]
fn the_path_says_which_transport_it_is() {
    use HttpTransport::{Plain, Sse, Streamable};
    let all: &[HttpTransport] = &[Streamable, Sse, Plain];
    for (url, transports) in [
        ("http://x/sse", &[Sse] as &[_]),
        ("http://x/SSE/", &[Sse]),
        ("https://x/a/sse?key=1", &[Sse]),
        ("http://x/mcp", &[Streamable]),
        ("http://x/a/MCP/?sse", &[Streamable]),
        ("http://x", all),
        ("http://x/", all),
        ("http://x/api", all),
        ("http://x/classe", all),
        ("http://x/mcp/v1", all),
        ("http://x/?/sse", all),
    ] {
        let Ok(Target::Http(config)) = Target::parse(url) else { panic!("{url}") };
        assert_eq!(config.transports(), transports, "{url}");
        assert_eq!(config.over(Plain).transports(), [Plain], "{url}");
    }
    for (text, transport) in [
        ("SSE", Sse),
        ("streamable_http", Streamable),
        ("streamable-http", Streamable),
        ("http", Plain),
    ] {
        assert_eq!(text.parse::<HttpTransport>().unwrap(), transport);
    }
    for wrong in ["", "websocket", "stdio", "ftp"] {
        assert!(matches!(wrong.parse::<HttpTransport>(), Err(ApiMisuse::Target(_))));
    }
    assert!(matches!(Target::parse("ftp://x/sse"), Err(ApiMisuse::Target(_))));
}

/// M-CONN-08, M-ERA-21: a server of HTTP+SSE only is found after Streamable HTTP was refused, and the
/// next start goes there at once.
#[test]
fn an_old_server_is_found() {
    for status in [400, 404, 405] {
        let (mut bench, call) = starting(OPEN, EraChoice::Auto);
        refuses(&mut bench, OPEN, status);
        let get = bench.next_post();
        assert_eq!((get.request.method, &*get.request.url), (Method::Get, OPEN));
        bench.streams(&get, ENDPOINT);
        greeted(&mut bench, &get);
        assert_eq!(bench.done(&call).unwrap().era, Era::Legacy);
        assert_eq!(tried(&bench), [HttpTransport::Sse]);
        bench.input(Input::Disconnect);
        let call = bench.begin(Connect);
        let get = bench.next_post();
        assert_eq!(get.request.method, Method::Get);
        bench.streams(&get, ENDPOINT);
        greeted(&mut bench, &get);
        bench.done(&call).unwrap();
        bench.quiet();
    }
}

/// M-CONN-08, M-CONN-20, M-SESS-01: a server of plain HTTP only is found last, at `/rpc` unless the
/// address has a path. Its session id is sent back; it is asked for JSON and for nothing else.
#[test]
fn a_plain_server_is_found_last() {
    for (url, refused, plain) in [
        (OPEN, OPEN, "http://server.test/rpc"),
        ("http://server.test/api/", "http://server.test/api/", "http://server.test/api"),
    ] {
        let (mut bench, call) = starting(url, EraChoice::Auto);
        refuses(&mut bench, refused, 404);
        let get = bench.next_post();
        bench.whole(&get, 405, TEXT, b"");
        let probe = bench.expect("server/discover");
        assert_eq!(probe.request.url, plain);
        assert_eq!(probe.header("accept"), Some("application/json"));
        bench.says(&probe, 200, &refusal(&probe, -32601));
        let initialize = bench.expect("initialize");
        assert_eq!(initialize.params()["capabilities"], json!({}));
        bench.welcome(&initialize, "2025-06-18", Some("session-1"));
        let notification = bench.expect(INITIALIZED);
        bench.accepts(&notification);
        bench.done(&call).unwrap();
        assert_eq!(tried(&bench), [HttpTransport::Sse, HttpTransport::Plain]);
        let list = bench.begin(ListTools);
        let post = bench.expect("tools/list");
        assert_eq!((&*post.request.url, post.header("mcp-session-id")), (plain, Some("session-1")));
        bench.result(&post, json!({ "tools": [] }));
        bench.done(&list).unwrap();
        bench.quiet();
    }
}

/// M-CONN-02, M-CONN-15: plain HTTP knows both eras; a stream of events is no answer in it.
#[test]
fn plain_http_knows_both_eras() {
    let target = || HttpConfig::new("http://server.test/").over(HttpTransport::Plain);
    let mut bench = Bench::new(config(), target());
    let call = bench.begin(Connect);
    bench.speak_modern();
    assert_eq!(bench.done(&call).unwrap().era, Era::Modern);
    let list = bench.begin(ListTools);
    let post = bench.expect("tools/list");
    bench.streams(&post, "");
    assert!(bench.error(&list).to_string().contains("plain HTTP"));
    bench.quiet();

    let mut config = config();
    config.era = EraChoice::Legacy;
    let mut bench = Bench::new(config, target());
    let call = bench.begin(Connect);
    bench.greet("2025-03-26", None);
    assert_eq!(bench.done(&call).unwrap().era, Era::Legacy);
    bench.quiet();
}

/// M-CONN-09: what is no refusal of the transport ends the start; nothing else is tried.
#[test]
fn only_refusals_let_the_next_be_tried() {
    for (status, head, body) in [
        (401, TEXT, ""),
        (403, TEXT, ""),
        (406, TEXT, ""),
        (422, TEXT, ""),
        (200, TEXT, "hello"),
        (200, JSON, r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"no"}}"#),
    ] {
        let (mut bench, call) = starting(OPEN, EraChoice::Auto);
        let probe = bench.expect("server/discover");
        bench.whole(&probe, 404, TEXT, b"");
        let initialize = bench.expect("initialize");
        bench.whole(&initialize, status, head, body.as_bytes());
        bench.error(&call);
        bench.quiet();
        assert_eq!(tried(&bench), []);
    }
    for (status, goes_on) in
        [(404, true), (405, true), (501, true), (200, true), (401, false), (403, false)]
    {
        let (mut bench, call) = starting(OPEN, EraChoice::Auto);
        refuses(&mut bench, OPEN, 405);
        let get = bench.next_post();
        bench.whole(&get, status, TEXT, b"");
        assert_eq!(bench.is_pending(&call), goes_on, "{status}");
        assert_eq!(bench.take_posts().len(), usize::from(goes_on), "{status}");
    }
}

/// M-CONN-09: when all fail, one error lists what each met. The era that a host wants holds: HTTP+SSE
/// is no way to a modern server.
#[test]
fn one_error_lists_all_attempts() {
    let all = [
        ("server/discover", HttpTransport::Streamable),
        ("initialize", HttpTransport::Streamable),
        ("GET", HttpTransport::Sse),
        ("server/discover", HttpTransport::Plain),
        ("initialize", HttpTransport::Plain),
    ];
    for era in [EraChoice::Auto, EraChoice::Modern, EraChoice::Legacy] {
        let fits = |(method, over): &(&str, HttpTransport)| match era {
            EraChoice::Auto => true,
            EraChoice::Modern => *method == "server/discover" && *over != HttpTransport::Sse,
            EraChoice::Legacy => *method != "server/discover",
        };
        let wanted: Vec<_> = all.iter().copied().filter(fits).collect();
        let (mut bench, call) = starting(OPEN, era);
        for (method, _) in &wanted {
            let post = bench.next_post();
            assert!(post.method() == *method || post.request.method == Method::Get);
            bench.whole(&post, 404, TEXT, b"");
        }
        let error = bench.error(&call);
        let ErrorKind::Incompatible(Incompatible::Attempts { attempts, .. }) = error.kind() else {
            panic!("{error}");
        };
        let met: Vec<_> = attempts.iter().map(|it| (it.method, it.over.unwrap())).collect();
        assert_eq!(met, wanted);
        assert!(error.to_string().contains("over plain HTTP met:"), "{error}");
        bench.quiet();
    }
}

/// M-ERA-08: the probe over plain HTTP has the time that the host gives it; silence is an outage.
#[test]
fn the_probe_of_plain_http_has_its_time() {
    let mut config = config();
    config.discover_timeout = Duration::from_secs(2);
    let target = HttpConfig::new("http://server.test/").over(HttpTransport::Plain);
    let mut bench = Bench::new(config, target);
    let call = bench.begin(Connect);
    bench.expect("server/discover");
    bench.advance(Duration::from_millis(1999));
    assert!(bench.is_pending(&call));
    bench.advance(Duration::from_millis(1));
    assert!(bench.error(&call).is_timeout());
    bench.quiet();
}

/// M-ROOT-04: over plain HTTP a legacy server was told of no roots and cannot ask for them, so it is
/// not told of a change; over HTTP+SSE it is.
#[test]
fn a_server_that_cannot_ask_for_roots_is_not_told_of_them() {
    let roots = || vec![Root::new("file:///work").unwrap()];
    let mut config = config();
    config.era = EraChoice::Legacy;
    let target = HttpConfig::new("http://server.test/").over(HttpTransport::Plain);
    let mut bench = Bench::new(config, target);
    let call = bench.begin(Connect);
    bench.greet("2025-06-18", None);
    bench.done(&call).unwrap();
    bench.input(Input::Set(Setting::Roots(roots())));
    bench.quiet();

    let (mut bench, _stream) = crate::sse::ready();
    bench.input(Input::Set(Setting::Roots(roots())));
    let told = bench.expect("notifications/roots/list_changed");
    bench.accepts(&told);
    bench.quiet();
}
