//! Requests of a legacy server's on the stream of a call.

use std::time::Duration;

use mcp_proto::op::{CallTool, Connect, ListTools};
use mcp_proto::{
    Answer, Call, Event, Hearing, HttpFailureKind, Input, Owner, Question, Sent, Source,
    TimerReason,
};
use serde_json::{Value, json};

use crate::support::*;

fn listening() -> Bench {
    let mut config = config();
    config.hears = vec![Hearing::Elicitation];
    Bench::legacy_with(config)
}

/// A call of a tool whose answer is an open stream.
fn streaming(bench: &mut Bench) -> (Call<CallTool>, Posted) {
    let call = bench.begin(tool("x", json!({})));
    let post = bench.expect("tools/call");
    bench.head(&post, 200, SSE);
    (call, post)
}

fn asks(bench: &mut Bench, on: &Posted, id: &str, method: &str) {
    let params = json!({ "message": "name?", "requestedSchema": { "type": "object" } });
    let message = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#);
    bench.body(on, event(&message).as_bytes());
}

fn completes(bench: &mut Bench, call: &Call<CallTool>, post: &Posted) {
    let message = bench.completion(post, json!({ "content": [] }));
    bench.body(post, message.as_bytes());
    bench.done(call).unwrap();
}

/// M-NOTE-06, M-SESS-08: a ping on a stream is answered by a POST of its own, and what nobody here
/// can do is refused in the same way.
#[test]
fn requests_are_answered_by_post() {
    let mut bench = Bench::legacy();
    let (call, post) = streaming(&mut bench);
    let long = "\"a\\u0000b\"";
    for (id, method, code) in [
        ("\"p1\"", "ping", None),
        ("-9007199254740993", "ping", None),
        (long, "ping", None),
        ("1", "sampling/createMessage", Some(-32601)),
        ("2", "elicitation/create", Some(-32601)),
        ("3", "x/y", Some(-32601)),
    ] {
        asks(&mut bench, &post, id, method);
        let reply = bench.next_post();
        assert_eq!(reply.owner, Owner::Connection);
        assert_eq!(reply.header("mcp-session-id"), Some("session-1"));
        assert_eq!(reply.header("mcp-protocol-version"), Some("2025-11-25"));
        assert_eq!(*reply.id(), serde_json::from_str::<Value>(id).unwrap());
        match code {
            None => assert_eq!(reply.message["result"], json!({})),
            Some(code) => assert_eq!(reply.message["error"]["code"], code),
        }
        bench.accepts(&reply);
    }
    assert!(bench.is_pending(&call));
    completes(&mut bench, &call, &post);
    bench.quiet();
}

/// M-ELIC-01, M-SESS-08: who asks on the stream of a call asks that call; the answer goes out by
/// POST while the stream is open.
#[test]
fn a_question_belongs_to_the_call_of_its_stream() {
    let mut bench = listening();
    let (call, post) = streaming(&mut bench);
    let (other, other_post) = streaming(&mut bench);
    asks(&mut bench, &other_post, "\"e2\"", "elicitation/create");
    asks(&mut bench, &post, "\"e1\"", "elicitation/create");
    let (second, owner, _) = bench.question();
    assert_eq!(owner, Owner::Call(other.id()));
    let (first, owner, question) = bench.question();
    assert_eq!(owner, Owner::Call(call.id()));
    let Question::Elicit(request) = question else { panic!("{question:?}") };
    let params = request.raw;
    assert_eq!(params.parse::<Value>().unwrap()["message"], "name?");
    bench.reply(first, Answer::Elicit(json!({ "action": "accept", "content": { "a": 1 } })));
    let reply = bench.next_post();
    assert_eq!((reply.id(), &reply.message["result"]["action"]), (&json!("e1"), &json!("accept")));
    bench.accepts(&reply);
    bench.reply(second, Answer::Failed);
    let reply = bench.next_post();
    assert_eq!((reply.id(), &reply.message["error"]["code"]), (&json!("e2"), &json!(-32603)));
    bench.accepts(&reply);
    completes(&mut bench, &other, &other_post);
    completes(&mut bench, &call, &post);
    bench.quiet();
}

