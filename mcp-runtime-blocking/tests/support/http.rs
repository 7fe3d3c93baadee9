//! A server over HTTP that does what a closure says, counts what reaches it, and tells when a
//! client lets go.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;

use mcp_runtime_common::rustls::pki_types::PrivatePkcs8KeyDer;
use mcp_runtime_common::rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::{Value, json};

/// What a connection is made of.
pub(crate) trait Stream: Read + Write + Send {}
impl<T: Read + Write + Send> Stream for T {}

/// One side of a connection, at the server.
pub(crate) struct Conn {
    stream: Box<dyn Stream>,
    raw: TcpStream,
    /// What was read and not yet used.
    rest: Vec<u8>,
    /// Which of the server's connections it is.
    pub(crate) number: usize,
}

/// What came.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) line: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Value,
    pub(crate) connection: usize,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    /// The JSON-RPC method, or that of HTTP.
    pub(crate) fn method(&self) -> &str {
        let http = self.line.split(' ').next().unwrap_or_default();
        self.body["method"].as_str().unwrap_or(http)
    }

    /// The answer to it, with this result.
    pub(crate) fn result(&self, result: &Value) -> String {
        json!({ "jsonrpc": "2.0", "id": self.body["id"], "result": result }).to_string()
    }

    /// The usual answer.
    pub(crate) fn usual(&self) -> String {
        let text = self.body["params"]["arguments"]["message"].as_str().unwrap_or("usual");
        self.result(&match self.method() {
            "server/discover" => discover(),
            "initialize" => json!({
                "protocolVersion": "2025-11-25",
                "capabilities": { "tools": {} },
                "serverInfo": { "name": "scripted", "version": "1" },
            }),
            "tools/list" => json!({ "resultType": "complete", "tools": [
                { "name": "echo", "inputSchema": { "type": "object" } },
            ] }),
            _ => tool(text),
        })
    }
}

pub(crate) fn discover() -> Value {
    json!({
        "resultType": "complete",
        "supportedVersions": ["2026-07-28"],
        "capabilities": { "tools": {} },
        "serverInfo": { "name": "scripted", "version": "1" },
        "ttlMs": 0,
        "cacheScope": "private",
    })
}

/// The result of a tool.
pub(crate) fn tool(text: &str) -> Value {
    json!({ "resultType": "complete", "content": [{ "type": "text", "text": text }] })
}

impl Conn {
    /// The head of the next request. `None`: the client has let go.
    fn head(&mut self) -> Option<Request> {
        let head = loop {
            if let Some(at) = self.rest.windows(4).position(|four| four == b"\r\n\r\n") {
                break self.rest.drain(..at + 4).collect::<Vec<_>>();
            }
            self.fill()?;
        };
        let head = String::from_utf8(head).unwrap();
        let mut lines = head.split("\r\n").filter(|line| !line.is_empty());
        let line = String::from(lines.next().unwrap());
        let split = |line: &str| {
            let (name, value) = line.split_once(':').unwrap();
            (name.to_ascii_lowercase(), String::from(value.trim()))
        };
        let headers: Vec<_> = lines.map(split).collect();
        Some(Request { line, headers, body: Value::Null, connection: self.number })
    }

    /// The same with its body.
    fn body(&mut self, mut request: Request) -> Option<Request> {
        let length = request.header("content-length");
        let length: usize = length.map_or(0, |value| value.parse().unwrap());
        while self.rest.len() < length {
            self.fill()?;
        }
        let body: Vec<_> = self.rest.drain(..length).collect();
        request.body = serde_json::from_slice(&body).unwrap_or(Value::Null);
        Some(request)
    }

    fn fill(&mut self) -> Option<()> {
        let mut buffer = [0; 16 * 1024];
        let count = self.stream.read(&mut buffer).ok().filter(|count| *count > 0)?;
        self.rest.extend_from_slice(&buffer[..count]);
        Some(())
    }

