//! What both speed examples over HTTP share: a server that costs as little as possible.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

/// The argument by which the program is told to be the server.
const SERVE: &str = "--serve";

/// One request, as a bare loop sends it: the bytes that the client sends.
pub(crate) const REQUEST: &str = concat!(
    "POST /mcp HTTP/1.1\r\nhost: 127.0.0.1:12345\r\ncontent-type: application/json\r\n",
    "accept: application/json, text/event-stream\r\naccept-encoding: gzip\r\n",
    "mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: echo\r\n",
    "content-length: 289\r\n\r\n",
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","#,
    r#""arguments":{"message":"hi"},"_meta":{"io.modelcontextprotocol/protocolVersion":"#,
    r#""2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"mcp-proto","version":"0.1.0"},"#,
    r#""io.modelcontextprotocol/clientCapabilities":{}}}}"#,
);

/// With what an answer ends, as JSON or as events.
pub(crate) fn is_complete(answer: &[u8]) -> bool {
    answer.ends_with(b"]}}") || answer.ends_with(b"\r\n0\r\n\r\n")
}

/// What the command line asks for.
pub(crate) struct Asked {
    /// How answers come: `json` or `sse`.
    pub(crate) kind: String,
    /// How often both are measured, the one after the other.
    pub(crate) rounds: u32,
    /// How many calls a measurement has.
    pub(crate) calls: u32,
}

impl Asked {
    /// `None`: this process was the server, and is done.
    pub(crate) fn read() -> Option<Self> {
        let mut args = std::env::args().skip(1).peekable();
        if args.next_if(|arg| arg == SERVE).is_some() {
            serve(args.next().as_deref() == Some("sse"));
            return None;
        }
        let kind = args.next().unwrap_or_else(|| String::from("json"));
        let mut number = |default| args.next().and_then(|arg| arg.parse().ok()).unwrap_or(default);
        Some(Asked { kind, rounds: number(7), calls: number(30_000) })
    }

    /// Starts a server of its own.
    pub(crate) fn start(&self) -> Server {
        let program = std::env::current_exe().expect("the path of this program");
        let mut command = Command::new(program);
        command.args([SERVE, &self.kind]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("a server");
        let mut address = String::new();
        let stdout = child.stdout.take().expect("its stdout");
        BufReader::new(stdout).read_line(&mut address).expect("its address");
        Server { child, address: address.trim().parse().expect("an address") }
    }
}

/// A server, which ends when it is dropped.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: SocketAddr,
}

impl Server {
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill().and_then(|()| self.child.wait());
    }
}

fn serve(events: bool) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    println!("{}", listener.local_addr().expect("its address"));
    for stream in listener.incoming().map_while(Result::ok) {
        std::thread::spawn(move || answer(stream, events));
    }
}

/// Answers each request without looking at more than its length, its method and its id.
fn answer(mut stream: TcpStream, events: bool) -> Option<()> {
    stream.set_nodelay(true).ok()?;
    let (mut held, mut buffer, mut out) = (Vec::new(), vec![0; 65536], Vec::new());
    loop {
        let n = stream.read(&mut buffer).ok().filter(|n| *n > 0)?;
        held.extend_from_slice(&buffer[..n]);
        let text = std::str::from_utf8(&held).ok()?;
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let (_, length) = head.split_once("content-length: ")?;
        if body.len() < length.split('\r').next()?.parse().ok()? {
            continue;
        }
        let (_, id) = body.split_once("\"id\":")?;
        let id = id.split([',', '}']).next()?;
        let result = if head.contains("server/discover") {
            r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}"#
        } else {
            r#"{"resultType":"complete","content":[{"type":"text","text":"hi"}]}"#
        };
        let message = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
        out.clear();
        if events {
            write!(out, "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n").ok()?;
            write!(out, "transfer-encoding: chunked\r\n\r\n{:x}\r\n", message.len() + 8).ok()?;
            write!(out, "data: {message}\n\n\r\n0\r\n\r\n").ok()?;
        } else {
            write!(out, "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n").ok()?;
            write!(out, "content-length: {}\r\n\r\n{message}", message.len()).ok()?;
        }
        stream.write_all(&out).ok()?;
        held.clear();
    }
}
