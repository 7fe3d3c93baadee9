//! How exchanges are performed on any async runtime: which connections are opened, used again and
//! closed, and when. Time passes when the tests say so.
#![cfg(feature = "driver")]

mod net;

use std::task::Poll;

use mcp_proto::driver::{AsyncClient, CallOptions, Driver};
use mcp_proto::op::{CallTool, Connect, ListTools};
use mcp_proto::{Error, ErrorKind, HttpFailure, HttpFailureKind, HttpFault, Sent, TransportError};
use serde_json::Map;

use net::{Net, Task, address};

const URL: &str = "http://server.test/mcp";

const LISTED: &str = r#"{"tools":[],"resultType":"complete"}"#;
const DISCOVERED: &str =
    r#"{"supportedVersions":["2026-07-28"],"capabilities":{},"resultType":"complete"}"#;

fn message(id: &str, result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
}

fn json(id: &str, result: &str) -> String {
    let message = message(id, result);
    let length = message.len();
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{message}"
    )
}

/// An event stream that has brought its result, and no end.
fn events(id: &str, result: &str) -> String {
    let event = format!("data: {}\n\n", message(id, result));
    let head = "content-type: text/event-stream\r\ntransfer-encoding: chunked";
    format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n{:x}\r\n{event}\r\n", event.len())
}

struct World {
    net: Net,
    client: AsyncClient,
    driver: Task<Driver>,
}

impl World {
    /// A client that is connected, with one connection.
    fn connected() -> Self {
        let net = Net::default();
        let (client, mut driver) = net.client(URL, &[1]);
        net.accept(1);
        assert!(driver.run().is_pending());
        let mut connecting = Task::new(client.run(Connect, CallOptions::new()));
        assert!(connecting.run().is_pending());
        assert!(driver.run().is_pending());
        let id = net.heard_id(0, "server/discover");
        net.say(0, &json(&id, DISCOVERED));
        assert!(driver.run().is_pending());
        assert!(matches!(connecting.run(), Poll::Ready(Ok(_))));
        drop(connecting);
        World { net, client, driver }
    }

    fn list(&self) -> Task<impl Future<Output = Result<(), Error>> + use<>> {
        let client = self.client.clone();
        Task::new(async move { client.run(ListTools, CallOptions::new()).await.map(drop) })
    }

    fn drive(&mut self) {
        assert!(self.driver.run().is_pending());
    }
}

fn done(polled: Poll<Result<(), Error>>) -> bool {
    matches!(polled, Poll::Ready(Ok(())))
}

/// What a call ended with.
#[track_caller]
fn failed(polled: Poll<Result<(), Error>>) -> HttpFailure {
    let Poll::Ready(Err(error)) = polled else { panic!("{polled:?}") };
    match error.kind() {
        ErrorKind::Transport(TransportError::Http(HttpFault::Exchange(failure))) => failure.clone(),
        _ => panic!("{error}"),
    }
}

#[test]
fn a_caller_performs_its_exchange_itself() {
    let mut world = World::connected();
    world.drive();
    for _ in 0..3 {
        let mut call = world.list();
        assert!(call.run().is_pending());
        let id = world.net.heard_id(0, "tools/list");
        let answer = json(&id, LISTED);
        // However the answer is split.
        for at in 0..answer.len() {
            assert!(call.run().is_pending());
            world.net.say(0, &answer[at..=at]);
            assert_eq!(call.woken(), 1);
        }
        assert!(done(call.run()));
    }
    assert!(world.driver.woken() <= 1, "it watches, once in a while");
    assert_eq!(world.net.lines(), (1, 1));
}

#[test]
fn a_connection_is_closed_after_four_idle_seconds() {
    let mut world = World::connected();
    world.net.pass(3_999);
    world.drive();
    let mut call = world.list();
    assert!(call.run().is_pending());
    let id = world.net.heard_id(0, "tools/list");
    world.net.say(0, &json(&id, LISTED));
    assert!(done(call.run()));
    world.net.pass(3_999);
    world.drive();
    assert_eq!(world.net.lines(), (1, 1));
    world.net.pass(1);
    assert!(world.driver.woken() > 0);
    world.drive();
    assert_eq!(world.net.lines(), (1, 0));
}

#[test]
fn the_rest_of_an_answer_has_fifty_milliseconds() {
    let mut world = World::connected();
    let mut call = world.list();
    assert!(call.run().is_pending());
    let id = world.net.heard_id(0, "tools/list");
    world.net.say(0, &events(&id, LISTED));
    assert!(done(call.run()), "the result is all that was waited for");
    world.net.pass(49);
    world.drive();
    assert_eq!(world.net.lines(), (1, 1));

    // It ends in time, and the connection serves the next call.
    world.net.say(0, "0\r\n\r\n");
    world.drive();
    let mut call = world.list();
    assert!(call.run().is_pending());
    let id = world.net.heard_id(0, "tools/list");
    world.net.say(0, &events(&id, LISTED));
    assert!(done(call.run()));

    // It does not: the call that waits for it gets a connection of its own.
    let mut waiting = world.list();
    assert!(waiting.run().is_pending());
    world.drive();
    assert_eq!(world.net.lines(), (1, 1));
    world.net.pass(50);
    assert!(waiting.run().is_pending());
    assert_eq!(world.net.lines(), (2, 1));
    let id = world.net.heard_id(1, "tools/list");
    world.net.say(1, &json(&id, LISTED));
    assert!(done(waiting.run()));
}

