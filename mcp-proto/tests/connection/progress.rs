//! Progress of calls (specification: basic/patterns/progress).

use std::time::Duration;

use mcp_proto::op::{CustomRequest, ListTools, Ping};
use mcp_proto::{Call, CallOptions, Event, ExitStatus, Input, Item};
use serde_json::{Map, Value, json};

use crate::support::*;

pub(crate) fn wanted() -> CallOptions {
    options(None, true)
}

pub(crate) fn tells(bench: &mut Bench, token: &Value, members: Value) {
    let mut params = members;
    params["progressToken"] = token.clone();
    bench.line(&json!({ "method": "notifications/progress", "params": params }).to_string());
}

/// The progress that the host has got since the last look.
pub(crate) fn got(bench: &mut Bench) -> Vec<f64> {
    let items = std::mem::take(&mut bench.items);
    items
        .into_iter()
        .map(|(_, item)| match item {
            Item::Progress(progress) => progress.progress,
            other => panic!("{other:?}"),
        })
        .collect()
}

pub(crate) fn token(sent: &Sent) -> Value {
    sent.meta().get("progressToken").cloned().expect("a token")
}

pub(crate) fn finishes<O: mcp_proto::Operation>(bench: &mut Bench, call: &Call<O>, sent: &Sent) {
    bench.completes(sent, json!({ "content": [], "tools": [] }));
    bench.done(call).map(|_| ()).unwrap();
}

/// M-PROG-01, M-PROG-06: what the server tells comes to the host one by one, as it asks for it,
/// before the result.
#[test]
fn progress_is_pulled_before_the_result() {
    in_both_eras(|bench| {
        let call = bench.begin_with(tool("x", json!({})), wanted());
        let sent = bench.expect("tools/call");
        let token = token(&sent);
        bench.pull(&call);
        tells(bench, &token, json!({ "progress": 0.5, "total": 1.5, "message": "half" }));
        let Some((id, Item::Progress(first))) = bench.items.pop() else { panic!("no item") };
        assert_eq!(id, call.id());
        assert_eq!((first.progress, first.total), (0.5, Some(1.5)));
        assert_eq!(first.message.as_deref(), Some("half"));
        tells(bench, &token, json!({ "progress": 1, "total": null, "message": null }));
        tells(bench, &token, json!({ "progress": 2 }));
        assert_eq!(bench.items, [], "nothing was asked for");
        bench.completes(&sent, json!({ "content": [] }));
        assert!(bench.is_pending(&call));
        bench.pull(&call);
        bench.pull(&call);
        assert_eq!(got(bench), [1.0, 2.0]);
        bench.done(&call).unwrap();
    });
}

/// M-PROG-01: a second demand before the first is met is none.
#[test]
fn one_demand_is_one_item() {
    in_both_eras(|bench| {
        let call = bench.begin_with(tool("x", json!({})), wanted());
        let sent = bench.expect("tools/call");
        bench.pull(&call);
        bench.pull(&call);
        tells(bench, &token(&sent), json!({ "progress": 1 }));
        tells(bench, &token(&sent), json!({ "progress": 2 }));
        assert_eq!(got(bench), [1.0]);
        bench.pull(&call);
        assert_eq!(got(bench), [2.0]);
        bench.pull(&call);
        finishes(bench, &call, &sent);
        bench.pull(&call);
        assert_eq!(bench.items, []);
    });
}

/// M-PROG-02, M-PROG-03: a call that wants no progress asks for none, and gets none.
#[test]
fn progress_that_nobody_wants_is_dropped() {
    in_both_eras(|bench| {
        let mut own = CallOptions::default();
        own.meta.insert("progressToken".into(), json!("own"));
        for with in [CallOptions::default(), own] {
            let call = bench.begin_with(tool("x", json!({})), with);
            let sent = bench.expect("tools/call");
            bench.pull(&call);
            let tokens = [json!("own"), sent.id().clone(), sent.id().to_string().into()];
            for token in tokens {
                tells(bench, &token, json!({ "progress": 1 }));
            }
            assert_eq!(bench.items, []);
            finishes(bench, &call, &sent);
        }
    });
}

/// M-PROG-01: each page of a list tells its progress under a token of its own.
#[test]
fn lists_have_progress_too() {
    in_both_eras(|bench| {
        let call = bench.begin_with(ListTools, wanted());
        let first = bench.expect("tools/list");
        bench.completes(&first, json!({ "tools": [], "nextCursor": "2" }));
        let second = bench.expect("tools/list");
        assert_ne!(token(&first), token(&second));
        bench.pull(&call);
        tells(bench, &token(&first), json!({ "progress": 1 }));
        assert_eq!(bench.items, []);
        tells(bench, &token(&second), json!({ "progress": 2 }));
        assert_eq!(got(bench), [2.0]);
        finishes(bench, &call, &second);
    });
}

