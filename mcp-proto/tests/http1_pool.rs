//! Which connection a request gets.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use mcp_proto::http1::{Exchange, Facts, Fault, Headers, Phase, Request, Sent};
use mcp_proto::http1::{Pool, PoolLimits, PoolOutput, SocketId, Ticket};
use proptest::prelude::*;

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn pool(max_open: usize, max_idle: usize) -> Pool<&'static str> {
    Pool::new(PoolLimits { max_open, max_idle, ..PoolLimits::default() })
}

fn outputs<K: Ord + Clone>(pool: &mut Pool<K>) -> Vec<PoolOutput> {
    std::iter::from_fn(|| pool.poll_output()).collect()
}

/// The ticket, and the connection that was opened for it at once.
fn opened(pool: &mut Pool<&'static str>, now: Duration) -> (Ticket, SocketId) {
    let ticket = pool.acquire("a", now);
    match outputs(pool)[..] {
        [PoolOutput::Open(for_ticket, socket)] if for_ticket == ticket => (ticket, socket),
        ref other => panic!("not opened: {other:?}"),
    }
}

fn reused(pool: &mut Pool<&'static str>, now: Duration) -> SocketId {
    let ticket = pool.acquire("a", now);
    match outputs(pool)[..] {
        [PoolOutput::Use(for_ticket, socket)] if for_ticket == ticket => socket,
        ref other => panic!("not reused: {other:?}"),
    }
}

#[test]
fn sequential_requests_share_one_connection() {
    let mut pool = pool(256, 16);
    let (_, first) = opened(&mut pool, ms(0));
    for call in 1..1000 {
        pool.release(first, true, ms(call));
        assert_eq!(reused(&mut pool, ms(call)), first);
    }
}

#[test]
fn origins_share_nothing() {
    let mut pool = pool(1, 1);
    let (_, first) = opened(&mut pool, ms(0));
    pool.release(first, true, ms(0));
    let other = pool.acquire("b", ms(0));
    let out = outputs(&mut pool);
    assert!(matches!(out[..], [PoolOutput::Open(ticket, _)] if ticket == other), "{out:?}");
    assert_eq!(reused(&mut pool, ms(0)), first);
}

#[test]
fn a_connection_that_is_not_reusable_is_closed() {
    let mut pool = pool(256, 16);
    let (_, first) = opened(&mut pool, ms(0));
    pool.release(first, false, ms(0));
    assert_eq!(outputs(&mut pool), [PoolOutput::Close(first)]);
    assert_ne!(opened(&mut pool, ms(0)).1, first);
}

#[test]
fn an_idle_connection_is_dropped_after_four_seconds() {
    let mut pool = pool(256, 16);
    let (_, first) = opened(&mut pool, ms(0));
    assert_eq!(pool.poll_timeout(), None);
    pool.release(first, true, ms(100));
    assert_eq!(pool.poll_timeout(), Some(ms(4100)));
    pool.handle_timeout(ms(4099));
    assert_eq!(outputs(&mut pool), []);
    assert_eq!(reused(&mut pool, ms(4099)), first);
    pool.release(first, true, ms(5000));
    pool.handle_timeout(ms(9000));
    assert_eq!(outputs(&mut pool), [PoolOutput::Close(first)]);
    assert_eq!(pool.poll_timeout(), None);

    // Nor is it used when the timer is late.
    let (_, second) = opened(&mut pool, ms(9000));
    pool.release(second, true, ms(9000));
    let ticket = pool.acquire("a", ms(13_000));
    let out = outputs(&mut pool);
    assert_eq!(out[0], PoolOutput::Close(second));
    assert!(matches!(out[1..], [PoolOutput::Open(it, _)] if it == ticket), "{out:?}");
}