#[test]
fn a_connection_that_is_not_silent_is_left_for_another_one() {
    for spoils in [|net: &Net| net.hang_up(0), |net: &Net| net.say(0, "HTTP/1.1 408 \r\n\r\n")] {
        let mut world = World::connected();
        world.drive();
        spoils(&world.net);
        let mut call = world.list();
        assert!(call.run().is_pending());
        world.drive();
        assert!(call.run().is_pending());
        assert_eq!(world.net.lines(), (2, 1));
        assert_eq!(world.net.heard(0), "", "nothing was sent on it");
        let id = world.net.heard_id(1, "tools/list");
        world.net.say(1, &json(&id, LISTED));
        assert!(done(call.run()));
    }
}

#[test]
fn addresses_are_tried_beside_each_other_after_a_quarter_of_a_second() {
    let net = Net::default();
    let (client, mut driver) = net.client(URL, &[1, 2, 3, 4]);
    net.refuse(2);
    let mut connecting = Task::new(client.run(Connect, CallOptions::new()));
    assert!(connecting.run().is_pending());
    assert!(driver.run().is_pending());
    assert_eq!(net.tried(), (vec![address(1)], 1));
    net.pass(249);
    assert!(driver.run().is_pending());
    assert_eq!(net.tried().1, 1);
    net.pass(1);
    assert!(driver.run().is_pending());
    // The second refuses, and the others wait their turn.
    assert_eq!(net.tried(), (vec![address(1), address(2)], 1));
    net.pass(250);
    assert!(driver.run().is_pending());
    assert_eq!(net.tried(), (vec![address(1), address(2), address(3)], 2));
    net.accept(3);
    assert!(driver.run().is_pending());
    assert_eq!(net.tried().1, 0, "who comes first ends the others");
    assert_eq!(net.lines(), (1, 1));
    net.heard_id(0, "server/discover");
}

/// How a call fails that meets nobody who answers.
fn late(net: &Net, url: &str) -> HttpFailure {
    let (client, mut driver) = net.client(url, &[1]);
    let mut call =
        Task::new(async move { client.run(ListTools, CallOptions::new()).await.map(drop) });
    assert!(call.run().is_pending());
    assert!(driver.run().is_pending());
    net.pass(9_999);
    assert!(driver.run().is_pending());
    assert!(call.run().is_pending());
    net.pass(1);
    assert!(driver.run().is_pending());
    let failure = failed(call.run());
    assert_eq!((failure.sent, failure.answered), (Sent::None, false));
    failure
}

#[test]
fn each_phase_of_opening_has_its_time() {
    let net = Net::default();
    let failure = late(&net, URL);
    assert_eq!(failure.kind, HttpFailureKind::Connect);
    assert_eq!(net.tried(), (vec![address(1)], 0), "the attempt is given up");

    let net = Net::default();
    net.set_insecure();
    net.accept(1);
    let failure = late(&net, "https://server.test/mcp");
    assert_eq!(failure.kind, HttpFailureKind::Tls);
    assert_eq!(net.lines(), (1, 0));

    let net = Net::default();
    net.set_via("proxy.test");
    net.accept(1);
    let failure = late(&net, URL);
    assert_eq!(failure.kind, HttpFailureKind::Proxy);
    assert_eq!(net.heard(0), "CONNECT server.test:80 HTTP/1.1\r\nhost: server.test:80\r\n\r\n");
    assert_eq!(net.lines(), (1, 0));
}

#[test]
fn an_answer_may_come_before_the_request_is_out() {
    let mut world = World::connected();
    world.net.set_room(0, Some(1000));
    let arguments = Map::from_iter([("text".into(), "x".repeat(100_000).into())]);
    let call = CallTool::new("long", arguments);
    let client = world.client.clone();
    let mut call = Task::new(async move { client.run(call, CallOptions::new()).await.map(drop) });
    assert!(call.run().is_pending());
    world.net.say(0, "HTTP/1.1 413 Too Large\r\ncontent-length: 0\r\n\r\n");
    let Poll::Ready(Err(error)) = call.run() else { panic!("it has failed") };
    assert!(error.to_string().contains("413"), "{error}");
    world.drive();
    assert_eq!(world.net.lines(), (1, 0), "half a request is on it");
}

#[test]
fn how_much_was_sent_and_answered_is_told() {
    type Act = fn(&Net);
    let cases: [(Option<usize>, Act, HttpFailureKind, Sent, bool); 5] = [
        (None, |net| net.hang_up(0), HttpFailureKind::Closed, Sent::All, false),
        (Some(10), |net| net.hang_up(0), HttpFailureKind::Closed, Sent::Some, false),
        (Some(0), |net| net.hang_up(0), HttpFailureKind::Closed, Sent::None, false),
        (
            None,
            |net| {
                net.say(0, "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc");
                net.hang_up(0);
            },
            HttpFailureKind::Closed,
            Sent::All,
            true,
        ),
        (None, |net| net.say(0, "SSH-2.0"), HttpFailureKind::Malformed, Sent::All, true),
    ];
    for (room, act, kind, sent, answered) in cases {
        let mut world = World::connected();
        world.net.set_room(0, room);
        let mut call = world.list();
        assert!(call.run().is_pending());
        act(&world.net);
        let failure = failed(call.run());
        assert_eq!((failure.kind, failure.sent, failure.answered), (kind, sent, answered));
        world.drive();
        assert_eq!(world.net.lines(), (1, 0));
    }
}

#[test]
fn a_call_that_is_dropped_closes_its_connection() {
    let mut world = World::connected();
    let mut call = world.list();
    assert!(call.run().is_pending());
    drop(call);
    world.drive();
    assert_eq!(world.net.lines(), (1, 0));
}

#[test]
fn dropping_the_client_closes_everything() {
    let world = World::connected();
    let mut call = world.list();
    assert!(call.run().is_pending());
    let World { net, client, mut driver } = world;
    drop((call, client));
    assert_eq!(net.lines(), (1, 0));
    assert!(driver.run().is_ready());
}
