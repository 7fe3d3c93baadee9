//! The scene of ARCHITECTURE.md that takes place over HTTP, output by output. A change of it is a
//! change of the manual too.

use std::time::Duration;

use mcp_proto::{Answer, Hearing, Owner};
use serde_json::json;

use crate::support::*;

/// The outputs since the last look, without headers and bodies.
fn outputs(bench: &mut Bench) -> Vec<String> {
    let short = |line: String| match line.split_once(" [") {
        Some((start, rest)) if line.starts_with("exchange#") => {
            let body = rest.split_once("] ").map_or("{}", |(_, body)| body);
            let message: serde_json::Value = serde_json::from_str(body).unwrap_or_default();
            format!("{start}: {} {}", message["method"].as_str().unwrap_or("-"), message["id"])
        }
        _ => line,
    };
    bench.trace().into_iter().map(short).collect()
}

/// M-ELIC-01, M-SESS-08
#[test]
fn scene_4_a_legacy_elicitation_while_the_post_stream_is_open() {
    let mut config = config();
    config.hears = vec![Hearing::Elicitation];
    let mut bench = Bench::legacy_with(config);
    outputs(&mut bench);
    let call = bench.begin(tool("x", json!({})));
    let post = bench.expect("tools/call");
    let (on, id, owner) = (post.exchange, call.id(), Owner::Call(call.id()));
    let sent = format!("{on} of {owner:?}: POST http://server.test/mcp: tools/call {}", post.id());
    assert_eq!(outputs(&mut bench), [sent]);
    bench.head(&post, 200, SSE);
    let asks = json!({ "jsonrpc": "2.0", "id": "e1", "method": "elicitation/create",
        "params": { "message": "name?" } });
    bench.body(&post, event(&asks.to_string()).as_bytes());
    let asked = outputs(&mut bench);
    assert_eq!(asked.len(), 1, "{asked:?}");
    assert!(asked[0].starts_with(&format!("ask question#1 for {owner:?}: elicit")), "{asked:?}");
    bench.advance(Duration::from_secs(4));
    let (question, ..) = bench.question();
    bench.reply(question, Answer::Elicit(json!({ "action": "accept", "content": {} })));
    let reply = bench.next_post();
    let answered =
        format!("{} of Connection: POST http://server.test/mcp: - \"e1\"", reply.exchange);
    assert_eq!(outputs(&mut bench), [answered]);
    bench.accepts(&reply);
    assert_eq!(outputs(&mut bench), [format!("Http({:?}, Connection, Release)", reply.exchange)]);
    let result = bench.completion(&post, json!({ "content": [] }));
    bench.body(&post, result.as_bytes());
    let ended = outputs(&mut bench);
    let [released, done] = &*ended else { panic!("{ended:?}") };
    assert_eq!(released, &format!("Http({on:?}, {owner:?}, Release)"));
    assert!(done.starts_with(&format!("{id} done: ")), "on the result, not the end: {ended:?}");
    bench.ends(&post);
    bench.done(&call).unwrap();
    assert!(outputs(&mut bench).is_empty());
}