    pub(crate) fn send(&mut self, text: impl AsRef<[u8]>) {
        // A client that has let go is no failure of the test's.
        let _ = self.stream.write_all(text.as_ref()).and_then(|()| self.stream.flush());
    }

    /// A status and its body of JSON.
    pub(crate) fn status(&mut self, status: &str, body: &str) {
        let length = body.len();
        self.send(format!(
            "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        ));
    }

    pub(crate) fn json(&mut self, body: &str) {
        self.status("200 OK", body);
    }

    /// The head of an event stream in chunks.
    pub(crate) fn stream_head(&mut self) {
        self.send("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n");
    }

    /// An event, as a chunk.
    pub(crate) fn event(&mut self, data: &str) {
        self.send(event(data));
    }

    /// An answer as an event stream, in one piece.
    pub(crate) fn sse(&mut self, body: &str) {
        self.send(sse_answer(body));
    }

    /// Sends, and says whether anybody takes it.
    pub(crate) fn try_send(&mut self, text: &str) -> bool {
        self.stream.write_all(text.as_bytes()).is_ok()
    }

    /// Ends the server's side, which the client can see when this returns.
    pub(crate) fn close(&mut self) {
        let _ = self.stream.flush();
        let _ = self.raw.shutdown(std::net::Shutdown::Write);
    }

    /// Waits until the client lets go.
    pub(crate) fn wait_end(&mut self) {
        while self.fill().is_some() {}
    }

    /// Ends the connection with a reset.
    pub(crate) fn reset(&self) {
        rustix::net::sockopt::set_socket_linger(&self.raw, Some(std::time::Duration::ZERO))
            .unwrap();
    }
}

/// An answer as an event stream that ends.
pub(crate) fn sse_answer(body: &str) -> String {
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n{}0\r\n\r\n",
        event(body)
    )
}

fn event(data: &str) -> String {
    let event = format!("data: {data}\n\n");
    format!("{:x}\r\n{event}\r\n", event.len())
}

/// A server's settings, with a certificate that was made for this program, and that certificate.
pub(crate) fn server_tls() -> (Arc<ServerConfig>, Vec<u8>) {
    static MADE: OnceLock<(Arc<ServerConfig>, Vec<u8>)> = OnceLock::new();
    let make = || {
        let names = ["server.test", "localhost", "127.0.0.1"].map(String::from);
        let made = rcgen::generate_simple_self_signed(names).unwrap();
        let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
        let provider = Arc::new(mcp_runtime_common::rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key.into())
            .unwrap();
        (Arc::new(config), made.cert.der().to_vec())
    };
    MADE.get_or_init(make).clone()
}

/// What reached a server.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) connections: AtomicUsize,
    pub(crate) requests: Mutex<Vec<Request>>,
}

/// A server that runs until the test ends.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) seen: Arc<Seen>,
    scheme: &'static str,
}

/// Answers a request. `false` ends the connection.
pub(crate) type Answer = dyn Fn(&Request, &mut Conn) -> bool + Send + Sync;

impl Server {
    pub(crate) fn start(
        answer: impl Fn(&Request, &mut Conn) -> bool + Send + Sync + 'static,
    ) -> Self {
        Server::on((Ipv4Addr::LOCALHOST, 0).into(), None, answer).unwrap()
    }

    /// A server that answers some requests before their bodies: where `early` is `false`, that was
    /// all.
    pub(crate) fn early(
        early: fn(&Request, &mut Conn) -> bool,
        answer: impl Fn(&Request, &mut Conn) -> bool + Send + Sync + 'static,
    ) -> Self {
        let address = (Ipv4Addr::LOCALHOST, 0).into();
        Server::with(address, None, early, answer).unwrap()
    }

    pub(crate) fn tls(
        config: Arc<ServerConfig>,
        answer: impl Fn(&Request, &mut Conn) -> bool + Send + Sync + 'static,
    ) -> Self {
        Server::on((Ipv4Addr::LOCALHOST, 0).into(), Some(config), answer).unwrap()
    }

