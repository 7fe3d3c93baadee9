//! A TCP socket that waits on behalf of the exchange that uses it.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use mcp_proto::driver::NEXT_ADDRESS;
use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SocketType, ipproto};

use super::line::{Line, current};

/// Where a socket that is shut down while it connects does not wake who waits for it, they look
/// this often.
const LOOK: Option<Duration> =
    if cfg!(target_os = "linux") { None } else { Some(Duration::from_millis(20)) };

#[derive(Debug)]
pub(crate) struct Socket {
    stream: Arc<TcpStream>,
    /// The last thing that was done: what follows a request has hardly come already.
    wrote: bool,
}

impl Socket {
    /// Connects to the first of these addresses that lets it.
    pub(crate) fn connect(
        line: &Line,
        addresses: Vec<SocketAddr>,
        until: Duration,
    ) -> io::Result<Self> {
        let mut left = addresses.into_iter();
        let mut trying = Vec::new();
        let mut failed = io::Error::from(ErrorKind::TimedOut);
        loop {
            match left.next().map(|address| begin(line, address)) {
                Some(Ok((stream, true))) => return Socket::new(stream),
                Some(Ok((stream, false))) => trying.push(stream),
                Some(Err(error)) => {
                    failed = error;
                    continue;
                }
                None if trying.is_empty() => return Err(failed),
                None => {}
            }
            let head_start = if left.len() == 0 { until } else { line.now() + NEXT_ADDRESS };
            let patience = head_start.min(until);
            while !trying.is_empty() {
                let look = LOOK.map_or(patience, |look| patience.min(line.now() + look));
                match line.wait(&trying, PollFlags::OUT, Some(look)) {
                    Ok(at) => {
                        let stream = trying.remove(at);
                        match stream.take_error()?.or(peer_error(&stream)) {
                            None => return Socket::new(stream),
                            Some(error) => failed = error,
                        }
                        if left.len() > 0 {
                            break;
                        }
                    }
                    Err(error) if error.kind() != ErrorKind::WouldBlock => return Err(error),
                    Err(_) if line.now() < patience => {}
                    Err(_) if line.now() < until => break,
                    Err(_) => return Err(ErrorKind::TimedOut.into()),
                }
            }
        }
    }

    fn new(stream: Arc<TcpStream>) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        Ok(Socket { stream, wrote: false })
    }

    pub(crate) fn stream(&self) -> &Arc<TcpStream> {
        &self.stream
    }

    /// Whether nothing has come and the server has not closed it.
    pub(crate) fn is_silent(&self) -> bool {
        let mut byte = [0; 1];
        let peeked = rustix::net::recv(&*self.stream, &mut byte, RecvFlags::PEEK);
        peeked.err() == Some(Errno::AGAIN)
    }

    fn wait(&self, line: &Line, flags: PollFlags, until: Option<Duration>) -> io::Result<()> {
        line.wait(std::slice::from_ref(&self.stream), flags, until).map(drop)
    }
}

/// Whether a connection that should be there is not: what was shut down while it connected has no
/// error.
fn peer_error(stream: &TcpStream) -> Option<io::Error> {
    stream.peer_addr().err()
}

/// Begins to connect. `true`: it is connected already.
fn begin(line: &Line, address: SocketAddr) -> io::Result<(Arc<TcpStream>, bool)> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let stream = Arc::new(open(family)?);
    stream.set_nonblocking(true)?;
    line.attempt(&stream)?;
    match rustix::net::connect(&*stream, &address) {
        Ok(()) => Ok((stream, true)),
        Err(Errno::INPROGRESS | Errno::INTR) => Ok((stream, false)),
        Err(error) => Err(error.into()),
    }
}

#[cfg(not(target_vendor = "apple"))]
fn open(family: AddressFamily) -> io::Result<TcpStream> {
    let flags = rustix::net::SocketFlags::CLOEXEC;
    let fd = rustix::net::socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))?;
    Ok(TcpStream::from(fd))
}

#[cfg(target_vendor = "apple")]
fn open(family: AddressFamily) -> io::Result<TcpStream> {
    let fd = rustix::net::socket(family, SocketType::STREAM, Some(ipproto::TCP))?;
    rustix::io::fcntl_setfd(&fd, rustix::io::FdFlags::CLOEXEC)?;
    Ok(TcpStream::from(fd))
}

impl Read for Socket {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let (line, until) = current()?;
        line.attach(&self.stream)?;
        if std::mem::take(&mut self.wrote) {
            self.wait(&line, PollFlags::IN, until)?;
        }
        loop {
            match (&*self.stream).read(into) {
                // That is also what a socket says that was shut down here.
                Ok(0) => return line.attach(&self.stream).map(|()| 0),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.wait(&line, PollFlags::IN, until)?;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                other => return other,
            }
        }
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let (line, until) = current()?;
        line.attach(&self.stream)?;
        self.wrote = true;
        loop {
            match (&*self.stream).write(bytes) {
                Ok(count) => {
                    line.sent(count);
                    return Ok(count);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.wait(&line, PollFlags::OUT, until)?;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
