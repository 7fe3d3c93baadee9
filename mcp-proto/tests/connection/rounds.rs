//! Multi round-trip requests (specification: basic/patterns/mrtr).

use std::time::Duration;

use mcp_proto::model::Root;
use mcp_proto::op::{GetPrompt, ListTools, ReadResource, Resume};
use mcp_proto::{
    Answer, ConnectionConfig, Era, Error, ErrorKind, Event, ExitStatus, Hearing, InputFault,
    Outcome, Owner, Question, QuestionId, WaitAnswer,
};
use serde_json::{Map, Value, json};

use crate::support::*;

/// A host that answers everything.
fn able() -> ConnectionConfig {
    let mut config = config();
    config.hears =
        vec![Hearing::Elicitation, Hearing::UrlElicitation, Hearing::Sampling, Hearing::Wait];
    config.roots = vec![Root::new("file:///work").unwrap().with_name("Work")];
    config
}

fn form(message: &str) -> Value {
    let schema = json!({ "type": "object", "properties": { "name": { "type": "string" } },
        "required": ["name"] });
    json!({ "method": "elicitation/create", "params": { "message": message, "requestedSchema": schema } })
}

fn sample(tools: bool) -> Value {
    let text = json!({ "type": "text", "text": "capital of France?" });
    let mut params = json!({ "maxTokens": 9, "messages": [{ "role": "user", "content": text }] });
    if tools {
        params["tools"] = json!([]);
    }
    json!({ "method": "sampling/createMessage", "params": params })
}

fn asks(requests: &Value, state: Option<&str>) -> Value {
    let mut result = json!({ "resultType": "input_required", "inputRequests": requests });
    if let Some(state) = state {
        result["requestState"] = state.into();
    }
    result
}

fn waits(state: &str) -> Value {
    json!({ "resultType": "input_required", "requestState": state })
}

fn done() -> Value {
    json!({ "content": [], "resultType": "complete" })
}

/// A tool was called, and its server has asked for something.
fn asked(bench: &mut Bench, result: &Value) -> (mcp_proto::Call<mcp_proto::op::CallTool>, Sent) {
    let call = bench.begin(tool("x", json!({ "a": 1 })));
    let sent = bench.expect("tools/call");
    bench.result(&sent, result.clone());
    (call, sent)
}

fn question(bench: &mut Bench, owner: Owner) -> (QuestionId, Question) {
    let (id, of, question) = bench.question();
    assert_eq!(of, owner);
    (id, question)
}

fn accept(name: &str) -> Answer {
    Answer::Elicit(json!({ "action": "accept", "content": { "name": name } }))
}

/// The fault of a call that got no input.
#[track_caller]
fn fault(error: &Error) -> &InputFault {
    match error.kind() {
        ErrorKind::InputRequired(fault) => fault,
        other => panic!("{other}"),
    }
}

