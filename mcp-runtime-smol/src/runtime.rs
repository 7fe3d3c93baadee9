//! Pipes, processes and the timer on async-io, whose reactor serves every executor.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use crate::network::AsyncNet;
use async_io::{Async, IoSafe};
use futures_lite::{AsyncRead, AsyncWrite};
use mcp_proto::driver::{
    Held, Launched, Network, ProcessHandle, ReadHalf, Runtime, Stream, Timer, WriteHalf,
};
use mcp_proto::{Command, ExitStatus, IoFailure};
use mcp_runtime_common::{Process, Reach, launch, read_now};

pub(crate) struct AsyncIo {
    process: Arc<Held<Process>>,
    reach: Arc<Reach>,
}

impl AsyncIo {
    pub(crate) fn new(process: Arc<Held<Process>>, reach: Arc<Reach>) -> Self {
        AsyncIo { process, reach }
    }
}

impl Runtime for AsyncIo {
    fn launch(&mut self, command: &Command) -> Result<Launched, IoFailure> {
        self.process.launch(|| {
            let launched = launch(command)?;
            let pid = launched.process.pid();
            // Should one of these fail, everything before it is dropped, the process last.
            let register = || -> io::Result<_> {
                let write = Async::new(launched.stdin)?;
                let read = Async::new(launched.stdout)?;
                let stderr = launched.stderr.map(Async::new).transpose()?;
                // Nothing is read from it, so it is left as it is.
                Ok((write, read, stderr, Async::new_nonblocking(launched.exit)?))
            };
            let (write, read, stderr, exit) =
                register().map_err(|error| IoFailure::from(&error))?;
            let stdio =
                Stream { read: Box::new(Pipe::new(read)), write: Box::new(Io(Box::pin(write))) };
            let stderr = stderr.map(|read| Box::new(Pipe::new(read)) as Box<dyn ReadHalf>);
            let process = Box::new(Child { exit, process: Arc::clone(&self.process) });
            Ok((launched.process, Launched { pid, stdio, stderr, process }))
        })
    }

    fn timer(&mut self) -> Box<dyn Timer> {
        Box::new(Alarm(async_io::Timer::never()))
    }

    fn network(&mut self) -> Arc<dyn Network> {
        Arc::new(AsyncNet(Arc::clone(&self.reach)))
    }
}

struct Alarm(async_io::Timer);

impl Timer for Alarm {
    fn set(&mut self, after: Duration) {
        match Instant::now().checked_add(after) {
            Some(at) => self.0.set_at(at),
            None => self.0 = async_io::Timer::never(),
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        Pin::new(&mut self.0).poll(cx).map(drop)
    }
}

/// The halves of a stream, as the performer wants them.
pub(crate) fn stream(
    read: impl AsyncRead + Send + 'static,
    write: impl AsyncWrite + Send + 'static,
) -> Stream {
    Stream { read: Box::new(Io(Box::pin(read))), write: Box::new(Io(Box::pin(write))) }
}

struct Io<T>(Pin<Box<T>>);

impl<T: AsyncRead + Send> ReadHalf for Io<T> {
    fn poll_read(&mut self, cx: &mut Context<'_>, into: &mut [u8]) -> Poll<io::Result<usize>> {
        self.0.as_mut().poll_read(cx, into)
    }
}

impl<T: AsyncWrite + Send> WriteHalf for Io<T> {
    fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.0.as_mut().poll_write(cx, bytes)
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.as_mut().poll_flush(cx)
    }

    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.as_mut().poll_close(cx)
    }
}

/// The end of a pipe that bytes are read from. `Async` tries to read before it waits, which costs
/// a system call each time the driver is woken for another reason; this one remembers that the
/// pipe was empty.
struct Pipe<T> {
    pipe: Async<T>,
    empty: bool,
}

impl<T> Pipe<T> {
    fn new(pipe: Async<T>) -> Self {
        Pipe { pipe, empty: true }
    }
}

impl<T: io::Read + AsFd + IoSafe + Send + Unpin> ReadHalf for Pipe<T> {
    fn poll_read(&mut self, cx: &mut Context<'_>, into: &mut [u8]) -> Poll<io::Result<usize>> {
        if self.empty {
            ready!(self.pipe.poll_readable(cx))?;
            self.empty = false;
        }
        let read = Pin::new(&mut self.pipe).poll_read(cx, into);
        // What does not fill the buffer was all there is.
        self.empty = match &read {
            Poll::Ready(Ok(n)) => *n < into.len(),
            Poll::Ready(Err(_)) => false,
            Poll::Pending => true,
        };
        read
    }

    fn glance(&mut self, into: &mut [u8]) -> Option<usize> {
        read_now(&self.pipe, into)
    }
}

/// A server process that runs.
struct Child {
    exit: Async<OwnedFd>,
    process: Arc<Held<Process>>,
}

impl ProcessHandle for Child {
    fn terminate(&mut self) {
        self.process.with(Process::terminate);
    }

    fn kill(&mut self) {
        self.process.with(Process::kill);
    }

    fn poll_exit(&mut self, cx: &mut Context<'_>) -> Poll<ExitStatus> {
        loop {
            if ready!(self.exit.poll_readable(cx)).is_err() {
                // Without its reactor there is nothing that could tell; the process is ended when
                // it is dropped.
                return Poll::Pending;
            }
            if let Some(status) = self.process.with(Process::try_reap).flatten() {
                return Poll::Ready(status);
            }
        }
    }
}