#[test]
fn the_connection_used_last_is_used_next_and_the_oldest_goes_first() {
    let mut pool = pool(256, 2);
    let all: Vec<_> = (0..4).map(|_| opened(&mut pool, ms(0)).1).collect();
    for (at, socket) in all.iter().enumerate() {
        pool.release(*socket, true, ms(at as u64));
    }
    assert_eq!(outputs(&mut pool), [PoolOutput::Close(all[0]), PoolOutput::Close(all[1])]);
    assert_eq!(reused(&mut pool, ms(9)), all[3]);
    assert_eq!(reused(&mut pool, ms(9)), all[2]);
}

#[test]
fn what_goes_beyond_the_bound_waits_in_order() {
    let mut pool = pool(2, 2);
    let (_, first) = opened(&mut pool, ms(0));
    let (_, second) = opened(&mut pool, ms(0));
    let [third, fourth, fifth, sixth] = [(); 4].map(|()| pool.acquire("a", ms(1)));
    assert_eq!(outputs(&mut pool), []);
    pool.release(second, true, ms(2));
    assert_eq!(outputs(&mut pool), [PoolOutput::Use(third, second)]);
    assert!(pool.cancel(fifth));
    assert!(!pool.cancel(fifth) && !pool.cancel(third));
    // One that is not reusable, or gone, makes room for a new one.
    pool.release(first, false, ms(3));
    let out = outputs(&mut pool);
    let [PoolOutput::Close(closed), PoolOutput::Open(ticket, third_socket)] = out[..] else {
        panic!("{out:?}")
    };
    assert_eq!((closed, ticket), (first, fourth));
    pool.gone(third_socket, ms(4));
    let out = outputs(&mut pool);
    assert!(matches!(out[..], [PoolOutput::Open(ticket, _)] if ticket == sixth), "{out:?}");
}

/// The answer's end is expected any moment: the next request does not open a second connection.
#[test]
fn a_request_waits_for_a_connection_that_drains() {
    let mut pool = pool(256, 16);
    let (_, first) = opened(&mut pool, ms(0));
    pool.drain(first, ms(10));
    let waits = pool.acquire("a", ms(11));
    assert_eq!((outputs(&mut pool), pool.poll_timeout()), (vec![], Some(ms(60))));
    // A second one does not: there is only one connection to wait for.
    let opens = pool.acquire("a", ms(12));
    let out = outputs(&mut pool);
    let [PoolOutput::Open(ticket, second)] = out[..] else { panic!("{out:?}") };
    assert_eq!(ticket, waits);
    pool.release(first, true, ms(13));
    assert_eq!(outputs(&mut pool), [PoolOutput::Use(opens, first)]);
    pool.gone(second, ms(14));
    assert_eq!(outputs(&mut pool), []);
}

#[test]
fn draining_ends_after_fifty_milliseconds_and_then_nobody_waits() {
    let mut pool = pool(256, 16);
    let (_, first) = opened(&mut pool, ms(0));
    pool.drain(first, ms(0));
    let waits = pool.acquire("a", ms(0));
    pool.handle_timeout(ms(49));
    assert_eq!(outputs(&mut pool), []);
    pool.handle_timeout(ms(50));
    let out = outputs(&mut pool);
    let [PoolOutput::Close(closed), PoolOutput::Open(ticket, second)] = out[..] else {
        panic!("{out:?}")
    };
    assert_eq!((closed, ticket), (first, waits));
    // This server leaves its streams open: the next request does not wait.
    pool.drain(second, ms(60));
    let (_, third) = opened(&mut pool, ms(60));
    // Until an answer ends in time again.
    pool.drain(third, ms(70));
    pool.release(third, true, ms(71));
    assert_eq!(reused(&mut pool, ms(72)), third);
    pool.drain(third, ms(73));
    pool.acquire("a", ms(74));
    assert_eq!(outputs(&mut pool), []);
}

