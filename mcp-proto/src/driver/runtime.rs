//! What an async runtime provides to the performer.

use core::task::{Context, Poll};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::http::{Network, NoNetwork};
use crate::{Command, ExitStatus, IoFailure};

/// An async runtime, as far as a connection needs one.
///
/// All is made within the future of the driver, and so belongs to the runtime that polls it. What
/// was made is then polled on any thread.
pub trait Runtime: Send {
    /// Launches a server process.
    ///
    /// # Errors
    /// When it cannot be launched.
    fn launch(&mut self, command: &Command) -> Result<Launched, IoFailure>;

    /// Makes a timer.
    fn timer(&mut self) -> Box<dyn Timer>;

    /// The way to servers over HTTP. Without one they cannot be reached.
    fn network(&mut self) -> Arc<dyn Network> {
        Arc::new(NoNetwork)
    }
}

/// A timer, which fires once each time that it is set.
pub trait Timer: Send {
    /// Sets it to fire after this time, in the place of what it was set to.
    fn set(&mut self, after: Duration);

    /// Waits for it. It is polled only between the time it was set and the time it was ready.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()>;
}

/// Where bytes come from. Dropping it closes it.
pub trait ReadHalf: Send {
    /// Reads what is there. `Ok(0)` is the end.
    ///
    /// # Errors
    /// Any counts as the end, except that it was interrupted.
    fn poll_read(&mut self, cx: &mut Context<'_>, into: &mut [u8]) -> Poll<io::Result<usize>>;

    /// Reads what is there already, if that can be found out at little cost, and wakes nobody when
    /// there is more. It stands for a [`poll_read`](Self::poll_read), which follows when it brings
    /// nothing.
    fn glance(&mut self, into: &mut [u8]) -> Option<usize> {
        let _ = into;
        None
    }
}

/// Where bytes go. Dropping it closes it.
pub trait WriteHalf: Send {
    /// Writes as many bytes as fit.
    ///
    /// # Errors
    /// When it takes no more bytes.
    fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>>;

    /// Lets go of what it holds back.
    ///
    /// # Errors
    /// When it takes no more bytes.
    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// Closes it. It is dropped afterwards.
    ///
    /// # Errors
    /// They change nothing.
    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;
}

/// A process that runs. The process itself is [`Held`] where the client reaches it as well: dropping
/// this does not end it.
pub trait ProcessHandle: Send {
    /// Asks the process group to end.
    fn terminate(&mut self);

    /// Ends the process group.
    fn kill(&mut self);

    /// Waits for the end, and reaps.
    fn poll_exit(&mut self, cx: &mut Context<'_>) -> Poll<ExitStatus>;
}

/// A process that was launched.
pub struct Launched {
    /// The operating system's number of it.
    pub pid: u32,
    /// Its stdin and stdout.
    pub stdio: Stream,
    /// Its stderr, if it is captured.
    pub stderr: Option<Box<dyn ReadHalf>>,
    /// The process.
    pub process: Box<dyn ProcessHandle>,
}

/// Both halves of a byte stream.
pub struct Stream {
    /// Where bytes come from.
    pub read: Box<dyn ReadHalf>,
    /// Where bytes go.
    pub write: Box<dyn WriteHalf>,
}

/// The process that runs, within reach of the driver and of whoever drops the client. Dropping a
/// `P` ends it.
#[derive(Debug)]
pub struct Held<P>(Mutex<State<P>>);

#[derive(Debug)]
enum State<P> {
    Empty,
    Runs(P),
    Over,
}

impl<P> Default for Held<P> {
    fn default() -> Self {
        Held(Mutex::new(State::Empty))
    }
}

impl<P> Held<P> {
    /// Launches a process, in the place of the one before. Whoever [`end`](Self::end)s it meanwhile
    /// waits for the launch, so that nothing escapes.
    ///
    /// # Errors
    /// Those of `launch`, and that nothing is to be launched any more.
    pub fn launch<T>(
        &self,
        launch: impl FnOnce() -> Result<(P, T), IoFailure>,
    ) -> Result<T, IoFailure> {
        let mut state = self.lock();
        if matches!(*state, State::Over) {
            let text = String::from("the client was dropped");
            return Err(IoFailure { kind: String::from("NotConnected"), text });
        }
        // The one before has ended, or there would be no launch.
        *state = State::Empty;
        let (process, rest) = launch()?;
        *state = State::Runs(process);
        Ok(rest)
    }

    /// Does something with the process that runs, if one does.
    pub fn with<T>(&self, act: impl FnOnce(&mut P) -> T) -> Option<T> {
        match &mut *self.lock() {
            State::Runs(process) => Some(act(process)),
            State::Empty | State::Over => None,
        }
    }

    /// Ends the process that runs, and lets no other begin. Of two who end it the second waits for
    /// the first, so that neither goes on while it runs.
    pub fn end(&self) {
        *self.lock() = State::Over;
    }

    fn lock(&self) -> MutexGuard<'_, State<P>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
