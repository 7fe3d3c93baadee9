//! Notifications over HTTP: on the streams of answers, and on the stream of what a legacy server says
//! by itself.

use mcp_proto::model::{Notification, NotificationKind};
use mcp_proto::op::{CallTool, Connect};
use mcp_proto::{Call, CallOptions, Event, Hearing, Input, Item, Mailbox, Method};
use serde_json::json;

use crate::support::*;

fn next(bench: &mut Bench) -> Option<Notification> {
    bench.input(Input::Pull(Mailbox::Host));
    match bench.heard.pop() {
        Some(Item::Notification(notification)) => Some(notification),
        Some(other) => panic!("{other:?}"),
        None => None,
    }
}

fn message(text: &str) -> String {
    let params = json!({ "level": "info", "data": text });
    event(&json!({ "method": "notifications/message", "params": params }).to_string())
}

fn streamed(bench: &mut Bench) -> (Call<CallTool>, Posted) {
    let mut with = CallOptions::default();
    with.stream = true;
    let call = bench.begin_with(tool("x", json!({})), with);
    let post = bench.expect("tools/call");
    bench.head(&post, 200, SSE);
    (call, post)
}

/// M-LOG-06, M-HTTP-12: a message belongs to the request on whose stream it comes, and to no other.
#[test]
fn messages_belong_to_the_request_of_their_stream() {
    let mut heard = config();
    heard.hears = vec![Hearing::Notifications];
    for bench in [&mut Bench::modern_with(heard.clone()), &mut Bench::legacy_with(heard)] {
        let (one, one_post) = streamed(bench);
        let (two, two_post) = streamed(bench);
        bench.body(&one_post, message("one").as_bytes());
        bench.body(&two_post, message("two").as_bytes());
        for (call, post, text) in [(&one, &one_post, "one"), (&two, &two_post, "two")] {
            let told = next(bench).unwrap();
            assert_eq!(told.call, Some(call.id()));
            let NotificationKind::Message(said) = &told.kind else { panic!("{:?}", told.kind) };
            assert_eq!(said.text(), text);
            let done = bench.completion(post, json!({ "content": [] }));
            bench.body(post, done.as_bytes());
            assert!(bench.is_pending(call), "its item comes before its result");
            bench.input(Input::Pull(Mailbox::Call(call.id())));
            assert_eq!(bench.items.pop(), Some((call.id(), Item::Notification(told))));
            bench.done(call).unwrap();
        }
        assert_eq!(bench.items, []);
    }
}

/// M-TOOL-06, M-PROG-07: what a streamed call brings is bounded like its progress.
#[test]
fn a_flood_on_the_stream_of_a_call_is_bounded() {
    in_both_eras(|bench| {
        let (call, post) = streamed(bench);
        let flood: String = (0..300).map(|n| message(&n.to_string())).collect();
        bench.body(&post, flood.as_bytes());
        let dropped = |event: &&Event| **event == Event::ItemDropped(call.id());
        assert_eq!(bench.events.iter().filter(dropped).count(), 300 - 256);
        bench.input(Input::Cancel(call.id()));
        bench.error(&call);
    });
}

/// M-NOTE-01, M-SESS-08: a callback for notifications asks a legacy server for the stream on which
/// they come, and they reach it without a call.
#[test]
fn the_stream_of_a_legacy_server_is_heard() {
    let mut config = config();
    config.hears = vec![Hearing::Notifications];
    let mut bench = Bench::new(config, target());
    let call = bench.begin(Connect);
    let probe = bench.expect("server/discover");
    bench.says(&probe, 404, "");
    let initialize = bench.expect("initialize");
    bench.welcome(&initialize, "2025-06-18", Some("session-1"));
    let notification = bench.expect(INITIALIZED);
    bench.accepts(&notification);
    let get = bench.next_post();
    assert_eq!(get.request.method, Method::Get);
    bench.head(&get, 200, SSE);
    bench.done(&call).unwrap();
    let updated =
        json!({ "method": "notifications/resources/updated", "params": { "uri": "a:b" } });
    bench.body(&get, event(&updated.to_string()).as_bytes());
    let told = next(&mut bench).unwrap();
    let kind = NotificationKind::ResourceUpdated { uri: String::from("a:b") };
    assert_eq!((told.kind, told.call), (kind, None));
}
