//! The ends of a client: whichever it is, nothing is left running.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use futures_lite::future::{or, zip};
use mcp_proto::op::CallTool;
use mcp_proto::{CloseReason, ErrorKind};
use mcp_tests::processes::wait_gone;
use serde_json::{Map, json};

use super::super::{Client, block_on, spawn};
use super::{Pids, add, assert_gone, connect, demo, timed, within_a_drop};

/// A call that goes on until it is cancelled.
fn endless() -> CallTool {
    let arguments = json!({ "steps": 0, "until_cancelled": true });
    CallTool::new("slow", arguments.as_object().cloned().unwrap_or_else(Map::new))
}

#[test]
fn a_drop_during_the_handshake_leaves_nothing() {
    within_a_drop(|| {
        let pids = Arc::new(Pids::new());
        block_on(async {
            let mut connecting = Box::pin(Client::connect(pids.of_silent()));
            let waiting = async {
                (&mut connecting).await.map(drop).unwrap();
                unreachable!("it is silent");
            };
            let launched = or(waiting, pids.wait()).await;
            let took = timed(|| drop(connecting));
            assert_gone(&launched);
            took
        })
    });
}

#[test]
fn a_drop_with_calls_in_flight_leaves_nothing() {
    within_a_drop(|| {
        let pids = Arc::new(Pids::new());
        block_on(async {
            let (client, launched) = connect(&pids, pids.of_wrapped(demo())).await;
            let call = client.begin(endless()).unwrap();
            assert_eq!(add(&client, 1, 2).await, "3");
            let took = timed(|| {
                drop(client);
                drop(call);
            });
            assert_gone(&launched);
            took
        })
    });
}

/// M-STD-05
#[test]
fn a_close_behind_a_shell_leaves_nothing() {
    block_on(async {
        let pids = Arc::new(Pids::new());
        let (client, launched) = connect(&pids, pids.of_wrapped(demo())).await;
        assert_eq!(launched.len(), 2);
        client.close().await;
        assert_gone(&launched);
    });
}

#[test]
fn a_close_may_come_twice_at_once_and_beside_a_call() {
    block_on(async {
        let pids = Arc::new(Pids::new());
        let (client, launched) = connect(&pids, pids.of(demo())).await;
        let call = client.begin(endless()).unwrap();
        let elsewhere = client.clone();
        spawn(async move { elsewhere.close().await });
        let ((), (ended, reason)) = zip(client.close(), zip(call, client.closed())).await;
        assert!(matches!(ended.unwrap_err().kind(), ErrorKind::Closed(_)));
        assert_eq!(reason, CloseReason::Closed);
        assert_gone(&launched);
        client.close().await;
        let refused = client.ping().await.unwrap_err();
        assert!(matches!(refused.kind(), ErrorKind::Closed(_)), "{refused}");
    });
}

#[test]
fn without_its_driver_calls_end() {
    within_a_drop(|| {
        let pids = Arc::new(Pids::new());
        block_on(async {
            let (client, mut driver) =
                Client::builder().connect_with_driver(pids.of(demo())).unwrap();
            let launched = zip(client, pids.wait());
            let driving = async {
                (&mut driver).await;
                unreachable!("its client is alive");
            };
            let (client, launched) = or(launched, driving).await;
            let client = client.unwrap();
            let call = client.begin(endless()).unwrap();
            let took = timed(|| drop(driver));
            assert_gone(&launched);
            for ended in [call.await.map(drop), client.ping().await] {
                assert!(matches!(ended.unwrap_err().kind(), ErrorKind::DriverGone));
            }
            assert_eq!(client.closed().await, CloseReason::Closed);
            took
        })
    });
}

/// M-STD-07, M-STD-08
#[test]
fn a_killed_server_is_launched_again_by_the_next_call() {
    block_on(async {
        let pids = Arc::new(Pids::new());
        let (client, first) = connect(&pids, pids.of(demo())).await;
        let call = client.begin(endless()).unwrap();
        kill(first[0]);
        let lost = call.await.unwrap_err();
        assert!(matches!(lost.kind(), ErrorKind::Transport(_)), "{lost}");
        assert!(matches!(client.closed().await, CloseReason::Transport(_)));

        let (sum, second) = zip(add(&client, 1, 2), pids.wait()).await;
        assert_eq!(sum, "3");
        kill(second[0]);
        client.closed().await;
        let (sum, third) = zip(add(&client, 2, 2), pids.wait()).await;
        assert_eq!(sum, "4");
        client.close().await;
        for launched in [first, second, third] {
            assert_gone(&launched);
        }
    });
}

fn kill(pid: u32) {
    let killed = std::process::Command::new("kill").args(["-9", &pid.to_string()]).status();
    assert!(killed.unwrap().success());
    assert!(wait_gone(pid, Duration::from_secs(60)));
}

#[test]
fn a_panic_of_the_caller_leaves_nothing() {
    let pids = Arc::new(Pids::new());
    let launched = std::sync::Mutex::new(Vec::new());
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        block_on(async {
            let (client, pids) = connect(&pids, pids.of_wrapped(demo())).await;
            *launched.lock().unwrap() = pids;
            let _call = client.begin(endless()).unwrap();
            panic!("as callers do");
        })
    }));
    assert!(panicked.is_err());
    assert_gone(&launched.into_inner().unwrap());
}

/// An end by `disconnect` is not for good.
#[test]
fn a_disconnected_client_connects_again() {
    block_on(async {
        let pids = Arc::new(Pids::new());
        let (client, first) = connect(&pids, pids.of(demo())).await;
        client.disconnect();
        assert_eq!(client.closed().await, CloseReason::Disconnected);
        assert_gone(&first);
        let (sum, second) = zip(add(&client, 20, 3), pids.wait()).await;
        assert_eq!(sum, "23");
        drop(client);
        assert_gone(&second);
    });
}
