//! Calls that are cancelled, in each phase of their exchange. The client is connected by then; what
//! is aborted is a call of its own, on a connection of its own where the phase comes before the
//! request.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures_lite::future::{or, yield_now};
use mcp_proto::ErrorKind;
use serde_json::json;

use super::server::{Era, Kind, Line, Web};
use super::tls::Authority;
use super::{ABORT, Client, begin, echo, within, word};
use crate::{ClientBuilder, block_on};

/// Where the exchange is when it is aborted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    Sending,
    Head,
    Body,
    Events,
}

/// Answers everything but calls; those are left alone at a phase, which is told. Then the end of
/// the connection is awaited, which is told too.
fn stall(mut line: Line, at: At, tell: &Sender<&'static str>) {
    loop {
        let Some(head) = line.head() else { return };
        let is_call = head.contains("mcp-method: tools/call");
        if is_call && at == At::Sending {
            break;
        }
        let Some(request) = line.body_of(head) else { return };
        if is_call {
            break;
        }
        line.answer(&request, Era::Modern, Kind::Json);
    }
    match at {
        At::Sending | At::Head => {}
        At::Body => line.write("HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{\"js"),
        At::Events => {
            line.begin_events();
            line.event(&json!({ "jsonrpc": "2.0", "method": "notifications/message" }));
        }
    }
    let _ = tell.send("reached");
    line.wait_end();
    let _ = tell.send("ended");
}

/// Begins a call, waits until it is where it is to be, and cancels it. How long it takes until the
/// call has ended and the server has seen the end of its connection.
async fn cancel(client: &Client, message: &str, told: &Receiver<&'static str>) -> Duration {
    let mut call = begin(client, message);
    let reached = async {
        assert_eq!(word(told).await, "reached");
        None
    };
    let early = or(async { Some((&mut call).await) }, reached).await;
    assert!(early.is_none(), "{early:?}");
    let began = Instant::now();
    call.cancel_handle().cancel();
    let error = call.await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Cancelled), "{error}");
    assert_eq!(word(told).await, "ended");
    began.elapsed()
}

#[test]
fn an_abort_ends_the_socket_at_once_while_it_is_spoken_on() {
    let authority = Authority::new();
    for at in [At::Sending, At::Head, At::Body, At::Events] {
        // More than the buffers of two sockets hold.
        let message = "x".repeat(if at == At::Sending { 16 << 20 } else { 1 });
        for tls in [false, true] {
            within(ABORT, || {
                let (tell, told) = channel();
                let serve = move |line| stall(line, at, &tell);
                let web = match tls {
                    false => Web::start(serve),
                    true => Web::secure(authority.server(&["127.0.0.1"]), serve),
                };
                block_on(async {
                    let builder = Client::builder().root_certificates([authority.der()]);
                    let client = builder.connect(web.url()).await.unwrap();
                    let took = cancel(&client, &message, &told).await;
                    client.ping().await.unwrap();
                    took
                })
            });
        }
    }
}

/// A server that keeps no connection, so that each exchange opens one.
fn forgetful(line: &mut Line) {
    let Some(request) = line.request() else { return };
    let answer = super::server::reply(&request.body, Era::Modern).unwrap();
    line.json(&answer, "connection: close\r\n");
}

#[test]
fn an_abort_ends_the_socket_at_once_during_the_handshake() {
    let authority = Authority::new();
    within(ABORT, || {
        let (tell, told) = channel();
        let config = authority.server(&["127.0.0.1"]);
        let web = Web::raw("https", move |number, stream| {
            if number != 2 {
                return forgetful(&mut Line::new(number, stream, Some(Arc::clone(&config))));
            }
            let mut line = Line::new(number, stream, None);
            line.wait_some();
            let _ = tell.send("reached");
            line.wait_end();
            let _ = tell.send("ended");
        });
        block_on(async {
            let builder = Client::builder().root_certificates([authority.der()]);
            let client = builder.connect(web.url()).await.unwrap();
            let took = cancel(&client, "hi", &told).await;
            assert_eq!(echo(&client, "hi").await.unwrap(), "hi");
            took
        })
    });
}

/// A client whose second lookup, and no other, is this one.
fn second_lookup(
    first: SocketAddr,
    second: impl FnOnce() -> io::Result<Vec<SocketAddr>> + Send + 'static,
) -> ClientBuilder {
    let lookups = Mutex::new((0, Some(second)));
    Client::builder().resolver(move |host, _| {
        assert_eq!(host, "server.test");
        let second = {
            let mut lookups = lookups.lock().unwrap();
            lookups.0 += 1;
            if lookups.0 == 2 { lookups.1.take() } else { None }
        };
        second.map_or_else(|| Ok(vec![first]), |second| second())
    })
}

#[test]
fn an_abort_does_not_wait_for_a_lookup() {
    within(ABORT, || {
        let (tell, told) = channel();
        let (release, released) = channel::<()>();
        let web = Web::start(|mut line| forgetful(&mut line));
        let builder = second_lookup(web.address, move || {
            // The lookup itself goes on; nothing is there that could have an end.
            let _ = tell.send("reached").and_then(|()| tell.send("ended"));
            let _ = released.recv();
            Err(io::ErrorKind::NotFound.into())
        });
        let took = block_on(async {
            let client = builder.connect(web.url_as("server.test")).await.unwrap();
            let took = cancel(&client, "hi", &told).await;
            assert_eq!(echo(&client, "hi").await.unwrap(), "hi");
            took
        });
        drop(release);
        took
    });
}

/// A listener that answers nobody: its backlog is full.
pub(super) struct Full {
    pub(super) address: SocketAddr,
    _listener: TcpListener,
    _waiting: Vec<TcpStream>,
}

impl Full {
    pub(super) fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let connect = || TcpStream::connect_timeout(&address, Duration::from_millis(100)).ok();
        let waiting = std::iter::from_fn(connect).collect();
        Full { address, _listener: listener, _waiting: waiting }
    }

    /// How many wait for an answer.
    pub(super) fn connecting(&self) -> usize {
        let sockets = std::fs::read_to_string("/proc/self/net/tcp").unwrap();
        let ours = format!("0100007F:{:04X}", self.address.port());
        let waits = |line: &&str| {
            let mut fields = line.split_whitespace().skip(2);
            fields.next() == Some(&ours) && fields.next() == Some("02")
        };
        sockets.lines().filter(waits).count()
    }
}

#[test]
fn an_abort_ends_an_attempt_to_connect_at_once() {
    let full = Arc::new(Full::new());
    let before = full.connecting();
    within(ABORT, || {
        let web = Web::start(|mut line| forgetful(&mut line));
        let nowhere = full.address;
        let builder = second_lookup(web.address, move || Ok(vec![nowhere]));
        block_on(async {
            let client = builder.connect(web.url_as("server.test")).await.unwrap();
            let mut call = begin(&client, "hi");
            let until = async |connecting| {
                while full.connecting() != connecting {
                    yield_now().await;
                }
            };
            let early = or(async { Some((&mut call).await) }, async {
                until(before + 1).await;
                None
            });
            assert!(early.await.is_none());
            let began = Instant::now();
            call.cancel_handle().cancel();
            let error = call.await.unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::Cancelled), "{error}");
            let took = began.elapsed();
            // Looking takes long itself.
            until(before).await;
            assert_eq!(echo(&client, "hi").await.unwrap(), "hi");
            took
        })
    });
}
