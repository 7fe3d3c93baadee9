//! Notifications on the stream of a request.

use mcp_proto::op::{CallTool, ListTools};
use mcp_proto::{Call, Event, Input, Item, Mailbox};
use serde_json::{Value, json};

use crate::support::*;

fn calling(bench: &mut Bench) -> (Call<CallTool>, Posted) {
    let call = bench.begin_with(tool("x", json!({})), options(None, true));
    let post = bench.expect("tools/call");
    bench.head(&post, 200, SSE);
    (call, post)
}

fn progress(token: &Value, progress: f64) -> String {
    let params = json!({ "progressToken": token, "progress": progress, "total": 9.5 });
    json!({ "method": "notifications/progress", "params": params }).to_string()
}

/// M-PROG-01, M-PROG-02, M-PROG-03: progress finds its call while that is under way, however many
/// are; after its end nobody.
#[test]
fn progress_finds_its_call() {
    in_both_eras(|bench| {
        let (one, one_post) = calling(bench);
        let (two, two_post) = calling(bench);
        let tokens = [&one_post, &two_post].map(|post| post.meta()["progressToken"].clone());
        assert_ne!(tokens[0], tokens[1]);
        for (call, post, token, n) in
            [(&one, &one_post, &tokens[0], 0.5), (&two, &two_post, &tokens[1], 1.0)]
        {
            bench.input(Input::Pull(Mailbox::Call(call.id())));
            bench.body(post, event(&progress(token, n)).as_bytes());
            let Some((id, Item::Progress(progress))) = bench.items.pop() else {
                panic!("no progress");
            };
            assert_eq!((id, progress.progress, progress.total), (call.id(), n, Some(9.5)));
        }
        let message = bench.completion(&one_post, json!({ "content": [] }));
        bench.body(&one_post, message.as_bytes());
        bench.done(&one).unwrap();
        // Late, under the token of the call that has ended, on the stream of the other.
        bench.body(&two_post, event(&progress(&tokens[0], 2.0)).as_bytes());
        assert!(bench.items.is_empty());
        let message = bench.completion(&two_post, json!({ "content": [] }));
        bench.body(&two_post, message.as_bytes());
        bench.done(&two).unwrap();
    });
}

/// M-HTTP-12: on a modern server's stream a notification belongs to the request of the stream.
#[test]
fn progress_belongs_to_its_stream() {
    let mut bench = Bench::modern();
    let (one, one_post) = calling(&mut bench);
    let (two, two_post) = calling(&mut bench);
    bench.input(Input::Pull(Mailbox::Call(one.id())));
    let token = &one_post.meta()["progressToken"];
    bench.body(&two_post, event(&progress(token, 1.0)).as_bytes());
    assert!(bench.items.is_empty());
    bench.body(&one_post, event(&progress(token, 1.0)).as_bytes());
    assert_eq!(bench.items.len(), 1);
    for (call, post) in [(one, one_post), (two, two_post)] {
        let message = bench.completion(&post, json!({ "content": [] }));
        bench.body(&post, message.as_bytes());
        bench.done(&call).unwrap();
    }
}

/// M-NOTE-03, M-NOTE-02: what nobody has asked for is not answered and does no harm.
#[test]
fn unknown_notifications_do_no_harm() {
    in_both_eras(|bench| {
        let list = bench.begin(ListTools);
        let post = bench.expect("tools/list");
        bench.head(&post, 200, SSE);
        for message in [
            r#"{"jsonrpc":"2.0","method":"window/logMessage","params":{"type":3}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/progress","params":[1]}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"x"}}"#,
        ] {
            bench.body(&post, event(message).as_bytes());
        }
        assert!(bench.is_pending(&list));
        let skipped = |event: &Event| matches!(event, Event::LineSkipped { .. });
        assert!(!bench.events.iter().any(skipped));
        let message = bench.completion(&post, json!({ "tools": [] }));
        bench.body(&post, message.as_bytes());
        bench.done(&list).unwrap();
        bench.quiet();
    });
}
