//! The ways to a server over HTTP: TLS, proxies, names with several addresses.

mod support;

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use mcp_runtime_blocking::proto::{HttpFailureKind, HttpFault, Outcome, TransportError};
use mcp_runtime_blocking::{Client, ClientBuilder, Error, ErrorKind};
use support::http::{Server, as_events, as_json, server_tls};
use support::{BACKGROUNDS, echo};

/// The name of a proxy for this test program, when it starts itself again.
const PROXIED: &str = "MCP_TEST_PROXIED";

#[test]
fn server() {
    support::serve();
}

fn kind(error: &Error) -> HttpFailureKind {
    match error.kind() {
        ErrorKind::Transport(TransportError::Http(HttpFault::Exchange(failure))) => failure.kind,
        _ => panic!("{error}"),
    }
}

/// Finds all names here.
fn here(builder: ClientBuilder) -> ClientBuilder {
    builder.resolver(|_, port| Ok(vec![SocketAddr::from((Ipv4Addr::LOCALHOST, port))]))
}

#[test]
fn a_certificate_of_ones_own_is_trusted_when_it_is_named() {
    for background in BACKGROUNDS {
        for answer in [as_json, as_events] {
            let (config, certificate) = server_tls();
            let server = Server::tls(config, answer);
            let builder = Client::builder().background(background).retries(0);
            let client = builder.root_certificates([certificate]).connect(server.url()).unwrap();
            for call in 0..50 {
                echo(&client, &call.to_string());
            }
            client.close();
            assert_eq!(server.connections(), 1);
        }
    }
}

/// M-ERR-01
#[test]
fn a_certificate_that_nobody_trusts_is_named_as_the_problem() {
    let server = Server::tls(server_tls().0, as_json);
    let error = Client::builder().retries(0).connect(server.url()).unwrap_err();
    assert_eq!(kind(&error), HttpFailureKind::Tls);
    assert!(error.to_string().contains("certificate"), "{error}");
    assert_eq!(server.count("server/discover"), 0);
    // Another name than the certificate's.
    let builder = here(Client::builder().retries(0).root_certificates([server_tls().1]));
    let url = format!("https://elsewhere.test:{}/mcp", server.address.port());
    let error = builder.connect(url).unwrap_err();
    assert_eq!(kind(&error), HttpFailureKind::Tls);
    // A file without certificates.
    let error = Client::builder().retries(0).ca_file("/dev/null").connect(server.url());
    let error = error.unwrap_err();
    assert!(error.to_string().contains("/dev/null"), "{error}");
}

#[test]
fn plain_and_secure_servers_are_not_mixed_up() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let plain = listener.local_addr().unwrap();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 100]);
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n");
        }
    });
    let error = Client::builder().retries(0).connect(format!("https://{plain}/mcp")).unwrap_err();
    assert_eq!(kind(&error), HttpFailureKind::Tls);
    let secure = Server::tls(server_tls().0, as_json);
    let url = format!("http://{}/mcp", secure.address);
    assert!(Client::builder().retries(0).connect(url).is_err());
}

