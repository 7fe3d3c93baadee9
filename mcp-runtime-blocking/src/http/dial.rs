//! Opening a connection to a server: its addresses, the way through a proxy, TLS. The HTTP library
//! asks for one when it has none that is idle.

use std::fmt;
use std::io::{self, ErrorKind, Read, Write};
use std::sync::{Arc, Weak};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use mcp_proto::driver::{CONNECT_TIMEOUT, HANDSHAKE_TIMEOUT, Want, alternate};
use mcp_proto::http1::{Exchange, Headers, Part, Request, authority};
use mcp_proto::{HttpFailure, HttpFailureKind, HttpInput, Sent};
use mcp_runtime_common::rustls::{ClientConnection, StreamOwned};
use mcp_runtime_common::{HttpSettings, Proxies, Proxy, Tls, addresses};
use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{ConnectionDetails, Connector, NextTimeout, ShutdownHandle};

use super::line::{Line, current};
use super::link::{Link, Wire};
use super::socket::Socket;

/// How much of a proxy's answer is read at once.
const READ: usize = 4096;

/// How connections are opened.
#[derive(Debug)]
pub(crate) struct Dial {
    settings: Arc<HttpSettings>,
    proxies: Proxies,
    tls: Tls,
}

/// Why a connection was not opened, on its way through the HTTP library.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) kind: HttpFailureKind,
    pub(crate) text: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Failure {}

impl From<Failure> for HttpFailure {
    fn from(failure: Failure) -> Self {
        HttpFailure::new(failure.kind, Sent::None, false, failure.text)
    }
}

fn failure(kind: HttpFailureKind, text: impl Into<String>) -> Failure {
    Failure { kind, text: text.into() }
}

/// Who is spoken to.
struct Server<'a> {
    https: bool,
    /// A name, or an address; an IPv6 address without brackets.
    host: &'a str,
    port: u16,
}

impl<'a> Server<'a> {
    fn of(uri: &'a Uri) -> Option<Self> {
        let https = uri.scheme_str() == Some("https");
        let host = uri.host()?;
        let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        let port = uri.port_u16().unwrap_or(if https { 443 } else { 80 });
        Some(Server { https, host: bare.unwrap_or(host), port })
    }
}

impl Dial {
    pub(crate) fn new(settings: HttpSettings) -> Self {
        let proxies = settings.proxy.proxies();
        let tls = Tls::new(settings.tls.clone());
        Dial { settings: Arc::new(settings), proxies, tls }
    }

    fn open(&self, server: &Server<'_>, register: &Register<'_>) -> Result<Wire, Failure> {
        let (line, _) = current().map_err(|e| failure(HttpFailureKind::Connect, e.to_string()))?;
        let proxy = self.proxies.find(server.https, server.host, server.port);
        let proxy = proxy.map_err(|e| failure(HttpFailureKind::Proxy, e.to_string()))?;
        let mut socket = match &proxy {
            None => self.connect(&line, server.host, server.port, "")?,
            Some(proxy) => self.connect(&line, &proxy.host, proxy.port, "the proxy ")?,
        };
        register(Arc::downgrade(socket.stream()) as Weak<dyn ShutdownHandle>)?;
        if let Some(proxy) = &proxy {
            let until = Some(line.now() + HANDSHAKE_TIMEOUT);
            let opened = line.run(until, || tunnel(&mut socket, proxy, server));
            opened.map_err(|text| failure(HttpFailureKind::Proxy, text))?;
        }
        if !server.https {
            return Ok(Wire::Plain(socket));
        }
        let until = Some(line.now() + HANDSHAKE_TIMEOUT);
        let secured = line.run(until, || self.secure(socket, server.host));
        secured.map_err(|error| {
            let late = error.kind() == ErrorKind::WouldBlock;
            let text = if late {
                format!("no agreement on TLS within {HANDSHAKE_TIMEOUT:?}")
            } else {
                error.to_string()
            };
            failure(HttpFailureKind::Tls, text)
        })
    }

    /// Finds the addresses and connects to the first that answers.
    fn connect(
        &self,
        line: &Arc<Line>,
        host: &str,
        port: u16,
        whose: &str,
    ) -> Result<Socket, Failure> {
        let until = line.now() + CONNECT_TIMEOUT;
        let wrong = |kind, error: &io::Error| {
            let late = error.kind() == ErrorKind::TimedOut;
            let what = if kind == HttpFailureKind::Resolve { "address" } else { "connection" };
            if late {
                failure(kind, format!("{whose}{host}:{port}: no {what} within {CONNECT_TIMEOUT:?}"))
            } else {
                failure(kind, format!("{whose}{host}:{port}: {error}"))
            }
        };
        let found = match addresses(host, port) {
            Some(known) => known,
            None => line
                .look_up(&self.settings, host, port, until)
                .map_err(|error| wrong(HttpFailureKind::Resolve, &error))?,
        };
        Socket::connect(line, alternate(found).into(), until)
            .map_err(|error| wrong(HttpFailureKind::Connect, &error))
    }

