//! Callers, callbacks and handlers, on their threads.

mod support;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use mcp_runtime_blocking::proto::op::{CallTool, Ping};
use mcp_runtime_blocking::{Background, CallOptions, Client, ErrorKind};
use mcp_tests::script::Script;
use serde_json::{Map, Value, json};
use support::{BACKGROUNDS, argv, command, connect, demo, echo, serve, slow};

#[test]
fn server() {
    serve();
}

#[test]
fn sixty_four_threads_call_at_once() {
    for background in BACKGROUNDS {
        let client = connect(background, demo());
        thread::scope(|scope| {
            for caller in 0..64 {
                let client = client.clone();
                scope.spawn(move || {
                    for call in 0..20 {
                        echo(&client, &format!("{caller}/{call} {}", "x".repeat(call * 50)));
                    }
                });
            }
        });
        client.close();
    }
}

/// Calls, short waits, pumps and people who wait for the end: whoever leaves the seat, somebody
/// who waits takes it.
#[test]
fn all_kinds_of_waiting_go_together() {
    for background in BACKGROUNDS {
        let client = connect(background, demo());
        thread::scope(|scope| {
            let mut callers = Vec::new();
            for caller in 0..8 {
                let client = &client;
                callers.push(scope.spawn(move || {
                    for call in 0..50 {
                        echo(client, &format!("{caller}/{call}"));
                        let mut pending = client.begin(Ping).unwrap();
                        if call % 3 == 0 {
                            client.pump(Duration::from_micros(50));
                        }
                        while pending.wait_timeout(Duration::from_micros(20)).is_none() {}
                        if call % 5 == 0 {
                            client.begin(Ping).unwrap().cancel_handle().cancel();
                        }
                    }
                }));
            }
            let ends: Vec<_> = (0..4).map(|_| scope.spawn(|| client.closed())).collect();
            for caller in callers {
                caller.join().unwrap();
            }
            client.close();
            for end in ends {
                end.join().unwrap();
            }
        });
    }
}

/// Long messages that do not fit into the pipes, both ways at once.
#[test]
fn long_messages_pass_each_other() {
    for background in BACKGROUNDS {
        let client = connect(background, demo());
        thread::scope(|scope| {
            for letter in ["a", "b", "c"] {
                let client = &client;
                scope.spawn(move || echo(client, &letter.repeat(1 << 20)));
            }
        });
    }
}

#[test]
fn a_stalled_progress_callback_holds_up_its_own_call_only() {
    for background in BACKGROUNDS {
        let client = connect(background, demo());
        let ((entered, enter), (release, released)) = (channel(), channel::<()>());
        let mut seen = 0;
        let options = CallOptions::new().on_progress(move |progress| {
            seen += 1;
            assert_eq!(progress.total, Some(3.0));
            if seen == 1 {
                entered.send(()).unwrap();
                released.recv().unwrap();
            }
        });
        thread::scope(|scope| {
            let call = scope.spawn(|| client.run(slow(json!({ "steps": 3 })), options));
            enter.recv().unwrap();
            for _ in 0..50 {
                echo(&client, "meanwhile");
            }
            assert!(!call.is_finished());
            release.send(()).unwrap();
            assert_eq!(call.join().unwrap().unwrap().text(), "Done after 3 steps.");
        });
    }
}

#[test]
fn a_stalled_callback_of_a_pending_call_holds_up_nobody() {
    let client = connect(Background::Helper, demo());
    let ((entered, enter), (release, released)) = (channel(), channel::<()>());
    let options = CallOptions::new().on_progress(move |progress| {
        entered.send(progress.progress).unwrap();
        released.recv().unwrap();
    });
    let mut pending = client.begin_with(slow(json!({ "steps": 2 })), options).unwrap();
    enter.recv().unwrap();
    for _ in 0..50 {
        echo(&client, "meanwhile");
    }
    assert!(pending.try_take().is_none());
    release.send(()).unwrap();
    enter.recv().unwrap();
    release.send(()).unwrap();
    assert_eq!(pending.wait().unwrap().text(), "Done after 2 steps.");
}

#[test]
fn a_callback_that_panics_is_not_called_again() {
    let client = connect(Background::Helper, demo());
    let calls = Arc::new(AtomicUsize::new(0));
    let panicking = || {
        let calls = Arc::clone(&calls);
        CallOptions::new().on_progress(move |_| {
            calls.fetch_add(1, Ordering::SeqCst);
            panic!("the host's own");
        })
    };
    let result = client.run(slow(json!({ "steps": 3 })), panicking()).unwrap();
    assert_eq!(result.text(), "Done after 3 steps.");
    assert_eq!(calls.load(Ordering::SeqCst), 1);
    let pending = client.begin_with(slow(json!({ "steps": 3 })), panicking()).unwrap();
    assert_eq!(pending.wait().unwrap().text(), "Done after 3 steps.");
    assert_eq!(calls.load(Ordering::SeqCst), 2);
}

