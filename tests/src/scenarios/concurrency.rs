//! Many calls at once.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use mcp_proto::{ErrorKind, Outcome};
use serde_json::{Value, json};

use super::Stage;
use super::conversation::echo;
use super::lifecycle::kill;
use crate::client::Setup;
use crate::processes::wait_gone;
use crate::script::{Script, Transcript};

/// Does something so many times at once, each on a thread of its own.
pub(super) fn side_by_side(count: usize, act: impl Fn(usize) + Sync) {
    thread::scope(|scope| {
        let act = &act;
        let threads: Vec<_> = (0..count).map(|n| scope.spawn(move || act(n))).collect();
        // Joined by hand, so that the first panic is told with its own words.
        for thread in threads {
            if let Err(panic) = thread.join() {
                std::panic::resume_unwind(panic);
            }
        }
    });
}

/// Longer than the pipe, and different for each call.
fn message(n: usize) -> String {
    format!("{n}-").repeat(50 + n)
}

/// M-BASE-01, M-BASE-14
pub fn sixty_four_calls_over_a_pipe_of_64_bytes(on: &Stage) {
    let (client, playing) = on.play(Script::modern().answer_rest());
    side_by_side(64, |n| {
        for round in 0..4 {
            let text = message(n + 100 * round);
            assert_eq!(echo(&client, &text), text);
        }
    });
    client.close();
    let written = playing.finish().check();
    assert_eq!(written.count("tools/call"), 256);
}

/// M-BASE-01
pub fn sixty_four_calls_to_a_process(on: &Stage) {
    let client = on.connect(on.demo(&[]), Setup::new()).unwrap();
    side_by_side(64, |n| {
        for round in 0..10 {
            let text = message(n + 100 * round);
            assert_eq!(echo(&client, &text), text);
        }
    });
    client.close();
}

/// M-BASE-01
pub fn calls_that_were_begun_find_their_answers_in_any_order(on: &Stage) {
    let label = |n: usize| format!("call{n}");
    let mut script = Script::modern();
    for n in 0..64 {
        script = script.expect_as("tools/call", &label(n));
    }
    for n in (0..64).rev() {
        let text = format!("${}.params.arguments.message", label(n));
        script = script.text_for(&label(n), &text);
    }
    let (client, playing) = on.play(script);
    let begin = |n| client.begin("echo", json!({ "message": message(n) })).unwrap();
    let calls: Vec<_> = (0..64).map(begin).collect();
    for (n, call) in calls.into_iter().enumerate() {
        assert_eq!(call.wait().unwrap().text(), message(n));
    }
    client.close();
    playing.finish().check();
}

/// M-BASE-01
pub fn every_large_answer_arrives_while_others_are_asked_for(on: &Stage) {
    let client = on.connect(on.demo(&["--era", "legacy"]), Setup::new()).unwrap();
    side_by_side(50, |n| {
        for round in 0..4 {
            let bytes = 65_536 + 4 * n + round;
            let result = client.call_tool("blob", json!({ "bytes": bytes })).unwrap();
            assert_eq!(result.text().len(), bytes);
        }
    });
    client.close();
}

/// M-BASE-01, M-BASE-08
pub fn a_thousand_requests_have_a_thousand_ids(on: &Stage) {
    let (client, playing) = on.play(Script::modern().answer_rest());
    side_by_side(20, |n| (0..50).for_each(|_| assert_eq!(echo(&client, &message(n)), message(n))));
    client.close();
    let written = playing.finish().check();
    let ids: BTreeSet<_> =
        written.of("tools/call").iter().map(|it| it["id"].to_string()).collect();
    assert_eq!(ids.len(), 1000);
    assert!(!ids.contains("null"));
}

/// M-STD-01
pub fn large_messages_cross_without_a_deadlock(on: &Stage) {
    let script = Script::modern().answer_rest();
    let client = on.launch(script, Setup::new());
    let text = "x".repeat(1 << 20);
    side_by_side(6, |_| assert_eq!(echo(&client, &text).len(), text.len()));
    client.close();
}

