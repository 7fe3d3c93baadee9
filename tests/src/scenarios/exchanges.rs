//! Exchanges over HTTP as servers really have them: redirects, silence, odd answers, dead
//! connections.

use std::io::Write as _;
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;
use mcp_proto::{
    Error, ErrorKind, HttpConfig, HttpFailureKind, HttpFault, Outcome, PeerError, Phase, Sent,
    TransportError,
};
use serde_json::json;

use super::Stage;
use super::conversation::echo;
use crate::client::{Client, Setup, within};
use crate::script::{HttpPlaying, HttpScript, HttpStep, Reply};

const SOON: Duration = Duration::from_millis(300);
const LATEST: &str = "2025-11-25";

/// A server whose requests are repeated soon, where they are.
pub(super) fn soon(server: &HttpPlaying) -> HttpConfig {
    let mut config = HttpConfig::new(server.url());
    config.backoff = Duration::from_millis(1);
    config
}

pub(super) fn connect(on: &Stage, server: &HttpPlaying) -> Client {
    on.connect(soon(server), Setup::new()).unwrap_or_else(|error| {
        panic!("{error}; the server saw {:#?}", server.so_far());
    })
}

fn fault(error: &Error) -> &HttpFault {
    match error.kind() {
        ErrorKind::Transport(TransportError::Http(fault)) => fault,
        other => panic!("{other:?}"),
    }
}

fn text(text: &str) -> String {
    format!(r#"{{"resultType":"complete","content":[{{"type":"text","text":"{text}"}}]}}"#)
}

fn answer(result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":$id,"result":{result}}}"#)
}

/// M-ERA-13
pub fn a_notification_may_be_taken_in_any_way(on: &Stage) {
    let ways: [fn(HttpScript) -> HttpScript; 7] = [
        |it| it.status(200),
        |it| it.status(204),
        |it| it.respond(Reply::new(202).typed("text/plain", "")),
        |it| it.respond(Reply::new(202).json("{}")),
        |it| it.respond(Reply::new(200).typed("text/plain", "ok")),
        |it| it.raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        |it| it.events().end(),
    ];
    let told = r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}}}"#;
    for way in ways {
        let script = HttpScript::new().refuse_probe().expect("initialize").result(told);
        let server = way(script.expect("notifications/initialized")).rest().start();
        let client = connect(on, &server);
        assert_eq!(client.list_tools().unwrap().len(), 5);
        client.close();
        assert_eq!(server.finish().check().count("notifications/initialized"), 1);
    }
}

/// M-ERA-13
pub fn the_end_of_the_handshake_may_be_lost_once(on: &Stage) {
    let told = r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}}}"#;
    let script = HttpScript::new()
        .refuse_probe()
        .expect("initialize")
        .result(told)
        .expect("notifications/initialized")
        .reset()
        .expect("notifications/initialized")
        .status(202);
    let server = script.rest().start();
    let client = connect(on, &server);
    assert_eq!(echo(&client, "hi"), "hi");
    client.close();
    server.finish().check();
}

