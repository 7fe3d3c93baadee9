//! Pipes, processes and the timer on tokio.

use std::io;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use crate::network::TokioNet;
use mcp_proto::driver::{
    Held, Launched, Network, ProcessHandle, ReadHalf, Runtime, Stream, Timer, WriteHalf,
};
use mcp_proto::{Command, ExitStatus, IoFailure};
use mcp_runtime_common::{Process, Reach, launch, read_now};
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::runtime::Handle;
use tokio::time::{Instant, Sleep, sleep_until};

/// As good as never, and a time that the clock can say.
const FAR: Duration = Duration::from_secs(60 * 60 * 24 * 365);

pub(crate) struct Tokio {
    process: Arc<Held<Process>>,
    reach: Arc<Reach>,
}

impl Tokio {
    pub(crate) fn new(process: Arc<Held<Process>>, reach: Arc<Reach>) -> Self {
        Tokio { process, reach }
    }
}

impl Runtime for Tokio {
    fn launch(&mut self, command: &Command) -> Result<Launched, IoFailure> {
        self.process.launch(|| {
            let launched = launch(command)?;
            let pid = launched.process.pid();
            // Should one of these fail, everything before it is dropped, the process last.
            let register = || -> io::Result<_> {
                let write = Sender::from_owned_fd(OwnedFd::from(launched.stdin))?;
                let read = Receiver::from_owned_fd(OwnedFd::from(launched.stdout))?;
                let stderr = launched.stderr.map(OwnedFd::from);
                let stderr = stderr.map(Receiver::from_owned_fd).transpose()?;
                let stdio = Stream {
                    read: Box::new(Stdout(Io(Box::pin(read)))),
                    write: Box::new(Io(Box::pin(write))),
                };
                Ok((stdio, stderr, watch(launched.exit)?))
            };
            let (stdio, stderr, exit) = register().map_err(|error| IoFailure::from(&error))?;
            let stderr = stderr.map(|read| Box::new(Io(Box::pin(read))) as Box<dyn ReadHalf>);
            let process = Box::new(Child { exit, process: Arc::clone(&self.process) });
            Ok((launched.process, Launched { pid, stdio, stderr, process }))
        })
    }

    fn timer(&mut self) -> Box<dyn Timer> {
        Box::new(Alarm(Box::pin(sleep_until(Instant::now() + FAR))))
    }

    fn network(&mut self) -> Arc<dyn Network> {
        Arc::new(TokioNet { reach: Arc::clone(&self.reach), runtime: Handle::current() })
    }
}

struct Alarm(Pin<Box<Sleep>>);

impl Timer for Alarm {
    fn set(&mut self, after: Duration) {
        self.0.as_mut().reset(Instant::now() + after.min(FAR));
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.0.as_mut().poll(cx)
    }
}

/// The constructor is deprecated because it takes descriptors that may be closed under it. An
/// [`OwnedFd`] is not; the one in its place is `unsafe`, which this workspace forbids.
#[allow(deprecated)]
fn watch(exit: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::with_interest(exit, Interest::READABLE)
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
        let mut into = ReadBuf::new(into);
        ready!(self.0.as_mut().poll_read(cx, &mut into))?;
        Poll::Ready(Ok(into.filled().len()))
    }
}

/// The stdout of a process. A read beside the runtime is seen by it as a pipe that has been emptied.
struct Stdout(Io<Receiver>);

impl ReadHalf for Stdout {
    fn poll_read(&mut self, cx: &mut Context<'_>, into: &mut [u8]) -> Poll<io::Result<usize>> {
        self.0.poll_read(cx, into)
    }

    fn glance(&mut self, into: &mut [u8]) -> Option<usize> {
        // Who has used up their share is to wait, so that other tasks have theirs.
        if tokio::task::coop::has_budget_remaining() { read_now(&*self.0.0, into) } else { None }
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
        self.0.as_mut().poll_shutdown(cx)
    }
}

/// A server process that runs.
struct Child {
    exit: AsyncFd<OwnedFd>,
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
            let Ok(mut ready) = ready!(self.exit.poll_read_ready(cx)) else {
                // Without its reactor there is nothing that could tell; the process is ended when
                // it is dropped.
                return Poll::Pending;
            };
            if let Some(status) = self.process.with(Process::try_reap).flatten() {
                return Poll::Ready(status);
            }
            ready.clear_ready();
        }
    }
}