/// M-ELIC-01, M-TIME-09: with the call its questions end, however it ends; an answer that comes
/// later goes nowhere.
#[test]
fn questions_end_with_their_call() {
    for how in 0..4 {
        let mut bench = listening();
        let (call, post) = streaming(&mut bench);
        asks(&mut bench, &post, "\"e1\"", "elicitation/create");
        let (question, owner, _) = bench.question();
        match how {
            0 => completes(&mut bench, &call, &post),
            1 => bench.cancel(&call),
            2 => bench.resets(&post),
            _ => bench.advance(Duration::from_secs(30)),
        }
        assert!(!bench.is_pending(&call));
        let withdrawn = format!("withdraw {question} of {owner:?}");
        assert!(bench.trace().contains(&withdrawn), "{how}");
        let sent = bench.take_posts().len();
        bench.input(Input::Answer(question, Answer::Elicit(json!({ "action": "accept" }))));
        assert_eq!(bench.take_posts().len(), 0, "{sent} before");
    }
}

/// M-ELIC-01, M-BASE-08: who asks in one batch with the answer finds no call any more.
#[test]
fn a_question_behind_the_answer_is_the_connections() {
    let mut bench = listening();
    let (call, post) = streaming(&mut bench);
    let message = answer(&post, &json!({ "content": [] }));
    let asks = r#"{"jsonrpc":"2.0","id":"e1","method":"elicitation/create","params":{}}"#;
    bench.body(&post, event(&format!("[{message},{asks}]")).as_bytes());
    bench.done(&call).unwrap();
    let (question, owner, _) = bench.question();
    assert_eq!(owner, Owner::Connection);
    bench.reply(question, Answer::Failed);
    let reply = bench.next_post();
    bench.accepts(&reply);
}

/// M-NOTE-06, M-ELIC-01: the server takes its request back.
#[test]
fn a_server_takes_its_question_back() {
    let mut bench = listening();
    let (call, post) = streaming(&mut bench);
    asks(&mut bench, &post, "7", "elicitation/create");
    let (question, owner, _) = bench.question();
    bench.trace();
    let cancelled =
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#;
    bench.body(&post, event(cancelled).as_bytes());
    assert_eq!(bench.trace(), [format!("withdraw {question} of {owner:?}")]);
    bench.watch.answered(question);
    completes(&mut bench, &call, &post);
    bench.quiet();
}