/// M-HTTP-02
pub fn media_types_count_without_case_and_parameters(on: &Stage) {
    let events = |kind| HttpStep::Begin(Reply::new(200).header("Content-Type", kind));
    let script = HttpScript::modern()
        .expect("tools/call")
        .respond(Reply::new(200).typed(r#"application/JSON;Charset="utf-8""#, &answer(&text("1"))))
        .expect("tools/call")
        .step(events("Text/Event-Stream;charset=UTF-8"))
        .result_event(&text("2"))
        .end();
    let server = script.start();
    let client = connect(on, &server);
    assert_eq!([echo(&client, ""), echo(&client, "")], ["1", "2"]);
    client.close();
    server.finish().check();
}

/// M-UNTR-08, M-RTRY-14
pub fn redirects_within_the_origin_are_followed(on: &Stage) {
    for status in [307, 308] {
        let script = HttpScript::modern()
            .expect("tools/call")
            .respond(Reply::new(status).header("Location", "/mcp/"))
            .expect("tools/call")
            .text("\"here\"");
        let server = script.start();
        let config = soon(&server).header("Authorization", "Bearer s3cret-9131");
        let client = on.connect(config, Setup::new()).unwrap();
        assert_eq!(echo(&client, "hi"), "here");
        client.close();
        let seen = server.finish().check();
        let calls: Vec<_> = seen.messages("tools/call").map(|it| it.request.clone()).collect();
        assert_eq!([&*calls[0].target, &*calls[1].target], ["/mcp", "/mcp/"]);
        assert_eq!(calls[0].body, calls[1].body);
        for name in ["authorization", "mcp-method", "mcp-name", "mcp-protocol-version", "accept"] {
            assert!(calls[0].header(name).is_some(), "{name}");
            assert_eq!(calls[0].header(name), calls[1].header(name));
        }
    }
}

/// M-RTRY-04, M-ERR-08
pub fn redirects_that_change_the_method_are_told(on: &Stage) {
    for status in [301, 302, 303] {
        let script = HttpScript::modern()
            .expect("tools/call")
            .respond(Reply::new(status).header("Location", "/elsewhere"));
        let server = script.start();
        let client = connect(on, &server);
        let error = client.call_tool("x", json!({})).unwrap_err();
        assert!(matches!(fault(&error), HttpFault::Redirect { status: it, .. } if *it == status));
        assert!(error.to_string().contains("/elsewhere"), "{error}");
        client.close();
        assert_eq!(server.finish().check().count("tools/call"), 1);
    }
}

/// M-UNTR-08
pub fn nothing_follows_a_redirect_to_another_origin(on: &Stage) {
    let other = HttpScript::new().start();
    for status in [307, 308] {
        let script = HttpScript::modern()
            .expect("tools/call")
            .respond(Reply::new(status).header("Location", other.url()));
        let server = script.start();
        let config = soon(&server).header("X-Api-Key", "s3cret-9132");
        let client = on.connect(config, Setup::new()).unwrap();
        let error = client.call_tool("x", json!({})).unwrap_err();
        assert!(matches!(fault(&error), HttpFault::Redirect { .. }), "{error:?}");
        assert!(!format!("{error} {error:?}").contains("s3cret-9132"));
        client.close();
        server.finish().check();
    }
    assert_eq!(other.finish().connections(), 0);
}

/// M-RTRY-06, M-RTRY-13, M-RTRY-14
pub fn a_tool_whose_connection_closes_under_it_is_called_once(on: &Stage) {
    let script = HttpScript::modern().expect("tools/call").text("\"1\"").close_at_next_byte();
    let server = script.rest().start();
    let client = connect(on, &server);
    assert_eq!(echo(&client, ""), "1");
    let error = client.call_tool("echo", json!({ "message": "2" })).unwrap_err();
    let HttpFault::Exchange(failure) = fault(&error) else { panic!("{error:?}") };
    assert_eq!((failure.kind, failure.answered), (HttpFailureKind::Closed, false));
    assert_ne!(failure.sent, Sent::None);
    assert_eq!(error.outcome(), Outcome::Unknown);
    assert_eq!(server.so_far().count("tools/call"), 1, "it was not even read");
    assert_eq!(echo(&client, "3"), "3");
    client.close();
    let seen = server.finish().check();
    assert_eq!((seen.count("tools/call"), seen.connections()), (2, 2));
}

/// M-RTRY-03
pub fn a_list_whose_connection_closes_under_it_is_asked_for_again(on: &Stage) {
    let list = r#"{"resultType":"complete","tools":[]}"#;
    let script = HttpScript::modern().expect("tools/list").result(list).close_at_next_byte();
    let server = script.rest().start();
    let client = connect(on, &server);
    assert_eq!(client.list_tools().unwrap().len(), 0);
    assert_eq!(client.list_tools().unwrap().len(), 5, "from a fresh connection");
    client.close();
    let seen = server.finish().check();
    assert_eq!((seen.count("tools/list"), seen.connections()), (2, 2));
}

/// M-TIME-07, M-TIME-04
pub fn a_call_that_is_silent_after_its_head_times_out(on: &Stage) {
    let modern = HttpScript::modern().expect("tools/call").events().hold();
    let legacy = HttpScript::legacy(LATEST)
        .in_any_order()
        .expect("tools/call")
        .events()
        .hold()
        .expect("notifications/cancelled")
        .status(202);
    for (script, cancelled) in [(modern, 0), (legacy, 1)] {
        let server = script.rest().start();
        let client = connect(on, &server);
        let error = client.call_tool_with("x", json!({}), within(SOON)).unwrap_err();
        let ErrorKind::Timeout(timeout) = error.kind() else { panic!("{error:?}") };
        assert_eq!(timeout.phase, Phase::Answer);
        assert_eq!(error.outcome(), Outcome::Unknown);
        // The exchange is not wanted any more, and its socket ends.
        server.wait_until(|it| {
            it.closed().len() == 1 && it.count("notifications/cancelled") == cancelled
        });
        assert_eq!(echo(&client, "hi"), "hi");
        client.close();
        assert_eq!(server.finish().check().count("tools/call"), 2);
    }
}

/// M-SESS-02, M-SESS-09
pub fn the_end_of_a_session_may_be_answered_in_any_way(on: &Stage) {
    let ways: [fn(HttpScript) -> HttpScript; 7] = [
        |it| it.status(200),
        |it| it.status(204),
        |it| it.status(404),
        |it| it.status(405),
        |it| it.status(500),
        |it| it.reset(),
        |it| it.hold(),
    ];
    for way in ways {
        let script = HttpScript::with_session(LATEST, "s-1").in_any_order();
        let server = way(script.expect_http("DELETE")).rest().start();
        let client = connect(on, &server);
        assert_eq!(echo(&client, "hi"), "hi");
        let begin = Instant::now();
        client.close();
        let took = begin.elapsed();
        // It waits for 1 s; a busy machine adds to that.
        assert!(took < Duration::from_secs(10), "{took:?}");
        let seen = server.finish().check();
        let last = seen.requests().last().unwrap();
        assert_eq!((&*last.request.method, last.header("mcp-session-id")), ("DELETE", Some("s-1")));
    }
    let server = HttpScript::legacy(LATEST).rest().start();
    connect(on, &server).close();
    assert_eq!(server.finish().check().count_http("DELETE"), 0, "there is nothing to end");
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

/// M-SIZE-01, M-SIZE-02, M-SIZE-03
pub fn compressed_answers_are_read_and_bombs_are_not(on: &Stage) {
    let reply = |kind, body: &str| {
        let reply = Reply::new(200).header("Content-Type", kind).header("Content-Encoding", "gzip");
        reply.bytes(gzip(body))
    };
    // Ids are counted from 1, and the probe has the first.
    let message = |id, text: &str| {
        let content = json!([{ "type": "text", "text": text }]);
        let result = json!({ "resultType": "complete", "content": content });
        json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string()
    };
    let script = HttpScript::modern()
        .expect("tools/call")
        .respond(reply("application/json", &message(2, "1")))
        .expect("tools/call")
        .respond(reply("text/event-stream", &format!("data: {}\n\n", message(3, "2"))))
        .expect("tools/call")
        .respond(reply("application/json", &message(4, &"0".repeat(10_000_000))))
        .expect("tools/call")
        .text("\"4\"")
        .expect("server/discover")
        .demo()
        .expect("tools/call")
        .respond(reply("application/json", &message(2, &"0".repeat(10_000_000))));
    let server = script.start();
    let setup = Setup::new().with(|config| config.max_message_bytes = 100_000);
    let client = on.connect(soon(&server), setup).unwrap();
    assert_eq!([echo(&client, ""), echo(&client, "")], ["1", "2"]);
    let error = client.call_tool("x", json!({})).unwrap_err();
    let ErrorKind::Limit(reached) = error.kind() else { panic!("{error:?}") };
    assert_eq!((reached.limit, reached.setting), (100_000, "max_message_bytes"));
    assert!(error.is_transport());
    assert_eq!(echo(&client, ""), "4");
    client.close();
    // To a client with another bound it is an answer like any other.
    let setup = Setup::new().with(|config| config.max_message_bytes = 11_000_000);
    let client = on.connect(soon(&server), setup).unwrap();
    assert_eq!(echo(&client, "").len(), 10_000_000);
    client.close();
    let seen = server.finish().check();
    assert!(seen.requests().iter().all(|it| it.header("accept-encoding") == Some("gzip")));
}

/// M-CONN-01
pub fn localhost_is_found_on_either_family(on: &Stage) {
    for host in ["127.0.0.1", "::1"] {
        // A machine may have one family only.
        if std::net::TcpListener::bind((host, 0)).is_err() {
            continue;
        }
        let server = HttpScript::modern().at(host.parse().unwrap()).rest().start();
        let (start, port) = server.url().trim_end_matches("/mcp").rsplit_once(':').unwrap();
        let by_name = format!("http://localhost:{port}/mcp");
        for (url, named) in [
            (server.url().to_owned(), format!("{}:{port}", start.trim_start_matches("http://"))),
            (by_name, format!("localhost:{port}")),
        ] {
            let client = on.connect(url.as_str(), Setup::new()).unwrap();
            assert_eq!(echo(&client, "hi"), "hi");
            client.close();
            let seen = server.so_far();
            assert_eq!(seen.requests().last().unwrap().header("host"), Some(&*named));
        }
        server.finish().check();
    }
}

/// M-HTTP-06, M-UNTR-06
pub fn names_that_no_header_can_carry_are_encoded(on: &Stage) {
    let names = [
        ("plain", "plain"),
        ("工具", "=?base64?5bel5YW3?="),
        (" padded ", "=?base64?IHBhZGRlZCA=?="),
        ("=?base64?x?=", "=?base64?PT9iYXNlNjQ/eD89?="),
        ("a\r\nX-Evil: 1", "=?base64?YQ0KWC1FdmlsOiAx?="),
    ];
    let mut script = HttpScript::modern();
    for _ in names {
        script = script.expect("tools/call").text("\"\"");
    }
    let server = script.start();
    let client = connect(on, &server);
    for (name, _) in names {
        client.call_tool(name, json!({})).unwrap();
    }
    client.close();
    let seen = server.finish().check();
    for (call, (name, sent)) in seen.messages("tools/call").zip(names) {
        assert_eq!(call.header("mcp-name"), Some(sent));
        assert_eq!(call.message["params"]["name"], name);
        assert_eq!(call.header("x-evil"), None);
    }
}

/// M-HTTP-03, M-HTTP-04, M-ERA-05
pub fn what_intermediaries_read_stands_beside_each_request(on: &Stage) {
    let server = HttpScript::new().rest().start();
    let client = connect(on, &server);
    let params = |text| serde_json::from_str(text).unwrap();
    client.list_tools().unwrap();
    assert_eq!(echo(&client, "hi"), "hi");
    client.ping().unwrap();
    client.request("prompts/get", params(r#"{"name":"greeting"}"#)).unwrap();
    client.request("resources/read", params(r#"{"uri":"demo://readme"}"#)).unwrap();
    client.request("prompts/list", params("{}")).unwrap();
    client.close();
    let seen = server.finish().check();
    assert_eq!(seen.requests().len(), 7);
    let version = "io.modelcontextprotocol/protocolVersion";
    for post in seen.requests() {
        let (method, params) = (post.method().unwrap(), &post.message["params"]);
        let name = match method {
            "tools/call" | "prompts/get" => params["name"].as_str(),
            "resources/read" => params["uri"].as_str(),
            _ => None,
        };
        assert_eq!(post.header("mcp-method"), Some(method));
        assert_eq!(post.header("mcp-name"), name, "{method}");
        let told = params["_meta"][version].as_str();
        assert!(told.is_some() && post.header("mcp-protocol-version") == told, "{method}");
    }
}

/// M-HTTP-10, M-SESS-10
pub fn a_modern_server_meets_no_session(on: &Stage) {
    let offered = Reply::new(200).header("Mcp-Session-Id", "s-1");
    let discovered = r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}"#;
    let script = HttpScript::new()
        .expect("server/discover")
        .respond(offered.json(&answer(discovered)))
        .expect("tools/call")
        .events()
        .sse("id: 7\n\n")
        .result_event(&text("1"))
        .end()
        .expect("tools/call")
        .text("\"2\"");
    let server = script.start();
    // Somebody hears, for whom a legacy server would be asked for its stream.
    let setup = Setup::new().on_elicitation(|_, _| async { Ok(json!({ "action": "decline" })) });
    let client = on.connect(soon(&server), setup).unwrap();
    assert_eq!([echo(&client, ""), echo(&client, "")], ["1", "2"]);
    client.close();
    let seen = server.finish().check();
    assert_eq!((seen.count_http("POST"), seen.requests().len()), (3, 3));
    for name in ["mcp-session-id", "last-event-id"] {
        assert!(seen.requests().iter().all(|it| it.header(name).is_none()), "{name}");
    }
}

/// M-UNTR-13
pub fn a_result_under_a_foreign_id_ends_its_call(on: &Stage) {
    let foreign = format!(r#"{{"jsonrpc":"2.0","id":999,"result":{}}}"#, text("not mine"));
    let nobodys = r#"{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"m"}}"#;
    let script = HttpScript::modern()
        .expect("tools/call")
        .respond(Reply::new(200).json(&foreign))
        .expect("tools/call")
        .events()
        .event(&foreign)
        .result_event(&text("mine"))
        .end()
        .expect("tools/call")
        .respond(Reply::new(200).json(nobodys));
    let server = script.start();
    let client = connect(on, &server);
    for _ in 0..2 {
        let error = client.call_tool("x", json!({})).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Peer(PeerError::ForeignResult)), "{error:?}");
        assert_eq!(error.outcome(), Outcome::Unknown);
    }
    let error = client.call_tool("x", json!({})).unwrap_err();
    assert_eq!(error.server_error().unwrap().code, -32600, "an error belongs to its POST");
    client.close();
    assert_eq!(server.finish().check().count("tools/call"), 3, "none is sent again");
}

/// M-RTRY-09, M-RTRY-10, M-ERR-01
pub fn a_modern_stream_that_breaks_is_asked_for_once_more(on: &Stage) {
    let broken = |script: HttpScript| script.expect("tools/call").events().sse(": alive\n\n").reset();
    let script = broken(HttpScript::modern()).expect("tools/call").text("\"here\"");
    let server = broken(broken(script)).start();
    let client = connect(on, &server);
    assert_eq!(echo(&client, ""), "here");
    let error = client.call_tool("x", json!({})).unwrap_err();
    assert!(error.is_transport(), "{error:?}");
    assert_eq!(error.outcome(), Outcome::Unknown);
    client.close();
    let seen = server.finish().check();
    let ids: std::collections::BTreeSet<_> =
        seen.messages("tools/call").map(|it| it.message["id"].to_string()).collect();
    assert_eq!(ids.len(), 4, "each under an id of its own");
}