/// M-PROG-07, M-PROG-09: a flood under a stalled callback is bounded by number, drops the oldest,
/// and stops neither the call nor its time, nor any other call.
#[test]
fn a_flood_stalls_nothing() {
    in_both_eras_with(quick(), |bench| {
        let call = bench.begin_with(tool("x", json!({})), wanted());
        let sent = bench.expect("tools/call");
        let token = token(&sent);
        for n in 0..10_000 {
            tells(bench, &token, json!({ "progress": n }));
        }
        let dropped = |event: &&Event| **event == Event::ItemDropped(call.id());
        assert_eq!(bench.events.iter().filter(dropped).count(), 10_000 - 256);
        let other = bench.begin(Ping);
        let ping = bench.next_message();
        bench.completes(&ping, json!({}));
        bench.done(&other).unwrap();
        bench.pull(&call);
        assert_eq!(got(bench), [9_744.0], "the oldest that is left");
        bench.completes(&sent, json!({ "content": [] }));
        assert!(bench.is_pending(&call));
        for _ in 0..255 {
            bench.pull(&call);
        }
        assert_eq!(got(bench).last(), Some(&9_999.0));
        bench.done(&call).unwrap();
    });
}

/// M-PROG-09: progress that never ends does not keep a call alive.
#[test]
fn endless_progress_ends_with_the_calls_time() {
    in_both_eras(|bench| {
        let call = bench.begin_with(tool("x", json!({})), wanted());
        let sent = bench.expect("tools/call");
        for n in 0..14 {
            bench.advance(Duration::from_secs(1));
            tells(bench, &token(&sent), json!({ "progress": n }));
        }
        bench.advance(Duration::from_secs(1));
        assert!(bench.error(&call).is_timeout());
        bench.take_messages();
    });
}

/// M-PROG-07: what waits is bounded in bytes too; one item over the bound is dropped alone.
#[test]
fn large_items_are_bounded() {
    let mut config = config();
    config.max_pending_item_bytes = 300;
    in_both_eras_with(config, |bench| {
        let call = bench.begin_with(tool("x", json!({})), wanted());
        let sent = bench.expect("tools/call");
        tells(bench, &token(&sent), json!({ "progress": 1 }));
        tells(bench, &token(&sent), json!({ "progress": 2, "message": "m".repeat(400) }));
        tells(bench, &token(&sent), json!({ "progress": 3, "message": "m".repeat(200) }));
        let dropped = |event: &&Event| **event == Event::ItemDropped(call.id());
        assert_eq!(bench.events.iter().filter(dropped).count(), 1);
        tells(bench, &token(&sent), json!({ "progress": 4, "message": "m".repeat(200) }));
        assert_eq!(bench.events.iter().filter(dropped).count(), 3);
        bench.pull(&call);
        assert_eq!(got(bench), [4.0]);
        finishes(bench, &call, &sent);
    });
}

/// M-PROG-06: malformed progress is dropped and told; the call goes on.
#[test]
fn malformed_progress_is_dropped() {
    in_both_eras(|bench| {
        let call = bench.begin_with(CustomRequest::new("x/y", Map::new()), wanted());
        let sent = bench.next_message();
        bench.pull(&call);
        for params in [
            json!({}),
            json!({ "progress": "1" }),
            json!({ "progress": null }),
            json!({ "progress": 1, "total": "2" }),
            json!({ "progress": 1, "message": 7 }),
        ] {
            bench.events.clear();
            tells(bench, &token(&sent), params.clone());
            assert_eq!(bench.items, [], "{params}");
            assert!(matches!(bench.events[..], [Event::MessageDropped { .. }]), "{params}");
        }
        let token = token(&sent);
        bench.line(&format!(r#"{{"method":"notifications/progress","params":[{token},1]}}"#));
        bench.line(r#"{"method":"notifications/progress"}"#);
        assert_eq!(bench.items, []);
        finishes(bench, &call, &sent);
    });
}

/// M-PROG-01, M-STD-07: a result that has arrived, and the items before it, outlive their server.
#[test]
fn a_result_that_has_arrived_outlives_its_server() {
    in_both_eras(|bench| {
        let call = bench.begin_with(tool("x", json!({})), wanted());
        let sent = bench.expect("tools/call");
        tells(bench, &token(&sent), json!({ "progress": 1 }));
        bench.completes(&sent, json!({ "content": [{ "type": "text", "text": "kept" }] }));
        bench.exit(ExitStatus::Code(0));
        let other = bench.begin(Ping);
        bench.signal(mcp_proto::StdioInput::SpawnFailed(mcp_proto::IoFailure {
            kind: "NotFound".into(),
            text: "gone".into(),
        }));
        bench.error(&other);
        bench.take_messages();
        bench.pull(&call);
        assert_eq!(got(bench), [1.0]);
        assert_eq!(bench.done(&call).unwrap().text(), "kept");
    });
}

/// M-PROG-01, M-CONN-01: at a close or disconnect it is handed on, without the items before it.
#[test]
fn a_result_that_has_arrived_is_handed_on_at_the_end() {
    for input in [|| Input::Close, || Input::Disconnect] {
        in_both_eras(|bench| {
            let call = bench.begin_with(tool("x", json!({})), wanted());
            let sent = bench.expect("tools/call");
            tells(bench, &token(&sent), json!({ "progress": 1 }));
            bench.completes(&sent, json!({ "content": [{ "type": "text", "text": "kept" }] }));
            bench.input(input());
            assert_eq!(bench.done(&call).unwrap().text(), "kept");
            assert_eq!(bench.items, []);
        });
    }
}
