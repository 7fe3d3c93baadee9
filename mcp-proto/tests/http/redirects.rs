//! Redirects: what is followed, and what gets nowhere.

use mcp_proto::op::{Connect, ListTools};
use mcp_proto::{ErrorKind, HttpFault, Input, Method, Outcome, ResendReason, TransportError};
use serde_json::json;

use crate::support::*;

fn redirects(bench: &mut Bench, post: &Posted, status: u16, to: &str) {
    bench.whole(post, status, &[("location", to)], b"moved");
}

fn is_refused(kind: &ErrorKind, with: u16) -> bool {
    let ErrorKind::Transport(TransportError::Http(fault)) = kind else { return false };
    matches!(fault, HttpFault::Redirect { status, .. } if *status == with)
}

/// M-UNTR-08, M-RTRY-14: 307 and 308 within the origin are followed with the same method, headers
/// and body, and each is told.
#[test]
fn redirects_within_the_origin_are_followed() {
    in_both_eras(|bench| {
        for (status, to, url) in [
            (307, "/mcp/", "http://server.test/mcp/"),
            (308, "http://server.test/other?a=b", "http://server.test/other?a=b"),
            (307, "HTTP://SERVER.TEST:80/x#part", "http://server.test/x"),
            (308, "../up", "http://server.test/up"),
            (307, "//server.test/y", "http://server.test/y"),
            (308, "?q", "http://server.test/mcp?q"),
        ] {
            let call = bench.begin(tool("x", json!({ "a": 1 })));
            let post = bench.expect("tools/call");
            redirects(bench, &post, status, to);
            let again = bench.expect("tools/call");
            assert_eq!(again.request.url, url);
            assert_eq!(again.request.method, Method::Post);
            assert_eq!(again.request.headers, post.request.headers);
            assert_eq!(again.request.body, post.request.body);
            assert_eq!(bench.watch.resends(call.id()), [ResendReason::Redirect]);
            bench.completes(&again, json!({ "content": [] }));
            bench.done(&call).unwrap();
            // The next one goes to the address that the host has named.
            let list = bench.begin(ListTools);
            let post = bench.expect("tools/list");
            assert_eq!(post.request.url, "http://server.test/mcp");
            bench.completes(&post, json!({ "tools": [] }));
            bench.done(&list).unwrap();
        }
        bench.quiet();
    });
}

/// M-UNTR-08, M-CONN-17: nothing goes to another origin, neither headers nor arguments.
#[test]
fn redirects_to_another_origin_are_refused() {
    in_both_eras(|bench| {
        for to in [
            "http://other.test/mcp",
            "https://server.test/mcp",
            "http://server.test:8080/mcp",
            "http://sub.server.test/mcp",
            "//other.test/mcp",
            "http://user:pw@server.test/mcp",
            "http://server.test@other.test/mcp",
            "ftp://server.test/mcp",
            "file:///etc/passwd",
            "http://[/",
            "\\\\other.test/mcp",
            "",
        ] {
            for status in [307, 308] {
                let call = bench.begin(tool("x", json!({ "secret": 1 })));
                let post = bench.expect("tools/call");
                redirects(bench, &post, status, to);
                let error = bench.error(&call);
                assert!(is_refused(error.kind(), status), "{to}: {error}");
                assert_eq!(error.outcome(), Outcome::NotRun);
                assert!(!bench.watch.is_open(post.exchange));
                bench.quiet();
            }
        }
        // Without a place to go to there is none.
        let call = bench.begin(tool("x", json!({})));
        let post = bench.expect("tools/call");
        bench.whole(&post, 307, &[], b"");
        assert!(is_refused(bench.error(&call).kind(), 307));
        bench.quiet();
    });
}

/// M-RTRY-04, M-ERR-08: redirects that would change the method are not followed, and the error names
/// their target.
#[test]
fn redirects_that_change_the_method_are_refused() {
    in_both_eras(|bench| {
        for status in [300, 301, 302, 303, 305, 306] {
            let list = bench.begin(ListTools);
            let post = bench.expect("tools/list");
            redirects(bench, &post, status, "/mcp/\u{7f}\u{202e}");
            let error = bench.error(&list);
            assert!(is_refused(error.kind(), status), "{error}");
            assert!(error.to_string().contains("/mcp/"), "{error}");
            assert!(!error.to_string().contains(['\u{7f}', '\u{202e}']), "{error}");
            bench.quiet();
        }
    });
}

/// M-RTRY-14: five redirects are followed, in circles or not.
#[test]
fn redirects_have_an_end() {
    in_both_eras(|bench| {
        for to in ["/mcp", "/a", "x/"] {
            let call = bench.begin(tool("x", json!({})));
            for _ in 0..5 {
                let post = bench.expect("tools/call");
                redirects(bench, &post, 308, to);
            }
            let post = bench.expect("tools/call");
            redirects(bench, &post, 308, to);
            let error = bench.error(&call);
            assert!(is_refused(error.kind(), 308), "{error}");
            assert_eq!(bench.watch.resends(call.id()), [ResendReason::Redirect; 5]);
            bench.quiet();
        }
    });
}

/// M-UNTR-08, M-ERA-13: what is sent without a call follows as well, and is awaited as before.
#[test]
fn messages_of_the_handshake_are_redirected_too() {
    let mut bench = Bench::cold();
    let call = bench.begin(Connect);
    let probe = bench.expect("server/discover");
    redirects(&mut bench, &probe, 307, "/mcp/");
    let probe = bench.expect("server/discover");
    bench.says(&probe, 404, "");
    let initialize = bench.expect("initialize");
    redirects(&mut bench, &initialize, 307, "/mcp/");
    let initialize = bench.expect("initialize");
    bench.welcome(&initialize, "2025-11-25", Some("s-1"));
    let notification = bench.expect(INITIALIZED);
    redirects(&mut bench, &notification, 307, "/mcp/");
    assert!(bench.is_pending(&call));
    let notification = bench.expect(INITIALIZED);
    assert_eq!(notification.request.url, "http://server.test/mcp/");
    assert_eq!(notification.header("mcp-session-id"), Some("s-1"));
    bench.accepts(&notification);
    bench.done(&call).unwrap();
    bench.input(Input::Close);
    let delete = bench.next_post();
    redirects(&mut bench, &delete, 308, "/mcp/");
    let delete = bench.next_post();
    assert_eq!(
        (delete.request.method, &*delete.request.url),
        (Method::Delete, "http://server.test/mcp/")
    );
    bench.accepts(&delete);
    assert!(bench.watch.is_closed());
}

/// M-SESS-07, M-RTRY-08: a request that was redirected belongs to its session still.
#[test]
fn a_redirected_request_can_lose_its_session() {
    let mut bench = Bench::legacy();
    let list = bench.begin(ListTools);
    let post = bench.expect("tools/list");
    redirects(&mut bench, &post, 307, "/mcp/");
    let post = bench.expect("tools/list");
    bench.says(&post, 404, "");
    bench.greet("2025-11-25", Some("session-2"));
    let again = bench.expect("tools/list");
    assert_eq!(again.header("mcp-session-id"), Some("session-2"));
    bench.result(&again, json!({ "tools": [] }));
    bench.done(&list).unwrap();
}
