//! Names with several addresses, and `localhost`.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use mcp_proto::HttpFailureKind;

use super::aborts::Full;
use super::server::{Era, Kind, Line, Web};
use super::{Client, echo, failure};
use crate::block_on;

/// A server on this address, which tells the `Host` headers that it sees. `None` where there is no
/// such interface.
fn server_on(address: &str) -> Option<(Web, std::sync::mpsc::Receiver<String>)> {
    let listener = TcpListener::bind(address).ok()?;
    let (tell, told) = channel();
    let web = Web::on(listener, "http", move |number, stream| {
        let mut line = Line::new(number, stream, None);
        while let Some(request) = line.request() {
            let _ = tell.send(String::from(request.header("host").unwrap()));
            line.answer(&request, Era::Modern, Kind::Json);
        }
    });
    Some((web, told))
}

async fn speaks(url: &str) {
    let client = Client::connect(url).await.unwrap();
    assert_eq!(echo(&client, "hi").await.unwrap(), "hi");
}

#[test]
fn localhost_is_reached_on_either_family() {
    for (address, literal) in [("127.0.0.1:0", "127.0.0.1"), ("[::1]:0", "[::1]")] {
        let Some((web, told)) = server_on(address) else { continue };
        for host in [literal, "localhost", "sub.localhost"] {
            block_on(speaks(&web.url_as(host)));
            assert_eq!(told.recv().unwrap(), format!("{host}:{}", web.address.port()));
            while told.try_recv().is_ok() {}
        }
    }
}

/// A port on which nobody listens.
fn refusing() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

fn connect(addresses: Vec<SocketAddr>) -> Result<Client, crate::Error> {
    let builder = Client::builder().retries(0).resolver(move |_, _| Ok(addresses.clone()));
    block_on(builder.connect("http://server.test/mcp"))
}

#[test]
fn all_addresses_of_a_name_are_tried() {
    let web = Web::start(|line| line.serve(Era::Modern, Kind::Json));
    connect(vec![refusing(), refusing(), web.address]).unwrap();

    let (first, second) = (refusing(), refusing());
    let error = connect(vec![first, second]).unwrap_err();
    assert_eq!(failure(&error).kind, HttpFailureKind::Connect);
    for address in [first, second] {
        assert!(error.to_string().contains(&address.to_string()), "{error}");
    }
}

#[test]
fn an_address_that_does_not_answer_does_not_hold_up_the_next() {
    let (full, web) = (Full::new(), Web::start(|line| line.serve(Era::Modern, Kind::Json)));
    let began = Instant::now();
    connect(vec![full.address, web.address]).unwrap();
    assert!(began.elapsed() < Duration::from_secs(5), "it took {:?}", began.elapsed());
    drop(Arc::new(full));
}

#[test]
fn a_name_that_is_not_found_is_an_error_of_its_own() {
    for found in [Ok(Vec::new()), Err(())] {
        let builder = Client::builder()
            .retries(0)
            .resolver(move |_, _| found.clone().map_err(|()| std::io::ErrorKind::NotFound.into()));
        let error = block_on(builder.connect("http://server.test/mcp")).unwrap_err();
        assert_eq!(failure(&error).kind, HttpFailureKind::Resolve, "{error}");
        assert!(error.to_string().contains("server.test"), "{error}");
    }
}
