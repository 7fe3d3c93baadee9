//! HTTP+SSE, the deprecated transport (2024-11-05: basic/transports, "HTTP with SSE").

use std::time::Duration;

use mcp_proto::op::{Connect, ListTools, Ping};
use mcp_proto::{
    Answer, Call, ConnectionState, DeprecatedFeature, ENDPOINT_WAIT, EraChoice, ErrorKind, Event,
    Hearing, HttpConfig, HttpFault, HttpTransport, Method, Outcome, Owner, ProtocolVersion,
    Question, ResendReason, SSE_SILENCE, TransportError, journal,
};
use serde_json::json;

use crate::era::TEXT;
use crate::support::*;

pub(crate) const URL: &str = "http://server.test/v1/sse";
pub(crate) const ENDPOINT: &str =
    "event: endpoint\r\ndata: /messages/?session_id=0123456789abcdef\r\n\r\n";

pub(crate) fn old_target() -> HttpConfig {
    HttpConfig::new(URL).header("X-Api-Key", "configured-secret")
}

/// A bench with a call that waits for the start, and the request for the stream.
fn opening() -> (Bench, Call<Connect>, Posted) {
    let mut bench = Bench::new(config(), old_target());
    let call = bench.begin(Connect);
    let get = bench.next_post();
    bench.quiet();
    assert_eq!((get.request.method, get.owner), (Method::Get, Owner::Stream));
    assert_eq!(get.request.url, URL);
    assert_eq!(get.header("accept"), Some("text/event-stream"));
    (bench, call, get)
}

/// A POST on the old transport is only acknowledged; the answer comes on the stream.
fn told(bench: &mut Bench, stream: &Posted, post: &Posted, message: &str) {
    bench.whole(post, 202, TEXT, b"Accepted");
    bench.body(stream, event(message).as_bytes());
}

/// Answers the handshake.
pub(crate) fn greeted(bench: &mut Bench, stream: &Posted) {
    let initialize = bench.expect("initialize");
    assert_eq!(initialize.request.url, "http://server.test/messages/?session_id=0123456789abcdef");
    let message = answer(&initialize, &initialized("2024-11-05"));
    told(bench, stream, &initialize, &message);
    let notification = bench.expect(INITIALIZED);
    bench.accepts(&notification);
}

/// A connection that is ready, and its stream.
fn ready_with(config: mcp_proto::ConnectionConfig, target: HttpConfig) -> (Bench, Posted) {
    let mut bench = Bench::new(config, target);
    let call = bench.begin(Connect);
    let stream = bench.next_post();
    bench.streams(&stream, ENDPOINT);
    greeted(&mut bench, &stream);
    let info = bench.done(&call).unwrap();
    assert_eq!(info.version, ProtocolVersion::V2024_11_05);
    bench.quiet();
    (bench, stream)
}

pub(crate) fn ready() -> (Bench, Posted) {
    ready_with(config(), old_target())
}

fn fault(kind: &ErrorKind) -> &HttpFault {
    let ErrorKind::Transport(TransportError::Http(fault)) = kind else { panic!("{kind}") };
    fault
}

/// M-CONN-02, M-CONN-03, M-CONN-17: a URL that ends in `/sse`: the stream names the address, messages
/// go there, answers come on the stream. Configured headers go out with all of it.
#[test]
fn answers_come_on_the_stream_that_names_the_address() {
    let (mut bench, stream) = ready();
    let first = bench.begin(ListTools);
    let second = bench.begin(Ping);
    let (list, ping) = (bench.expect("tools/list"), bench.expect("ping"));
    for post in [&stream, &list, &ping] {
        assert_eq!(post.header("x-api-key"), Some("configured-secret"));
    }
    // In any order, before and after the acknowledgement, with comments and other events between.
    bench.body(&stream, b": ping\r\n\r\nevent: ping\r\ndata: 2026\r\n\r\n");
    told(&mut bench, &stream, &ping, &answer(&ping, &json!({})));
    bench.done(&second).unwrap();
    bench.body(&stream, event(&answer(&list, &json!({ "tools": [] }))).as_bytes());
    assert!(bench.done(&first).unwrap().is_empty());
    bench.quiet();
}

