//! Calls side by side, and the host's own code beside them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, mpsc};

use futures_lite::future::zip;
use mcp_proto::ErrorKind;
use mcp_proto::driver::CallOptions;
use mcp_proto::op::{CallTool, Ping};
use mcp_tests::demo::{Options, over_pipe};
use mcp_tests::script::Script;
use serde_json::{Map, json};

use super::super::{Client, block_on, spawn};
use super::{add, demo};

fn slow(steps: u32) -> CallTool {
    let arguments = json!({ "steps": steps }).as_object().cloned().unwrap_or_else(Map::new);
    CallTool::new("slow", arguments)
}

/// Begins 64 calls at once, of a text that is longer than any pipe in memory here.
async fn call_64_times(client: &Client) {
    let calls: Vec<_> = (0..64)
        .map(|n| {
            let message = format!("{n} ").repeat(40);
            let arguments = json!({ "message": message }).as_object().cloned().unwrap();
            (message, client.begin(CallTool::new("echo", arguments)).unwrap())
        })
        .collect();
    for (message, call) in calls {
        assert_eq!(call.await.unwrap().text(), message);
    }
}

/// M-BASE-01
#[test]
fn sixty_four_calls_reach_a_child() {
    block_on(async {
        let client = Client::connect(demo()).await.unwrap();
        call_64_times(&client).await;
        client.close().await;
    });
}

/// M-BASE-14
#[test]
fn sixty_four_calls_fit_through_a_pipe_of_64_bytes() {
    block_on(async {
        let ((read, write), _server) = over_pipe(Options::default(), 64);
        let client = Client::over(read, write).await.unwrap();
        call_64_times(&client).await;
        client.close().await;
    });
}

#[test]
fn tasks_share_a_client() {
    block_on(async {
        let client = Client::connect(demo()).await.unwrap();
        let (done, sums) = mpsc::channel();
        for n in 0..64 {
            let (client, done) = (client.clone(), done.clone());
            spawn(async move {
                let sum = add(&client, n, n).await;
                drop(client);
                done.send((n, sum)).unwrap();
            });
        }
        drop(done);
        super::unblock(move || {
            let all: Vec<_> = sums.iter().collect();
            assert_eq!(all.len(), 64);
            assert!(all.into_iter().all(|(n, sum)| sum == (2 * n).to_string()));
        })
        .await;
    });
}

/// M-PROG-08. A callback that does not come back holds up its own call only.
#[test]
fn a_stalled_callback_stalls_nobody_else() {
    block_on(async {
        let client = Client::connect(demo()).await.unwrap();
        let (go_on, stalled) = mpsc::channel::<()>();
        let (began, begun) = mpsc::channel();
        let theirs = client.clone();
        // On a thread of its own: a callback that blocks blocks its executor.
        let thread = std::thread::spawn(move || {
            let mut seen = 0;
            let options = CallOptions::new().on_progress(move |progress| {
                seen += 1;
                assert_eq!(progress.progress, f64::from(seen));
                if seen == 1 {
                    began.send(()).unwrap();
                    stalled.recv().unwrap();
                }
            });
            let call = theirs.begin_with(slow(100), options).unwrap();
            futures_lite::future::block_on(call).unwrap().text().into_owned()
        });
        super::unblock(move || begun.recv().unwrap()).await;
        for n in 0..32 {
            assert_eq!(add(&client, n, 1).await, (n + 1).to_string());
        }
        go_on.send(()).unwrap();
        let text = super::unblock(move || thread.join().unwrap()).await;
        assert_eq!(text, "Done after 100 steps.");
        client.close().await;
    });
}

#[test]
fn a_callback_that_panics_is_not_called_again() {
    block_on(async {
        let client = Client::connect(demo()).await.unwrap();
        let calls = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&calls);
        let options = CallOptions::new().on_progress(move |_| {
            counter.fetch_add(1, Ordering::SeqCst);
            panic!("as callbacks do");
        });
        let result = client.begin_with(slow(5), options).unwrap().await.unwrap();
        assert_eq!(result.text(), "Done after 5 steps.");
        assert_eq!(calls.load(Ordering::SeqCst), 1);
        client.close().await;
    });
}