/// M-MRTR-02, M-MRTR-03, M-MRTR-19
#[test]
fn everything_that_is_asked_is_answered_at_once() {
    let mut bench = Bench::modern(able());
    let page = json!({ "method": "elicitation/create",
        "params": { "mode": "url", "message": "go", "url": "https://a.example" } });
    let requests = json!({ "who": form("who?"), "page": page, "model": sample(false),
        "roots": { "method": "roots/list" } });
    let (call, first) = asked(&mut bench, &asks(&requests, Some("S")));
    let owner = Owner::Call(call.id());
    let mut open = Vec::new();
    for _ in 0..3 {
        open.push(question(&mut bench, owner));
    }
    bench.quiet();
    for (id, question) in open {
        let answer = match question {
            Question::Elicit(request) if request.is_url() => Answer::Elicit(json!(true)),
            Question::Elicit(request) => {
                assert_eq!((&*request.message, &*request.server), ("who?", "peer"));
                accept("me")
            }
            Question::Sample(request) => {
                assert_eq!(request.max_tokens, Some(9));
                Answer::Sample(json!("Paris"))
            }
            other => panic!("{other:?}"),
        };
        bench.reply(id, answer);
    }
    let second = bench.expect("tools/call");
    let mut params = second.params().clone();
    let given = params.as_object_mut().unwrap();
    let responses = given.remove("inputResponses").unwrap();
    assert_eq!(given.remove("requestState"), Some(json!("S")));
    assert_eq!(&params, first.params(), "and all else as before, metadata included");
    assert_ne!(first.id(), second.id());
    assert_eq!(responses["who"], json!({ "action": "accept", "content": { "name": "me" } }));
    assert_eq!(responses["page"], json!({ "action": "accept" }));
    assert_eq!(responses["model"]["content"], json!({ "type": "text", "text": "Paris" }));
    assert_eq!(responses["roots"], json!({ "roots": [{ "uri": "file:///work", "name": "Work" }] }));
    assert_eq!(responses.as_object().unwrap().len(), 4);
    bench.result(&second, done());
    bench.done(&call).unwrap();
}

/// M-MRTR-16, M-MRTR-18, M-MRTR-22
#[test]
fn what_belongs_to_a_round_stays_in_it() {
    let mut bench = Bench::modern(able());
    let odd = " \u{0}\u{1f980}\\\" \u{e9}";
    let (call, _) = asked(&mut bench, &asks(&json!({ "a": form("a?") }), Some(odd)));
    let (other, _) = asked(&mut bench, &asks(&json!({ "b": form("b?") }), Some("other")));
    let (first, _) = question(&mut bench, Owner::Call(call.id()));
    let (second, _) = question(&mut bench, Owner::Call(other.id()));
    bench.reply(second, accept("b"));
    let sent = bench.expect("tools/call");
    assert_eq!(sent.params()["requestState"], "other");
    assert_eq!(sent.params()["inputResponses"].as_object().unwrap().len(), 1);
    bench.result(&sent, done());
    bench.done(&other).unwrap();
    bench.reply(first, accept("a"));
    let sent = bench.expect("tools/call");
    assert!(sent.line.contains(&serde_json::to_string(odd).unwrap()), "as it came: {}", sent.line);
    // The next round has keys of its own, and no state.
    bench.result(&sent, asks(&json!({ "c": form("c?") }), None));
    let (third, _) = question(&mut bench, Owner::Call(call.id()));
    bench.reply(third, accept("c"));
    let sent = bench.expect("tools/call");
    let params = sent.params();
    assert_eq!(params.get("requestState"), None);
    let responses = params["inputResponses"].as_object().unwrap();
    assert_eq!(responses.keys().collect::<Vec<_>>(), ["c"]);
    bench.result(&sent, done());
    bench.done(&call).unwrap();
}

/// M-MRTR-01
#[test]
fn three_methods_may_ask() {
    let mut bench = Bench::modern(able());
    let request = asks(&json!({ "a": form("a?") }), None);
    let prompt = bench.begin(GetPrompt::new("p", Map::new()));
    let read = bench.begin(ReadResource::new("a:b"));
    let got = bench.expect("prompts/get");
    let sent = bench.expect("resources/read");
    bench.result(&sent, request.clone());
    bench.result(&got, request.clone());
    let (read_question, _) = question(&mut bench, Owner::Call(read.id()));
    bench.reply(read_question, accept("r"));
    let sent = bench.expect("resources/read");
    assert_eq!(sent.params()["uri"], "a:b");
    bench.result(&sent, json!({ "contents": [], "resultType": "complete" }));
    assert!(bench.done(&read).unwrap().contents.is_empty());
    let (prompt_question, _) = question(&mut bench, Owner::Call(prompt.id()));
    bench.reply(prompt_question, accept("p"));
    let sent = bench.expect("prompts/get");
    assert_eq!(sent.params()["inputResponses"]["a"]["content"]["name"], "p");
    bench.result(&sent, json!({ "messages": [], "resultType": "complete" }));
    assert!(bench.done(&prompt).unwrap().messages.is_empty());

    let list = bench.begin(ListTools);
    let sent = bench.expect("tools/list");
    bench.result(&sent, request);
    assert!(matches!(bench.error(&list).kind(), ErrorKind::Peer(_)));
    assert!(bench.asked.is_empty());
    bench.quiet();
}

