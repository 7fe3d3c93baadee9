//! Servers behind a proxy.

use std::io::copy;
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use mcp_proto::HttpFailureKind;

use super::server::{Era, Kind, Line, Web};
use super::tls::Authority;
use super::{Client, echo, failure};
use crate::block_on;

/// A proxy that leads everybody to this server, and tells the heads of what it was asked.
fn proxy(server: SocketAddr) -> (Web, Receiver<String>) {
    let (tell, told) = channel();
    let proxy = Web::raw("http", move |number, stream| {
        let mut line = Line::new(number, stream.try_clone().unwrap(), None);
        let Some(head) = line.head() else { return };
        let _ = tell.send(head);
        line.write("HTTP/1.1 200 Connection established\r\n\r\n");
        let target = TcpStream::connect(server).unwrap();
        let (mut from, mut to) = (stream.try_clone().unwrap(), target.try_clone().unwrap());
        thread::spawn(move || {
            let _ = copy(&mut from, &mut to);
            let _ = to.shutdown(Shutdown::Both);
        });
        let (mut from, mut to) = (target, stream);
        let _ = copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Both);
    });
    (proxy, told)
}

#[test]
fn servers_are_reached_through_a_tunnel() {
    let authority = Authority::new();
    for tls in [false, true] {
        let serve = |line: Line| line.serve(Era::Modern, Kind::Sse);
        let web = match tls {
            false => Web::start(serve),
            true => Web::secure(authority.server(&["server.test"]), serve),
        };
        let (proxy, told) = proxy(web.address);
        block_on(async {
            let client = Client::builder()
                .proxy(format!("http://us%2Fer:secret@{}", proxy.address))
                .root_certificates([authority.der()])
                .resolver(|host, _| panic!("{host} is the proxy's to look up"))
                .connect(web.url_as("server.test"))
                .await
                .unwrap();
            for n in 0..10 {
                assert_eq!(echo(&client, &n.to_string()).await.unwrap(), n.to_string());
            }
        });
        let asked: Vec<_> = told.try_iter().collect();
        assert_eq!(asked.len(), 1, "one tunnel serves all calls: {asked:?}");
        let target = format!("server.test:{}", web.address.port());
        let expected = format!(
            "CONNECT {target} HTTP/1.1\r\nhost: {target}\r\n\
             proxy-authorization: Basic dXMvZXI6c2VjcmV0\r\n\r\n"
        );
        assert_eq!(asked[0], expected);
    }
}

#[test]
fn a_proxy_that_refuses_is_an_error_of_its_own() {
    let refuses = "HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n";
    let rambles = "HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\n\r\n";
    for (answer, says) in
        [(refuses, "407"), ("220 ready\r\n", "HTTP/1"), (rambles, "unasked"), ("", "")]
    {
        let proxy = Web::start(move |mut line| {
            line.head();
            line.write(answer);
        });
        let builder = Client::builder().proxy(format!("http://{}", proxy.address)).retries(0);
        let error = block_on(builder.connect("http://server.test/mcp")).unwrap_err();
        assert_eq!(failure(&error).kind, HttpFailureKind::Proxy, "{error}");
        assert!(error.to_string().contains(says), "{error}");
    }
}

#[test]
fn a_proxy_that_cannot_be_meant_is_refused_when_the_client_is_made() {
    for proxy in ["socks5://127.0.0.1:1", "https://127.0.0.1:1", "http://", "ftp://x"] {
        let error = block_on(Client::builder().proxy(proxy).connect("http://x/mcp")).unwrap_err();
        assert!(error.to_string().contains("`proxy`"), "{error}");
    }
}
