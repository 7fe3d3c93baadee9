//! Journals of a connection over HTTP: secrets are masked, and they replay all the same. Every scene
//! of these tests replays its own; these look into it.

use mcp_proto::op::{Connect, ListTools};
use mcp_proto::{Input, Target, journal};
use serde_json::json;

use crate::support::*;

/// M-UNTR-19, M-UNTR-18: values of configured headers and session ids are written down nowhere; the
/// protocol's own headers are.
#[test]
fn secrets_are_not_written_down() {
    let target = target()
        .header("Authorization", "Bearer secret-a")
        .header("cookie", "secret-b")
        .header("mcp-param-key", "secret-c");
    let mut bench = Bench::new(config(), target);
    let call = bench.begin(Connect);
    bench.speak_legacy("2025-11-25", Some("secret-d"));
    bench.done(&call).unwrap();
    let list = bench.begin(ListTools);
    let post = bench.expect("tools/list");
    let head = [JSON[0], ("Set-Cookie", "secret-e"), ("MCP-Session-Id", "secret-f")];
    let body = answer(&post, &json!({ "tools": [{ "name": "readable" }] }));
    bench.whole(&post, 200, &head, body.as_bytes());
    bench.done(&list).unwrap();
    bench.input(Input::Close);
    let delete = bench.next_post();
    bench.accepts(&delete);

    let text = String::from_utf8(bench.connection.take_journal()).unwrap();
    assert!(!text.contains("secret"), "{text}");
    for name in ["authorization", "cookie", "mcp-param-key", "x-api-key", "set-cookie"] {
        assert!(text.to_lowercase().contains(&format!("[\"{name}\",\"masked\"]")), "{name}");
    }
    assert!(text.contains(r#"["mcp-protocol-version","2025-11-25"]"#));
    assert!(text.contains("readable"), "the header of the journal says so");
    let replayed = journal::replay(&text).unwrap();
    assert!(replayed.inputs > 10 && replayed.outputs > 10);
    bench.replayed = true;
}

/// M-SESS-06, M-SESS-07: a replay takes and refuses the same sessions, and tells them apart.
#[test]
fn masked_sessions_behave_as_they_were() {
    for id in ["session-1", "not a session", ""] {
        let mut bench = Bench::cold();
        let list = bench.begin(ListTools);
        bench.speak_legacy("2025-11-25", Some(id));
        let late = bench.begin(ListTools);
        let [first, second] = &*bench.take_posts() else { panic!("two lists") };
        bench.says(first, 404, "");
        if id == "session-1" {
            bench.greet("2025-11-25", Some("session-2"));
            let again = bench.expect("tools/list");
            bench.result(&again, json!({ "tools": [] }));
            bench.done(&list).unwrap();
            // The other one notices late that its session is gone, and finds the new one.
            bench.says(second, 404, "");
            let again = bench.expect("tools/list");
            bench.result(&again, json!({ "tools": [] }));
            bench.done(&late).unwrap();
        }
    }
}

/// M-UNTR-19: keys that servers want in the query of their address are shown nowhere, and what is
/// redirected replays all the same.
#[test]
fn queries_are_not_written_down() {
    let mut target = target();
    target.url = String::from("http://server.test/mcp?key=secret-1&b=2");
    assert!(!format!("{target:?}").contains("secret"));
    let mut bench = Bench::new(config(), target);
    let call = bench.begin(Connect);
    bench.speak_modern();
    bench.done(&call).unwrap();
    for location in ["?key=secret-2", "/a//b:c?secret-3#x", "#y", "http://secret-4@server.test/?a"]
    {
        let list = bench.begin(ListTools);
        let post = bench.expect("tools/list");
        assert_eq!(post.request.url, "http://server.test/mcp?key=secret-1&b=2");
        assert!(!format!("{:?}", post.request).contains("secret"));
        bench.whole(&post, 307, &[("location", location)], b"");
        if location.contains("secret-4") {
            let error = bench.error(&list).to_string();
            assert!(!error.contains("secret") && error.contains("server.test"), "{error}");
            continue;
        }
        let post = bench.expect("tools/list");
        assert_eq!(
            post.request.url.contains("secret"),
            location.contains("secret") || location == "#y"
        );
        bench.completes(&post, json!({ "tools": [] }));
        bench.done(&list).unwrap();
    }
    let text = String::from_utf8(bench.connection.take_journal()).unwrap();
    assert!(!text.contains("secret"), "{text}");
    assert!(text.contains("http://server.test/mcp?masked"));
    journal::replay(&text).unwrap();
    bench.replayed = true;
}

/// M-UNTR-19, M-CONN-20: neither are they in what says that an address is none.
#[test]
fn addresses_that_are_refused_show_no_secrets() {
    for url in [
        "ftp://server.test/?secret",
        "http://?secret",
        "http://user:secret@server.test/mcp?secret",
        "http://server.test/sse?secret",
    ] {
        let mut target = target();
        target.url = String::from(url);
        let told = Target::http(target).unwrap_err().to_string();
        assert!(!told.contains("secret"), "{told}");
    }
    let named = Target::parse("http://server.test/mcp?secret").unwrap();
    assert_eq!(named.label(), "http://server.test/mcp?masked");
}