/// M-MRTR-04
#[test]
fn an_eleventh_demand_is_the_last() {
    let mut bench = Bench::modern(able());
    let (call, _) = asked(&mut bench, &waits("0"));
    for round in 1..=10 {
        let (id, _) = question(&mut bench, Owner::Call(call.id()));
        bench.reply(id, Answer::Wait(WaitAnswer::Retry));
        let sent = bench.expect("tools/call");
        assert_eq!(sent.params()["requestState"], (round - 1).to_string());
        bench.result(&sent, waits(&round.to_string()));
    }
    let error = bench.error(&call);
    assert_eq!(fault(&error), &InputFault::TooManyRounds(10));
    assert!(!error.continuation().unwrap().is_resumable());
    bench.quiet();
}

/// M-MRTR-05, M-MRTR-15, M-MRTR-21
#[test]
fn what_cannot_be_honoured_ends_the_call_and_nobody_is_asked() {
    let mut some = config();
    some.hears = vec![Hearing::Elicitation, Hearing::Sampling];
    let mut bench = Bench::modern(some);
    let page = json!({ "method": "elicitation/create",
        "params": { "mode": "url", "message": "go", "url": "https://a.example" } });
    for entry in [
        json!({ "method": "ping" }),
        json!({ "method": "tools/list" }),
        json!({ "method": "roots/list" }),
        page,
        sample(true),
        json!({ "method": "sampling/createMessage", "params": { "messages": [{ "role": "user" }] } }),
        json!({ "method": "elicitation/create", "params": { "requestedSchema": [] } }),
    ] {
        let (call, _) =
            asked(&mut bench, &asks(&json!({ "a": form("a?"), "b": entry }), Some("S")));
        let error = bench.error(&call);
        assert!(matches!(fault(&error), InputFault::Refused { .. }), "{error}: {entry}");
        assert_eq!(error.outcome(), Outcome::NotRun);
        assert!(bench.asked.is_empty(), "{entry}");
        bench.quiet();
    }
}

/// M-CAP-08
#[test]
fn who_has_declared_nothing_answers_nothing() {
    let mut nobody = Bench::modern(config());
    let (call, _) = asked(&mut nobody, &asks(&json!({ "a": form("a?") }), None));
    assert!(matches!(fault(&nobody.error(&call)), InputFault::Refused { .. }));
}

/// M-MRTR-06, M-MRTR-20, M-MRTR-07
#[test]
fn malformed_demands_end_the_call() {
    let mut bench = Bench::modern(able());
    for (requests, state) in [
        (json!([]), json!("S")),
        (json!("text"), json!("S")),
        (json!(5), Value::Null),
        (json!({ "a": {} }), json!("S")),
        (json!({ "a": "text" }), json!("S")),
        (json!({ "a": { "method": 5 } }), json!("S")),
        (json!({}), Value::Null),
        (Value::Null, Value::Null),
        (json!({ "a": form("a?") }), json!(5)),
    ] {
        let result = json!({ "resultType": "input_required", "inputRequests": requests,
            "requestState": state });
        let (call, _) = asked(&mut bench, &result);
        let error = bench.error(&call);
        assert!(matches!(fault(&error), InputFault::Malformed(_)), "{error}: {result}");
        let from = error.continuation().unwrap();
        assert!(!from.is_resumable());
        assert_eq!(
            from.request_state().map(|s| s.parse::<Value>().unwrap()),
            Some(state).filter(|state| !state.is_null())
        );
        assert!(bench.asked.is_empty());
    }
    bench.quiet();
}