    fn secure(&self, mut socket: Socket, host: &str) -> io::Result<Wire> {
        let name = Tls::server_name(host)?;
        let connection = ClientConnection::new(self.tls.config()?, name);
        let mut connection = connection.map_err(io::Error::other)?;
        while connection.is_handshaking() {
            connection.complete_io(&mut socket)?;
        }
        Ok(Wire::Tls(Box::new(StreamOwned::new(connection, socket))))
    }
}

/// Asks the proxy at the other end for a tunnel to this server (RFC 9110, section 9.3.6).
fn tunnel(socket: &mut Socket, proxy: &Proxy, server: &Server<'_>) -> Result<(), String> {
    // Always with the port, which no scheme implies here.
    let target = authority(server.host, server.port, 0);
    let secret = proxy.login.as_ref().map(|(user, password)| {
        format!("Basic {}", BASE64_STANDARD.encode(format!("{user}:{password}")))
    });
    let secret = secret.iter().map(|secret| ("proxy-authorization", secret.as_str()));
    let headers: Headers = secret.collect();
    let request =
        Request { method: "CONNECT", target: &target, authority: &target, headers: &headers };
    let mut exchange = Exchange::new(&request, None, false).map_err(|error| error.to_string())?;
    let broken = |error: io::Error| match error.kind() {
        ErrorKind::WouldBlock => format!("the proxy opened no tunnel within {HANDSHAKE_TIMEOUT:?}"),
        _ => format!("the connection to the proxy broke: {error}"),
    };
    let bytes = exchange.unsent().to_vec();
    socket.write_all(&bytes).map_err(broken)?;
    exchange.sent(bytes.len());
    let mut buffer = [0; READ];
    loop {
        let count = socket.read(&mut buffer).map_err(broken)?;
        let mut input = buffer.get(..count).unwrap_or_default();
        if input.is_empty() {
            return Err(String::from("the proxy hung up"));
        }
        let wrong = |error| format!("the proxy: {error}");
        while let Some(part) = exchange.decode(&mut input).map_err(wrong)? {
            match part {
                Part::Head(head) if !(200..300).contains(&head.status) => {
                    return Err(format!("the proxy refused with status {}", head.status));
                }
                Part::Head(_) | Part::Body(_) => {}
                // Neither a server of HTTP nor one of TLS speaks first.
                Part::End { .. } if !input.is_empty() => {
                    return Err(String::from("something came through the tunnel unasked"));
                }
                Part::End { .. } => return Ok(()),
            }
        }
    }
}

type Register<'a> = dyn Fn(Weak<dyn ShutdownHandle>) -> Result<(), Failure> + 'a;

impl Connector<()> for Dial {
    type Out = Link;

    fn connect(
        &self,
        details: &ConnectionDetails<'_>,
        _: Option<()>,
    ) -> Result<Option<Link>, ureq::Error> {
        let unknown = || ureq::Error::BadUri(details.uri.to_string());
        let server = Server::of(details.uri).ok_or_else(unknown)?;
        let register = |handle| {
            let refused = |error: ureq::Error| failure(HttpFailureKind::Closed, error.to_string());
            (details.register_shutdown)(handle).map_err(refused)
        };
        let (line, _) = current()?;
        line.hand_in(HttpInput::Connecting);
        let wire = self.open(&server, &register);
        let wire = wire.map_err(|failure| ureq::Error::Other(Box::new(failure)))?;
        line.connected();
        line.hand_in(HttpInput::Connected);
        // It may have been given up by now, and then it must not be sent.
        if line.want() == Want::Nothing {
            let given_up = failure(HttpFailureKind::Aborted, "aborted");
            return Err(ureq::Error::Other(Box::new(given_up)));
        }
        Ok(Some(Link::new(wire)))
    }
}

/// Addresses are looked up when a connection is opened. The library would do it for each request.
#[derive(Debug)]
pub(crate) struct Later;

impl Resolver for Later {
    fn resolve(
        &self,
        _: &Uri,
        _: &Config,
        _: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        Ok(self.empty())
    }
}