/// M-STD-07, M-ERR-08
pub fn a_death_in_the_middle_ends_every_call(on: &Stage) {
    let script = Script::modern()
        .repeat(40, Script::new().answer("tools/call"))
        .repeat(24, Script::new().expect("tools/call"))
        .exit(3);
    let client = on.launch(script, Setup::new());
    let (answered, lost) = (std::sync::Mutex::new(0), std::sync::Mutex::new(0));
    let begin = |n: usize| client.begin("echo", json!({ "message": message(n) })).unwrap();
    let calls: Vec<_> = (0..64).map(begin).collect();
    for (n, call) in calls.into_iter().enumerate() {
        match call.wait() {
            Ok(result) => {
                assert_eq!(result.text(), message(n));
                *answered.lock().unwrap() += 1;
            }
            Err(error) => {
                assert!(matches!(error.kind(), ErrorKind::Transport(_)), "{error:?}");
                assert_eq!(error.outcome(), Outcome::Unknown);
                *lost.lock().unwrap() += 1;
            }
        }
    }
    assert_eq!((*answered.lock().unwrap(), *lost.lock().unwrap()), (40, 24));
    assert_eq!(echo(&client, "anew"), "anew");
}

/// M-STD-07, M-ERR-08
pub fn calls_go_on_while_the_server_is_killed_again_and_again(on: &Stage) {
    let answering = Script::new().expect("tools/call").text("$pid.string");
    let client = on.launch(Script::modern().repeat(1_000_000, answering), Setup::new());
    let pid = || client.call_tool("x", json!({})).map(|result| result.text().parse().unwrap());
    let over = AtomicBool::new(false);
    let mut killed = BTreeSet::new();
    thread::scope(|scope| {
        let caller = || {
            while !over.load(Ordering::Relaxed) {
                if let Err(error) = pid() {
                    assert!(matches!(error.kind(), ErrorKind::Transport(_)), "{error:?}");
                }
            }
        };
        let callers: Vec<_> = (0..8).map(|_| scope.spawn(caller)).collect();
        while killed.len() < 10 {
            // Its own call may meet the server that was killed just now.
            if let Ok(pid) = pid()
                && killed.insert(pid)
            {
                kill(pid);
            }
        }
        over.store(true, Ordering::Relaxed);
        for caller in callers {
            if let Err(panic) = caller.join() {
                std::panic::resume_unwind(panic);
            }
        }
    });
    client.close();
    assert!(killed.into_iter().all(|pid| wait_gone(pid, Duration::ZERO)));
}

/// M-STD-08, M-TIME-09
pub fn many_calls_meet_a_rest(on: &Stage) {
    let client = on.connect(on.demo(&[]), Setup::new()).unwrap();
    side_by_side(16, |n| {
        for round in 0..10 {
            if n == 0 {
                client.disconnect();
            }
            let text = message(n + 100 * round);
            match client.call_tool("echo", json!({ "message": text })) {
                Ok(result) => assert_eq!(result.text(), text),
                Err(error) => assert!(matches!(error.kind(), ErrorKind::Closed(_)), "{error:?}"),
            }
        }
    });
    assert_eq!(echo(&client, "hi"), "hi");
    client.close();
}

/// M-BASE-14
pub fn a_stream_carries_what_a_process_is_told(on: &Stage) {
    let folder = tempfile::tempdir().unwrap();
    let seen = folder.path().join("transcript");
    let script = || Script::legacy("2025-11-25").answer_rest();
    let talk = |client: crate::client::Client| {
        client.list_tools().unwrap();
        echo(&client, "hi");
        let options = mcp_proto::driver::CallOptions::new().on_progress(drop);
        client.call_tool_with("slow", json!({ "steps": 2 }), options).unwrap();
        client.ping().unwrap();
        client.close();
    };
    let program = on.program(script()).transcript(&seen);
    talk(on.connect(program.argv(), Setup::new()).unwrap());
    let (client, playing) = on.play(script());
    talk(client);
    let told: Vec<Value> = Transcript::load(&seen).unwrap().check().messages();
    assert_eq!(told, playing.finish().check().messages());
    assert_eq!(told.len(), 7);
}
