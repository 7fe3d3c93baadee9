//! However the bytes of one moment are split, the outputs are the same.

use mcp_proto::op::{Connect, CustomRequest, ListTools, Ping};
use mcp_proto::{ConnectionConfig, ExitStatus, Hearing, StdioInput};
use proptest::prelude::*;
use serde_json::{Map, json};

use crate::support::*;

fn small() -> ConnectionConfig {
    let mut config = quick();
    config.max_message_bytes = 400;
    config.max_pending_items = 2;
    config.hears = vec![Hearing::Elicitation];
    config
}

fn new() -> Bench {
    Bench::stdio(small())
}

/// A start in which the server says everything at once, and more than it should.
fn a_noisy_modern_start(bench: &mut Bench) {
    bench.begin(Connect);
    let probe = bench.expect("server/discover");
    let result = discovered(&["2026-07-28"]);
    let lines = [
        "\u{feff}Welcome! é\r".to_owned(),
        String::new(),
        r#"{"jsonrpc":"2.0","id":"r","method":"roots/list"}"#.to_owned(),
        format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, probe.id()),
        r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":5,"method":"ping"}"#.to_owned(),
    ];
    bench.stdout((lines.join("\n") + "\n").as_bytes());
}

/// A legacy start with questions before the era is known, and one answer too many.
fn a_noisy_legacy_start(bench: &mut Bench) {
    bench.begin(Connect);
    bench.begin(Ping);
    let probe = bench.expect("server/discover");
    let lines = [
        r#"{"jsonrpc":"2.0","id":"p1","method":"ping"}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":"e1","method":"elicitation/create","params":{}}"#.to_owned(),
        format!(r#"{{"jsonrpc":"2.0","id":{},"error":{{"code":-32601}}}}"#, probe.id()),
        // The client answers within the same stretch; this one cannot know it.
        r#"{"jsonrpc":"2.0","id":2,"result":{"protocolVersion":"2025-06-18"}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":3,"result":{}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":2,"result":{"protocolVersion":"1999-01-01"}}"#.to_owned(),
    ];
    bench.stdout((lines.join("\n") + "\r\n").as_bytes());
    bench.exit(ExitStatus::Code(0));
}

/// Calls, pages, progress, errors, batches, and lines over the bound.
fn a_busy_day(bench: &mut Bench) {
    let list = bench.begin_with(ListTools, options(None, true));
    let call = bench.begin_with(tool("x", json!({})), options(None, true));
    let long = bench.begin(CustomRequest::new("long", Map::new()));
    let late = bench.begin(CustomRequest::new("late", Map::new()));
    let broken = bench.begin(CustomRequest::new("broken", Map::new()));
    let sent = bench.take_messages();
    let ids: Vec<_> = sent.iter().map(|sent| sent.id().to_string()).collect();
    let token = sent[1].meta()["progressToken"].to_string();
    bench.cancel(&late);
    bench.pull(&call);
    let progress = |n: u8| {
        let params = format!(r#"{{"progressToken":{token},"progress":{n}}}"#);
        format!(r#"{{"method":"notifications/progress","params":{params}}}"#)
    };
    let lines = [
        format!(r#"{{"id":{},"result":{{"tools":[{{"name":"é"}}],"nextCursor":"2"}}}}"#, ids[0]),
        progress(1),
        format!("[{},{}]", progress(2), progress(3)),
        progress(4),
        format!(r#"{{"id":{},"result":{{"content":[]}}}}"#, ids[1]),
        format!(r#"{{"id":{},"result":"{}"}}"#, ids[2], "é".repeat(400)),
        format!(r#"{{"result":"{}","id":{}}}"#, "\\\"".repeat(400), ids[3]),
        format!(r#"{{"id":{},"result":{{}}"#, ids[4]),
        "z".repeat(500),
        r#"{"id":"unknown","error":{"code":1}}"#.to_owned(),
        r#"{"id":1,"method":"ping"}"#.to_owned(),
    ];
    bench.stdout((lines.join("\n") + "\n").as_bytes());
    bench.pull(&call);
    bench.pull(&call);
    bench.done(&call).unwrap();
    bench.error(&broken);
    bench.error(&long);
    bench.stdout(b"{\"id\":");
    bench.signal(StdioInput::StdoutClosed);
    bench.exit(ExitStatus::Code(3));
    bench.error(&list);
}

fn a_modern_day(bench: &mut Bench) {
    bench.begin(Connect);
    bench.speak_modern();
    a_busy_day(bench);
}

fn a_legacy_day(bench: &mut Bench) {
    bench.begin(Connect);
    bench.speak_legacy("2025-11-25");
    a_busy_day(bench);
}

/// A start that fails in the middle of a stretch: what follows in it is nobody's.
fn a_failed_start(bench: &mut Bench) {
    bench.begin(Connect);
    let probe = bench.expect("server/discover");
    let lines = [
        format!(r#"{{"id":{},"error":{{"code":-32021,"message":"no"}}}}"#, probe.id()),
        "more".to_owned(),
        format!(r#"{{"id":{},"result":{{}}}}"#, probe.id()),
        "x".repeat(1000),
    ];
    bench.stdout((lines.join("\n") + "\n").as_bytes());
}

const SCENES: [fn(&mut Bench); 5] =
    [a_noisy_modern_start, a_noisy_legacy_start, a_modern_day, a_legacy_day, a_failed_start];

/// M-BASE-08, M-STD-02: each byte alone, each stretch in two at each place, and in many.
#[test]
fn any_split_gives_the_same_outputs() {
    for scene in SCENES {
        same_however_split(new, scene);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    /// M-BASE-08, M-STD-02: and at random.
    #[test]
    fn any_random_split_gives_the_same_outputs(
        scene in prop::sample::select(SCENES.to_vec()),
        lengths in prop::collection::vec(1usize..300, 1..12),
    ) {
        let play = |split: Split| {
            let mut bench = new();
            bench.split = split;
            scene(&mut bench);
            bench.whole_trace()
        };
        prop_assert_eq!(play(Split::Lengths(lengths)), play(Split::Whole));
    }
}