/// M-MRTR-08, M-MRTR-09, M-MRTR-10
#[test]
fn a_server_may_want_nothing_but_time() {
    let mut bench = Bench::modern(able());
    let (call, _) = asked(&mut bench, &waits("S0"));
    let mut begun = bench.now;
    let start = begun;
    for (round, pause) in [(1, 1), (2, 2)] {
        let (id, asked) = question(&mut bench, Owner::Call(call.id()));
        let Question::Wait(wait) = asked else { panic!("{asked:?}") };
        assert_eq!((&*wait.method, wait.round), ("tools/call", round));
        assert_eq!(wait.delay, Duration::from_secs(pause));
        assert_eq!(wait.elapsed, bench.now - start);
        assert!(wait.state.unwrap().as_str().contains('S'));
        assert!(wait.result.as_str().contains("input_required"));
        if round == 1 {
            bench.reply(id, Answer::Wait(WaitAnswer::Pace));
        }
        bench.quiet();
        bench.next_deadline();
        assert_eq!(bench.now - begun, Duration::from_secs(pause));
        begun = bench.now;
        let sent = bench.expect("tools/call");
        assert_eq!(sent.params()["requestState"], format!("S{}", round - 1));
        assert_eq!(sent.params().get("inputResponses"), None);
        bench.result(&sent, waits(&format!("S{round}")));
    }
    let (id, _) = question(&mut bench, Owner::Call(call.id()));
    bench.reply(id, Answer::Wait(WaitAnswer::Cancel));
    let error = bench.error(&call);
    assert_eq!(fault(&error), &InputFault::Stopped);
    assert!(error.continuation().unwrap().is_resumable());
    bench.quiet();
}

/// M-MRTR-13, M-MRTR-11
#[test]
fn a_wait_ends_with_the_time_of_its_call() {
    for (timeout, all) in [(Some(Duration::from_secs(4)), 4), (None, 15)] {
        let mut bench = Bench::modern(able());
        let begun = bench.now;
        let call = bench.begin_with(tool("x", json!({})), options(timeout, false));
        let sent = bench.expect("tools/call");
        bench.result(&sent, waits("0"));
        while bench.is_pending(&call) {
            // The host thinks about it.
            bench.asked.clear();
            bench.next_deadline();
            for sent in bench.take_messages() {
                assert_eq!(sent.method(), "tools/call");
                bench.result(&sent, waits("n"));
            }
        }
        assert_eq!(bench.now - begun, Duration::from_secs(all));
        let error = bench.error(&call);
        assert!(error.is_timeout(), "{error}");
        assert_eq!(error.outcome(), Outcome::NotRun);
        assert!(error.continuation().unwrap().is_resumable());
        bench.quiet();
    }
}

/// M-MRTR-13, M-ELIC-19: a user who thinks is not timed by the default of a request.
#[test]
fn a_dialog_takes_as_long_as_the_call_allows() {
    let mut bench = Bench::modern(able());
    let (call, _) = asked(&mut bench, &asks(&json!({ "a": form("a?") }), Some("S")));
    bench.advance(Duration::from_secs(3600));
    assert!(bench.is_pending(&call));
    let (id, _) = question(&mut bench, Owner::Call(call.id()));
    bench.reply(id, accept("late"));
    bench.expect("tools/call");
    // From here the server has its time again.
    bench.advance(Duration::from_millis(14_999));
    assert!(bench.is_pending(&call));
    bench.advance(Duration::from_millis(1));
    let error = bench.error(&call);
    assert!(error.is_timeout());
    assert!(!error.continuation().unwrap().is_resumable(), "it may have run");
    bench.expect("notifications/cancelled");

    let call = bench.begin_with(tool("x", json!({})), options(Some(Duration::from_secs(9)), false));
    let sent = bench.expect("tools/call");
    bench.result(&sent, asks(&json!({ "a": form("a?") }), Some("S")));
    bench.advance(Duration::from_secs(9));
    let error = bench.error(&call);
    assert!(error.is_timeout() && error.continuation().unwrap().is_resumable(), "{error}");
}

