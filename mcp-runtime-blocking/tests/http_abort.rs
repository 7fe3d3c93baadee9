//! A call over HTTP that is not wanted any more ends at once, however far it is, and so does its
//! socket.

mod support;

use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use mcp_runtime_blocking::proto::op::{CallTool, Ping};
use mcp_runtime_blocking::proto::{CloseReason, Outcome};
use mcp_runtime_blocking::{Background, CallOptions, Client, ErrorKind, PendingCall};
use mcp_runtime_common::rustls::ServerConnection;
use serde_json::{Map, Value, json};
use support::BACKGROUNDS;
use support::http::{Conn, Request, Server, legacy, server_tls};

/// How long the end of a call may take.
const AT_ONCE: Duration = Duration::from_millis(50);
/// How long a test waits for what has to happen anyway.
const LONG: Duration = Duration::from_secs(30);

#[test]
fn server() {
    support::serve();
}

/// Something that is to be quick, at most five times: the machine may be busy.
fn quick(limit: Duration, mut act: impl FnMut() -> Duration) {
    let mut times = Vec::new();
    for _ in 0..5 {
        times.push(act());
        if times.last().is_some_and(|time| *time < limit) {
            return;
        }
    }
    panic!("it took {times:?}");
}

/// A client whose calls meet a trap: each has a connection of its own, and those after the start go
/// to `trap`.
fn trapped(background: Background, scheme: &str, server: &Server, trap: SocketAddr) -> Client {
    let host = format!("{scheme}://server.test/mcp");
    let (first, real) = (AtomicBool::new(true), server.address);
    let resolver = move |_: &str, _: u16| {
        let to = if first.swap(false, Ordering::SeqCst) { real } else { trap };
        Ok(vec![to])
    };
    let builder = Client::builder().background(background).resolver(resolver);
    builder.root_certificates([server_tls().1]).connect(host).unwrap()
}

/// Answers once on each connection.
fn once(request: &Request, conn: &mut Conn) -> bool {
    let body = request.usual();
    let length = body.len();
    conn.send(format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
    ));
    false
}

/// Begins a call, waits until it has got where it is to be aborted, and aborts it.
fn cancel(client: &Client, reached: impl Fn()) -> Duration {
    let pending = client.begin(big_call()).unwrap();
    reached();
    ends_at_once(pending)
}

fn ends_at_once(pending: PendingCall<CallTool>) -> Duration {
    let cancel = pending.cancel_handle();
    let begin = Instant::now();
    cancel.cancel();
    let error = pending.wait().unwrap_err();
    let took = begin.elapsed();
    assert!(matches!(error.kind(), ErrorKind::Cancelled), "{error}");
    took
}

/// More than fits into the buffers of a socket that nobody reads.
fn big_call() -> CallTool {
    let message = Value::from("x".repeat(16 << 20));
    CallTool::new("echo", Map::from_iter([(String::from("message"), message)]))
}

/// How far a server goes that answers nothing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Silent {
    /// It reads everything.
    Reads,
    /// It reads nothing.
    Deaf,
    /// It agrees on TLS, and then reads nothing.
    Secure,
}

/// Listens, and tells of each connection, and of its end.
fn silent(how: Silent) -> (SocketAddr, Receiver<()>, Receiver<()>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let ((came, come), (went, gone)) = (channel(), channel());
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            if how == Silent::Secure {
                let mut tls = ServerConnection::new(server_tls().0).unwrap();
                while tls.is_handshaking() && tls.complete_io(&mut stream).is_ok() {}
            }
            let _ = came.send(());
            if how == Silent::Reads {
                let _ = std::io::copy(&mut stream, &mut std::io::sink());
            } else {
                // It is full, and stays so; the end of the client's side shows all the same.
                wait_hup(&stream);
            }
            let _ = went.send(());
        }
    });
    (address, come, gone)
}

fn wait_hup(stream: &TcpStream) {
    use rustix::event::{PollFd, PollFlags, poll};
    let mut fds = [PollFd::new(stream, PollFlags::RDHUP)];
    let _ = poll(&mut fds, None);
}

#[test]
fn while_the_name_is_looked_up() {
    for background in BACKGROUNDS {
        let server = Server::start(once);
        let (real, first) = (server.address, AtomicBool::new(true));
        let (came, come) = channel();
        let (_hold, held) = channel::<()>();
        let held = Mutex::new(held);
        let resolver = move |_: &str, _: u16| {
            if !first.swap(false, Ordering::SeqCst) {
                came.send(()).unwrap();
                let _ = held.lock().unwrap().recv();
            }
            Ok(vec![real])
        };
        let builder = Client::builder().background(background).resolver(resolver);
        let client = builder.connect("http://server.test/mcp").unwrap();
        let pending = client.begin(Ping).unwrap();
        come.recv_timeout(LONG).unwrap();
        let cancel = pending.cancel_handle();
        let took = support::time(|| {
            cancel.cancel();
            assert_eq!(pending.wait().unwrap_err().outcome(), Outcome::NotSent);
        });
        assert!(took < Duration::from_secs(1), "{took:?}");
        let took = support::time(|| client.close());
        assert!(took < Duration::from_secs(1), "{took:?}");
    }
}

