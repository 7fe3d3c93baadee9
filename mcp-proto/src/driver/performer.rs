//! Performing what a connection wants done, on any async runtime.

use core::task::{Context, Poll};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use super::peer::Peer;
use super::runtime::{Runtime, Stream};
use super::{Hub, Work};
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
    buffer: Box<[u8]>,
    /// The moment to which the timer is set.
    armed: Option<Duration>,
}

impl Performer {
    pub(super) fn new(hub: Arc<Hub>, runtime: Box<dyn Runtime>, stream: Option<Stream>) -> Self {
        Performer {
            hub,
            runtime,
            stream,
            work: VecDeque::new(),
            peer: None,
            buffer: vec![0; READ_BYTES].into_boxed_slice(),
            armed: None,
        }
    }

    /// Performs what there is to do. Ready when there will never be anything again.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        for _ in 0..ROUNDS {
            let turn = self.hub.turn(Some(cx.waker()), &mut self.work);
            if turn.finished {
                self.peer = None;
                return Poll::Ready(());
            }
            let launched = self.perform();
            if turn.at_rest {
                // A child of the server's may hold on to its pipes; nobody listens any more.
                self.peer = None;
            }
            let moved = match &mut self.peer {
                Some(peer) => peer.advance(&self.hub, &mut self.buffer, cx),
                None => false,
            };
            let fired = self.poll_timer(turn.deadline, cx);
            // Whatever was handed in may have brought new work.
            if !(launched || moved || fired) {
                return Poll::Pending;
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Takes all work in hand. Whether anything was handed in.
    fn perform(&mut self) -> bool {
        let mut launched = false;
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
                self.hub.drive(Input::Stdio(id, spawned));
                launched = true;
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
        launched
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
        let Some(at) = deadline else { return false };
        if self.armed.is_none_or(|armed| at < armed) {
            self.runtime.set_timer(at.saturating_sub(self.hub.now().mono));
            self.armed = Some(at);
        }
        if self.runtime.poll_timer(cx).is_pending() {
            return false;
        }
        self.armed = None;
        if at <= self.hub.now().mono {
            self.hub.drive(Input::Timeout);
        }
        true
    }
}
