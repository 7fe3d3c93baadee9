//! A pipe of bytes in memory, with a capacity.
//!
//! A small capacity (64 bytes, say) makes every message longer than the pipe, so that a client
//! which stops reading while it writes hangs here as it would on a real pipe that is full.
//!
//! Both ends work for every kind of program: they block as [`std::io::Read`] and
//! [`std::io::Write`], and wake a task as `futures_io`'s and (feature `tokio`) tokio's
//! `AsyncRead` and `AsyncWrite`. Dropping the writer lets the reader drain what is buffered and
//! then see the end of the stream; dropping the reader gives the writer `BrokenPipe`.
//!
//! ```
//! use std::io::{Read, Write};
//!
//! let (mut writer, mut reader) = mcp_tests::pipe::pipe(64);
//! writer.write_all(b"hello").unwrap();
//! drop(writer);
//! let mut text = String::new();
//! reader.read_to_string(&mut text).unwrap();
//! assert_eq!(text, "hello");
//! ```

mod nonblocking;

use std::collections::VecDeque;
use std::io::{self, IoSlice, Read, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// The end that bytes are read from.
#[derive(Debug)]
pub struct PipeReader(Arc<Shared>);

/// The end that bytes are written to.
#[derive(Debug)]
pub struct PipeWriter(Arc<Shared>);

/// Both directions of one side of a [`duplex`].
pub type PipeEnd = (PipeReader, PipeWriter);

/// A pipe that holds at most `capacity` bytes (at least one).
pub fn pipe(capacity: usize) -> (PipeWriter, PipeReader) {
    let shared = Arc::new(Shared {
        state: Mutex::new(State {
            buffer: VecDeque::new(),
            capacity: capacity.max(1),
            reader_gone: false,
            writer_gone: false,
            read_waker: None,
            write_waker: None,
        }),
        changed: Condvar::new(),
    });
    (PipeWriter(shared.clone()), PipeReader(shared))
}

/// Two pipes, crossed: what one side writes, the other reads.
pub fn duplex(capacity: usize) -> (PipeEnd, PipeEnd) {
    let (to_right, from_left) = pipe(capacity);
    let (to_left, from_right) = pipe(capacity);
    ((from_right, to_right), (from_left, to_left))
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// Signalled on each change; both ends use the one condvar, so always `notify_all`.
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    buffer: VecDeque<u8>,
    capacity: usize,
    reader_gone: bool,
    writer_gone: bool,
    read_waker: Option<Waker>,
    write_waker: Option<Waker>,
}

impl State {
    /// `None` while there is nothing to read and the writer still lives.
    fn try_read(&mut self, into: &mut [u8]) -> Option<usize> {
        if into.is_empty() || (self.buffer.is_empty() && self.writer_gone) {
            return Some(0);
        }
        if self.buffer.is_empty() {
            return None;
        }
        // `VecDeque` reads from the front of its first slice only; a second go takes the rest.
        let mut taken = self.buffer.read(into).unwrap_or(0);
        taken += self.buffer.read(&mut into[taken..]).unwrap_or(0);
        Some(taken)
    }

    /// `None` while the pipe is full and the reader still lives.
    fn try_write(&mut self, bytes: &[u8]) -> Option<io::Result<usize>> {
        if self.reader_gone || self.writer_gone {
            return Some(Err(io::ErrorKind::BrokenPipe.into()));
        }
        if bytes.is_empty() {
            return Some(Ok(0));
        }
        let taken = bytes.len().min(self.capacity - self.buffer.len());
        if taken == 0 {
            return None;
        }
        self.buffer.extend(&bytes[..taken]);
        Some(Ok(taken))
    }
}

impl Shared {
    /// A test that panicked while it held the lock must not hide its own message behind a
    /// second panic: the state is valid after every statement, so poison is ignored.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets go of the lock and wakes the other end, in this order: a waker may run its task at once.
    fn release(&self, state: MutexGuard<'_, State>, waker: Option<Waker>) {
        drop(state);
        self.changed.notify_all();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn poll_read(&self, cx: &mut Context<'_>, into: &mut [u8]) -> Poll<usize> {
        let mut state = self.lock();
        match state.try_read(into) {
            Some(taken) => {
                let waker = state.write_waker.take();
                self.release(state, waker);
                Poll::Ready(taken)
            }
            None => {
                remember(&mut state.read_waker, cx);
                Poll::Pending
            }
        }
    }

    fn poll_write(&self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let mut state = self.lock();
        match state.try_write(bytes) {
            Some(outcome) => {
                let waker = state.read_waker.take();
                self.release(state, waker);
                Poll::Ready(outcome)
            }
            None => {
                remember(&mut state.write_waker, cx);
                Poll::Pending
            }
        }
    }

    fn close_reader(&self) {
        let mut state = self.lock();
        state.reader_gone = true;
        state.buffer = VecDeque::new();
        let waker = state.write_waker.take();
        self.release(state, waker);
    }

    fn close_writer(&self) {
        let mut state = self.lock();
        state.writer_gone = true;
        let waker = state.read_waker.take();
        self.release(state, waker);
    }
}

/// An end has one task at a time: the last one to poll is the one to wake.
fn remember(slot: &mut Option<Waker>, cx: &Context<'_>) {
    match slot {
        Some(waker) => waker.clone_from(cx.waker()),
        None => *slot = Some(cx.waker().clone()),
    }
}

impl PipeReader {
    /// How many bytes lie in the pipe at this moment.
    pub fn buffered(&self) -> usize {
        self.0.lock().buffer.len()
    }

    /// Blocks until the writer is gone, without taking a byte: what "hang until the other side
    /// goes away" needs.
    pub fn wait_closed(&self) {
        let mut state = self.0.lock();
        while !state.writer_gone {
            state = self.0.wait(state);
        }
    }
}

impl PipeWriter {
    /// Blocks until the pipe holds `capacity` bytes or its reader is gone: how a test knows, with
    /// no sleep, that the other side has stopped reading and this side is stuck.
    pub fn wait_full(&self) {
        let mut state = self.0.lock();
        while !state.reader_gone && state.buffer.len() < state.capacity {
            state = self.0.wait(state);
        }
    }
}

impl Read for PipeReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut state = self.0.lock();
        loop {
            if let Some(taken) = state.try_read(into) {
                let waker = state.write_waker.take();
                self.0.release(state, waker);
                return Ok(taken);
            }
            state = self.0.wait(state);
        }
    }
}

impl Write for PipeWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut state = self.0.lock();
        loop {
            if let Some(outcome) = state.try_write(bytes) {
                let waker = state.read_waker.take();
                self.0.release(state, waker);
                return outcome;
            }
            state = self.0.wait(state);
        }
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        let first = slices.iter().find(|slice| !slice.is_empty());
        self.write(first.map_or(&[][..], |slice| slice))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for PipeReader {
    fn drop(&mut self) {
        self.0.close_reader();
    }
}

impl Drop for PipeWriter {
    fn drop(&mut self) {
        self.0.close_writer();
    }
}

#[cfg(test)]
mod tests;
