//! Progress of calls (specification: basic/patterns/progress).

use std::time::Duration;

use mcp_proto::op::{CustomRequest, ListTools, Ping};
use mcp_proto::{Call, CallOptions, Event, ExitStatus, Item};
use serde_json::{Map, Value, json};

use crate::support::*;

fn wanted() -> CallOptions {
    options(None, true)
}

fn tells(bench: &mut Bench, token: &Value, members: Value) {
    let mut params = members;
    params["progressToken"] = token.clone();
    bench.line(&json!({ "method": "notifications/progress", "params": params }).to_string());
}

/// The progress that the host has got since the last look.
fn got(bench: &mut Bench) -> Vec<f64> {
    let items = std::mem::take(&mut bench.items);
    items
        .into_iter()
        .map(|(_, item)| match item {
            Item::Progress(progress) => progress.progress,
            other => panic!("{other:?}"),
        })
        .collect()
}

fn token(sent: &Sent) -> Value {
    sent.meta().get("progressToken").cloned().expect("a token")
}

fn finishes<O: mcp_proto::Operation>(bench: &mut Bench, call: &Call<O>, sent: &Sent) {
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

/// M-PROG-02, M-PROG-03: each call has a token of its own, and what comes under it reaches that
/// call only, for as long as it lives.
#[test]
fn tokens_tell_calls_apart() {
    in_both_eras(|bench| {
        let calls: Vec<_> =
            (0..3).map(|_| bench.begin_with(tool("x", json!({})), wanted())).collect();
        let sent = bench.take_messages();
        let tokens: Vec<_> = sent.iter().map(token).collect();
        assert!(tokens[0] != tokens[1] && tokens[1] != tokens[2] && tokens[0] != tokens[2]);
        for call in &calls {
            bench.pull(call);
        }
        tells(bench, &tokens[1], json!({ "progress": 1 }));
        assert_eq!(bench.items.pop().unwrap().0, calls[1].id());
        finishes(bench, &calls[1], &sent[1]);
        tells(bench, &tokens[1], json!({ "progress": 2 }));
        for unknown in [json!("x"), json!(99), json!(null), json!({}), json!(-1), json!(1.5)] {
            tells(bench, &unknown, json!({ "progress": 3 }));
        }
        assert_eq!(bench.items, []);
        for (call, sent) in [(&calls[0], &sent[0]), (&calls[2], &sent[2])] {
            finishes(bench, call, sent);
        }
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

/// M-PROG-04, M-PROG-05: the host may choose a token, also among the arguments, from where it is
/// lifted; it is a text or a whole number, and what is sent back finds the call.
#[test]
fn the_hosts_token_is_kept() {
    in_both_eras(|bench| {
        for own in [json!("own"), json!(""), json!(0), json!(-5), json!("é\u{0}")] {
            let arguments = json!({ "a": 1, "_meta": { "progressToken": own, "x/y": 1 } });
            let call = bench.begin_with(tool("x", arguments), wanted());
            let sent = bench.expect("tools/call");
            assert_eq!(sent.params()["arguments"], json!({ "a": 1 }));
            assert_eq!((&token(&sent), &sent.meta()["x/y"]), (&own, &json!(1)));
            bench.pull(&call);
            tells(bench, &own, json!({ "progress": 1 }));
            assert_eq!(got(bench), [1.0], "{own}");
            finishes(bench, &call, &sent);
        }
    });
}

/// M-PROG-05: what is no token is replaced by one when progress is wanted, and left out otherwise.
#[test]
fn what_the_host_chose_must_be_a_token() {
    in_both_eras(|bench| {
        for own in [json!(1.5), json!(null), json!([1]), json!({ "a": 1 }), json!(true)] {
            for progress in [true, false] {
                let mut with = options(None, progress);
                with.meta.insert("progressToken".into(), own.clone());
                let call = bench.begin_with(tool("x", json!({})), with);
                let sent = bench.expect("tools/call");
                let token = sent.meta().get("progressToken");
                assert_eq!(token.is_some(), progress, "{own}");
                assert!(token.is_none_or(|token| token.is_u64() || token.is_string()), "{own}");
                finishes(bench, &call, &sent);
            }
        }
    });
}

/// M-PROG-05: no two live requests share a token, whoever chose it, and whether or not progress is
/// wanted under it.
#[test]
fn live_tokens_are_never_shared() {
    in_both_eras(|bench| {
        let next = bench.begin(Ping);
        let id = bench.next_message().id().as_u64().unwrap();
        // The token that the next but one call would get, taken by the host; then once more.
        let mut chosen = Vec::new();
        for (token, progress) in [
            (json!(id + 3), false),
            (json!(id + 3), true),
            (json!("own"), true),
            (json!("own"), false),
            (json!("own"), true),
        ] {
            let mut with = options(None, progress);
            with.meta.insert("progressToken".into(), token);
            chosen.push(bench.begin_with(tool("x", json!({})), with));
        }
        for _ in 0..4 {
            chosen.push(bench.begin_with(tool("x", json!({})), wanted()));
        }
        let sent = bench.take_messages();
        let tokens: Vec<_> = sent.iter().map(|sent| sent.meta().get("progressToken")).collect();
        let all: Vec<_> = tokens.iter().flatten().map(|token| token.to_string()).collect();
        let different: std::collections::BTreeSet<_> = all.iter().collect();
        assert_eq!(different.len(), all.len(), "{all:?}");
        // What is told under a token comes to the call that sent it.
        let wants = [false, true, true, false, true, true, true, true, true];
        for ((call, token), wants) in chosen.iter().zip(tokens).zip(wants) {
            bench.pull(call);
            if let Some(token) = token {
                tells(bench, token, json!({ "progress": 1 }));
            }
            let items = std::mem::take(&mut bench.items);
            assert_eq!(
                items.iter().map(|(id, _)| *id).collect::<Vec<_>>(),
                vec![call.id(); wants.into()]
            );
        }
        bench.cancel(&next);
        for call in &chosen {
            bench.cancel(call);
        }
        bench.take_messages();
    });
}

/// M-PROG-02: a server that sends the number back as a text or a decimal is understood.
#[test]
fn tokens_come_back_in_other_shapes() {
    in_both_eras(|bench| {
        let call = bench.begin_with(tool("x", json!({})), wanted());
        let sent = bench.expect("tools/call");
        let number = token(&sent).as_u64().unwrap();
        for token in [format!("\"{number}\""), format!("{number}.0"), format!("{number}")] {
            bench.pull(&call);
            let params = format!(r#"{{"progress":1,"progressToken":{token}}}"#);
            bench.line(&format!(r#"{{"method":"notifications/progress","params":{params}}}"#));
            assert_eq!(got(bench), [1.0], "{token}");
        }
        finishes(bench, &call, &sent);
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
    in_both_eras(|bench| {
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