/// M-UNTR-14, M-UNTR-15: eight answers are on their way at once; what is beyond is dropped and no
/// longer in the way once they have arrived. A flood is told of every 5 s at most.
#[test]
fn answers_have_a_budget() {
    let mut bench = Bench::legacy();
    let (call, post) = streaming(&mut bench);
    let dropped = |bench: &Bench| {
        let dropped = |event: &&Event| matches!(event, Event::MessageDropped { .. });
        bench.events.iter().filter(dropped).count()
    };
    for n in 0..20 {
        asks(&mut bench, &post, &n.to_string(), "ping");
    }
    let replies = bench.take_posts();
    let ids: Vec<_> = replies.iter().filter_map(|reply| reply.id().as_u64()).collect();
    assert_eq!(ids, [0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(dropped(&bench), 1);
    bench.advance(Duration::from_millis(4999));
    asks(&mut bench, &post, "100", "ping");
    assert_eq!(dropped(&bench), 1);
    bench.advance(Duration::from_millis(1));
    asks(&mut bench, &post, "101", "ping");
    asks(&mut bench, &post, "102", "ping");
    assert_eq!(dropped(&bench), 2);
    bench.quiet();
    bench.accepts(&replies[3]);
    bench.breaks(&replies[5], HttpFailureKind::Closed, Sent::All);
    for n in 20..23 {
        asks(&mut bench, &post, &n.to_string(), "ping");
    }
    let ids: Vec<_> = bench.take_posts().iter().filter_map(|reply| reply.id().as_u64()).collect();
    assert_eq!(ids, [20, 21]);
    assert_eq!(dropped(&bench), 2);
    completes(&mut bench, &call, &post);
}

/// M-ELIC-01, M-UNTR-14: what the host has answered is kept while too many answers are on their
/// way, in its order, and counts as open until it is sent; a server may still take its question
/// back.
#[test]
fn an_answer_of_the_hosts_waits_for_its_turn() {
    let mut config = config();
    config.hears = vec![Hearing::Elicitation];
    config.max_server_requests = 3;
    let mut bench = Bench::legacy_with(config);
    let (call, post) = streaming(&mut bench);
    for n in 0..3 {
        asks(&mut bench, &post, &format!("\"e{n}\""), "elicitation/create");
    }
    for n in 0..8 {
        asks(&mut bench, &post, &n.to_string(), "ping");
    }
    let pongs = bench.take_posts();
    assert_eq!(pongs.len(), 8);
    for n in 0..3 {
        let (question, ..) = bench.question();
        bench.reply(question, Answer::Elicit(json!({ "action": "accept", "content": { "n": n } })));
    }
    let cancelled =
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"e1"}}"#;
    bench.body(&post, event(cancelled).as_bytes());
    bench.quiet();
    bench.accepts(&pongs[0]);
    let first = bench.next_post();
    assert_eq!((first.id(), &first.message["result"]["content"]["n"]), (&json!("e0"), &json!(0)));
    // One waits, so two more may be asked.
    for n in 3..6 {
        asks(&mut bench, &post, &format!("\"e{n}\""), "elicitation/create");
    }
    assert_eq!(bench.asked.len(), 2);
    bench.accepts(&first);
    let third = bench.next_post();
    assert_eq!((third.id(), &third.message["result"]["content"]["n"]), (&json!("e2"), &json!(2)));
    for _ in 0..2 {
        let (question, ..) = bench.question();
        bench.reply(question, Answer::Failed);
    }
    for pong in &pongs[1..] {
        bench.accepts(pong);
    }
    bench.accepts(&third);
    assert_eq!(bench.take_posts().len(), 2);
    completes(&mut bench, &call, &post);
}

/// M-UNTR-14, M-TIME-11: a server that never takes the answers it asked for costs their time, and
/// then the next are sent.
#[test]
fn answers_that_are_never_taken_are_given_up() {
    let mut bench = Bench::legacy();
    let call =
        bench.begin_with(tool("x", json!({})), options(Some(Duration::from_secs(90)), false));
    let post = bench.expect("tools/call");
    bench.head(&post, 200, SSE);
    for n in 0..9 {
        asks(&mut bench, &post, &n.to_string(), "ping");
    }
    let replies = bench.take_posts();
    assert_eq!(replies.len(), 8);
    bench.advance(Duration::from_millis(29_999));
    assert!(replies.iter().all(|reply| bench.watch.is_open(reply.exchange)));
    assert_eq!(bench.next_deadline(), TimerReason::Exchange(replies[0].exchange));
    assert!(replies.iter().all(|reply| !bench.watch.is_open(reply.exchange)));
    for n in 10..18 {
        asks(&mut bench, &post, &n.to_string(), "ping");
    }
    let replies = bench.take_posts();
    assert_eq!(replies.len(), 8);
    for reply in &replies {
        bench.whole(reply, 500, &[], b"never mind");
    }
    assert!(bench.is_pending(&call));
    completes(&mut bench, &call, &post);
    assert_eq!(bench.deadline(), None);
    bench.quiet();
}

/// M-BASE-09: a modern server must not ask; it is not answered, and the call goes on.
#[test]
fn modern_servers_are_not_answered() {
    let mut config = config();
    config.hears = vec![Hearing::Elicitation];
    let mut bench = Bench::modern_with(config);
    let (call, post) = streaming(&mut bench);
    for method in ["ping", "elicitation/create", "sampling/createMessage", "x"] {
        asks(&mut bench, &post, "1", method);
        let told = bench.events.last();
        assert!(matches!(told, Some(Event::MessageDropped { method: Some(m), .. }) if m == method));
    }
    assert!(bench.asked.is_empty());
    bench.quiet();
    completes(&mut bench, &call, &post);
}