/// M-MRTR-11, M-MRTR-12, M-MRTR-14
#[test]
fn answers_are_kept_for_whoever_goes_on() {
    let mut bench = Bench::modern(able());
    let requests = json!({ "a": form("a?"), "b": sample(false) });
    let (call, first) = asked(&mut bench, &asks(&requests, Some("S")));
    let (a, _) = question(&mut bench, Owner::Call(call.id()));
    let (b, _) = question(&mut bench, Owner::Call(call.id()));
    bench.reply(a, accept("kept"));
    bench.reply(b, Answer::Failed);
    let error = bench.error(&call);
    assert_eq!(fault(&error), &InputFault::Unanswered { question: "sampling" });
    let from = error.continuation().unwrap().clone();
    assert_eq!((from.method(), from.rounds(), from.is_resumable()), ("tools/call", 1, true));
    assert_eq!(from.params().as_str(), r#"{"name":"x","arguments":{"a":1}}"#);
    assert_eq!(from.input_requests().unwrap().parse::<Value>().unwrap(), requests);
    assert_eq!(from.answers().keys().collect::<Vec<_>>(), ["a"]);
    bench.quiet();

    let again = bench.begin(Resume::new(&error).unwrap());
    let (b, asked) = question(&mut bench, Owner::Call(again.id()));
    assert!(matches!(asked, Question::Sample(_)), "the other one was answered before");
    assert!(bench.asked.is_empty());
    bench.quiet();
    bench.reply(b, Answer::Sample(json!("Paris")));
    let sent = bench.expect("tools/call");
    assert_ne!(sent.id(), first.id());
    assert_eq!(sent.params()["requestState"], "S");
    assert_eq!(sent.params()["inputResponses"]["a"]["content"]["name"], "kept");
    assert_eq!(sent.params()["inputResponses"]["b"]["content"]["text"], "Paris");
    assert_eq!(sent.params()["arguments"], json!({ "a": 1 }));
    bench.result(&sent, done());
    assert!(bench.done(&again).unwrap().tool().is_some());

    let plain = bench.begin(tool("x", json!({})));
    let sent = bench.expect("tools/call");
    bench.refuse(&sent, -32603, "no");
    assert!(Resume::new(&bench.error(&plain)).is_err(), "nobody asked for input");
}

/// M-MRTR-12, M-MRTR-04, M-MRTR-17: the rounds of a resumed call go on being counted.
#[test]
fn rounds_are_counted_across_calls() {
    let mut bench = Bench::modern(able());
    let (call, _) = asked(&mut bench, &waits("0"));
    let (id, _) = question(&mut bench, Owner::Call(call.id()));
    bench.reply(id, Answer::Wait(WaitAnswer::Cancel));
    let mut error = bench.error(&call);
    let mut ids = std::collections::BTreeSet::new();
    for round in 2..=11 {
        let again = bench.begin(Resume::new(&error).unwrap());
        let (id, _) = question(&mut bench, Owner::Call(again.id()));
        bench.reply(id, Answer::Wait(WaitAnswer::Retry));
        let sent = bench.expect("tools/call");
        assert!(ids.insert(sent.id().to_string()), "a new id each time");
        bench.result(&sent, waits(&round.to_string()));
        if round <= 10 {
            let (id, _) = question(&mut bench, Owner::Call(again.id()));
            bench.reply(id, Answer::Wait(WaitAnswer::Cancel));
        }
        error = bench.error(&again);
    }
    assert_eq!(fault(&error), &InputFault::TooManyRounds(10));
}

/// M-MRTR-23, M-MRTR-24
#[test]
fn declining_is_an_answer_and_failing_is_none() {
    let mut bench = Bench::modern(able());
    for action in ["decline", "cancel"] {
        let (call, _) = asked(&mut bench, &asks(&json!({ "a": form("a?") }), None));
        let (id, _) = question(&mut bench, Owner::Call(call.id()));
        bench.reply(id, Answer::Elicit(json!({ "action": action })));
        let sent = bench.expect("tools/call");
        assert_eq!(sent.params()["inputResponses"]["a"], json!({ "action": action }));
        bench.result(&sent, done());
        bench.done(&call).unwrap();
    }
    for (answer, logged) in [
        (Answer::Failed, false),
        (Answer::Sample(Value::Null), false),
        (Answer::Sample(json!(5)), true),
        (accept("of another kind"), false),
    ] {
        let (call, _) = asked(&mut bench, &asks(&json!({ "a": sample(false) }), None));
        let (id, _) = question(&mut bench, Owner::Call(call.id()));
        bench.events.clear();
        bench.reply(id, answer);
        assert!(matches!(fault(&bench.error(&call)), InputFault::Unanswered { .. }));
        let told = bench.events.iter().any(|event| matches!(event, Event::AnswerDropped { .. }));
        assert_eq!(told, logged);
        bench.quiet();
    }
}

/// M-ELIC-12, M-ELIC-21: what does not fit the form is not sent, and why is told to the host alone.
#[test]
fn content_that_does_not_fit_is_not_sent() {
    let mut bench = Bench::modern(able());
    let (call, _) = asked(&mut bench, &asks(&json!({ "a": form("a?") }), Some("S")));
    let (id, _) = question(&mut bench, Owner::Call(call.id()));
    bench.reply(id, Answer::Elicit(json!({ "action": "accept", "content": { "name": 5 } })));
    let error = bench.error(&call);
    assert_eq!(fault(&error), &InputFault::Unanswered { question: "elicitation" });
    assert!(error.continuation().unwrap().is_resumable());
    let why = bench.events.iter().find_map(|event| match event {
        Event::AnswerDropped { why, .. } => Some(why.clone()),
        _ => None,
    });
    assert_eq!(why.unwrap(), "the field \"name\" is no text");
    bench.quiet();
}

/// M-ELIC-06
#[test]
fn the_id_of_a_modern_elicitation_is_dropped() {
    let mut bench = Bench::modern(able());
    let page = json!({ "method": "elicitation/create", "params": { "mode": "url", "message": "go",
        "url": "https://a.example", "elicitationId": "e1" } });
    let (call, _) = asked(&mut bench, &asks(&json!({ "a": page }), None));
    let (id, asked) = question(&mut bench, Owner::Call(call.id()));
    let Question::Elicit(request) = asked else { panic!("{asked:?}") };
    assert!(matches!(
        &request.mode,
        mcp_proto::model::ElicitMode::Url { elicitation_id: None, .. }
    ));
    let told = |event: &Event| matches!(event, Event::MemberIgnored { member: "elicitationId" });
    assert!(bench.events.iter().any(told));
    bench.reply(id, Answer::Elicit(json!({ "action": "decline" })));
    let sent = bench.expect("tools/call");
    bench.result(&sent, done());
    bench.done(&call).unwrap();
}

/// M-MRTR-11: a call that is cancelled while its dialog is open takes it back, and says nothing to
/// the server, which waits for nothing.
#[test]
fn a_cancelled_call_takes_its_questions_back() {
    let mut bench = Bench::modern(able());
    let (call, _) =
        asked(&mut bench, &asks(&json!({ "a": form("a?"), "b": form("b?") }), Some("S")));
    let (first, _) = question(&mut bench, Owner::Call(call.id()));
    bench.reply(first, accept("kept"));
    bench.trace();
    bench.cancel(&call);
    let trace = bench.trace();
    assert_eq!(trace.iter().filter(|line| line.contains("withdraw")).count(), 1, "{trace:?}");
    let error = bench.error(&call);
    assert!(matches!(error.kind(), ErrorKind::Cancelled));
    assert_eq!(error.outcome(), Outcome::NotRun);
    let from = error.continuation().unwrap();
    assert!(from.is_resumable());
    assert_eq!(from.answers().len(), 1);
    bench.quiet();
}

/// M-MRTR-11: while the host is asked for the metadata of the request that is to bring the input,
/// nothing is out either.
#[test]
fn nothing_is_out_while_metadata_for_the_next_round_is_computed() {
    let mut config = able();
    config.hears.push(Hearing::RequestMeta);
    let mut bench = Bench::modern(config);
    let metadata = |bench: &mut Bench| {
        let (id, _, question) = bench.question();
        assert!(matches!(question, Question::RequestMeta { .. }), "{question:?}");
        bench.reply(id, Answer::RequestMeta(Map::new()));
    };
    let call = bench.begin(tool("x", json!({})));
    metadata(&mut bench);
    let sent = bench.expect("tools/call");
    bench.result(&sent, asks(&json!({ "a": form("a?") }), Some("S")));
    let (id, _) = question(&mut bench, Owner::Call(call.id()));
    bench.reply(id, accept("typed"));
    bench.cancel(&call);
    let error = bench.error(&call);
    assert_eq!(error.outcome(), Outcome::NotRun);
    let from = error.continuation().unwrap();
    assert!(from.is_resumable());
    assert_eq!(from.answers().len(), 1);
    bench.quiet();
}

/// M-MRTR-11: the state is the server's to understand, so the next process of the same server gets
/// what a user has typed for the last one.
#[test]
fn input_outlives_the_process_that_asked() {
    let mut bench = Bench::modern(able());
    let (call, _) = asked(&mut bench, &asks(&json!({ "a": form("a?") }), Some("S")));
    let (id, _) = question(&mut bench, Owner::Call(call.id()));
    bench.exit(ExitStatus::Code(1));
    assert!(bench.is_pending(&call));
    bench.reply(id, accept("typed"));
    bench.speak_modern();
    let sent = bench.expect("tools/call");
    assert_eq!(sent.params()["inputResponses"]["a"]["content"]["name"], "typed");
    bench.result(&sent, done());
    bench.done(&call).unwrap();

    // One of the other era does not ask in this way.
    let (call, _) = asked(&mut bench, &asks(&json!({ "a": form("a?") }), Some("S")));
    let (id, _) = question(&mut bench, Owner::Call(call.id()));
    bench.exit(ExitStatus::Code(1));
    bench.reply(id, accept("typed"));
    bench.speak(Era::Legacy);
    let error = bench.error(&call);
    assert_eq!(fault(&error), &InputFault::OtherServer);
    assert!(error.continuation().unwrap().is_resumable());
    bench.quiet();
}

/// M-MRTR-25, M-CAP-07, M-SAMP-14: a request that brings input carries what any request carries.
#[test]
fn the_next_round_declares_what_is_true_by_then() {
    let mut bench = Bench::modern(able());
    let (call, first) = asked(&mut bench, &asks(&json!({ "a": form("a?") }), Some("S")));
    let (id, _) = question(&mut bench, Owner::Call(call.id()));
    let set = mcp_proto::Setting::Hear(Hearing::SamplingTools);
    bench.input(mcp_proto::Input::Set(set));
    bench.reply(id, accept("a"));
    let sent = bench.expect("tools/call");
    let declared = |sent: &Sent| sent.meta()["io.modelcontextprotocol/clientCapabilities"].clone();
    assert_eq!(declared(&first)["sampling"], json!({}));
    assert_eq!(declared(&sent)["sampling"], json!({ "tools": {} }));
    bench.result(&sent, done());
    bench.done(&call).unwrap();
}
