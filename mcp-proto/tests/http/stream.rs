//! The stream on which a legacy server says what belongs to no answer.

use std::time::Duration;

use mcp_proto::op::{Connect, ListTools};
use mcp_proto::{
    Answer, Event, Hearing, HttpFailureKind, Input, Method, Owner, Question, Sent, Setting,
    TimerReason,
};
use serde_json::{Value, json};

use crate::support::*;

const SECOND: Duration = Duration::from_secs(1);

/// A connection to a legacy server whose host can hear it, and the request for the stream.
fn asked() -> (Bench, Posted) {
    let mut config = config();
    config.hears = vec![Hearing::Elicitation];
    let mut bench = Bench::new(config, target());
    bench.begin(Connect);
    let probe = bench.expect("server/discover");
    bench.says(&probe, 404, "");
    let initialize = bench.expect("initialize");
    bench.welcome(&initialize, "2025-06-18", Some("session-1"));
    let notification = bench.expect(INITIALIZED);
    bench.accepts(&notification);
    let get = got(&mut bench);
    (bench, get)
}

fn got(bench: &mut Bench) -> Posted {
    let get = bench.next_post();
    assert_eq!(get.request.method, Method::Get, "in\n{}", bench.whole_trace());
    get
}

fn opened() -> (Bench, Posted) {
    let (mut bench, get) = asked();
    bench.head(&get, 200, SSE);
    assert_eq!(bench.events.last(), Some(&Event::StreamOpened));
    (bench, get)
}

fn last_id(get: &Posted) -> Option<&str> {
    get.header("last-event-id")
}

fn lists(bench: &mut Bench) {
    let call = bench.begin(ListTools);
    let post = bench.expect("tools/list");
    bench.result(&post, json!({ "tools": [] }));
    bench.done(&call).unwrap();
}

/// How long it takes until the stream is asked for again, and that request.
fn again(bench: &mut Bench) -> (Duration, Posted) {
    let since = bench.now;
    assert_eq!(bench.next_deadline(), TimerReason::Stream);
    (bench.now - since, got(bench))
}

/// M-SESS-08, M-SESS-01: it is asked for once the handshake is over, by a GET under the session, and
/// only of legacy servers and if anybody hears what comes on it.
#[test]
fn it_is_asked_for_if_anybody_hears() {
    let (mut bench, get) = asked();
    assert_eq!(get.owner, Owner::Stream);
    assert_eq!(get.header("accept"), Some("text/event-stream"));
    assert_eq!(get.header("mcp-session-id"), Some("session-1"));
    assert_eq!(get.header("mcp-protocol-version"), Some("2025-06-18"));
    assert_eq!((get.header("content-type"), last_id(&get)), (None, None));
    bench.head(&get, 200, SSE);
    lists(&mut bench);
    bench.quiet();
    for hears in [vec![], vec![Hearing::RequestMeta]] {
        let mut config = config();
        config.hears = hears;
        let mut bench = Bench::new(config, target());
        bench.begin(Connect);
        for _ in 0..4 {
            while let Some((id, ..)) = bench.asked.pop_front() {
                bench.reply(id, Answer::RequestMeta(serde_json::Map::new()));
            }
            for post in bench.take_posts() {
                assert_eq!(post.request.method, Method::Post);
                match post.method() {
                    "server/discover" => bench.says(&post, 404, ""),
                    "initialize" => bench.welcome(&post, "2025-11-25", None),
                    _ => bench.accepts(&post),
                }
            }
        }
        assert!(bench.connection.server().is_some());
        bench.quiet();
    }
}

/// M-SESS-08, M-ERA-04: a callback that comes after the handshake was not declared in it, so that
/// nothing can come for it, and what comes all the same is refused.
#[test]
fn what_was_not_declared_is_refused() {
    let mut bench = Bench::legacy();
    bench.input(Input::Set(Setting::Hear(Hearing::Elicitation)));
    bench.quiet();
    let call = bench.begin(tool("x", json!({})));
    let post = bench.expect("tools/call");
    let asks = r#"{"jsonrpc":"2.0","id":"e1","method":"elicitation/create","params":{}}"#;
    bench.streams(&post, &event(asks));
    let reply = bench.next_post();
    assert_eq!(reply.message["error"]["code"], -32601);
    bench.accepts(&reply);
    assert!(bench.asked.is_empty());
    let done = bench.completion(&post, json!({ "content": [] }));
    bench.body(&post, done.as_bytes());
    bench.done(&call).unwrap();
    // The next handshake declares it.
    bench.input(Input::Disconnect);
    let delete = bench.next_post();
    bench.accepts(&delete);
    bench.begin(Connect);
    let initialize = bench.expect("initialize");
    let declared = json!({ "roots": { "listChanged": true }, "elicitation": {} });
    assert_eq!(initialize.params()["capabilities"], declared);
    bench.welcome(&initialize, "2025-11-25", None);
    let notification = bench.expect(INITIALIZED);
    bench.accepts(&notification);
    got(&mut bench);
}

