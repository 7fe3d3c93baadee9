//! Accepting connections: a thread for each, and an end for all of them.

use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::conn::{Conn, Handle, Plain, Stream};

/// Serves connections until it is dropped, which ends them and waits for their threads.
#[derive(Debug)]
pub struct Listener {
    address: SocketAddr,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    ending: bool,
    open: BTreeMap<u64, Handle>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a connection speaks below HTTP. TLS has its handshake with the first byte that is read.
type Wrap = Box<dyn Fn(Plain) -> Box<dyn Stream> + Send>;

impl Listener {
    /// Listens at this address, port 0 for any that is free, and calls `serve` on a new thread for
    /// each connection.
    ///
    /// # Errors
    /// When the address cannot be listened at.
    pub fn start(at: SocketAddr, serve: impl Fn(Conn) + Send + Sync + 'static) -> io::Result<Self> {
        Listener::start_with(at, Box::new(|plain| Box::new(plain)), serve)
    }

    pub(super) fn start_with(
        at: SocketAddr,
        wrap: Wrap,
        serve: impl Fn(Conn) + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let socket = TcpListener::bind(at)?;
        let address = socket.local_addr()?;
        let shared = Arc::new(Shared::default());
        let accepting = Accepting { socket, shared: shared.clone(), wrap, serve: Arc::new(serve) };
        let thread = thread::spawn(move || accepting.run());
        Ok(Listener { address, shared, thread: Some(thread) })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends all connections that are open now; new ones are accepted.
    pub fn end_connections(&self) {
        self.shared.lock().open.values().for_each(Handle::end);
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.shared.lock().ending = true;
        self.end_connections();
        // Wakes the thread that accepts. When it cannot be reached, it has ended by itself.
        let woken = TcpStream::connect_timeout(&self.address, Duration::from_secs(5));
        if let (Some(thread), Ok(_)) = (self.thread.take(), woken) {
            // A panic there has printed its message.
            let _ = thread.join();
        }
    }
}

struct Accepting<F> {
    socket: TcpListener,
    shared: Arc<Shared>,
    wrap: Wrap,
    serve: Arc<F>,
}

impl<F: Fn(Conn) + Send + Sync + 'static> Accepting<F> {
    fn run(self) {
        let mut threads: Vec<JoinHandle<()>> = Vec::new();
        for number in 1.. {
            // A client that is gone before it was accepted is no reason to stop.
            let Ok((tcp, _)) = self.socket.accept() else { continue };
            let Some(conn) = self.admit(number, tcp) else { break };
            let (serve, shared) = (self.serve.clone(), self.shared.clone());
            threads.retain(|thread| !thread.is_finished());
            threads.push(thread::spawn(move || {
                let _gone = Gone { shared, number };
                serve(conn);
            }));
        }
        for thread in threads {
            let _ = thread.join();
        }
    }

    /// `None` once the end has begun: from then on nobody would end the connection.
    fn admit(&self, number: u64, tcp: TcpStream) -> Option<Conn> {
        // Latency is measured over it.
        let _ = tcp.set_nodelay(true);
        let tcp = Arc::new(tcp);
        let conn = Conn::new(number, (self.wrap)(Plain(tcp.clone())), tcp);
        let mut state = self.shared.lock();
        if state.ending {
            return None;
        }
        state.open.insert(number, conn.handle());
        Some(conn)
    }
}

/// Forgets the connection, also when its thread panics.
struct Gone {
    shared: Arc<Shared>,
    number: u64,
}

impl Drop for Gone {
    fn drop(&mut self) {
        self.shared.lock().open.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Read, Write};
    use std::net::Ipv4Addr;

    use super::*;

    fn start(serve: impl Fn(Conn) + Send + Sync + 'static) -> (Listener, TcpStream) {
        let listener = Listener::start((Ipv4Addr::LOCALHOST, 0).into(), serve).unwrap();
        let client = TcpStream::connect(listener.address()).unwrap();
        (listener, client)
    }

    #[test]
    fn the_end_ends_connections_that_wait() {
        let (listener, mut client) = start(|mut conn| {
            writeln!(conn, "{}", conn.number()).unwrap();
            assert!(conn.wait_closed(None));
        });
        let mut line = String::new();
        BufReader::new(&client).read_line(&mut line).unwrap();
        assert_eq!(line, "1\n");
        drop(listener);
        assert_eq!(client.read(&mut [0]).unwrap(), 0);
    }

    #[test]
    fn what_comes_while_a_close_is_waited_for_is_kept() {
        let (_listener, mut client) = start(|mut conn| {
            assert!(!conn.wait_closed(Some(Duration::from_millis(1))));
            assert!(conn.wait_readable());
            assert!(!conn.wait_closed(Some(Duration::from_millis(1))));
            let mut line = String::new();
            conn.read_line(&mut line).unwrap();
            conn.write_all(line.as_bytes()).unwrap();
            assert!(conn.wait_closed(None));
        });
        client.write_all(b"abc\n").unwrap();
        let mut line = String::new();
        BufReader::new(&client).read_line(&mut line).unwrap();
        assert_eq!(line, "abc\n");
    }

    #[test]
    fn connections_are_closed_or_reset() {
        let (_listener, mut client) = start(|mut conn| {
            conn.write_all(b"x").unwrap();
            conn.close();
        });
        let mut all = Vec::new();
        client.read_to_end(&mut all).unwrap();
        assert_eq!(all, b"x");
        let (_listener, mut client) = start(Conn::reset);
        let error = client.read(&mut [0]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
    }
}