#[test]
fn while_it_connects() {
    let (listener, kept) = full();
    let trap = listener.local_addr().unwrap();
    for background in BACKGROUNDS {
        let server = Server::start(once);
        let client = trapped(background, "http", &server, trap);
        quick(AT_ONCE, || cancel(&client, || {}));
        // The caller's own thread leaves when its time is over.
        quick(AT_ONCE, || {
            let time = Duration::from_millis(100);
            let begin = Instant::now();
            let error = client.run(Ping, CallOptions::new().timeout(time)).unwrap_err();
            assert!(error.is_timeout(), "{error}");
            assert_eq!(error.outcome(), Outcome::NotSent);
            begin.elapsed().saturating_sub(time)
        });
    }
    drop(kept);
}

/// A listener that takes no more connections, and those that it has.
fn full() -> (TcpListener, Vec<TcpStream>) {
    use rustix::net::{AddressFamily, SocketType, bind, listen, socket};
    let fd = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    bind(&fd, &SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).unwrap();
    listen(&fd, 0).unwrap();
    let listener = TcpListener::from(fd);
    let address = listener.local_addr().unwrap();
    let mut kept = Vec::new();
    while let Ok(stream) = TcpStream::connect_timeout(&address, Duration::from_millis(200)) {
        kept.push(stream);
    }
    (listener, kept)
}

#[test]
fn while_tls_is_agreed_on() {
    for background in BACKGROUNDS {
        let server = Server::tls(server_tls().0, once);
        let (trap, come, gone) = silent(Silent::Reads);
        let client = trapped(background, "https", &server, trap);
        quick(AT_ONCE, || {
            let took = cancel(&client, || come.recv_timeout(LONG).unwrap());
            gone.recv_timeout(LONG).unwrap();
            took
        });
    }
}

#[test]
fn while_the_request_is_sent() {
    for background in BACKGROUNDS {
        for (scheme, how) in [("http", Silent::Deaf), ("https", Silent::Secure)] {
            let server = match how {
                Silent::Secure => Server::tls(server_tls().0, once),
                _ => Server::start(once),
            };
            let (trap, come, gone) = silent(how);
            let client = trapped(background, scheme, &server, trap);
            quick(AT_ONCE, || {
                let took = cancel(&client, || come.recv_timeout(LONG).unwrap());
                gone.recv_timeout(LONG).unwrap();
                took
            });
        }
    }
}

/// A server that tells of each call, does `before`, waits, and tells of the end.
fn stuck(
    before: fn(&mut Conn),
) -> (impl Fn(&Request, &mut Conn) -> bool + Send + Sync + 'static, Receiver<()>, Receiver<()>) {
    let ((came, come), (went, gone)) = (channel(), channel());
    let told: Mutex<(Sender<()>, Sender<()>)> = Mutex::new((came, went));
    let answer = move |request: &Request, conn: &mut Conn| {
        if request.method() != "tools/call" {
            return support::http::as_json(request, conn);
        }
        before(conn);
        let (came, went) = told.lock().unwrap().clone();
        came.send(()).unwrap();
        conn.wait_end();
        let _ = went.send(());
        false
    };
    (answer, come, gone)
}

fn no_head(_: &mut Conn) {}

fn half_a_head(conn: &mut Conn) {
    conn.send("HTTP/1.1 200 OK\r\ncontent-ty");
}

fn no_event(conn: &mut Conn) {
    conn.stream_head();
    conn.send("6\r\ndata: \r\n");
}

fn half_a_body(conn: &mut Conn) {
    conn.send("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n{\"jsonrpc\":");
}