/// M-CONN-16, M-ERA-09, M-DEPR-08: it has no era: what the settings say of one means nothing. Its use
/// is told once it is connected.
#[test]
fn it_has_no_era_and_is_told_of_once_connected() {
    for era in [EraChoice::Auto, EraChoice::Modern, EraChoice::Legacy] {
        let mut config = config();
        (config.era, config.discover_timeout) = (era, Duration::from_millis(1));
        let (bench, _) = ready_with(config, old_target());
        let told = bench.events.iter().filter(
            |it| matches!(it, Event::Deprecated(feature) if *feature == DeprecatedFeature::HttpSse),
        );
        assert_eq!(told.count(), 1);
    }
    let (mut bench, call, get) = opening();
    bench.whole(&get, 404, TEXT, b"");
    bench.error(&call);
    assert!(!bench.events.iter().any(|it| matches!(it, Event::Deprecated(_))));
}

/// M-UNTR-07, F061: the address may be written in several ways, and must be within the origin.
#[test]
fn the_address_is_within_the_origin() {
    for (named, to) in [
        ("/messages?sid=1", "http://server.test/messages?sid=1"),
        ("messages?sid=1", "http://server.test/v1/messages?sid=1"),
        ("?sid=1", "http://server.test/v1/sse?sid=1"),
        ("http://server.test/m#x", "http://server.test/m"),
        (" http://SERVER.test:80/m ", "http://server.test/m"),
    ] {
        let (mut bench, _, get) = opening();
        bench.streams(&get, &format!("event: endpoint\ndata:{named}\n\n"));
        assert_eq!(bench.expect("initialize").request.url, to, "{named}");
    }
    let long = format!("/{}", "x".repeat(9000));
    for named in [
        "https://evil.test/x",
        "//evil.test/x",
        "https://server.test/x",
        "http://server.test:81/x",
        "http://user@server.test/x",
        "ftp://server.test/x",
        "http://",
        "",
        &long,
    ] {
        let (mut bench, call, get) = opening();
        bench.streams(&get, &format!("event: endpoint\ndata: {named}\n\n"));
        if named.is_empty() {
            // An event without data names nothing.
            bench.advance(ENDPOINT_WAIT);
            bench.error(&call);
            continue;
        }
        let error = bench.error(&call);
        assert!(matches!(fault(error.kind()), HttpFault::Endpoint(_)), "{named}: {error}");
        assert_eq!(error.outcome(), Outcome::NotSent);
        bench.quiet();
    }
}

/// M-UNTR-07, F061: the address may change; one of another origin ends the connection.
#[test]
fn a_new_address_is_followed_within_the_origin() {
    let (mut bench, stream) = ready();
    bench.body(&stream, b"event: endpoint\ndata: /other?sid=2\n\n");
    let call = bench.begin(Ping);
    let ping = bench.expect("ping");
    assert_eq!(ping.request.url, "http://server.test/other?sid=2");
    bench.body(&stream, b"event: endpoint\ndata: http://evil.test/\n\n");
    let error = bench.error(&call);
    assert_eq!(error.outcome(), Outcome::Unknown);
    assert!(matches!(bench.connection.state(), ConnectionState::Idle(_)));
    bench.quiet();
}

/// F061: whatever is no stream of events that names an address is told.
#[test]
fn what_is_no_such_stream_is_told() {
    for (status, head, words) in [
        (404, TEXT, "404"),
        (401, TEXT, "authorization"),
        (500, TEXT, "500"),
        (200, JSON, "stream of events"),
        (204, &[] as Headers, "stream of events"),
    ] {
        let (mut bench, call, get) = opening();
        bench.whole(&get, status, head, b"");
        let text = bench.error(&call).to_string();
        assert!(text.contains(words), "{text}");
        bench.quiet();
    }
    let (mut bench, call, get) = opening();
    bench.streams(&get, ": welcome\n\nevent: message\ndata: {}\n\n");
    bench.advance(ENDPOINT_WAIT);
    let text = bench.error(&call).to_string();
    assert!(text.contains("without the event `endpoint`"), "{text}");
    let (mut bench, call, get) = opening();
    bench.streams(&get, "");
    bench.ends(&get);
    bench.error(&call);
    let (mut bench, call, _get) = opening();
    bench.advance(ENDPOINT_WAIT);
    bench.error(&call);
    bench.quiet();
}

