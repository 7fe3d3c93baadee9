//! A server of HTTP on a socket of the loopback interface, which does what a test says, byte by
//! byte if need be.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use mcp_runtime_common::rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::{Value, json};

/// A server; it accepts connections until it is dropped.
pub(crate) struct Web {
    pub(crate) address: SocketAddr,
    scheme: &'static str,
    connections: Arc<AtomicUsize>,
    over: Arc<AtomicBool>,
}

impl Web {
    /// Each connection is served by this function, on a thread of its own.
    pub(crate) fn start(serve: impl Fn(Line) + Send + Sync + 'static) -> Self {
        Web::raw("http", move |number, stream| serve(Line::new(number, stream, None)))
    }

    /// The same over TLS.
    pub(crate) fn secure(
        config: Arc<ServerConfig>,
        serve: impl Fn(Line) + Send + Sync + 'static,
    ) -> Self {
        Web::raw("https", move |number, stream| {
            serve(Line::new(number, stream, Some(Arc::clone(&config))));
        })
    }

    /// Each connection is handed to this function as it is, with its number.
    pub(crate) fn raw(
        scheme: &'static str,
        serve: impl Fn(usize, TcpStream) + Send + Sync + 'static,
    ) -> Self {
        Web::on(TcpListener::bind("127.0.0.1:0").unwrap(), scheme, serve)
    }

    pub(crate) fn on(
        listener: TcpListener,
        scheme: &'static str,
        serve: impl Fn(usize, TcpStream) + Send + Sync + 'static,
    ) -> Self {
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let over = Arc::new(AtomicBool::new(false));
        let (count, end, serve) = (Arc::clone(&connections), Arc::clone(&over), Arc::new(serve));
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if end.load(Ordering::SeqCst) {
                    return;
                }
                let number = count.fetch_add(1, Ordering::SeqCst) + 1;
                let serve = Arc::clone(&serve);
                thread::spawn(move || serve(number, stream));
            }
        });
        Web { address, scheme, connections, over }
    }

    pub(crate) fn url(&self) -> String {
        format!("{}://{}/mcp", self.scheme, self.address)
    }

    /// Its URL under another name of the same machine.
    pub(crate) fn url_as(&self, host: &str) -> String {
        format!("{}://{host}:{}/mcp", self.scheme, self.address.port())
    }

    /// How many connections were opened.
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        // So that the listener looks.
        let _ = TcpStream::connect(self.address);
    }
}

trait Stream: Read + Write + Send {}

impl<T: Read + Write + Send> Stream for T {}

/// A connection, as the server sees it.
pub(crate) struct Line {
    /// The first is 1.
    pub(crate) number: usize,
    stream: Box<dyn Stream>,
    held: Vec<u8>,
}

/// How an answer comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Json,
    Sse,
}

/// A request.
pub(crate) struct Request {
    /// The request line.
    pub(crate) line: String,
    headers: String,
    pub(crate) body: Value,
}

impl Request {
    /// The method of the message in it.
    pub(crate) fn method(&self) -> &str {
        self.body["method"].as_str().unwrap_or_default()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let lines = self.headers.lines().filter_map(|line| line.split_once(": "));
        lines.into_iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }
}

impl Line {
    pub(crate) fn new(number: usize, stream: TcpStream, tls: Option<Arc<ServerConfig>>) -> Self {
        stream.set_nodelay(true).unwrap();
        let stream: Box<dyn Stream> = match tls {
            None => Box::new(stream),
            Some(config) => {
                Box::new(StreamOwned::new(ServerConnection::new(config).unwrap(), stream))
            }
        };
        Line { number, stream, held: Vec::new() }
    }