    pub(crate) fn on(
        address: SocketAddr,
        tls: Option<Arc<ServerConfig>>,
        answer: impl Fn(&Request, &mut Conn) -> bool + Send + Sync + 'static,
    ) -> io::Result<Self> {
        Server::with(address, tls, |_, _| true, answer)
    }

    fn with(
        address: SocketAddr,
        tls: Option<Arc<ServerConfig>>,
        early: fn(&Request, &mut Conn) -> bool,
        answer: impl Fn(&Request, &mut Conn) -> bool + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        let address = listener.local_addr()?;
        let seen = Arc::new(Seen::default());
        let scheme = if tls.is_some() { "https" } else { "http" };
        let (count, answer): (_, Arc<Answer>) = (Arc::clone(&seen), Arc::new(answer));
        thread::spawn(move || {
            for raw in listener.incoming().flatten() {
                let number = count.connections.fetch_add(1, Ordering::SeqCst);
                let (seen, answer, tls) = (Arc::clone(&count), Arc::clone(&answer), tls.clone());
                thread::spawn(move || {
                    let _ = raw.set_nodelay(true);
                    let Ok(copy) = raw.try_clone() else { return };
                    let stream: Box<dyn Stream> = match tls {
                        None => Box::new(copy),
                        Some(config) => {
                            let connection = ServerConnection::new(config).unwrap();
                            Box::new(StreamOwned::new(connection, copy))
                        }
                    };
                    let mut conn = Conn { stream, raw, rest: Vec::new(), number };
                    while let Some(head) = conn.head() {
                        if !early(&head, &mut conn) {
                            return;
                        }
                        let Some(request) = conn.body(head) else { return };
                        seen.requests.lock().unwrap().push(request.clone());
                        if !answer(&request, &mut conn) {
                            return;
                        }
                    }
                });
            }
        });
        Ok(Server { address, seen, scheme })
    }

    pub(crate) fn url(&self) -> String {
        format!("{}://{}/mcp", self.scheme, self.address)
    }

    pub(crate) fn connections(&self) -> usize {
        self.seen.connections.load(Ordering::SeqCst)
    }

    /// The requests with this method.
    pub(crate) fn requests(&self, method: &str) -> Vec<Request> {
        let all = self.seen.requests.lock().unwrap();
        all.iter().filter(|request| request.method() == method).cloned().collect()
    }

    pub(crate) fn count(&self, method: &str) -> usize {
        self.requests(method).len()
    }
}

/// Answers of a modern server, as JSON.
pub(crate) fn as_json(request: &Request, conn: &mut Conn) -> bool {
    conn.json(&request.usual());
    true
}

/// Answers of a modern server, as event streams.
pub(crate) fn as_events(request: &Request, conn: &mut Conn) -> bool {
    conn.sse(&request.usual());
    true
}

/// Wraps answers so that the server is a legacy one with a session.
pub(crate) fn legacy(
    answer: impl Fn(&Request, &mut Conn) -> bool + Send + Sync + 'static,
) -> impl Fn(&Request, &mut Conn) -> bool + Send + Sync + 'static {
    move |request, conn| {
        match request.method() {
            "server/discover" => {
                let id = &request.body["id"];
                let error = json!({ "code": -32601, "message": "no such method" });
                let body = json!({ "jsonrpc": "2.0", "id": id, "error": error });
                conn.status("404 Not Found", &body.to_string());
            }
            "initialize" => {
                let body = request.usual();
                let length = body.len();
                conn.send(format!(
                    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nMcp-Session-Id: s-1\r\nContent-Length: {length}\r\n\r\n{body}"
                ));
            }
            "DELETE" => conn.send("HTTP/1.1 204 No Content\r\n\r\n"),
            method if method.starts_with("notifications/") => {
                conn.send("HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n");
            }
            _ => return answer(request, conn),
        }
        true
    }
}