/// M-RTRY-02: nothing is tried again unless the host says so; then it is.
#[test]
fn nothing_is_sent_again_by_default() {
    let (mut bench, call, get) = opening();
    bench.resets(&get);
    bench.error(&call);
    bench.advance(Duration::from_secs(100));
    bench.quiet();

    let mut target = old_target();
    target.retries = Some(1);
    let mut bench = Bench::new(config(), target);
    let call = bench.begin(Connect);
    let get = bench.next_post();
    bench.resets(&get);
    bench.advance(Duration::from_secs(1));
    let again = bench.next_post();
    bench.streams(&again, ENDPOINT);
    greeted(&mut bench, &again);
    bench.done(&call).unwrap();
}

/// The stream is the session. When it ends, nobody knows what became of what was asked, and nothing
/// is sent again; the next call opens another one, once.
#[test]
fn the_end_of_the_stream_ends_what_was_asked() {
    for broken in [true, false] {
        let (mut bench, stream) = ready();
        let call = bench.begin(tool("echo", json!({})));
        let list = bench.begin(ListTools);
        let posts = bench.take_posts();
        assert_eq!(posts.len(), 2);
        bench.accepts(&posts[0]);
        if broken {
            bench.resets(&stream)
        } else {
            bench.ends(&stream)
        }
        for error in [bench.error(&call), bench.error(&list)] {
            assert!(matches!(fault(error.kind()), HttpFault::StreamClosed), "{error}");
            assert_eq!(error.outcome(), Outcome::Unknown);
        }
        bench.quiet();
        let next = bench.begin(Ping);
        let again = bench.next_post();
        assert_eq!(again.request.method, Method::Get);
        bench.streams(&again, ENDPOINT);
        greeted(&mut bench, &again);
        let ping = bench.expect("ping");
        told(&mut bench, &again, &ping, &answer(&ping, &json!({})));
        bench.done(&next).unwrap();
        bench.quiet();
    }
}

/// A server that does not know the address any more has run nothing. What may be sent again is, over
/// a new stream.
#[test]
fn a_forgotten_session_is_begun_anew() {
    for (status, body) in [(404, "Could not find session"), (400, "No transport for sessionId")] {
        let (mut bench, stream) = ready();
        let call = bench.begin(tool("echo", json!({})));
        let list = bench.begin(ListTools);
        let (first, second) = (bench.expect("tools/call"), bench.expect("tools/list"));
        bench.whole(&second, status, TEXT, body.as_bytes());
        // What the stream was to bring for the other one is lost with it.
        assert_eq!(bench.error(&call).outcome(), Outcome::Unknown);
        assert!(!bench.watch.is_open(stream.exchange) && !bench.watch.is_open(first.exchange));
        let again = bench.next_post();
        bench.streams(&again, ENDPOINT);
        greeted(&mut bench, &again);
        let post = bench.expect("tools/list");
        told(&mut bench, &again, &post, &answer(&post, &json!({ "tools": [] })));
        bench.done(&list).unwrap();
        assert_eq!(bench.watch.resends(list.id()), [ResendReason::NewSession]);
        let call = bench.begin(tool("echo", json!({})));
        let post = bench.expect("tools/call");
        bench.whole(&post, status, TEXT, body.as_bytes());
        assert_eq!(bench.error(&call).outcome(), Outcome::NotRun);
        bench.quiet();
    }
}

/// A refused message fails its call with what the server said; the stream goes on.
#[test]
fn a_refused_message_costs_its_call() {
    let (mut bench, stream) = ready();
    let call = bench.begin(Ping);
    let ping = bench.expect("ping");
    bench.whole(&ping, 500, TEXT, b"oops");
    assert!(bench.error(&call).to_string().contains("500: oops"));
    let call = bench.begin(Ping);
    let ping = bench.expect("ping");
    bench.says(&ping, 400, &refusal(&ping, -32602));
    assert_eq!(bench.error(&call).server_error().unwrap().code, -32602);
    let call = bench.begin(Ping);
    let ping = bench.expect("ping");
    told(&mut bench, &stream, &ping, &answer(&ping, &json!({})));
    bench.done(&call).unwrap();
    bench.quiet();
}

/// M-TIME-12: 30 s by default, and the server is told that nobody waits.
#[test]
fn a_call_has_thirty_seconds() {
    let (mut bench, _stream) = ready();
    let call = bench.begin(tool("slow", json!({})));
    let post = bench.expect("tools/call");
    bench.accepts(&post);
    bench.advance(Duration::from_millis(29_999));
    assert!(bench.is_pending(&call));
    bench.advance(Duration::from_millis(1));
    assert!(bench.error(&call).is_timeout());
    let cancelled = bench.expect("notifications/cancelled");
    assert_eq!(cancelled.params()["reason"], "Request timed out");
    bench.accepts(&cancelled);
    bench.quiet();
}

