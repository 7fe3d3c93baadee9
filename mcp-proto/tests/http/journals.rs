//! Journals of a connection over HTTP: secrets are masked, and they replay all the same. Every scene
//! of these tests replays its own; these look into it.

use mcp_proto::op::{Connect, ListTools, Ping};
use mcp_proto::{HttpConfig, Input, Target, journal};
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
    for url in
        ["ftp://server.test/?secret", "http://?secret", "http://user:secret@server.test/mcp?secret"]
    {
        let mut target = target();
        target.url = String::from(url);
        let told = Target::http(target).unwrap_err().to_string();
        assert!(!told.contains("secret"), "{told}");
    }
    let named = Target::parse("http://server.test/mcp?secret").unwrap();
    assert_eq!(named.label(), "http://server.test/mcp?masked");
}

/// Status, headers, and body of an answer that is none.
type Wrong<'a> = (u16, &'a [(&'a str, &'a str)], &'a str);

/// M-UNTR-19: a server that repeats what it was told or gave, in errors, streams, redirects and
/// challenges, in whatever pieces: none of it is written down, and the journal replays.
#[test]
fn what_a_server_repeats_is_not_written_down() {
    let marks =
        ["mark-token", "mark-key", "mark-session", "mark-query", "mark-next", "mark-cookie"];
    let splits = (1..40).map(|length| Split::Lengths(vec![length]));
    for split in splits.chain([Split::Whole, Split::Bytes]) {
        let url = "http://server.test/mcp?key=mark-query&x=%20y";
        let target = HttpConfig::new(url)
            .header("Authorization", "Bearer mark-token \"quoted\"")
            .header("X-Api-Key", "mark-key");
        let mut config = config();
        config.name = String::from(url);
        let mut bench = Bench::new(config, target);
        bench.split = split;
        let all = format!("{} \"quoted\" {url}", marks.join(" "));
        let json = json!({ "repeated": all }).to_string();
        let call = bench.begin(Connect);
        let probe = bench.expect("server/discover");
        let moved =
            [("location", "/mcp/?next=mark-next"), ("set-cookie", "id=mark-cookie; Path=/")];
        bench.whole(&probe, 307, &moved, all.as_bytes());
        bench.speak_legacy("2025-11-25", Some("mark-session"));
        bench.done(&call).unwrap();
        let wrong: [Wrong<'_>; 5] = [
            (401, &[JSON[0], ("www-authenticate", &format!("Bearer error=\"{all}\""))], &json),
            (422, &[("content-type", "text/plain")], &all),
            (302, &[("location", "https://elsewhere.test/?token=mark-next")], ""),
            (200, &[("content-type", "text/html")], &json),
            (200, SSE, &format!(": {all}\nid: {all}\ndata: {{{all}\n\n")),
        ];
        for (status, head, body) in wrong {
            let ping = bench.begin(Ping);
            let post = bench.expect("ping");
            bench.whole(&post, status, head, body.as_bytes());
            if !bench.is_pending(&ping) {
                bench.error(&ping);
            } else {
                bench.cancel(&ping);
                bench.error(&ping);
                bench.take_posts();
            }
        }
        let list = bench.begin(ListTools);
        let post = bench.expect("tools/list");
        let tools = json!({ "tools": [{ "name": "readable", "description": all }] });
        bench.streams(&post, &event(&answer(&post, &tools)));
        bench.ends(&post);
        bench.done(&list).unwrap();
        bench.replayed = true;
        bench.end();

        let text = String::from_utf8(bench.connection.take_journal()).unwrap();
        for mark in marks.iter().chain(&["quoted"]) {
            let line = text.lines().find(|line| line.contains(mark));
            assert_eq!(line, None, "{mark}, {:?}", bench.split);
        }
        assert!(text.contains("readable") && text.contains("elsewhere.test"));
        let replayed = journal::replay(&text).unwrap_or_else(|error| panic!("{error}"));
        assert!(replayed.inputs > 20 && replayed.outputs > 25, "{replayed:?}");
    }
}
