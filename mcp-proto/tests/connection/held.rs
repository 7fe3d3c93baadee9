//! What a server asks before its era is known, and while it is legacy (2025-11-25:
//! basic/utilities/ping; basic/lifecycle).

use mcp_proto::op::Connect;
use mcp_proto::{Answer, ConnectionConfig, Event, ExitStatus, Hearing, Owner, Question};
use serde_json::{Value, json};

use crate::support::*;

fn starting() -> Bench {
    starting_with(config())
}

fn starting_with(config: ConnectionConfig) -> Bench {
    let mut bench = Bench::stdio(config);
    bench.begin(Connect);
    bench
}

fn asks(id: &str, method: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}"}}"#)
}

/// What was answered to requests of the server's: id and result or error code.
fn answers(bench: &mut Bench) -> Vec<(String, Value)> {
    let sent = bench.take_messages();
    let answers = sent.into_iter().filter(|sent| sent.method().is_empty());
    answers
        .map(|sent| {
            let error = sent.message.pointer("/error/code").cloned();
            let result = sent.message.get("result").cloned();
            (sent.id().to_string(), error.or(result).unwrap())
        })
        .collect()
}

/// M-NOTE-06, M-ERA-02: nothing is answered while the server may be modern; pings are answered as
/// soon as it is greeted as legacy, everything else once the handshake is over.
#[test]
fn questions_of_the_server_wait_for_its_era() {
    let mut bench = starting();
    let probe = bench.expect("server/discover");
    bench.line(&asks("\"p1\"", "ping"));
    bench.line(&asks("\"r1\"", "x/unknown"));
    bench.quiet();
    bench.refuse(&probe, -32601, "no");
    let initialize = bench.expect("initialize");
    assert_eq!(answers(&mut bench), [("\"p1\"".into(), json!({}))]);
    bench.line(&asks("2", "ping"));
    bench.line(&asks("3", "x/unknown"));
    assert_eq!(answers(&mut bench), [("2".into(), json!({}))]);
    bench.result(&initialize, initialized("2025-11-25"));
    bench.expect(INITIALIZED);
    let want = [("\"r1\"".into(), json!(-32601)), ("3".into(), json!(-32601))];
    assert_eq!(answers(&mut bench), want);
}

/// M-BASE-09, M-ERA-02: when the server turns out modern, they are dropped.
#[test]
fn questions_of_a_modern_server_are_never_answered() {
    let mut bench = starting();
    bench.line(&asks("1", "ping"));
    bench.line(&asks("2", "sampling/createMessage"));
    bench.speak_modern();
    bench.line(&asks("3", "ping"));
    bench.line(&asks("4", "elicitation/create"));
    bench.quiet();
    let dropped = |event: &&Event| matches!(event, Event::MessageDropped { .. });
    assert_eq!(bench.events.iter().filter(dropped).count(), 4);
}

/// M-UNTR-14: what is held is bounded by number, 32, and by size, 1 MiB. Pings are held like
/// everything else.
#[test]
fn what_is_held_is_bounded() {
    let mut bench = starting();
    let probe = bench.expect("server/discover");
    for id in 0..40 {
        bench.line(&asks(&id.to_string(), "x/unknown"));
    }
    let dropped = |event: &&Event| matches!(event, Event::MessageDropped { .. });
    assert_eq!(bench.events.iter().filter(dropped).count(), 8);
    bench.refuse(&probe, -32601, "no");
    let initialize = bench.expect("initialize");
    bench.result(&initialize, initialized("2025-11-25"));
    bench.expect(INITIALIZED);
    let ids: Vec<_> = answers(&mut bench).into_iter().map(|(id, _)| id).collect();
    assert_eq!(ids, (0..32).map(|id| id.to_string()).collect::<Vec<_>>());

    let mut bench = starting();
    let probe = bench.expect("server/discover");
    let large = "x".repeat(300 * 1024);
    for id in 0..5 {
        let params = format!(r#"{{"x":"{large}"}}"#);
        bench.line(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"a","params":{params}}}"#));
    }
    assert_eq!(bench.events.iter().filter(dropped).count(), 2);
    bench.refuse(&probe, -32601, "no");
    let initialize = bench.expect("initialize");
    bench.result(&initialize, initialized("2025-11-25"));
    bench.expect(INITIALIZED);
    assert_eq!(answers(&mut bench).len(), 3);
}

/// M-NOTE-06, M-STD-07: what a process asked dies with it.
#[test]
fn what_was_held_of_a_dead_process_is_forgotten() {
    let mut bench = starting();
    bench.expect("server/discover");
    bench.line(&asks("1", "ping"));
    bench.exit(ExitStatus::Code(1));
    let initialize = bench.expect("initialize");
    bench.result(&initialize, initialized("2025-11-25"));
    bench.expect(INITIALIZED);
    bench.quiet();
}