/// M-ERA-06
#[test]
fn a_handler_of_a_call_may_call_the_client() {
    let own: Arc<OnceLock<Client>> = Arc::default();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let (theirs, log) = (Arc::clone(&own), Arc::clone(&asked));
    let builder = Client::builder().on_request_meta(move |method| {
        let (own, log) = (Arc::clone(&theirs), Arc::clone(&log));
        async move {
            if let (Some(client), "tools/call") = (own.get(), &*method) {
                client.ping().await?;
            }
            log.lock().unwrap().push(method);
            Ok(Map::new())
        }
    });
    block_on(async {
        let client = builder.connect(demo()).await.unwrap();
        own.set(client.clone()).unwrap();
        assert_eq!(add(&client, 3, 4).await, "7");
        client.close().await;
    });
    let asked = asked.lock().unwrap();
    assert_eq!(asked[asked.len() - 2..], ["server/discover", "tools/call"]);
}

const ELICIT: &str = r#"{"message":"who?","requestedSchema":{"type":"object","properties":{}}}"#;

/// M-ELIC-01, M-ELIC-02
#[test]
fn a_handler_of_the_connection_may_call_the_client() {
    let own: Arc<OnceLock<Client>> = Arc::default();
    let theirs = Arc::clone(&own);
    let builder = Client::builder().on_elicitation(move |params| {
        let own = Arc::clone(&theirs);
        async move {
            assert!(params.raw.as_str().contains("who?"));
            if let Some(client) = own.get() {
                client.ping().await?;
            }
            Ok(json!({ "action": "decline" }).into())
        }
    });
    let script = Script::legacy("2025-11-25")
        .expect_as("tools/call", "call")
        .ask("\"e\"", "elicitation/create", ELICIT)
        .answer("ping")
        .expect_response("\"e\"")
        .text_for("call", "\"done\"");
    block_on(async {
        let ((read, write), playing) = script.over_pipe(64);
        let client = builder.over(read, write).await.unwrap();
        own.set(client.clone()).unwrap();
        assert_eq!(client.call_tool("any", ()).await.unwrap().text(), "done");
        client.close().await;
        playing.finish().check();
    });
}

/// M-UNTR-20. The driver outlives a handler that panics, and the server is told nothing of it.
#[test]
fn a_handler_that_panics_has_failed_to_answer() {
    let builder = Client::builder()
        .on_elicitation(|_| async { panic!("secret words") })
        .on_request_meta(|method| async move {
            assert_ne!(method, "tools/list", "more secret words");
            Ok(Map::new())
        });
    let script = Script::legacy("2025-11-25")
        .expect_as("tools/call", "call")
        .ask("\"e\"", "elicitation/create", ELICIT)
        .expect_response("\"e\"")
        .text_for("call", "\"done\"")
        .answer("ping");
    block_on(async {
        let ((read, write), playing) = script.over_pipe(64);
        let client = builder.over(read, write).await.unwrap();
        assert_eq!(client.call_tool("any", ()).await.unwrap().text(), "done");
        client.list_tools().await.unwrap_err();
        client.ping().await.unwrap();
        client.close().await;
        let transcript = playing.finish();
        assert!(!format!("{transcript:?}").contains("secret"));
    });
}

#[test]
fn a_call_is_taken_or_cancelled_without_being_awaited() {
    block_on(async {
        let client = Client::connect(demo()).await.unwrap();
        let mut ping = client.begin(Ping).unwrap();
        let endless = json!({ "steps": 0, "until_cancelled": true }).as_object().cloned().unwrap();
        let endless = client.begin(CallTool::new("slow", endless)).unwrap();
        // The answer to a later call says that the first one is there.
        add(&client, 1, 1).await;
        ping.try_take().unwrap().unwrap();
        assert!(ping.try_take().is_none(), "it was taken");
        let cancel = endless.cancel_handle();
        let (ended, ()) = zip(endless, async { cancel.cancel() }).await;
        assert!(matches!(ended.unwrap_err().kind(), ErrorKind::Cancelled));
        cancel.cancel();
        client.close().await;
    });
}
