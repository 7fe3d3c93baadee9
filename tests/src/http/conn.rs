//! One connection, as the thread that serves it sees it.

use std::io::{self, BufRead, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// How much is read at once.
const READ: usize = 16 * 1024;

/// What bytes travel on, TLS or not.
pub(super) trait Stream: Read + Write + Send {
    /// Says that nothing more will be written, where the stream has a word for it.
    fn say_goodbye(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The socket itself, which a [`Handle`] can reach too.
#[derive(Debug)]
pub(super) struct Plain(pub(super) Arc<TcpStream>);

impl Read for Plain {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        (&*self.0).read(buffer)
    }
}

impl Write for Plain {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (&*self.0).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        (&*self.0).flush()
    }
}

impl Stream for Plain {}

/// A connection that a client has opened. Dropping it closes it.
pub struct Conn {
    number: u64,
    stream: Box<dyn Stream>,
    tcp: Arc<TcpStream>,
    buffer: Vec<u8>,
    start: usize,
}

impl Conn {
    pub(super) fn new(number: u64, stream: Box<dyn Stream>, tcp: Arc<TcpStream>) -> Self {
        Conn { number, stream, tcp, buffer: Vec::new(), start: 0 }
    }

    /// The how many-th connection of its server it is, from 1.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Something with which another thread can end the connection.
    pub fn handle(&self) -> Handle {
        Handle(Arc::downgrade(&self.tcp))
    }

    /// Something with which another thread can write to the connection, past TLS.
    pub(crate) fn writer(&self) -> impl Write + Send + use<> {
        Plain(self.tcp.clone())
    }

    /// Lets this time pass, or waits for ever, unless the client closes the connection first; says
    /// whether it has. What the client sends meanwhile is kept.
    pub fn wait_closed(&mut self, time: Option<Duration>) -> bool {
        let until = time.map(|time| Instant::now() + time);
        loop {
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return false;
            }
            match self.read_more(left) {
                Ok(0) => return true,
                Ok(_) => {}
                Err(error) if is_early(&error) => {}
                Err(_) => return true,
            }
        }
    }

    /// Waits for the next byte; says whether it has come before the client closed the connection.
    pub fn wait_readable(&mut self) -> bool {
        self.fill_buf().is_ok_and(|bytes| !bytes.is_empty())
    }

    /// Reads behind what is in the buffer.
    fn read_more(&mut self, timeout: Option<Duration>) -> io::Result<usize> {
        self.buffer.drain(..std::mem::take(&mut self.start));
        let end = self.buffer.len();
        self.buffer.resize(end + READ, 0);
        let read = self.tcp.set_read_timeout(timeout);
        let read = read.and_then(|()| self.stream.read(&mut self.buffer[end..]));
        self.buffer.truncate(end + *read.as_ref().unwrap_or(&0));
        if timeout.is_some() {
            self.tcp.set_read_timeout(None)?;
        }
        read
    }

    /// Closes the connection in good order.
    pub fn close(mut self) {
        // The client may have been faster.
        let _ = self.stream.say_goodbye();
        let _ = self.tcp.shutdown(Shutdown::Write);
    }

    /// Closes the connection so that the client sees a reset.
    pub fn reset(self) {
        #[cfg(unix)]
        let _ = rustix::net::sockopt::set_socket_linger(&*self.tcp, Some(Duration::ZERO));
    }
}

/// The time has come, or a signal has.
fn is_early(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), Interrupted | TimedOut | WouldBlock)
}

impl Read for Conn {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut bytes = self.fill_buf()?;
        let read = bytes.read(buffer)?;
        self.consume(read);
        Ok(read)
    }
}

impl BufRead for Conn {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.start == self.buffer.len() {
            self.read_more(None)?;
        }
        Ok(&self.buffer[self.start..])
    }

    fn consume(&mut self, count: usize) {
        self.start += count;
    }
}

impl Write for Conn {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

impl std::fmt::Debug for Conn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Conn").field("number", &self.number).finish_non_exhaustive()
    }
}

/// Ends a connection from outside of its thread, which then sees it as closed by the client.
#[derive(Clone, Debug)]
pub struct Handle(Weak<TcpStream>);

impl Handle {
    /// Whether the client has closed the connection by now, with nothing left to read before that.
    pub fn is_closed(&self) -> bool {
        let Some(tcp) = self.0.upgrade() else { return true };
        #[cfg(unix)]
        {
            use rustix::net::{RecvFlags, recv};
            let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
            match recv(&*tcp, &mut [0; 1][..], flags) {
                Ok((_, read)) => read == 0,
                Err(error) => error != rustix::io::Errno::AGAIN,
            }
        }
        #[cfg(not(unix))]
        {
            let _ = tcp;
            false
        }
    }

    /// Ends the connection, if it is still there.
    pub fn end(&self) {
        if let Some(tcp) = self.0.upgrade() {
            let _ = tcp.shutdown(Shutdown::Both);
        }
    }
}