#[test]
fn a_dead_connection_is_exchanged_before_anything_is_sent() {
    let mut pool = pool(1, 1);
    let (_, first) = opened(&mut pool, ms(0));
    pool.release(first, true, ms(0));
    let ticket = pool.acquire("a", ms(1));
    let later = pool.acquire("a", ms(1));
    assert_eq!(outputs(&mut pool), [PoolOutput::Use(ticket, first)]);
    pool.refuse(ticket, first, ms(2));
    let out = outputs(&mut pool);
    let [PoolOutput::Close(closed), PoolOutput::Open(again, second)] = out[..] else {
        panic!("{out:?}")
    };
    assert_eq!((closed, again), (first, ticket));
    pool.release(second, true, ms(3));
    assert_eq!(outputs(&mut pool), [PoolOutput::Use(later, second)]);
}

#[test]
fn what_the_pool_does_not_know_changes_nothing() {
    let mut pool = pool(1, 1);
    let (ticket, first) = opened(&mut pool, ms(0));
    pool.gone(first, ms(0));
    pool.gone(first, ms(0));
    pool.drain(first, ms(0));
    pool.release(first, true, ms(0));
    pool.refuse(ticket, first, ms(0));
    pool.handle_timeout(ms(9999));
    assert_eq!((outputs(&mut pool), pool.poll_timeout()), (vec![], None));
    assert_eq!(format!("{first}"), "socket#2");
    // An origin without connections leaves nothing behind.
    assert!(format!("{pool:?}").contains("origins: {}"), "{pool:?}");
}

/// The server closes the idle connection just as the request goes out. Whether it ran the request
/// is not known, and nothing is sent a second time: the facts are for whoever made the request.
#[test]
fn a_connection_that_is_closed_under_a_request_is_told_and_not_retried() {
    let mut pool = pool(256, 16);
    let (_, first) = opened(&mut pool, ms(0));
    pool.release(first, true, ms(0));
    let socket = reused(&mut pool, ms(1));
    let headers = Headers::new();
    let request = Request { method: "POST", target: "/mcp", authority: "h", headers: &headers };
    let mut exchange = Exchange::new(&request, Some(b"{}".to_vec()), true).expect("valid");
    exchange.sent(exchange.unsent().len());
    let error = exchange.finish().expect_err("closed");
    assert_eq!(error.fault, Fault::Truncated(Phase::Start));
    assert_eq!(exchange.facts(), Facts { sent: Sent::All, answered: false, reused: true });
    assert_eq!(exchange.unsent(), b"");
    pool.gone(socket, ms(2));
    assert_eq!((outputs(&mut pool), pool.poll_timeout()), (vec![], None));
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Acquire(u8),
    Release(usize, bool),
    Drain(usize),
    Gone(usize),
    Refuse(usize),
    Cancel(usize),
    Time(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0u8..2).prop_map(Step::Acquire),
        3 => (0usize..8, proptest::bool::weighted(0.8)).prop_map(|(at, ok)| Step::Release(at, ok)),
        2 => (0usize..8).prop_map(Step::Drain),
        1 => (0usize..8).prop_map(Step::Gone),
        1 => (0usize..8).prop_map(Step::Refuse),
        1 => (0usize..8).prop_map(Step::Cancel),
        2 => prop_oneof![1u64..20, 40u64..60, 3900u64..4100].prop_map(Step::Time),
    ]
}

/// What a performer knows: who waits for which origin, and who has which connection.
#[derive(Default)]
struct Model {
    waiting: BTreeMap<Ticket, u8>,
    held: Vec<(Ticket, SocketId, u8)>,
    open: BTreeMap<SocketId, u8>,
    draining: BTreeSet<SocketId>,
}

impl Model {
    fn follow(&mut self, outputs: Vec<PoolOutput>) -> Result<(), TestCaseError> {
        for output in outputs {
            match output {
                PoolOutput::Open(ticket, socket) | PoolOutput::Use(ticket, socket) => {
                    let origin = self.waiting.remove(&ticket);
                    prop_assert!(origin.is_some(), "{output:?}: nobody waits");
                    let origin = origin.unwrap_or_default();
                    let known = self.open.insert(socket, origin);
                    match output {
                        PoolOutput::Use(..) => prop_assert_eq!(known, Some(origin)),
                        _ => prop_assert_eq!(known, None),
                    }
                    let busy = self.held.iter().any(|(_, held, _)| *held == socket);
                    prop_assert!(!busy && !self.draining.contains(&socket), "{output:?}: in use");
                    self.held.push((ticket, socket, origin));
                }
                PoolOutput::Close(socket) => {
                    prop_assert!(self.open.remove(&socket).is_some(), "{output:?}: unknown");
                    let busy = self.held.iter().any(|(_, held, _)| *held == socket);
                    prop_assert!(!busy, "{output:?}: in use");
                    self.draining.remove(&socket);
                }
            }
        }
        Ok(())
    }