#[test]
fn a_pending_call_can_be_waited_for_taken_and_cancelled() {
    for background in BACKGROUNDS {
        let client = connect(background, demo());
        let endless = || slow(json!({ "steps": 1, "until_cancelled": true }));
        let mut pending = client.begin(endless()).unwrap();
        assert!(pending.wait_timeout(Duration::from_millis(5)).is_none());
        assert!(pending.try_take().is_none());
        let cancel = pending.cancel_handle();
        let cancelled = thread::scope(|scope| {
            let waiting = scope.spawn(move || pending.wait());
            cancel.cancel();
            waiting.join().unwrap()
        });
        let error = cancelled.unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Cancelled), "{error}");
        drop(client.begin(endless()).unwrap());

        let mut pending = client.begin(Ping).unwrap();
        assert!(pending.wait_timeout(Duration::from_secs(30)).unwrap().is_ok());
        assert!(pending.try_take().is_none());
        assert!(pending.wait_timeout(Duration::ZERO).is_none());
        assert!(pending.wait().is_err());
    }
}

/// A call by the handler of a question that belongs to no call, and one by that of a call's own.
#[test]
fn handlers_may_call_the_client() {
    let script = Script::legacy("2025-11-25")
        .expect_as("tools/call", "outer")
        .ask("1", "elicitation/create", r#"{"message":"?"}"#)
        .answer("ping")
        .expect_response("1")
        .text_for("outer", "$params.content.name.string")
        .answer("ping")
        .expect("tools/call")
        .text("$params._meta.trace.string")
        .answer_rest();
    for background in BACKGROUNDS {
        let slot: Arc<OnceLock<Client>> = Arc::default();
        let (asked, counted) = (Arc::clone(&slot), Arc::clone(&slot));
        let inner = AtomicUsize::new(0);
        let client = Client::builder()
            .background(background)
            .on_elicitation(move |params| {
                assert!(params.raw.as_str().contains("message"));
                asked.get().ok_or("not connected yet")?.ping()?;
                Ok(json!({ "action": "accept", "content": { "name": "nobody" } }).into())
            })
            .on_request_meta(move |method| {
                let nested = inner.fetch_add(1, Ordering::SeqCst);
                // After the two of the start the third request is the call whose metadata takes a request of its own.
                if nested == 4 {
                    counted.get().ok_or("not connected yet")?.ping()?;
                }
                Ok(Map::from_iter([(String::from("trace"), Value::from(method))]))
            })
            .connect(command(argv(), &script))
            .unwrap();
        slot.set(client.clone()).unwrap();
        assert_eq!(client.call_tool("x", ()).unwrap().text(), "nobody");
        assert_eq!(client.call_tool("x", ()).unwrap().text(), "tools/call");
        client.close();
    }
}

#[test]
fn a_handler_that_panics_has_not_answered() {
    let script = Script::legacy("2025-11-25")
        .expect_as("tools/call", "outer")
        .ask("1", "elicitation/create", r#"{"message":"?"}"#)
        .expect_response("1")
        .text_for("outer", "$params.code.string")
        .answer_rest();
    for background in BACKGROUNDS {
        let client = Client::builder()
            .background(background)
            .on_elicitation(|_| panic!("the host's own"))
            .connect(command(argv(), &script))
            .unwrap();
        assert_eq!(client.call_tool("x", ()).unwrap().text(), "-32603");
        echo(&client, "it goes on");
    }
}

/// A host with an event loop of its own: woken from any thread, and the only one that moves bytes.
#[test]
fn a_host_pumps() {
    let (wake, woken) = channel();
    let client = Client::builder()
        .background(Background::Never)
        .on_wake(move || _ = wake.send(thread::current().id()))
        .connect(demo())
        .unwrap();
    let (send, sent) = channel();
    let elsewhere = client.clone();
    while woken.try_recv().is_ok() {}
    let other = thread::spawn(move || {
        let steps = Arc::new(AtomicUsize::new(0));
        let seen = Arc::clone(&steps);
        let options = CallOptions::new().on_progress(move |_| {
            seen.fetch_add(1, Ordering::SeqCst);
        });
        let call = elsewhere.begin_with(slow(json!({ "steps": 3 })), options);
        send.send((call.unwrap(), steps)).unwrap();
    });
    let (mut pending, steps) = sent.recv().unwrap();
    let id = other.thread().id();
    other.join().unwrap();
    assert!(woken.try_iter().any(|by| by == id), "there is something to pump");
    let result = loop {
        client.pump(Duration::from_millis(100));
        if let Some(result) = pending.try_take() {
            break result;
        }
    };
    assert_eq!(result.unwrap().text(), "Done after 3 steps.");
    assert_eq!(steps.load(Ordering::SeqCst), 3);
    assert!(woken.try_recv().is_ok(), "a call has ended");
    client.pump(Duration::ZERO);
    client.close();
}

#[test]
fn a_host_is_woken_when_a_call_has_ended() {
    let (wake, woken) = channel();
    let client = Client::builder().on_wake(move || _ = wake.send(())).connect(demo()).unwrap();
    let mut pending = client.begin(CallTool::new("fail", Map::new())).unwrap();
    let result = loop {
        woken.recv().unwrap();
        if let Some(result) = pending.try_take() {
            break result;
        }
    };
    assert!(result.unwrap().is_error);
}

/// Somebody who waits for the end moves the bytes, and gives way to those who call.
#[test]
fn waiting_for_the_end_holds_up_nobody() {
    for background in BACKGROUNDS {
        let client = connect(background, demo());
        thread::scope(|scope| {
            let ends: Vec<_> = (0..2).map(|_| scope.spawn(|| client.closed())).collect();
            for _ in 0..100 {
                echo(&client, "meanwhile");
            }
            assert!(!ends.iter().any(|end| end.is_finished()));
            client.close();
            for end in ends {
                assert_eq!(end.join().unwrap().to_string(), "the host closed it");
            }
        });
    }
}
