//! What adapters share to reach servers over HTTP: addresses, lookups, sockets.

use std::io::{Error, ErrorKind, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::pin::pin;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use mcp_runtime_common::proto::driver::Address;
use mcp_runtime_common::{ClientOptions, Reach, Tls, addresses, is_silent, tune};

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(done) => return done,
            Poll::Pending => thread::park(),
        }
    }
}

fn all(texts: &[&str]) -> Vec<SocketAddr> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

#[test]
fn some_hosts_need_no_lookup() {
    assert_eq!(addresses("10.1.2.3", 80), Some(all(&["10.1.2.3:80"])));
    assert_eq!(addresses("fd00::1", 80), Some(all(&["[fd00::1]:80"])));
    assert_eq!(addresses("[fd00::1]", 80), Some(all(&["[fd00::1]:80"])));
    for name in ["localhost", "Localhost.", "a.localhost"] {
        assert_eq!(addresses(name, 7), Some(all(&["[::1]:7", "127.0.0.1:7"])), "{name}");
    }
    assert_eq!(addresses("example.com", 80), None);
}

#[test]
fn names_are_looked_up_beside_whoever_asks() {
    let asked = thread::current().id();
    let options = ClientOptions::new().resolver(move |host, port| {
        assert_ne!(thread::current().id(), asked);
        match host {
            "known.test" => Ok(vec![SocketAddr::from(([10, 0, 0, 1], port))]),
            "empty.test" => Ok(Vec::new()),
            "panics.test" => panic!("as code of the host's may"),
            _ => Err(Error::new(ErrorKind::NotFound, "nobody knows it")),
        }
    });
    let reach = Reach::new(options.http);
    assert_eq!(block_on(reach.resolve("known.test", 5)).unwrap(), all(&["10.0.0.1:5"]));
    for name in ["empty.test", "unknown.test", "panics.test"] {
        assert!(block_on(reach.resolve(name, 5)).is_err(), "{name}");
    }
    assert_eq!(block_on(reach.resolve("127.0.0.1", 5)).unwrap(), all(&["127.0.0.1:5"]));
}

#[test]
fn a_lookup_that_nobody_waits_for_holds_up_nobody() {
    let (release, released) = channel::<()>();
    let (released, tell) = (std::sync::Mutex::new(released), channel::<()>());
    let began = std::sync::Mutex::new(tell.0);
    let options = ClientOptions::new().resolver(move |_, _| {
        began.lock().unwrap().send(()).unwrap();
        let _ = released.lock().unwrap().recv();
        Ok(Vec::new())
    });
    let reach = Reach::new(options.http);
    let mut lookup = reach.resolve("slow.test", 5);
    assert!(lookup.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    tell.1.recv().unwrap();
    drop(lookup);
    drop(reach);
    drop(release);
}

#[test]
fn tls_is_made_once_and_knows_names_and_addresses() {
    let tls = Tls::new(ClientOptions::new().root_certificates([b"no certificate"]).http.tls);
    assert!(tls.config().is_err() && tls.ready().is_none());
    for host in ["example.com", "example.com.", "10.1.2.3", "fd00::1", "[fd00::1]"] {
        assert!(Tls::server_name(host).is_ok(), "{host}");
    }
    assert!(Tls::server_name("no name").is_err());
}

#[test]
fn a_proxy_comes_with_what_it_is_told() {
    let reach = Reach::new(ClientOptions::new().proxy("http://u:p@proxy.test:81").http);
    let server = Address { https: true, host: String::from("x.test"), port: 443 };
    let via = reach.proxy(&server).unwrap().unwrap();
    assert_eq!((&*via.host, via.port), ("proxy.test", 81));
    assert_eq!(via.authorization.as_deref(), Some("Basic dTpw"));
    assert!(!format!("{via:?} {reach:?}").contains("dTpw"));
}

#[test]
fn a_socket_is_silent_until_something_or_its_end_has_come() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let pair = || {
        let ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (theirs, _) = listener.accept().unwrap();
        tune(&ours).unwrap();
        assert!(is_silent(&ours));
        (ours, theirs)
    };
    let (ours, mut theirs) = pair();
    theirs.write_all(b"x").unwrap();
    assert!(!is_silent(&ours) && !is_silent(&ours), "looking takes nothing away");
    let (ours, theirs) = pair();
    drop(theirs);
    assert!(!is_silent(&ours));
}
