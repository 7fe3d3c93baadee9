//! The scenes of ARCHITECTURE.md that run in this version, output by output. A change of one of
//! them is a change of the manual too.

use std::time::Duration;

use mcp_proto::op::{Connect, ListTools, Resume};
use mcp_proto::{Answer, ExitStatus, Hearing, Input, StdioInput};
use serde_json::{Map, json};

use crate::support::*;

/// The outputs since the last look, without the bodies of messages: `process#1 <- tools/list 2`.
fn outputs(bench: &mut Bench) -> Vec<String> {
    let short = |line: String| match line.split_once(" <- ") {
        Some((process, message)) => {
            let message: serde_json::Value = serde_json::from_str(message).unwrap();
            let method = message["method"].as_str().unwrap();
            match message["id"].as_u64() {
                Some(id) => format!("{process} <- {method} {id}"),
                None => format!("{process} <- {method}"),
            }
        }
        None => line,
    };
    bench.trace().into_iter().map(short).collect()
}

fn seconds(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}

/// M-CONN-01, M-STD-05
#[test]
fn scene_5_close_during_connect() {
    let mut bench = Bench::stdio(config());
    bench.begin(Connect);
    let begun = ["state starting", "process#1 spawn server", "process#1 <- server/discover 1"];
    assert_eq!(outputs(&mut bench), begun);
    bench.advance(seconds(0.3));
    bench.input(Input::Close);
    let closing = outputs(&mut bench);
    assert_eq!(closing.len(), 2, "{closing:?}");
    assert!(closing[0].starts_with("call#1 failed: NotSent: "), "{closing:?}");
    assert_eq!(closing[1], "process#1 close stdin");
    bench.line(
        &json!({ "jsonrpc": "2.0", "id": 1, "result": discovered(&["2026-07-28"]) }).to_string(),
    );
    assert!(outputs(&mut bench).is_empty());
    bench.signal(StdioInput::Exited(ExitStatus::Code(0)));
    let ended = outputs(&mut bench);
    assert!(ended[0].starts_with("event Exited"), "{ended:?}");
    assert_eq!(ended[1..], ["state closed (the host closed it)"]);
    bench.begin(ListTools);
    let refused = outputs(&mut bench);
    assert_eq!(refused.len(), 1);
    assert!(refused[0].starts_with("call#2 failed: NotSent: "), "{refused:?}");
}

/// M-CONN-01, M-STD-06, M-TIME-11
#[test]
fn scene_6_disconnect_then_a_new_call() {
    let mut bench = Bench::modern(config());
    bench.begin(ListTools);
    bench.expect("tools/list");
    outputs(&mut bench);
    bench.input(Input::Disconnect);
    let ended = outputs(&mut bench);
    assert!(ended[0].starts_with("call#2 failed: Unknown: "), "{ended:?}");
    assert_eq!(ended[1..], ["process#1 close stdin"]);
    bench.advance(seconds(0.1));
    bench.begin(ListTools);
    assert!(outputs(&mut bench).is_empty(), "it waits for the end of process#1");
    bench.advance(seconds(1.9));
    assert_eq!(outputs(&mut bench), ["process#1 terminate"]);
    bench.signal(StdioInput::Exited(ExitStatus::Signal(15)));
    let anew = outputs(&mut bench);
    assert!(anew[0].starts_with("event Exited"), "{anew:?}");
    let rest = [
        "state idle (the host disconnected it)",
        "state starting",
        "process#2 spawn server",
        "process#2 <- server/discover 3",
    ];
    assert_eq!(anew[1..], rest);
    bench.speak_modern();
    let ready = outputs(&mut bench);
    assert!(ready[0].starts_with("event EraDecided"), "{ready:?}");
    assert_eq!(ready[1..], ["state ready", "process#2 <- tools/list 4"]);
}

/// M-TIME-04, M-TIME-09
#[test]
fn scene_7_a_call_cancelled_while_its_question_is_on_the_screen() {
    let mut config = config();
    config.hears = vec![Hearing::RequestMeta];
    let mut bench = Bench::modern(config);
    outputs(&mut bench);
    let call = bench.begin(tool("echo", json!({})));
    let asked = outputs(&mut bench);
    assert_eq!(asked.len(), 1, "{asked:?}");
    assert!(asked[0].contains("question#2"), "{asked:?}");
    bench.advance(seconds(3.0));
    bench.cancel(&call);
    let ended = outputs(&mut bench);
    assert_eq!(ended.len(), 2, "no notification: the server knows of nothing. {ended:?}");
    assert!(ended[0].contains("withdraw") && ended[0].contains("question#2"), "{ended:?}");
    assert!(ended[1].starts_with("call#2 failed: NotSent: "), "{ended:?}");
    let (id, ..) = bench.question();
    bench.input(Input::Answer(id, Answer::RequestMeta(Map::new())));
    assert!(outputs(&mut bench).is_empty(), "too late");
}

/// M-MRTR-11, M-MRTR-12, M-MRTR-14
#[test]
fn scene_2_a_round_trip_with_two_questions_of_which_one_fails() {
    let mut config = config();
    config.hears = vec![Hearing::Elicitation, Hearing::Sampling];
    let mut bench = Bench::modern(config);
    outputs(&mut bench);
    let call = bench.begin(tool("echo", json!({})));
    assert_eq!(outputs(&mut bench), ["process#1 <- tools/call 2"]);
    let sent = bench.expect("tools/call");
    let elicit = json!({ "method": "elicitation/create", "params": { "message": "?" } });
    let sample = json!({ "method": "sampling/createMessage", "params": { "messages": [] } });
    bench.result(
        &sent,
        json!({ "resultType": "input_required", "requestState": "S",
            "inputRequests": { "a": elicit, "b": sample } }),
    );
    let asked = outputs(&mut bench);
    assert_eq!(asked.len(), 2, "{asked:?}");
    assert!(asked[0].starts_with("ask question#1 for Call(CallId(2)): elicit"), "{asked:?}");
    assert!(asked[1].starts_with("ask question#2 for Call(CallId(2)): Sample"), "{asked:?}");
    let (a, ..) = bench.question();
    let (b, ..) = bench.question();
    bench.reply(a, Answer::Elicit(json!({ "action": "accept", "content": {} })));
    assert!(outputs(&mut bench).is_empty(), "kept");
    bench.reply(b, Answer::Failed);
    let failed = outputs(&mut bench);
    assert_eq!(failed.len(), 1, "{failed:?}");
    assert!(failed[0].starts_with("call#2 failed: NotRun: "), "{failed:?}");
    let error = bench.error(&call);

    let again = bench.begin(Resume::new(&error).unwrap());
    let asked = outputs(&mut bench);
    assert_eq!(asked.len(), 1, "{asked:?}");
    assert!(asked[0].starts_with("ask question#3 for Call(CallId(3)): Sample"), "{asked:?}");
    let (b, ..) = bench.question();
    bench.reply(b, Answer::Sample(json!("text")));
    let resent = ["call#3 resend: InputRequired", "process#1 <- tools/call 3"];
    assert_eq!(outputs(&mut bench), resent);
    let sent = bench.expect("tools/call");
    let keys: Vec<_> = sent.params()["inputResponses"].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["a", "b"]);
    assert_eq!(sent.params()["requestState"], "S");
    bench.result(&sent, json!({ "resultType": "complete", "content": [] }));
    let done = outputs(&mut bench);
    assert!(done.len() == 1 && done[0].starts_with("call#3 done: "), "{done:?}");
    bench.done(&again).unwrap();
}
