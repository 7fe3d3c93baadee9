//! The older ways over HTTP, and how they are found.

use mcp_proto::{Era, ErrorKind, HttpConfig, HttpFault, HttpTransport, Outcome, TransportError};
use serde_json::json;

use super::Stage;
use crate::client::{Client, Setup};
use crate::script::{HttpPlaying, HttpScript, Reply};

/// The beginning of the stream.
const ENDPOINT: &str = "event: endpoint\r\ndata: /messages/?session_id=s-1\r\n\r\n";

/// The server's answer to the handshake, on the stream.
const WELCOME: &str = concat!(
    r#"{"jsonrpc":"2.0","id":$greeting.id,"result":{"protocolVersion":"2024-11-05","#,
    r#""capabilities":{"tools":{}},"serverInfo":{"name":"old","version":"1"}}}"#
);

/// The server's answer to a call, on the stream.
const RESULT: &str =
    r#"{"jsonrpc":"2.0","id":$call.id,"result":{"content":[{"type":"text","text":"old"}]}}"#;

/// A server of HTTP+SSE: the stream is open, and the handshake done on it.
fn greets(script: HttpScript) -> HttpScript {
    let stream = script.expect_http("GET").events().sse(ENDPOINT);
    stream.gate("greeting").event(WELCOME).sse(": alive\r\n\r\n").gate("call")
}

/// What follows the stream: messages, each only acknowledged.
fn taken(script: HttpScript) -> HttpScript {
    let greeted = script.expect_as("initialize", "greeting").status(202).open("greeting");
    greeted.expect("notifications/initialized").status(202)
}

fn connect(on: &Stage, server: &HttpPlaying, over: HttpTransport) -> Client {
    let config = HttpConfig::new(server.url()).over(over).header("X-Key", "k");
    on.connect(config, Setup::new()).unwrap()
}

/// M-CONN-02, M-CONN-13, M-CONN-17: answers come on the stream, while messages are acknowledged.
pub fn answers_come_on_the_stream(on: &Stage) {
    let script = taken(greets(HttpScript::new()).event(RESULT).hold());
    let script = script.expect_as("tools/call", "call").status(202).open("call");
    let server = script.start();
    let client = connect(on, &server, HttpTransport::Sse);
    assert_eq!(client.server().unwrap().era, Era::Legacy);
    assert_eq!(client.call_tool("x", json!({})).unwrap().text(), "old");
    client.close();
    let seen = server.finish().check();
    for it in seen.requests() {
        assert_eq!(it.header("x-key"), Some("k"));
    }
    let posts = seen.requests().iter().filter(|it| it.request.method == "POST");
    assert_eq!(posts.filter(|it| it.request.target == "/messages/?session_id=s-1").count(), 3);
}

/// M-CONN-02: when the stream ends nobody knows what became of a call, and the next one opens
/// another.
pub fn the_end_of_the_stream_ends_its_calls(on: &Stage) {
    let script = taken(greets(HttpScript::new()).reset());
    let script = script.expect_as("tools/call", "call").status(202).open("call");
    let server = script.start();
    let client = connect(on, &server, HttpTransport::Sse);
    let error = client.call_tool("x", json!({})).unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::Transport(TransportError::Http(HttpFault::StreamClosed))),
        "{error}"
    );
    assert_eq!(error.outcome(), Outcome::Unknown);
    client.close();
    assert_eq!(server.finish().check().count("tools/call"), 1);
}

/// M-UNTR-07: an address for messages elsewhere is refused, and nothing is sent to it.
pub fn an_address_elsewhere_is_refused(on: &Stage) {
    let elsewhere = "event: endpoint\ndata: http://127.0.0.1:1/x\n\n";
    let server = HttpScript::new().expect_http("GET").events().sse(elsewhere).hold().start();
    let config = HttpConfig::new(server.url()).over(HttpTransport::Sse);
    let error = on.connect(config, Setup::new()).unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::Transport(TransportError::Http(HttpFault::Endpoint(_)))),
        "{error}"
    );
    server.finish().check();
}

/// M-CONN-08, M-ERA-21: Streamable HTTP is refused, and the stream of HTTP+SSE is there.
pub fn an_old_server_is_found(on: &Stage) {
    let refuses = HttpScript::new().expect("server/discover").status(404);
    let refuses = refuses.expect("initialize").status(404);
    let script = taken(greets(refuses).event(RESULT).hold());
    let script = script.expect_as("tools/call", "call").status(202).open("call");
    let server = script.start();
    let open = server.url().replace("/mcp", "/");
    let client = on.connect(HttpConfig::new(open), Setup::new()).unwrap();
    assert_eq!(client.call_tool("x", json!({})).unwrap().text(), "old");
    client.close();
    server.finish().check();
}

/// M-CONN-02, M-CONN-08, M-CONN-20: plain HTTP is tried last, at `/rpc`, and asks for JSON only.
pub fn plain_http_is_tried_last(on: &Stage) {
    let script = HttpScript::new().expect("server/discover").status(404);
    let script = script.expect("initialize").status(405).expect_http("GET").status(405);
    let script = script.refuse_probe().handshake("2025-06-18", Reply::new(200));
    let server = script.expect("tools/call").text("\"plain\"").start();
    let open = server.url().replace("/mcp", "/");
    let client = on.connect(HttpConfig::new(open), Setup::new()).unwrap();
    assert_eq!(client.call_tool("x", json!({})).unwrap().text(), "plain");
    client.close();
    let seen = server.finish().check();
    let plain = seen.requests().iter().filter(|it| it.request.target == "/rpc");
    let plain: Vec<_> = plain.map(|it| it.header("accept").unwrap()).collect();
    assert_eq!(plain, ["application/json"; 4]);
}
