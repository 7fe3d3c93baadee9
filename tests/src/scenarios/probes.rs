//! What the answers to a probe over HTTP mean.

use mcp_proto::{Era, ErrorKind, HttpFault, Outcome, TransportError};
use serde_json::json;

use super::Stage;
use super::conversation::echo;
use super::exchanges::{connect, soon};
use crate::client::Setup;
use crate::script::{HttpScript, Reply};

const LATEST: &str = "2025-11-25";

fn probe() -> HttpScript {
    HttpScript::new().expect("server/discover")
}

/// M-ERA-02, M-ERA-19, M-ERA-20
pub fn whatever_no_modern_server_says_means_legacy(on: &Stage) {
    let nobodys = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Missing ID"}}"#;
    let sdk = r#"{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"Bad Request: Missing session ID"}}"#;
    let answers = [
        probe().error(400, -32602, "initialize first"),
        probe().error(400, -32000, "Bad Request: Server not initialized"),
        probe().error(404, -32601, "Method not found"),
        probe().error(200, -32601, "Method not found"),
        probe().respond(Reply::new(200).json("")),
        probe().status(204),
        probe().status(405),
        probe().respond(Reply::new(200).typed("text/plain", "hello")),
        probe().respond(Reply::new(200).typed("text/html", "<html></html>")),
        probe().respond(Reply::new(200).json(nobodys)),
        probe().respond(Reply::new(400).json(sdk)),
        probe().respond(Reply::new(406).typed("text/plain", "Not Acceptable")),
        probe().events().end(),
    ];
    for script in answers {
        let server = script.handshake(LATEST, Reply::new(200)).rest().start();
        let client = connect(on, &server);
        assert_eq!(client.server().unwrap().era, Era::Legacy);
        assert_eq!(echo(&client, "hi"), "hi");
        client.close();
        server.finish().check();
    }
}

/// M-ERR-03, M-ERA-20
pub fn a_server_that_wants_authorization_has_not_said_what_it_speaks(on: &Stage) {
    let challenge = r#"Bearer resource_metadata="https://example.com/meta""#;
    for status in [401, 403] {
        let reply = Reply::new(status).header("WWW-Authenticate", challenge);
        let server = probe().respond(reply).start();
        let error = on.connect(soon(&server), Setup::new()).unwrap_err();
        let ErrorKind::Transport(TransportError::Http(HttpFault::Authorization {
            status: told,
            challenge: given,
            ..
        })) = error.kind()
        else {
            panic!("{error:?}");
        };
        assert_eq!((*told, given.as_deref()), (status, Some(challenge)));
        assert_eq!(error.outcome(), Outcome::NotSent);
        assert_eq!(server.finish().check().count("initialize"), 0);
    }
}

/// M-ERA-08, M-RTRY-01
pub fn an_outage_is_no_sign_of_an_era(on: &Stage) {
    let server = probe().status(503).expect("server/discover").reset().rest().start();
    let client = connect(on, &server);
    assert_eq!(client.server().unwrap().era, Era::Modern);
    client.close();
    let seen = server.finish().check();
    assert_eq!((seen.count("server/discover"), seen.count("initialize")), (3, 0));
}

/// M-CONN-09
pub fn when_everything_fails_each_attempt_is_told(on: &Stage) {
    let server = probe()
        .error(400, -32000, "Server not initialized")
        .in_any_order()
        .repeat(20, HttpScript::new().expect("initialize").status(503))
        .start();
    let error = on.connect(soon(&server), Setup::new()).unwrap_err();
    let text = error.to_string();
    for part in ["server/discover", "Server not initialized", "initialize", "503"] {
        assert!(text.contains(part), "{text}");
    }
    assert_eq!(error.outcome(), Outcome::NotSent);
}

/// M-SESS-06, M-SESS-07, M-RTRY-08
pub fn a_new_session_is_asked_for_without_the_old_one(on: &Stage) {
    let script = HttpScript::with_session(LATEST, "old")
        .expect("tools/list")
        .status(404)
        .handshake(LATEST, Reply::new(200).header("Mcp-Session-Id", "new"))
        .expect("tools/list")
        .demo()
        .expect("tools/call")
        .status(404)
        .handshake(LATEST, Reply::new(200).header("Mcp-Session-Id", "newest"))
        .expect("tools/call")
        .demo()
        .expect_http("DELETE")
        .status(200);
    let server = script.start();
    let client = connect(on, &server);
    assert_eq!(client.list_tools().unwrap().len(), 5);
    let error = client.call_tool("echo", json!({ "message": "lost" })).unwrap_err();
    assert!(error.is_transport(), "{error}");
    assert_eq!(echo(&client, "hi"), "hi");
    client.close();
    let seen = server.finish().check();
    let sessions = |method: &str| {
        let of = seen.messages(method).map(|it| it.header("mcp-session-id").map(str::to_owned));
        of.map(|it| it.unwrap_or_default()).collect::<Vec<_>>()
    };
    assert_eq!(sessions("initialize"), ["", "", ""]);
    assert_eq!(sessions("tools/list"), ["old", "new"]);
    assert_eq!(sessions("tools/call"), ["new", "newest"]);
}

/// M-ERA-13
pub fn calls_wait_for_the_end_of_the_handshake(on: &Stage) {
    let told = r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}}}"#;
    let script = HttpScript::new()
        .refuse_probe()
        .expect("initialize")
        .result(told)
        .expect("notifications/initialized")
        .pause(50)
        .status(202)
        .expect("tools/call")
        .text("\"1\"")
        .expect("tools/call")
        .text("\"1\"");
    let server = script.start();
    let client = connect(on, &server);
    let calls = [client.begin("x", json!({})).unwrap(), client.begin("x", json!({})).unwrap()];
    for call in calls {
        assert_eq!(call.wait().unwrap().text(), "1");
    }
    client.close();
    server.finish().check();
}