    /// Reads the head of a request, without its body. `None` at the end of the connection.
    pub(crate) fn head(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.held.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
                let head: Vec<u8> = self.held.drain(..end + 4).collect();
                return Some(String::from_utf8(head).unwrap());
            }
            self.read_more()?;
        }
    }

    /// Reads a request. `None` at the end of the connection.
    pub(crate) fn request(&mut self) -> Option<Request> {
        let head = self.head()?;
        self.body_of(head)
    }

    /// Reads the rest of a request whose head was read.
    pub(crate) fn body_of(&mut self, head: String) -> Option<Request> {
        let (line, headers) = head.split_once("\r\n").unwrap();
        let (line, headers) = (String::from(line), String::from(headers));
        let mut request = Request { line, headers, body: Value::Null };
        let length = request.header("content-length").map_or(0, |text| text.parse().unwrap());
        while self.held.len() < length {
            self.read_more()?;
        }
        let body: Vec<u8> = self.held.drain(..length).collect();
        request.body = serde_json::from_slice(&body).unwrap_or_default();
        Some(request)
    }

    fn read_more(&mut self) -> Option<()> {
        let mut buffer = [0; 65536];
        let bytes = self.stream.read(&mut buffer).ok().filter(|bytes| *bytes > 0)?;
        self.held.extend_from_slice(&buffer[..bytes]);
        Some(())
    }

    /// Waits until something has come.
    pub(crate) fn wait_some(&mut self) {
        let _ = self.read_more();
    }

    /// Waits for the end of the connection; what comes before it is dropped.
    pub(crate) fn wait_end(&mut self) {
        while self.read_more().is_some() {
            self.held.clear();
        }
    }

    /// Writes bytes. A client that has gone does not mind.
    pub(crate) fn write(&mut self, bytes: impl AsRef<[u8]>) {
        let written = self.stream.write_all(bytes.as_ref());
        let _ = written.and_then(|()| self.stream.flush());
    }

    /// Writes an answer with a JSON body, and perhaps more headers: lines with their ends.
    pub(crate) fn json(&mut self, body: &Value, headers: &str) {
        let body = body.to_string();
        self.write(format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n{headers}content-length: {}\r\n\r\n{body}",
            body.len()
        ));
    }

    /// Begins an answer that is an event stream, in chunks.
    pub(crate) fn begin_events(&mut self) {
        self.write(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n",
        );
    }

    /// Writes an event, as a chunk.
    pub(crate) fn event(&mut self, data: &Value) {
        let event = format!("event: message\ndata: {data}\n\n");
        self.write(format!("{:x}\r\n{event}\r\n", event.len()));
    }

    /// Ends an event stream.
    pub(crate) fn end_events(&mut self) {
        self.write("0\r\n\r\n");
    }

    /// Answers a request as a server of this era does.
    pub(crate) fn answer(&mut self, request: &Request, era: Era, kind: Kind) {
        match (reply(&request.body, era), kind) {
            (None, _) => self.write("HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n"),
            (Some(reply), Kind::Json) => self.json(&reply, session(request, era)),
            (Some(reply), Kind::Sse) => {
                let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n";
                let session = session(request, era);
                let event = format!("data: {reply}\n\n");
                let length = event.len();
                self.write(format!(
                    "{head}{session}transfer-encoding: chunked\r\n\r\n{length:x}\r\n{event}\r\n0\r\n\r\n"
                ));
            }
        }
    }

    /// Serves until the client goes.
    pub(crate) fn serve(mut self, era: Era, kind: Kind) {
        while let Some(request) = self.request() {
            self.answer(&request, era, kind);
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Era {
    Modern,
    Legacy,
}

/// A legacy server opens a session.
fn session(request: &Request, era: Era) -> &'static str {
    let opens = era == Era::Legacy && request.method() == "initialize";
    if opens { "mcp-session-id: session-1\r\n" } else { "" }
}

/// The message that answers this one, if any does. The tool `echo` says its `message`; the tool
/// `long` says as many letters as its `length` is.
pub(crate) fn reply(message: &Value, era: Era) -> Option<Value> {
    let id = message.get("id")?;
    let arguments = &message["params"]["arguments"];
    let said = match message["params"]["name"].as_str() {
        Some("long") => "x".repeat(arguments["length"].as_u64().unwrap() as usize),
        _ => String::from(arguments["message"].as_str().unwrap_or_default()),
    };
    let mut result = match (message["method"].as_str()?, era) {
        ("server/discover", Era::Legacy) => {
            let error = json!({ "code": -32601, "message": "unknown method" });
            return Some(json!({ "jsonrpc": "2.0", "id": id, "error": error }));
        }
        ("server/discover", Era::Modern) => {
            json!({ "supportedVersions": ["2026-07-28"], "capabilities": { "tools": {} } })
        }
        ("initialize", _) => json!({
            "protocolVersion": "2025-11-25",
            "capabilities": { "tools": {} },
            "serverInfo": { "name": "web", "version": "1" },
        }),
        ("tools/list", _) => json!({ "tools": [{ "name": "echo", "inputSchema": {} }] }),
        ("tools/call", _) => json!({ "content": [{ "type": "text", "text": said }] }),
        _ => json!({}),
    };
    if era == Era::Modern {
        result["resultType"] = json!("complete");
    }
    Some(json!({ "jsonrpc": "2.0", "id": id, "result": result }))
}
