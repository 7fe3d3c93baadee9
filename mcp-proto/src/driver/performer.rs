//! Performing what a connection wants done, on any async runtime.

use core::task::Context;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use super::http::Web;
use super::peer::Peer;
use super::runtime::{Runtime, Stream, Timer};
use super::{Exchanges, Hub, Work};
use crate::ProcessId;
use crate::interface::{Input, StdioInput, StdioOutput};

/// How many bytes are read at once: as many as a pipe holds.
const READ_BYTES: usize = 64 * 1024;

/// After so many rounds in a row the other tasks of the executor have their turn.
const ROUNDS: usize = 32;

/// Moves the bytes of one connection.
pub(super) struct Performer {
    hub: Arc<Hub>,
    runtime: Box<dyn Runtime>,
    /// The stream that stands for a process, until the connection uses it.
    stream: Option<Stream>,
    work: Work,
    /// The process that runs. The connection has one at a time: its launch takes the place of the
    /// one before.
    peer: Option<Peer>,
    exchanges: Exchanges,
    /// What carries out exchanges, from the first one on.
    web: Option<Web>,
    buffer: Box<[u8]>,
    timer: Option<Box<dyn Timer>>,
    /// The moment to which the timer is set.
    armed: Option<Duration>,
}

/// Who polls.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Who {
    /// The future that belongs to the runtime.
    Driver,
    /// Whoever makes a call, on any thread.
    Caller,
}

/// What came of a poll.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// All was done for now.
    Pending,
    /// The driver has to go on: something is to be made that belongs to its runtime, or all is
    /// over.
    ForDriver,
    /// There will never be anything to do again.
    Finished,
}

impl Performer {
    pub(super) fn new(hub: Arc<Hub>, runtime: Box<dyn Runtime>, stream: Option<Stream>) -> Self {
        Performer {
            hub,
            runtime,
            stream,
            work: VecDeque::new(),
            peer: None,
            exchanges: VecDeque::new(),
            web: None,
            buffer: vec![0; READ_BYTES].into_boxed_slice(),
            timer: None,
            armed: None,
        }
    }

    /// A timer of the runtime. For the driver only.
    pub(super) fn new_timer(&mut self) -> Box<dyn Timer> {
        self.runtime.timer()
    }

    /// Performs what there is to do.
    pub(super) fn poll(&mut self, by: Who, cx: &mut Context<'_>) -> Outcome {
        if by == Who::Driver && self.timer.is_none() {
            self.timer = Some(self.new_timer());
        }
        for _ in 0..ROUNDS {
            let turn = self.hub.turn(Some(cx.waker()), &mut self.work);
            self.hub.take_exchanges(&mut self.exchanges);
            if by == Who::Caller && (turn.finished || self.is_for_driver()) {
                return Outcome::ForDriver;
            }
            if turn.finished {
                self.peer = None;
                self.web = None;
                return Outcome::Finished;
            }
            let mut due = self.perform();
            if turn.at_rest {
                // A child of the server's may hold on to its pipes; nobody listens any more.
                self.peer = None;
                self.web = None;
            }
            if let Some(peer) = &mut self.peer {
                due |= peer.advance(&self.hub, &mut self.buffer, cx);
            }
            due |= self.poll_web(cx);
            due |= self.poll_timer(turn.deadline, cx);
            if !due {
                return Outcome::Pending;
            }
        }
        cx.waker().wake_by_ref();
        Outcome::Pending
    }

    /// Whether something is to be made that belongs to the driver's runtime.
    fn is_for_driver(&self) -> bool {
        let launches = self.work.iter().any(|(_, work)| matches!(work, StdioOutput::Spawn(_)));
        launches || (self.web.is_none() && !self.exchanges.is_empty())
    }

    /// Carries out exchanges. Whether another turn is due.
    fn poll_web(&mut self, cx: &mut Context<'_>) -> bool {
        if self.web.is_none() && !self.exchanges.is_empty() {
            self.web = Some(Web::new(self.runtime.network()));
        }
        let Some(web) = &mut self.web else { return false };
        web.poll(&self.hub, &mut self.exchanges, &mut self.buffer, cx)
    }

    /// Takes all work in hand. Whether another turn is due.
    fn perform(&mut self) -> bool {
        let mut due = false;
        while let Some((id, output)) = self.work.pop_front() {
            if let StdioOutput::Spawn(command) = &output {
                // The process before it has ended; what is left of it are pipes at the most.
                self.peer = None;
                let spawned = match self.runtime.launch(command) {
                    Ok(process) => {
                        let pid = process.pid;
                        self.peer = Some(Peer::process(id, process));
                        StdioInput::Spawned { pid }
                    }
                    Err(failure) => StdioInput::SpawnFailed(failure),
                };
                due |= self.hub.drive(Input::Stdio(id, spawned));
            } else if let Some(peer) = self.peer(id) {
                match output {
                    StdioOutput::Write(bytes) => peer.queue(bytes),
                    StdioOutput::CloseStdin => peer.close_stdin(),
                    StdioOutput::Terminate => peer.terminate(),
                    StdioOutput::Kill => peer.kill(),
                    StdioOutput::Spawn(_) => {}
                }
            }
        }
        due
    }

    /// The process of this id, unless it is gone: then what was meant for it is dropped.
    fn peer(&mut self, id: ProcessId) -> Option<&mut Peer> {
        if let Some(stream) = self.stream.take() {
            self.peer = Some(Peer::stream(id, stream));
        }
        self.peer.as_mut().filter(|peer| peer.id() == id)
    }

    /// Waits for the deadline. Setting a timer costs more than looking at the deadline once too
    /// often, so a timer that is set to an earlier moment stays, and is looked at when it fires.
    fn poll_timer(&mut self, deadline: Option<Duration>, cx: &mut Context<'_>) -> bool {
        let webs = self.web.as_ref().and_then(Web::poll_timeout);
        let earliest = deadline.into_iter().chain(webs).min();
        let (Some(at), Some(timer)) = (earliest, &mut self.timer) else {
            return false;
        };
        if self.armed.is_none_or(|armed| at < armed) {
            timer.set(at.saturating_sub(self.hub.now().mono));
            self.armed = Some(at);
        }
        if timer.poll(cx).is_pending() {
            return false;
        }
        self.armed = None;
        let now = self.hub.now().mono;
        if deadline.is_some_and(|at| at <= now) {
            self.hub.drive(Input::Timeout);
        }
        if let Some(web) = &mut self.web {
            web.handle_timeout(&self.hub);
        }
        // The timer is to be set again, whatever came of it.
        true
    }
}
