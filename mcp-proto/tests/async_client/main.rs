//! The runtime-free half of async clients: who moves the bytes, and when whom is woken.
#![cfg(feature = "driver")]

mod world;

use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::Duration;

use mcp_proto::driver::{AsyncClient, CallOptions, Driver, Handlers};
use mcp_proto::op::{CallTool, Connect, Ping};
use mcp_proto::{ErrorKind, Outcome};
use serde_json::{Map, json};
use world::{Task, World};

/// How long a caller that sits may leave alone what it was woken for.
const PATIENCE: Duration = Duration::from_millis(25);

/// A client that is connected, with a driver that has nothing to do.
fn connected() -> (World, AsyncClient, Task<Driver>) {
    connected_with(Handlers::default())
}

fn connected_with(handlers: Handlers) -> (World, AsyncClient, Task<Driver>) {
    let world = World::default();
    let (client, mut driver) = world.client(handlers);
    assert!(driver.run().is_pending());
    connect(&world, &client, &mut driver);
    (world, client, driver)
}

/// The next call launches the server.
fn connect(world: &World, client: &AsyncClient, driver: &mut Task<Driver>) {
    let mut connecting = Task::new(client.run(Connect, CallOptions::new()));
    assert!(connecting.run().is_pending());
    assert_eq!(driver.woken(), 1, "only the driver may launch");
    assert!(driver.run().is_pending());
    world.discovered(&world.heard_one("server/discover"));
    assert!(driver.run().is_pending());
    assert!(matches!(connecting.run(), Poll::Ready(Ok(_))));
    assert!(driver.run().is_pending());
}

fn ping(client: &AsyncClient) -> Task<impl Future<Output = Result<(), mcp_proto::Error>>> {
    Task::new(client.run(Ping, CallOptions::new()))
}

fn succeeded<T>(polled: Poll<Result<T, mcp_proto::Error>>) -> bool {
    matches!(polled, Poll::Ready(Ok(_)))
}

/// An answer that is there at once is not waited for, 16 times in a row: then other tasks have their
/// turn.
#[test]
fn prompt_answers_are_not_waited_for_but_now_and_then() {
    let (world, client, mut driver) = connected();
    world.set_prompt(json!({ "resultType": "complete", "content": [] }));
    for _ in 0..40 {
        let call = CallTool::new("x", Map::new());
        let mut call = Task::new(client.run(call, CallOptions::new()));
        assert!(succeeded(call.poll()));
        assert!(driver.run().is_pending());
    }
    let glanced = world.glanced();
    assert_eq!(glanced.len(), 40);
    let waited: Vec<_> = (0..40).filter(|n| !glanced[*n]).collect();
    assert_eq!(waited, [16, 33]);
}

#[test]
fn a_caller_moves_its_own_bytes() {
    let (world, client, driver) = connected();
    for n in 0..3 {
        let mut call = ping(&client);
        assert!(call.poll().is_pending());
        assert_eq!(call.woken(), 0, "it has done what it could");
        let id = world.heard_one("server/discover");
        world.discovered(&id);
        assert_eq!(call.woken(), 1);
        // Once in a while the driver is told to watch; it does nothing for the call.
        assert_eq!(driver.woken(), usize::from(n == 0));
        assert!(succeeded(call.poll()));
        assert_eq!(call.woken(), 0);
    }
}

#[test]
fn the_driver_moves_what_no_caller_does() {
    let (world, client, mut driver) = connected();
    let mut call = client.begin_with(Ping, CallOptions::new()).unwrap();
    assert_eq!(driver.woken(), 1);
    assert!(driver.run().is_pending());
    let id = world.heard_one("server/discover");
    world.discovered(&id);
    assert_eq!(driver.woken(), 1);
    assert!(driver.run().is_pending());
    assert!(call.try_take().unwrap().is_ok());
    assert!(call.try_take().is_none());

    // What the server asks while no call is open.
    world.say(&json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }));
    assert_eq!(driver.woken(), 1);
    assert!(driver.run().is_pending());
    assert!(world.heard().is_empty(), "a modern server has nothing to ask");
}

