//! What whoever sits in the seat works on: the server processes, or the byte stream.

use std::sync::Arc;
use std::task::Waker;
use std::time::{Duration, Instant};

use mcp_proto::driver::{Hub, Turn, Work};
use mcp_proto::{EXIT_WAIT, Input, ProcessId, StdioOutput};
use mcp_runtime_common::DROP_GRACE;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::seat::{Poller, Wanted};
use crate::server::{Server, Watched};
use crate::stream::Stream;
use crate::wake::{Bell, Pipe};

/// How much is read at once: what a pipe holds.
const READ: usize = 64 * 1024;

/// How often in a row nothing is waited for, since all else is looked at only then.
const GLANCES: u32 = 16;

/// Everything that moves bytes. It is in the seat's lock, so one thread at a time has it.
pub(crate) struct Table {
    servers: Vec<Server>,
    stream: Option<Stream>,
    work: Work,
    buffer: Vec<u8>,
    /// How often in a row answers were there before anything was waited for.
    glances: u32,
    /// Kept for their memory.
    watched: Vec<Watched>,
    ready: Vec<bool>,
}

/// Moves the bytes of a hub's connection over pipes.
pub(crate) struct Pump(pub(crate) Arc<Hub>);

impl Poller for Pump {
    type Table = Table;
    type Chime = Pipe;

    fn now(&self) -> Duration {
        self.0.now().mono
    }

    fn work(&self, table: &mut Table, waker: &Waker) -> Wanted {
        let Turn { deadline, finished, .. } = table.work(&self.0, waker);
        Wanted { deadline, finished }
    }

    fn time_out(&self) {
        self.0.drive(Input::Timeout);
    }

    fn sleep(&self, table: &mut Table, bell: &Bell<Pipe>, time: Option<Duration>) {
        table.sleep(&self.0, bell, time);
    }

    fn end(&self, table: &mut Table) {
        table.end();
    }
}

impl Table {
    pub(crate) fn new(stream: Option<Stream>) -> Self {
        let buffer = if stream.is_none() { vec![0; READ] } else { Vec::new() };
        Table {
            servers: Vec::new(),
            stream,
            work: Work::new(),
            buffer,
            glances: 0,
            watched: Vec::new(),
            ready: Vec::new(),
        }
    }

    /// Does what the hub wants done, until there is nothing more of it.
    fn work(&mut self, hub: &Arc<Hub>, waker: &Waker) -> Turn {
        loop {
            let turn = hub.turn(Some(waker), &mut self.work);
            let mut due = false;
            while let Some((id, output)) = self.work.pop_front() {
                due |= match &mut self.stream {
                    Some(stream) => stream.perform(hub, id, output),
                    None => self.perform(hub, id, output),
                };
            }
            if !due {
                return turn;
            }
        }
    }

    /// Does one thing, and says whether anything new is to be done.
    fn perform(&mut self, hub: &Hub, id: ProcessId, output: StdioOutput) -> bool {
        if let StdioOutput::Spawn(command) = &output {
            self.servers.retain(|server| !server.is_over(Duration::ZERO));
            self.servers.extend(Server::launch(hub, id, command));
            return true;
        }
        // What is meant for a process that is gone is dropped.
        let server = self.servers.iter_mut().find(|server| server.id == id);
        match (server, output) {
            (Some(server), StdioOutput::Write(bytes)) => return server.write(hub, bytes),
            (Some(server), StdioOutput::CloseStdin) => server.close_stdin(),
            (Some(server), StdioOutput::Terminate) => server.process.terminate(),
            (Some(server), StdioOutput::Kill) => server.process.kill(),
            _ => {}
        }
        false
    }

    /// Waits at most this long for something to happen, and hands it in.
    fn sleep(&mut self, hub: &Hub, bell: &Bell<Pipe>, time: Option<Duration>) {
        self.servers.retain(|server| !server.is_over(EXIT_WAIT));
        if self.glance(hub) {
            return;
        }
        self.watched.clear();
        let mut fds = Vec::with_capacity(1 + 4 * self.servers.len());
        fds.push(PollFd::new(bell.chime().reader(), PollFlags::IN));
        self.watched.extend(self.servers.iter().map(|server| server.watch(hub, &mut fds)));
        // What has rung since the last look is looked at before any sleep.
        let time = if bell.fall_asleep() { time } else { Some(Duration::ZERO) };
        // A time that the system cannot express is no limit. A failed call is an interrupted one.
        let time = time.and_then(|time| Timespec::try_from(time).ok());
        let _ = poll(&mut fds, time.as_ref());
        self.ready.clear();
        self.ready.extend(fds.iter().map(|fd| !fd.revents().is_empty()));
        drop(fds);
        let mut ready = self.ready.iter().copied();
        bell.awake(ready.next().unwrap_or(false));
        for (server, watched) in self.servers.iter_mut().zip(&self.watched) {
            server.ready(hub, *watched, || ready.next().unwrap_or(false), &mut self.buffer);
        }
    }

    /// Takes answers that are there already, unless all else was left unlooked at for long.
    fn glance(&mut self, hub: &Hub) -> bool {
        let glances = std::mem::take(&mut self.glances);
        if glances == GLANCES {
            return false;
        }
        let mut some = false;
        for server in &mut self.servers {
            some |= server.glance(hub, &mut self.buffer);
        }
        self.glances = if some { glances + 1 } else { 0 };
        some
    }

    /// Ends everything now: for a client that is dropped.
    fn end(&mut self) {
        if let Some(stream) = &mut self.stream {
            stream.let_go();
        }
        self.servers.iter_mut().for_each(Server::close_pipes);
        // One wait for all of them. What is left is killed when it is dropped, which does not wait
        // again for a process that was killed already.
        let end = Instant::now() + DROP_GRACE;
        for server in &mut self.servers {
            let left = end.saturating_duration_since(Instant::now());
            if server.process.reap_within(left).is_none() {
                server.process.kill();
            }
        }
        self.servers.clear();
    }
}