/// M-NOTE-06, M-SESS-01: a ping that comes before the answer to `initialize` is answered, under the
/// session that the server has just opened.
#[test]
fn a_ping_before_the_handshake_is_over_is_answered() {
    let mut bench = Bench::cold();
    let call = bench.begin(Connect);
    let probe = bench.expect("server/discover");
    bench.says(&probe, 400, "");
    let initialize = bench.expect("initialize");
    bench.head(&initialize, 200, &[SSE[0], ("mcp-session-id", "s-1")]);
    asks(&mut bench, &initialize, "\"p\"", "ping");
    let pong = bench.next_post();
    assert_eq!((pong.id(), &pong.message["result"]), (&json!("p"), &json!({})));
    assert_eq!(pong.header("mcp-session-id"), Some("s-1"));
    bench.accepts(&pong);
    let message = answer(&initialize, &initialized("2025-11-25"));
    bench.body(&initialize, event(&message).as_bytes());
    let notification = bench.expect(INITIALIZED);
    bench.accepts(&notification);
    bench.done(&call).unwrap();
}

/// M-ELIC-01, M-SESS-07: what is asked on the stream of a call while its session is begun anew is
/// asked that call, as soon as there is one again.
#[test]
fn a_question_that_waits_for_a_new_session_belongs_to_its_call() {
    let mut bench = listening();
    let (call, post) = streaming(&mut bench);
    let list = bench.begin(ListTools);
    let lost = bench.expect("tools/list");
    bench.says(&lost, 404, "");
    asks(&mut bench, &post, "\"e1\"", "elicitation/create");
    assert!(bench.asked.is_empty());
    bench.greet("2025-11-25", Some("session-2"));
    let (question, owner, _) = bench.question();
    assert_eq!(owner, Owner::Call(call.id()));
    bench.reply(question, Answer::Elicit(json!({ "action": "decline" })));
    let again = bench.expect("tools/list");
    bench.result(&again, json!({ "tools": [] }));
    bench.done(&list).unwrap();
    let reply = bench.next_post();
    assert_eq!(reply.id(), "e1");
    bench.accepts(&reply);
    completes(&mut bench, &call, &post);
}

/// M-SESS-08, M-NOTE-06: answers to a server survive the end of a call's stream, and the loss of
/// their session does no harm.
#[test]
fn an_answer_may_fail_in_any_way() {
    for status in [0, 202, 400, 401, 404, 500] {
        let mut bench = Bench::legacy();
        let (call, post) = streaming(&mut bench);
        asks(&mut bench, &post, "1", "ping");
        let reply = bench.next_post();
        completes(&mut bench, &call, &post);
        if status == 0 {
            bench.breaks(&reply, HttpFailureKind::Connect, Sent::None);
        } else {
            bench.whole(&reply, status, JSON, b"{}");
        }
        bench.quiet();
        let list = bench.begin(ListTools);
        let post = bench.expect("tools/list");
        bench.result(&post, json!({ "tools": [] }));
        bench.done(&list).unwrap();
    }
}

/// M-UNTR-14, M-UNTR-15: while as many answers as there may be are on their way, event streams are
/// not read further, so that nothing has to be dropped; all else is.
#[test]
fn streams_wait_until_their_server_takes_its_answers() {
    let mut bench = Bench::legacy();
    let (call, post) = streaming(&mut bench);
    let wants =
        |bench: &Bench, post: &Posted| bench.connection.wants_read(Source::Exchange(post.exchange));
    for n in 0..7 {
        asks(&mut bench, &post, &n.to_string(), "ping");
        assert!(wants(&bench, &post));
    }
    asks(&mut bench, &post, "7", "ping");
    assert!(!wants(&bench, &post));
    let list = bench.begin(ListTools);
    let replies = bench.take_posts();
    let list_post = &replies[8];
    assert!(wants(&bench, list_post), "its head has not come");
    bench.head(list_post, 200, JSON);
    assert!(wants(&bench, list_post), "it is no stream");
    bench.body(list_post, answer(list_post, &json!({ "tools": [] })).as_bytes());
    bench.ends(list_post);
    bench.done(&list).unwrap();
    assert!(!wants(&bench, &post));
    bench.accepts(&replies[0]);
    assert!(wants(&bench, &post));
    completes(&mut bench, &call, &post);
    assert!(wants(&bench, &post), "what is over says nothing");
}