#[test]
fn a_caller_that_takes_without_waiting_is_not_waited_for() {
    let (world, client, mut driver) = connected();
    let mut call = client.begin_with(Ping, CallOptions::new()).unwrap();
    assert!(call.try_take().is_none());
    world.discovered(&world.heard_one("server/discover"));
    // It could not be woken, so the driver is.
    assert_eq!(driver.woken(), 2);
    assert!(driver.run().is_pending());
    assert!(call.try_take().unwrap().is_ok());
}

#[test]
fn the_one_who_leaves_hands_over_to_the_driver() {
    let (world, client, mut driver) = connected();
    let (mut first, mut second) = (ping(&client), ping(&client));
    assert!(first.poll().is_pending());
    let first_id = world.heard_one("server/discover");
    assert!(second.poll().is_pending());
    let second_id = world.heard_one("server/discover");
    // The second sits. It brings the first its answer, and keeps its own place.
    world.discovered(&first_id);
    assert_eq!((first.woken(), second.woken()), (0, 1));
    assert!(second.poll().is_pending());
    assert_eq!(first.woken(), 1);
    // It is dropped in the moment at which it was woken.
    world.discovered(&second_id);
    assert_eq!(second.woken(), 1);
    driver.woken();
    drop(second);
    assert_eq!(driver.woken(), 1);
    assert!(driver.run().is_pending());
    assert!(succeeded(first.poll()));
    assert_eq!(world.heard()[0]["method"], "notifications/cancelled");
}

/// A future that waits its turn in a `select!` is not polled although it was woken.
#[test]
fn a_caller_that_sits_and_sleeps_is_replaced() {
    let (world, client, mut driver) = connected();
    let (mut waiting, mut sleeping) = (ping(&client), ping(&client));
    assert!(waiting.poll().is_pending());
    let id = world.heard_one("server/discover");
    assert!(sleeping.poll().is_pending());
    world.discovered(&id);
    assert_eq!((waiting.woken(), sleeping.woken(), driver.woken()), (0, 1, 1));
    assert!(driver.run().is_pending());
    assert_eq!(waiting.woken(), 0, "the driver is patient");
    world.pass(PATIENCE);
    assert_eq!(driver.woken(), 1);
    assert!(driver.run().is_pending());
    assert_eq!(waiting.woken(), 1);
    assert!(succeeded(waiting.poll()));
    // From now on nobody sits, and the driver is woken directly.
    world.say(&json!({ "jsonrpc": "2.0", "method": "notifications/anything" }));
    assert_eq!((sleeping.woken(), driver.woken()), (0, 1));
    assert!(driver.run().is_pending());
    // It stops watching when there is nobody to watch.
    for _ in 0..3 {
        world.pass(PATIENCE);
        assert!(driver.run().is_pending());
    }
    world.pass(PATIENCE);
    assert_eq!(driver.woken(), 0);
}

#[test]
fn a_reader_that_is_tired_is_not_asked_again_at_once() {
    let (world, client, _driver) = connected();
    let mut call = ping(&client);
    world.set_tired(true);
    assert!(call.poll().is_pending());
    assert!(call.woken() > 0, "it is polled again, after others");
    world.set_tired(false);
    assert!(call.poll().is_pending());
    world.discovered(&world.heard_one("server/discover"));
    assert!(succeeded(call.poll()));
}

#[test]
fn a_call_that_launches_wakes_the_driver() {
    let (world, client, mut driver) = connected();
    world.exits();
    assert!(driver.run().is_pending());
    connect(&world, &client, &mut driver);
    assert_eq!(world.launches(), 2);
}

#[test]
fn bytes_wait_until_they_fit() {
    let (world, client, mut driver) = connected();
    world.set_room(Some(10));
    let arguments = json!({ "text": "long ".repeat(100) }).as_object().cloned().unwrap();
    let mut call = Task::new(client.run(CallTool::new("t", arguments), CallOptions::new()));
    let mut rounds = 0;
    while !call.run().is_ready() {
        world.set_room(Some(64));
        rounds += 1;
        if rounds == 20 {
            world.answer(&world.heard_one("tools/call"), json!({ "content": [] }));
        }
        assert!(rounds < 25);
    }
    // Two messages are queued; one is written in part when the client closes.
    let mut closing = Task::new(client.close());
    assert!(closing.run().is_pending());
    assert!(driver.run().is_pending());
    assert!(!world.stdin_is_open());
    world.exits();
    assert!(driver.run().is_ready());
    assert!(closing.run().is_ready());
    assert!(world.is_over() && world.signals().is_empty());
}

