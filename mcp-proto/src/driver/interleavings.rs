//! Callers and a driver, in every order in which their threads can go (loom). A wake-up that is
//! lost is a deadlock, which loom finds.
//!
//! `RUSTFLAGS="--cfg interleaved" cargo test --release -p mcp-proto --features driver --lib interleavings`

use core::task::Poll;
use std::future::poll_fn;
use std::sync::Arc;

use loom::future::block_on;
use loom::thread;
use serde_json::Value;

use super::{Host, Hub, Step, Work};
use crate::op::Ping;
use crate::{
    CallId, CallOptions, Connection, ConnectionConfig, Error, ErrorKind, Event, Input, Now,
    Outcome, ProcessId, Reply, StdioInput, StdioOutput, Transport,
};

struct Nowhere;

impl Host for Nowhere {
    fn now(&self) -> Now {
        Now::default()
    }
    fn event(&self, _: Event) {}
    fn record(&self, _: Vec<u8>) {}
}

/// Tries every order with at most this many switches that no thread asked for.
fn model(test: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(test);
}

fn hub() -> Arc<Hub> {
    let config = Arc::new(ConnectionConfig::default());
    let connection = Connection::new(config, Transport::Stream, [7; 32], Now::default());
    Hub::new(connection, Box::new(Nowhere))
}

/// The server says a line.
fn says(hub: &Hub, line: &str) {
    let line = format!("{line}\n");
    hub.handle(Input::Stdio(ProcessId::new(1), StdioInput::Stdout(line.as_bytes())));
}

const DISCOVERED: &str = r#""supportedVersions":["2026-07-28"],"capabilities":{}"#;

/// A server that has been found out, and a call that waits for the answer to request 2.
fn asked() -> (Arc<Hub>, CallId) {
    let hub = hub();
    let call = hub.begin(Ping, CallOptions::default(), true).unwrap();
    says(&hub, &format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{{DISCOVERED}}}}}"#));
    (hub, call.id())
}

fn answer(hub: &Hub) {
    says(hub, &format!(r#"{{"jsonrpc":"2.0","id":2,"result":{{{DISCOVERED}}}}}"#));
}

/// Waits for the end of a call, as a future does.
fn wait(hub: &Hub, id: CallId) -> Result<Reply, Error> {
    match block_on(poll_fn(|cx| hub.poll_step(id, cx))) {
        Step::Done(done) => done,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_caller_that_waits_is_woken_for_its_answer() {
    model(|| {
        let (hub, id) = asked();
        let driver = Arc::clone(&hub);
        let driver = thread::spawn(move || answer(&driver));
        wait(&hub, id).unwrap();
        driver.join().unwrap();
        assert!(hub.try_done(id).is_none(), "a second end");
    });
}

#[test]
fn a_call_that_is_cancelled_while_its_answer_comes_ends_once() {
    model(|| {
        let (hub, id) = asked();
        let (driver, other) = (Arc::clone(&hub), Arc::clone(&hub));
        let threads =
            [thread::spawn(move || answer(&driver)), thread::spawn(move || other.cancel(id))];
        if let Err(error) = wait(&hub, id) {
            assert!(matches!(error.kind(), ErrorKind::Cancelled), "{error}");
            assert_eq!(error.outcome(), Outcome::Unknown);
        }
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert!(hub.try_done(id).is_none(), "a second end");
    });
}

/// The ids of the requests in what is to be written.
fn requests(work: &mut Work) -> Vec<u64> {
    let id = |line: &[u8]| serde_json::from_slice::<Value>(line).ok()?.get("id")?.as_u64();
    let mut ids = Vec::new();
    for (_, output) in work.drain(..) {
        // One write may hold several lines.
        if let StdioOutput::Write(lines) = output {
            ids.extend(lines.split(|byte| *byte == b'\n').filter_map(id));
        }
    }
    ids
}

#[test]
fn two_callers_and_a_driver_find_each_other() {
    model(|| {
        let hub = hub();
        let callers = [(); 2].map(|()| {
            let hub = Arc::clone(&hub);
            thread::spawn(move || {
                let call = hub.begin(Ping, CallOptions::default(), true).unwrap();
                wait(&hub, call.id()).unwrap();
            })
        });
        // The probe, and a request of each.
        let (mut work, mut answered) = (Work::default(), 0);
        while answered < 3 {
            let ids = block_on(poll_fn(|cx| {
                hub.turn(Some(cx.waker()), &mut work);
                let ids = requests(&mut work);
                if ids.is_empty() { Poll::Pending } else { Poll::Ready(ids) }
            }));
            for id in ids {
                answered += 1;
                says(&hub, &format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{{DISCOVERED}}}}}"#));
            }
        }
        callers.into_iter().for_each(|caller| caller.join().unwrap());
    });
}

#[test]
fn a_driver_that_goes_ends_a_call_that_is_just_begun() {
    model(|| {
        let hub = hub();
        let caller = Arc::clone(&hub);
        let caller = thread::spawn(move || {
            let call = caller.begin(Ping, CallOptions::default(), true).unwrap();
            wait(&caller, call.id()).unwrap_err()
        });
        hub.driver_gone();
        let error = caller.join().unwrap();
        assert!(matches!(error.kind(), ErrorKind::DriverGone), "{error}");
    });
}