/// A stream on which nothing comes, not even a comment, after a call was given up is taken for dead.
/// One that is silent because nothing is asked is not.
#[test]
fn a_dead_stream_is_let_go_of() {
    let (mut bench, stream) = ready();
    bench.advance(SSE_SILENCE * 10);
    assert!(bench.watch.is_open(stream.exchange));
    let call = bench.begin(Ping);
    let ping = bench.expect("ping");
    bench.accepts(&ping);
    bench.advance(Duration::from_secs(30));
    assert!(bench.error(&call).is_timeout());
    let cancelled = bench.expect("notifications/cancelled");
    bench.accepts(&cancelled);
    bench.body(&stream, b": alive\n\n");
    bench.advance(SSE_SILENCE * 3);
    assert!(bench.watch.is_open(stream.exchange));
    let call = bench.begin(Ping);
    let ping = bench.expect("ping");
    bench.accepts(&ping);
    bench.advance(Duration::from_secs(30));
    assert!(bench.error(&call).is_timeout());
    let cancelled = bench.expect("notifications/cancelled");
    bench.accepts(&cancelled);
    bench.advance(SSE_SILENCE * 2);
    assert!(!bench.watch.is_open(stream.exchange));
    bench.quiet();
}

/// M-ELIC-01: a legacy server asks on the stream, and is answered at its address.
#[test]
fn a_server_asks_on_the_stream() {
    let mut config = config();
    config.hears = vec![Hearing::Elicitation];
    let (mut bench, stream) = ready_with(config, old_target());
    let asks = json!({
        "jsonrpc": "2.0", "id": "e1", "method": "elicitation/create",
        "params": { "message": "?", "requestedSchema": { "type": "object", "properties": {} } },
    });
    let ping = json!({ "jsonrpc": "2.0", "id": 7, "method": "ping" });
    bench.body(&stream, event(&asks.to_string()).as_bytes());
    bench.body(&stream, event(&ping.to_string()).as_bytes());
    let pong = bench.next_post();
    assert_eq!((&pong.message["id"], &pong.message["result"]), (&json!(7), &json!({})));
    bench.accepts(&pong);
    let (id, owner, question) = bench.question();
    assert!(matches!((owner, question), (Owner::Connection, Question::Elicit(_))));
    bench.reply(id, Answer::Elicit(json!({ "action": "decline" })));
    let reply = bench.next_post();
    assert_eq!(reply.message["result"]["action"], "decline");
    assert_eq!(reply.request.url, "http://server.test/messages/?session_id=0123456789abcdef");
    bench.accepts(&reply);
    bench.quiet();
}

/// M-CONN-13: the transport can be forced, whatever the address looks like.
#[test]
fn it_can_be_forced() {
    let target = HttpConfig::new("http://server.test/api").over(HttpTransport::Sse);
    let mut bench = Bench::new(config(), target);
    let call = bench.begin(Connect);
    let get = bench.next_post();
    assert_eq!(get.request.method, Method::Get);
    bench.streams(&get, ENDPOINT);
    greeted(&mut bench, &get);
    bench.done(&call).unwrap();
}

/// M-UNTR-07: the address names the session, so a journal does not tell it, in whatever pieces it
/// comes; and a replay says the same.
#[test]
fn a_journal_does_not_tell_the_address() {
    for split in [Split::Whole, Split::Bytes] {
        let (mut bench, call, get) = opening();
        bench.split = split;
        bench.streams(&get, ENDPOINT);
        greeted(&mut bench, &get);
        bench.done(&call).unwrap();
        bench.input(mcp_proto::Input::Close);
        let text = String::from_utf8(bench.connection.take_journal()).unwrap();
        bench.replayed = true;
        // As the server sent it, with a cover over the secret, wherever it was cut.
        let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
        let bodies = lines.filter_map(|line: serde_json::Value| {
            Some(String::from(line.pointer("/in/http/1/body")?.as_str()?))
        });
        let bodies = bodies.collect::<String>();
        assert!(bodies.contains("event: endpoint\r\ndata: /messages/?session_id=****"), "{text}");
        assert!(!text.contains("0123456789abcdef") && !bodies.contains("0123456789abcdef"));
        journal::replay(&text).unwrap();
    }
}