#[test]
fn a_broken_pipe_ends_the_call() {
    let (world, client, mut driver) = connected();
    world.breaks_stdin();
    let mut call = ping(&client);
    assert!(call.run().is_pending());
    world.exits();
    driver.run().is_pending();
    let Poll::Ready(Err(error)) = call.run() else {
        panic!("the server is gone");
    };
    assert!(matches!(error.kind(), ErrorKind::Transport(_)), "{error}");
}

#[test]
fn a_timeout_fires_on_the_clock_of_the_runtime() {
    let (world, client, mut driver) = connected();
    let options = CallOptions::new().timeout(Duration::from_secs(3));
    let mut call = Task::new(client.run(Ping, options));
    assert!(call.run().is_pending());
    // A longer one does not set the timer anew.
    let mut longer = ping(&client);
    assert!(longer.run().is_pending());
    world.pass(Duration::from_secs(2));
    assert!(call.run().is_pending());
    world.pass(Duration::from_secs(1));
    assert!(longer.run().is_pending());
    let Poll::Ready(Err(error)) = call.run() else {
        panic!("its time is over");
    };
    assert!(error.is_timeout());
    world.pass(Duration::from_secs(12));
    driver.run().is_pending();
    let Poll::Ready(Err(error)) = longer.run() else {
        panic!("its time is over too");
    };
    assert!(error.is_timeout());
}

#[test]
fn a_dropped_driver_ends_everything() {
    let (world, client, driver) = connected();
    let mut call = ping(&client);
    assert!(call.run().is_pending());
    drop(driver);
    assert!(world.is_over());
    assert!(call.woken() > 0);
    for mut ended in [call, ping(&client)] {
        let Poll::Ready(Err(error)) = ended.run() else {
            panic!("nothing can answer it");
        };
        assert!(matches!(error.kind(), ErrorKind::DriverGone), "{error}");
        assert_ne!(error.outcome(), Outcome::NotRun);
    }
    assert!(Task::new(client.closed()).run().is_ready());
}

#[test]
fn a_dropped_client_ends_everything_without_its_driver() {
    let (world, client, mut driver) = connected();
    let call = client.begin_with(Ping, CallOptions::new()).unwrap();
    let cancel = call.cancel_handle();
    drop(client);
    assert!(!world.is_over(), "a call keeps the connection");
    drop(call);
    assert!(world.is_over());
    cancel.cancel();
    assert!(driver.woken() > 0);
    assert!(driver.run().is_ready());
}

#[test]
fn handlers_run_beside_their_call_and_are_dropped_with_it() {
    let mut handlers = Handlers::default();
    // The first question of a connection is not this test's.
    let begun = AtomicBool::new(false);
    handlers.on_request_meta(move |_| {
        let mut asked = !begun.swap(true, Ordering::SeqCst);
        std::future::poll_fn(move |_| match std::mem::replace(&mut asked, true) {
            false => Poll::Pending,
            true => Poll::Ready(Ok(Map::from_iter([(String::from("a"), json!(1))]))),
        })
    });
    let world = World::default();
    let (client, mut driver) = world.client(handlers);
    let mut call = Task::new(client.run(Ping, CallOptions::new()));
    assert!(call.run().is_pending());
    assert!(driver.run().is_pending());
    world.discovered(&world.heard_one("server/discover"));
    assert!(driver.run().is_pending());
    assert!(call.run().is_pending(), "the handler has seen the question and waits");
    assert!(world.heard().is_empty());
    assert!(call.run().is_pending());
    assert_eq!(world.heard()[0]["params"]["_meta"]["a"], 1);
    let mut other = Task::new(client.run(Ping, CallOptions::new()));
    assert!(other.run().is_pending());
    assert!(world.heard().is_empty(), "its handler waits");
    drop(other);
    assert!(world.heard().is_empty(), "nothing was sent, so nothing is cancelled");
}