/// Opens tunnels, and keeps what it was asked for.
struct Proxy {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    /// `answer` stands in the place of the tunnel.
    fn start(answer: Option<&'static str>) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let keep = Arc::clone(&asked);
        thread::spawn(move || {
            for mut client in listener.incoming().flatten() {
                let keep = Arc::clone(&keep);
                thread::spawn(move || {
                    let mut head = String::new();
                    while !head.ends_with("\r\n\r\n") {
                        let mut byte = [0];
                        client.read_exact(&mut byte).unwrap();
                        head.push(char::from(byte[0]));
                    }
                    let port = head.split([' ', ':']).nth(2).unwrap().parse().unwrap();
                    keep.lock().unwrap().push(head);
                    if let Some(answer) = answer {
                        return client.write_all(answer.as_bytes()).unwrap();
                    }
                    tunnel(client, (Ipv4Addr::LOCALHOST, port).into());
                });
            }
        });
        Proxy { address, asked }
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

fn tunnel(mut client: TcpStream, to: SocketAddr) {
    let mut server = TcpStream::connect(to).unwrap();
    client.write_all(b"HTTP/1.1 200 Connected\r\n\r\n").unwrap();
    let (mut from, mut into) = (client.try_clone().unwrap(), server.try_clone().unwrap());
    let back = thread::spawn(move || {
        let _ = std::io::copy(&mut server, &mut client);
        let _ = client.shutdown(std::net::Shutdown::Both);
    });
    let _ = std::io::copy(&mut from, &mut into);
    let _ = into.shutdown(std::net::Shutdown::Both);
    back.join().unwrap();
}

#[test]
fn a_proxy_opens_a_tunnel_for_either_scheme() {
    for background in BACKGROUNDS {
        let proxy = Proxy::start(None);
        for server in [Server::start(as_json), Server::tls(server_tls().0, as_events)] {
            let url = server.url().replace("127.0.0.1", "server.test");
            let builder = Client::builder().background(background);
            let builder = builder.root_certificates([server_tls().1]);
            let through = format!("http://user:pass%20word@{}", proxy.address);
            let client = builder.proxy(through).connect(url).unwrap();
            echo(&client, "through");
            echo(&client, "again");
            client.close();
            assert_eq!(server.connections(), 1);
            let head = proxy.asked().pop().unwrap();
            let target = format!("server.test:{}", server.address.port());
            assert!(head.starts_with(&format!("CONNECT {target} HTTP/1.1\r\n")), "{head}");
            assert!(head.contains("proxy-authorization: Basic dXNlcjpwYXNzIHdvcmQ=\r\n"), "{head}");
        }
        assert_eq!(proxy.asked().len(), 2);
    }
}

#[test]
fn a_proxy_that_refuses_is_named() {
    let proxy = Proxy::start(Some("HTTP/1.1 407 Login\r\ncontent-length: 0\r\n\r\n"));
    let builder = Client::builder().retries(0).proxy(format!("http://{}", proxy.address));
    let error = builder.connect("https://server.test/mcp").unwrap_err();
    assert_eq!(kind(&error), HttpFailureKind::Proxy);
    assert!(error.to_string().contains("407"), "{error}");
}

/// The environment of a process is the same for all its threads, so this program starts
/// itself.
#[test]
fn the_environment_names_a_proxy_and_exceptions() {
    if let Ok(url) = std::env::var(PROXIED) {
        let client = here(Client::builder()).connect(url).unwrap();
        return echo(&client, "hello");
    }
    let (proxy, server) = (Proxy::start(None), Server::start(as_json));
    let run = |host: &str, except: &str| {
        let url = server.url().replace("127.0.0.1", host);
        let itself = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "the_environment_names_a_proxy_and_exceptions"])
            .env(PROXIED, url)
            .env("HTTP_PROXY", format!("http://{}", proxy.address))
            .env("NO_PROXY", except)
            .env_remove("http_proxy")
            .env_remove("no_proxy")
            .output()
            .unwrap();
        assert!(itself.status.success(), "{}", String::from_utf8_lossy(&itself.stdout));
        proxy.asked().len()
    };
    assert_eq!(run("server.test", ""), 1);
    assert_eq!(run("server.test", "other.test, .test"), 1);
    assert_eq!(run("server.test", "10.0.0.0/8,server.test"), 1);
    assert_eq!(run("127.0.0.1", ""), 1);
    assert_eq!(run("localhost", ""), 1);
    assert_eq!(run("other.test", "server.test"), 2);
}

#[test]
fn localhost_is_found_on_either_family() {
    let four = Server::start(as_json);
    let mut servers = vec![(four.address.port(), four)];
    // Some machines have no IPv6.
    if let Ok(six) = Server::on((Ipv6Addr::LOCALHOST, 0).into(), None, as_json) {
        let client = Client::connect(six.url()).unwrap();
        echo(&client, "in brackets");
        let host = six.requests("tools/call")[0].header("host").map(String::from);
        assert_eq!(host, Some(format!("[::1]:{}", six.address.port())));
        servers.push((six.address.port(), six));
    }
    for (port, _server) in servers {
        let client = Client::connect(format!("http://localhost:{port}/mcp")).unwrap();
        echo(&client, "found");
    }
}

#[test]
fn addresses_are_tried_beside_each_other() {
    let server = Server::start(as_json);
    let address = server.address;
    // The first leads nowhere (RFC 5737), and is not waited for.
    let nowhere = SocketAddr::from(([192, 0, 2, 1], 9));
    let builder = Client::builder().resolver(move |_, _| Ok(vec![nowhere, address]));
    let took = support::time(|| {
        let client = builder.connect("http://server.test/mcp").unwrap();
        echo(&client, "found");
    });
    assert!(took < Duration::from_secs(5), "{took:?}");
}

#[test]
fn nobody_there_and_no_such_name_are_told_apart() {
    let gone = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
    let error = Client::builder().retries(0).connect(format!("http://{gone}/mcp")).unwrap_err();
    assert_eq!(kind(&error), HttpFailureKind::Connect);
    assert!(error.to_string().contains("refused"), "{error}");
    assert_eq!(error.outcome(), Outcome::NotSent);
    let unknown = |_: &str, _: u16| Err(std::io::Error::other("no such name"));
    let builder = Client::builder().retries(0).resolver(unknown);
    let error = builder.connect("http://server.test/mcp").unwrap_err();
    assert_eq!(kind(&error), HttpFailureKind::Resolve);
    assert!(error.to_string().contains("server.test"), "{error}");
}