/// M-UNTR-14: and so is the room that it took.
#[test]
fn what_was_held_of_a_dead_process_takes_no_room() {
    let large = format!(r#"{{"id":1,"method":"a","params":["{}"]}}"#, "x".repeat(900 * 1024));
    let mut bench = starting_with(quick());
    bench.expect("server/discover");
    bench.line(&large);
    bench.exit(ExitStatus::Code(1));
    let initialize = bench.expect("initialize");
    bench.line(&large);
    bench.result(&initialize, initialized("2025-11-25"));
    bench.expect(INITIALIZED);
    assert_eq!(answers(&mut bench), [("1".into(), json!(-32601))]);
}

/// M-NOTE-06: a legacy server's ping is answered with an empty result, under the id as it came,
/// and what is unknown is refused.
#[test]
fn ids_of_the_server_are_echoed_verbatim() {
    let ids = [
        "0",
        "-1",
        "-9007199254740993",
        "18446744073709551615",
        "1.5",
        r#""""#,
        r#""a\u0000b""#,
        r#""p-1""#,
        r#""\u00e9é""#,
    ];
    let mut bench = Bench::legacy(config());
    for id in ids {
        bench.line(&asks(id, "ping"));
        let pong = bench.next_message();
        assert_eq!(pong.line, format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{}}}}\n"));
        bench.line(&asks(id, "x/unknown"));
        let refusal = bench.next_message();
        assert!(refusal.line.contains(&format!("\"id\":{id},\"error\":{{\"code\":-32601,")));
    }
    bench.quiet();
}

/// M-STD-01, M-STD-02: what is no JSON is never sent back, however much it looks like an id.
#[test]
fn ids_that_are_no_json_are_not_echoed() {
    let mut bench = Bench::legacy(config());
    for id in ["hello", "007", "01.0", "-", "1e", "tru", r#""\q""#, "\"\u{1}\"", "\"\t\"", "'1'"] {
        bench.events.clear();
        bench.line(&asks(id, "ping"));
        bench.quiet();
        assert!(matches!(bench.events[..], [Event::LineSkipped { .. }]), "{id}");
    }
}

/// M-BASE-02: a notification is never answered, whatever it is; an id that is `null` is none.
#[test]
fn notifications_are_never_answered() {
    in_both_eras(|bench| {
        for line in [
            r#"{"jsonrpc":"2.0","method":"window/logMessage","params":{"type":3,"message":"hi"}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"x","data":[1]}}"#,
            r#"{"jsonrpc":"2.0","method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
            r#"{"method":"notifications/cancelled","params":{"requestId":99}}"#,
            r#"{"method":"notifications/cancelled","params":[]}"#,
            r#"{"method":"notifications/cancelled"}"#,
        ] {
            bench.line(line);
        }
        bench.quiet();
    });
}

/// M-UNTR-20, M-NOTE-06: an elicitation goes to the host; what becomes of the host's trouble is
/// one fixed text.
#[test]
fn the_host_answers_elicitations() {
    let mut config = config();
    config.hears = vec![Hearing::Elicitation];
    let mut bench = Bench::legacy(config);
    let ask =
        r#"{"jsonrpc":"2.0","id":"e1","method":"elicitation/create","params":{"message":"?"}}"#;
    bench.line(ask);
    let (id, owner, question) = bench.question();
    assert_eq!(owner, Owner::Connection);
    let Question::Elicit(request) = question else { panic!("{question:?}") };
    let params = request.raw;
    assert_eq!(params.as_str(), r#"{"message":"?"}"#);
    bench.quiet();
    bench.reply(id, Answer::Elicit(json!({ "action": "decline" })));
    assert_eq!(answers(&mut bench), [("\"e1\"".into(), json!({ "action": "decline" }))]);

    bench.line(ask);
    let (id, ..) = bench.question();
    bench.reply(id, Answer::Failed);
    let refusal = bench.next_message();
    assert_eq!(refusal.message["error"]["code"], -32603);
    assert!(refusal.message["error"].get("data").is_none());

    // It may also think better of it: then nothing is answered.
    bench.line(ask);
    let (id, ..) = bench.question();
    bench.line(r#"{"method":"notifications/cancelled","params":{"requestId":"e1","reason":"x"}}"#);
    assert!(bench.trace().pop().unwrap().starts_with(&format!("withdraw {id}")));
    bench.reply(id, Answer::Elicit(json!({ "action": "accept" })));
    bench.quiet();
}

/// M-UNTR-14: a server may have 32 questions open; more are refused, and pings go on.
#[test]
fn open_questions_are_bounded() {
    let mut config = config();
    config.hears = vec![Hearing::Elicitation];
    let mut bench = Bench::legacy(config);
    for id in 0..40 {
        bench.line(&asks(&id.to_string(), "elicitation/create"));
    }
    assert_eq!(bench.asked.len(), 32);
    assert_eq!(answers(&mut bench).len(), 8);
    bench.line(&asks("\"p\"", "ping"));
    assert_eq!(answers(&mut bench), [("\"p\"".into(), json!({}))]);
    // They end with the process that asked.
    bench.exit(ExitStatus::Code(0));
    assert_eq!(bench.watch.open_questions(), []);
}