/// M-SESS-08: calls wait for its head, so that nothing is lost that the server says on it, but for
/// half a second at most; and not longer than until it is clear that it is not there.
#[test]
fn calls_wait_for_it_for_a_while() {
    type Settle = fn(&mut Bench, &Posted);
    let mut settled: Vec<(Settle, u64)> = vec![
        (|bench, get| bench.head(get, 200, SSE), 0),
        (|bench, get| bench.whole(get, 405, JSON, b""), 0),
        (|bench, get| bench.whole(get, 503, &[], b""), 0),
        (|bench, get| bench.breaks(get, HttpFailureKind::Connect, Sent::None), 0),
        (|bench, get| bench.resets(get), 0),
    ];
    settled.push((|bench, _| assert_eq!(bench.next_deadline(), TimerReason::Stream), 500));
    for (settle, waited) in settled {
        let (mut bench, get) = asked();
        let call = bench.begin(ListTools);
        bench.quiet();
        let since = bench.now;
        settle(&mut bench, &get);
        assert_eq!(bench.now - since, Duration::from_millis(waited));
        let post = bench.expect("tools/list");
        bench.result(&post, json!({ "tools": [] }));
        bench.done(&call).unwrap();
    }
    // It is heard all the same when it comes later.
    let (mut bench, get) = asked();
    bench.next_deadline();
    lists(&mut bench);
    bench.head(&get, 200, SSE);
    assert_eq!(bench.events.last(), Some(&Event::StreamOpened));
    bench.body(&get, event(r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#).as_bytes());
    let pong = bench.next_post();
    assert_eq!(pong.id(), &json!(7));
}

/// M-SESS-08: what comes on it is served, although no call has been sent yet; and a start that ends
/// meanwhile leaves nothing of it.
#[test]
fn it_serves_before_the_first_call() {
    let (mut bench, get) = asked();
    let call = bench.begin(ListTools);
    bench.streams(&get, &event(r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#));
    let (first, second) = (bench.next_post(), bench.next_post());
    assert_eq!((first.method(), second.id()), ("tools/list", &json!(7)));
    bench.cancel(&call);
    let (mut bench, get) = asked();
    let call = bench.begin(ListTools);
    bench.cancel(&call);
    bench.input(Input::Disconnect);
    assert!(!bench.watch.is_open(get.exchange));
    let delete = bench.next_post();
    bench.accepts(&delete);
    assert_eq!(bench.deadline(), None);
    bench.quiet();
}

/// M-SESS-08: a server need not offer it. Whatever says so, calls go on, and it is not asked again.
#[test]
fn it_need_not_be_offered() {
    for (status, head) in [
        (405, JSON),
        (404, JSON),
        (400, JSON),
        (401, JSON),
        (501, JSON),
        (302, &[("location", "http://elsewhere.test/login")]),
        (200, JSON),
        (200, &[("content-type", "text/html")]),
        (204, &[]),
    ] {
        let (mut bench, get) = asked();
        bench.whole(&get, status, head, b"<html>");
        assert_eq!(bench.events.last(), Some(&Event::StreamNotOffered { status }));
        lists(&mut bench);
        bench.advance(600 * SECOND);
        lists(&mut bench);
        bench.quiet();
    }
}

/// M-SESS-08, M-ELIC-01: what the server asks on it is the connection's to answer, by POST; what it
/// notifies of goes where it belongs.
#[test]
fn requests_and_notifications_on_it_are_served() {
    let (mut bench, get) = opened();
    let call = bench.begin_with(tool("x", json!({})), options(None, true));
    bench.pull(&call);
    let post = bench.expect("tools/call");
    let token = &post.meta()["progressToken"];
    let progress = format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":1}}}}"#
    );
    let ping = r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#;
    let asks =
        r#"{"jsonrpc":"2.0","id":"e1","method":"elicitation/create","params":{"message":"name?"}}"#;
    bench.body(&get, [event(&progress), event(ping), event(asks)].concat().as_bytes());
    assert_eq!(bench.items.len(), 1);
    let pong = bench.next_post();
    assert_eq!((pong.id(), &pong.message["result"]), (&json!(7), &json!({})));
    assert_eq!(pong.header("mcp-session-id"), Some("session-1"));
    bench.accepts(&pong);
    let (question, owner, asked) = bench.question();
    assert_eq!(owner, Owner::Connection);
    let Question::Elicit(request) = asked else { panic!("{asked:?}") };
    let params = request.raw;
    assert_eq!(params.parse::<Value>().unwrap()["message"], "name?");
    bench.reply(question, Answer::Elicit(json!({ "action": "decline" })));
    let reply = bench.next_post();
    assert_eq!((reply.id(), &reply.message["result"]["action"]), (&json!("e1"), &json!("decline")));
    bench.accepts(&reply);
    bench.result(&post, json!({ "content": [] }));
    bench.done(&call).unwrap();
    bench.quiet();
}

/// M-SESS-04, M-UNTR-03, M-UNTR-04: it is opened again from where it broke off, after the pause that
/// the server asks for, but never at once.
#[test]
fn it_goes_on_where_it_broke_off() {
    for (said, pause, id) in [
        ("id: 7\ndata:\n\n", 1000, Some("7")),
        ("id: 7\nretry: 500\ndata:\n\n", 500, Some("7")),
        ("retry: 500\n\nid: 8\n\n", 500, Some("8")),
        ("id: 7\nretry: 0\ndata:\n\n", 100, Some("7")),
        ("id: 7\nretry: 99\n\n", 100, Some("7")),
        ("id: 7\nretry: 45000\n\n", 45_000, Some("7")),
        ("id: 7\n\nid:\n\n", 1000, None),
        ("id: é\n\n", 1000, None),
        ("", 1000, None),
    ] {
        for ends in [true, false] {
            let (mut bench, get) = opened();
            bench.body(&get, said.as_bytes());
            if ends {
                bench.ends(&get);
            } else {
                bench.resets(&get);
            }
            bench.quiet();
            let (after, get) = again(&mut bench);
            assert_eq!(after, Duration::from_millis(pause), "{said:?}");
            assert_eq!(last_id(&get), id, "{said:?}");
            assert_eq!(get.header("mcp-session-id"), Some("session-1"));
            bench.head(&get, 200, SSE);
            lists(&mut bench);
        }
    }
}

/// M-UNTR-05, M-UNTR-06: an id goes into a header only if it can.
#[test]
fn ids_that_are_too_long_are_not_named() {
    for (chars, named) in [(1024, true), (1025, false)] {
        let (mut bench, get) = opened();
        let id = "x".repeat(chars);
        bench.body(&get, format!("id: {id}\n\n").as_bytes());
        bench.ends(&get);
        let (_, get) = again(&mut bench);
        assert_eq!(last_id(&get).is_some(), named);
    }
}

/// M-SESS-08, M-UNTR-03: as long as nothing comes on it the pauses grow, from 1 s to 30 s; with the
/// first thing that comes they begin anew.
#[test]
fn pauses_grow_while_nothing_comes() {
    let (mut bench, mut get) = asked();
    for (turn, want) in [1, 2, 4, 8, 16, 30, 30].into_iter().enumerate() {
        match turn % 4 {
            0 => bench.breaks(&get, HttpFailureKind::Connect, Sent::None),
            1 => bench.whole(&get, 503, &[], b""),
            2 => bench.whole(&get, 409, JSON, b"{}"),
            _ => {
                bench.streams(&get, ": nothing\n\n");
                bench.ends(&get);
            }
        }
        let (after, next) = again(&mut bench);
        assert_eq!(after, want * SECOND);
        get = next;
    }
    bench.streams(&get, &event(r#"{"jsonrpc":"2.0","method":"notifications/x"}"#));
    bench.ends(&get);
    let (after, _) = again(&mut bench);
    assert_eq!(after, SECOND);
}

/// M-SESS-08: one that is silent for 300 s is opened anew; any sign of life counts.
#[test]
fn a_silent_stream_is_opened_anew() {
    let (mut bench, get) = opened();
    bench.advance(299 * SECOND);
    bench.body(&get, b": alive\n\n");
    bench.advance(299 * SECOND);
    assert!(bench.watch.is_open(get.exchange));
    assert_eq!(bench.next_deadline(), TimerReason::Exchange(get.exchange));
    assert!(!bench.watch.is_open(get.exchange));
    let (after, _) = again(&mut bench);
    assert_eq!(after, SECOND);
    // The same goes for one that is never answered.
    let (mut bench, get) = asked();
    bench.next_deadline();
    bench.advance(300 * SECOND);
    assert!(!bench.watch.is_open(get.exchange));
    again(&mut bench);
}

/// M-SESS-08, M-SESS-02: it ends with its connection, open or not, and before the session does.
#[test]
fn it_ends_with_the_connection() {
    for state in 0..3 {
        for input in [Input::Close, Input::Disconnect] {
            let (mut bench, get) = asked();
            if state > 0 {
                bench.head(&get, 200, SSE);
            }
            if state > 1 {
                bench.ends(&get);
            }
            bench.input(input);
            assert!(!bench.watch.is_open(get.exchange));
            let delete = bench.next_post();
            assert_eq!(delete.request.method, Method::Delete);
            bench.accepts(&delete);
            assert_eq!(bench.deadline(), None);
            bench.quiet();
        }
    }
}

/// M-SESS-07, M-SESS-08: with its session it ends, and the new session has one of its own, which
/// knows nothing of the old one's events.
#[test]
fn a_new_session_has_a_stream_of_its_own() {
    for pausing in [false, true] {
        let (mut bench, get) = opened();
        bench.body(&get, b"id: 7\nretry: 5000\n\n");
        if pausing {
            bench.ends(&get);
        }
        let call = bench.begin(ListTools);
        let post = bench.expect("tools/list");
        bench.says(&post, 404, "");
        assert!(!bench.watch.is_open(get.exchange));
        let initialize = bench.expect("initialize");
        bench.welcome(&initialize, "2025-06-18", Some("session-2"));
        let notification = bench.expect(INITIALIZED);
        bench.accepts(&notification);
        let get = got(&mut bench);
        assert_eq!((get.header("mcp-session-id"), last_id(&get)), (Some("session-2"), None));
        bench.head(&get, 200, SSE);
        let post = bench.expect("tools/list");
        bench.result(&post, json!({ "tools": [] }));
        bench.done(&call).unwrap();
        bench.advance(10 * SECOND);
        bench.quiet();
    }
}

/// M-SESS-07, M-SESS-08: it ends with its session at once, although the host is asked first what the
/// next `initialize` is to carry; nothing is left that would open it again.
#[test]
fn it_ends_before_the_host_is_asked_about_the_new_session() {
    let (mut bench, get) = opened();
    bench.says_little = false;
    bench.input(Input::Set(Setting::Hear(Hearing::RequestMeta)));
    let call = bench.begin(ListTools);
    let (id, ..) = bench.question();
    bench.reply(id, Answer::RequestMeta(serde_json::Map::new()));
    let post = bench.expect("tools/list");
    bench.says(&post, 404, "");
    let (id, ..) = bench.question();
    assert!(!bench.watch.is_open(get.exchange), "the next handshake waits for the host");
    let deadline = bench.connection.poll_timeout().unwrap();
    assert_eq!(deadline.reason, TimerReason::Call(call.id()));
    bench.reply(id, Answer::RequestMeta(serde_json::Map::new()));
    let initialize = bench.expect("initialize");
    bench.welcome(&initialize, "2025-06-18", Some("session-2"));
    let notification = bench.expect(INITIALIZED);
    bench.accepts(&notification);
    got(&mut bench);
    bench.cancel(&call);
}

/// M-SESS-08, M-UNTR-08: a redirect within the origin is followed, and the stream it leads to is the
/// one that goes on.
#[test]
fn it_follows_redirects() {
    let (mut bench, get) = asked();
    bench.whole(&get, 307, &[("location", "/elsewhere")], b"");
    let get = got(&mut bench);
    assert_eq!((&*get.request.url, get.owner), ("http://server.test/elsewhere", Owner::Stream));
    bench.streams(&get, "id: 9\n\n");
    bench.ends(&get);
    let (_, get) = again(&mut bench);
    assert_eq!(last_id(&get), Some("9"));
}
