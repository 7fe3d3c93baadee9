//! However the bytes of one moment are split, the outputs are the same.

use mcp_proto::op::{Connect, CustomRequest, ListTools};
use mcp_proto::{ConnectionConfig, Hearing};
use serde_json::{Map, json};

use crate::support::*;

fn small() -> ConnectionConfig {
    let mut config = config();
    config.max_message_bytes = 400;
    // Each scene is played hundreds of times.
    config.journal = false;
    config.max_pending_items = 2;
    config.hears = vec![Hearing::Elicitation];
    config
}

fn new() -> Bench {
    Bench::new(small(), target())
}

/// An event stream with everything in it, before the answer and after it.
fn busy_stream(bench: &Bench, post: &Posted) -> String {
    let token = &post.meta()["progressToken"];
    let progress = |n: u8| {
        let params = json!({ "progressToken": token, "progress": n });
        json!({ "method": "notifications/progress", "params": params }).to_string()
    };
    let message = answer(post, &bench.complete(json!({ "content": [], "tools": [] })));
    let ping = r#"{"jsonrpc":"2.0","id":5,"method":"ping"}"#;
    let asks = r#"{"jsonrpc":"2.0","id":"e","method":"elicitation/create","params":{}}"#;
    let long = "é".repeat(300);
    let events = [
        String::from("\u{feff}: welcome é\r\n\r\nid: 1\r\ndata:\r\n\r\n"),
        event(&progress(1)).replace('\n', "\r\n"),
        event(&format!("[{},{}]", progress(2), progress(3))).replace('\n', "\r"),
        event(ping),
        event(&format!(r#"{{"method":"x","params":"{long}"}}"#)),
        event("hello"),
        String::from("event: ping\ndata: x\n\n"),
        event(asks),
        event(&progress(4)),
        event(&format!("[{message},{ping},{}]", progress(5))),
        // Nothing of this counts any more.
        event(ping),
        event(asks),
        event(&message),
        event("hello"),
        event(&format!(r#"{{"id":{},"result":"{long}"}}"#, post.id())),
    ];
    events.concat()
}

/// A conversation of one era: a stream, an answer over the bound, a broken one, an error.
fn a_day(bench: &mut Bench) {
    let list = bench.begin_with(ListTools, options(None, true));
    let post = bench.expect("tools/list");
    let text = busy_stream(bench, &post);
    bench.streams(&post, &text);
    while bench.is_pending(&list) {
        bench.pull(&list);
    }
    bench.done(&list).unwrap();
    for pong in bench.take_posts() {
        bench.accepts(&pong);
    }
    let bodies: [fn(&Posted) -> String; 7] = [
        |post| event(&format!(r#"{{"id":{},"result":"{}"}}"#, post.id(), "\\\"".repeat(400))),
        |post| event(&format!(r#"{{"result":"{}","id":{}}}"#, "é".repeat(400), post.id())),
        |post| event(&format!(r#"{{"id":{},"result":{{}}"#, post.id())),
        |_| event(r#"{"id":null,"error":{"code":-32600,"message":"é"}}"#) + &event("more"),
        |_| event(r#"{"id":999,"result":{}}"#) + &event("more"),
        |_| format!("{}data: {{\"id\":", event("hello")),
        |post| format!("{}data: {}", event("hello"), answer(post, &json!({}))),
    ];
    for body in bodies {
        let call = bench.begin(CustomRequest::new("x/y", Map::new()));
        let post = bench.expect("x/y");
        bench.streams(&post, &body(&post));
        bench.ends(&post);
        for again in bench.take_posts() {
            bench.says(&again, 500, "é");
        }
        let _ = bench.done(&call);
    }
    for body in ["", "x", "{}", "[1]", "{\"id\":null,\"error\":{}}", &"x".repeat(500)] {
        for status in [200, 400, 503] {
            let call = bench.begin(tool("x", json!({})));
            let post = bench.expect("tools/call");
            bench.says(&post, status, body);
            bench.error(&call);
        }
    }
}

fn a_modern_day(bench: &mut Bench) {
    bench.begin(Connect);
    bench.speak_modern();
    a_day(bench);
}

fn a_legacy_day(bench: &mut Bench) {
    bench.begin(Connect);
    bench.speak_legacy("2025-11-25", Some("session-1"));
    a_day(bench);
}

/// The same with compressed bodies, whole and broken.
fn a_compressed_day(bench: &mut Bench) {
    bench.begin(Connect);
    bench.speak_legacy("2025-11-25", Some("session-1"));
    let coded = [SSE[0], ("content-encoding", "gzip")];
    for (end, flip) in [(0, None), (0, Some(30)), (0, Some(200)), (8, None), (100, None)] {
        let list = bench.begin_with(ListTools, options(None, true));
        let post = bench.expect("tools/list");
        let text = busy_stream(bench, &post);
        let mut body = gzip(text.as_bytes());
        body.truncate(body.len() - end);
        if let Some(at) = flip {
            body[at] ^= 0xff;
        }
        bench.head(&post, 200, &coded);
        bench.body(&post, &body);
        bench.ends(&post);
        bench.cancel(&list);
        for post in bench.take_posts() {
            bench.accepts(&post);
        }
    }
}

/// A start in which the server says more than it should.
fn a_noisy_start(bench: &mut Bench) {
    bench.begin(Connect);
    let probe = bench.expect("server/discover");
    let ping = event(r#"{"jsonrpc":"2.0","id":"p1","method":"ping"}"#);
    let refused = event(&refusal(&probe, -32601));
    bench.streams(&probe, &[&*ping, &refused, &ping].concat());
    let initialize = bench.expect("initialize");
    let welcome = event(&answer(&initialize, &initialized("2025-06-18")));
    bench.streams(&initialize, &[&*ping, &welcome, &ping, &welcome].concat());
    for post in bench.take_posts() {
        bench.accepts(&post);
    }
}

/// M-HTTP-14, M-RTRY-11: each byte alone, each stretch in two at each place, and in many.
#[test]
fn any_split_gives_the_same_outputs() {
    for scene in [a_modern_day, a_legacy_day, a_compressed_day, a_noisy_start] {
        same_however_split(new, scene);
    }
}
