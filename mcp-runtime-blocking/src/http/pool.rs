//! The HTTP library, its connections, and the rests of answers.

use std::io::{ErrorKind, Read};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use mcp_runtime_common::HttpSettings;
use ureq::{Agent, BodyReader};

use super::Http;
use super::dial::{Dial, Later};
use super::line::Line;
use crate::wake::lock;

/// How long the rest of an answer may take, once what it was wanted for has arrived.
const DRAIN: Duration = Duration::from_millis(50);
/// How much of a rest is read.
const DRAIN_BYTES: usize = 256 * 1024;
/// How long a connection may be idle. Servers commonly close theirs after 5 s.
const IDLE: Duration = Duration::from_secs(4);
/// How many connections may be idle.
const MAX_IDLE: usize = 16;
/// How many rests are kept. Each holds a connection.
const MAX_PARKED: usize = 16;
/// How much of a body is read at once.
const READ: usize = 64 * 1024;
/// How many buffers are kept.
const MAX_BUFFERS: usize = 16;

/// The rest of an answer.
pub(super) struct Parked {
    body: Box<BodyReader<'static>>,
    until: Duration,
}

/// The HTTP library, so that it does what it is told and nothing else.
pub(super) fn agent(settings: HttpSettings) -> Agent {
    let config = Agent::config_builder()
        .proxy(None)
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .user_agent("")
        .accept("")
        .accept_encoding("")
        .max_idle_age(IDLE)
        .max_idle_connections(MAX_IDLE)
        .max_idle_connections_per_host(MAX_IDLE)
        .build();
    Agent::with_parts(config, Dial::new(settings), Later)
}

impl Http {
    pub(super) fn agent(&self) -> Option<Agent> {
        lock(&self.agent).clone()
    }

    pub(super) fn buffer(&self) -> Vec<u8> {
        lock(&self.buffers).pop().unwrap_or_else(|| vec![0; READ])
    }

    pub(super) fn keep_buffer(&self, buffer: Vec<u8>) {
        let mut buffers = lock(&self.buffers);
        if buffers.len() < MAX_BUFFERS {
            buffers.push(buffer);
        }
    }

    /// What was wanted of an answer has come. Most often its end has come as well.
    pub(super) fn release(&self, body: Box<BodyReader<'static>>) {
        let now = self.hub.now().mono;
        let Some(parked) = self.read_rest(Parked { body, until: now + DRAIN }, now) else { return };
        let until = parked.until;
        let mut all = lock(&self.parked);
        let oldest = if all.len() >= MAX_PARKED { all.pop_front() } else { None };
        all.push_back(parked);
        drop(all);
        drop(oldest);
        if self.agent().is_none() {
            return self.let_go();
        }
        self.wake_helper_by(until);
    }

    /// Before a request goes out: the connection of an answer whose rest is about to end is better
    /// than a new one.
    pub(super) fn drain(&self) {
        let Some(parked) = lock(&self.parked).pop_back() else { return };
        let wait = !self.leaves_open.load(Ordering::Relaxed);
        let until = if wait { parked.until } else { Duration::ZERO };
        if let Some(parked) = self.read_rest(parked, until) {
            self.leaves_open.store(true, Ordering::Relaxed);
            drop(parked);
        }
        self.reap();
    }

    /// Lets go of the rests that have had their time. Says when the next one has.
    pub(super) fn reap(&self) -> Option<Duration> {
        let now = self.hub.now().mono;
        let mut all = lock(&self.parked);
        let over = all.iter().take_while(|parked| parked.until <= now).count();
        let over: Vec<_> = all.drain(..over).collect();
        let next = all.front().map(|parked| parked.until);
        drop(all);
        for parked in over {
            if self.read_rest(parked, Duration::ZERO).is_some() {
                self.leaves_open.store(true, Ordering::Relaxed);
            }
        }
        next
    }

    /// Reads the rest of an answer, until this moment. `None` when there is nothing left to read.
    fn read_rest(&self, mut parked: Parked, until: Duration) -> Option<Parked> {
        let line = Line::new(Arc::clone(&self.hub), None);
        let mut buffer = self.buffer();
        let mut left = DRAIN_BYTES;
        let rest = loop {
            match line.run(Some(until), || parked.body.read(&mut buffer)) {
                Ok(0) => {
                    self.leaves_open.store(false, Ordering::Relaxed);
                    break None;
                }
                Ok(count) if count <= left => left -= count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break Some(parked),
                // Either it has failed, or it is longer than it is worth.
                _ => break None,
            }
        };
        self.keep_buffer(buffer);
        rest
    }
}