    fn perform(
        &mut self,
        step: Step,
        pool: &mut Pool<u8>,
        now: Duration,
    ) -> Result<(), TestCaseError> {
        match step {
            Step::Acquire(origin) => {
                let ticket = pool.acquire(origin, now);
                self.waiting.insert(ticket, origin);
            }
            Step::Release(at, reusable) => {
                let drained = self.draining.pop_first();
                if let Some(socket) = drained.or_else(|| Some(self.take(at)?.1)) {
                    pool.release(socket, reusable, now);
                }
            }
            Step::Drain(at) => {
                if let Some((_, socket, _)) = self.take(at) {
                    self.draining.insert(socket);
                    pool.drain(socket, now);
                }
            }
            Step::Gone(at) => {
                if let Some((_, socket, _)) = self.take(at) {
                    self.open.remove(&socket);
                    pool.gone(socket, now);
                }
            }
            Step::Refuse(at) => {
                if let Some((ticket, socket, origin)) = self.take(at) {
                    self.waiting.insert(ticket, origin);
                    pool.refuse(ticket, socket, now);
                }
            }
            Step::Cancel(at) => {
                let ticket = self.waiting.keys().nth(at).copied();
                if let Some(ticket) = ticket {
                    self.waiting.remove(&ticket);
                    prop_assert!(pool.cancel(ticket));
                }
            }
            Step::Time(_) => {
                pool.handle_timeout(now);
                prop_assert!(pool.poll_timeout().is_none_or(|at| at > now));
            }
        }
        Ok(())
    }

    fn take(&mut self, at: usize) -> Option<(Ticket, SocketId, u8)> {
        let at = at % self.held.len().max(1);
        (at < self.held.len()).then(|| self.held.remove(at))
    }
}

proptest! {
    #[test]
    fn no_connection_has_two_users_and_nobody_is_forgotten(
        steps in proptest::collection::vec(step(), 0..80),
        max_open in 1usize..4,
        max_idle in 0usize..3,
    ) {
        let limits = PoolLimits { max_open, max_idle, ..PoolLimits::default() };
        let mut pool = Pool::new(limits);
        let mut model = Model::default();
        let mut now = Duration::ZERO;
        for step in steps {
            if let Step::Time(millis) = step {
                now += ms(millis);
            }
            model.perform(step, &mut pool, now)?;
            model.follow(outputs(&mut pool))?;
            for origin in 0..2 {
                let open = model.open.values().filter(|it| **it == origin).count();
                prop_assert!(open <= max_open);
            }
        }
        // Once everything ends, everyone gets a connection, and in the end none is left.
        for _ in 0..400 {
            if let Some((_, socket, _)) = model.take(0) {
                pool.release(socket, true, now);
                model.follow(outputs(&mut pool))?;
            }
        }
        pool.handle_timeout(now + ms(50));
        model.follow(outputs(&mut pool))?;
        while let Some((_, socket, _)) = model.take(0) {
            pool.release(socket, true, now + ms(50));
            model.follow(outputs(&mut pool))?;
        }
        prop_assert!(model.waiting.is_empty(), "forgotten: {:?}", model.waiting);
        pool.handle_timeout(now + ms(5000));
        model.follow(outputs(&mut pool))?;
        prop_assert!(model.open.is_empty(), "left open: {:?}", model.open);
        prop_assert_eq!(pool.poll_timeout(), None);
    }
}