#[test]
fn while_the_answer_is_awaited() {
    for background in BACKGROUNDS {
        for before in [no_head, half_a_head, no_event, half_a_body] {
            for tls in [false, true] {
                let (answer, come, gone) = stuck(before);
                let server =
                    if tls { Server::tls(server_tls().0, answer) } else { Server::start(answer) };
                let builder = Client::builder().background(background);
                let builder = builder.root_certificates([server_tls().1]);
                let client = builder.connect(server.url()).unwrap();
                quick(AT_ONCE, || {
                    let pending = client.begin(CallTool::new("echo", Map::new())).unwrap();
                    come.recv_timeout(LONG).unwrap();
                    let took = ends_at_once(pending);
                    gone.recv_timeout(LONG).unwrap();
                    took
                });
                quick(AT_ONCE, || {
                    let time = Duration::from_millis(200);
                    let begin = Instant::now();
                    let call = CallTool::new("echo", Map::new());
                    let error = client.run(call, CallOptions::new().timeout(time)).unwrap_err();
                    let took = begin.elapsed();
                    assert!(error.is_timeout(), "{error}");
                    come.recv_timeout(LONG).unwrap();
                    gone.recv_timeout(LONG).unwrap();
                    took.saturating_sub(time)
                });
            }
        }
    }
}

#[test]
fn while_a_handler_runs() {
    for background in BACKGROUNDS {
        let (went, gone) = channel();
        let went = Mutex::new(went);
        let server = Server::start(legacy(move |request, conn| {
            if request.method() != "tools/call" {
                return support::http::as_json(request, conn);
            }
            conn.stream_head();
            let params = json!({ "message": "?", "requestedSchema": {} });
            let ask = json!({
                "jsonrpc": "2.0", "id": "e", "method": "elicitation/create", "params": params,
            });
            conn.event(&ask.to_string());
            conn.wait_end();
            let _ = went.lock().unwrap().send(());
            false
        }));
        let ((came, come), (release, released)) = (channel(), channel::<()>());
        let held = Mutex::new((came, released));
        let client = Client::builder()
            .background(background)
            .on_elicitation(move |_| {
                let held = held.lock().unwrap();
                held.0.send(()).unwrap();
                let _ = held.1.recv();
                Ok(json!({ "action": "cancel" }).into())
            })
            .connect(server.url())
            .unwrap();
        thread::scope(|scope| {
            let call = scope.spawn(|| client.call_tool("echo", ()));
            come.recv_timeout(LONG).unwrap();
            // The dialog is open, and the connection goes nevertheless.
            quick(Duration::from_secs(1), || support::time(|| client.close()));
            gone.recv_timeout(LONG).unwrap();
            release.send(()).unwrap();
            let error = call.join().unwrap().unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::Closed(_)), "{error}");
        });
    }
}

#[test]
fn a_close_ends_ten_streams_at_once() {
    for background in BACKGROUNDS {
        for drops in [false, true] {
            quick(Duration::from_millis(100), || {
                let (answer, come, gone) = stuck(no_event);
                let server = Server::start(answer);
                let builder = Client::builder().background(background);
                let client = builder.connect(server.url()).unwrap();
                let call = || client.begin(CallTool::new("echo", Map::new())).unwrap();
                let calls: Vec<_> = (0..10).map(|_| call()).collect();
                (0..10).for_each(|_| come.recv_timeout(LONG).unwrap());
                let begin = Instant::now();
                if drops {
                    drop(calls);
                    drop(client);
                } else {
                    client.close();
                    for call in calls {
                        let error = call.wait().unwrap_err();
                        assert!(matches!(error.kind(), ErrorKind::Closed(_)), "{error}");
                    }
                }
                let took = begin.elapsed();
                (0..10).for_each(|_| gone.recv_timeout(LONG).unwrap());
                took
            });
        }
    }
}

#[test]
fn the_end_of_a_session_is_told_but_not_awaited_for_long() {
    for background in BACKGROUNDS {
        for answers in [true, false] {
            let (told, tell) = channel();
            let told = Mutex::new(told);
            let usual = legacy(support::http::as_json);
            let server = Server::start(move |request, conn| {
                if request.method() == "DELETE" {
                    told.lock().unwrap().send(()).unwrap();
                    if !answers {
                        conn.wait_end();
                        return false;
                    }
                }
                usual(request, conn)
            });
            let connect = || {
                let builder = Client::builder().background(background);
                builder.connect(server.url()).unwrap()
            };
            let client = connect();
            let took = support::time(|| client.close());
            assert_eq!(client.closed(), CloseReason::Closed);
            tell.recv_timeout(LONG).unwrap();
            let delete = server.requests("DELETE").pop().unwrap();
            assert_eq!(delete.header("mcp-session-id"), Some("s-1"));
            let enough = Duration::from_millis(if answers { 900 } else { 3000 });
            assert!(took < enough, "{took:?}");
            let client = connect();
            quick(Duration::from_secs(1), || {
                let client = client.clone();
                support::time(|| drop(client))
            });
            let took = support::time(|| drop(client));
            assert!(took < Duration::from_secs(1), "{took:?}");
            tell.recv_timeout(LONG).unwrap();
        }
    }
}
