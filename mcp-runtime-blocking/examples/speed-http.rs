//! Sequential calls a second over HTTP, beside the HTTP library alone with the same requests.
//!
//! `speed-http [json|sse [ROUNDS [CALLS]]]`: pin it to one core (`taskset -c 0`) and build it with
//! `--release`. Each round measures both, the one after the other, against the same server, which
//! is this program too.

use std::error::Error;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use mcp_runtime_blocking::Client;
use serde_json::json;

/// What the client sends for a call.
const CALL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"message":"hi"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"mcp-proto","version":"0.1.0"},"io.modelcontextprotocol/clientCapabilities":{}}}}"#;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let kind = args.next().unwrap_or_else(|| String::from("json"));
    if kind == "--serve" {
        return Ok(serve(args.next().as_deref() == Some("sse"))?);
    }
    let rounds: usize = args.next().map_or(Ok(7), |text| text.parse())?;
    let calls: u32 = args.next().map_or(Ok(30_000), |text| text.parse())?;
    let mut ratios = Vec::new();
    for round in 0..rounds {
        let (bare, client) = (bare(&kind, calls)?, client(&kind, calls)?);
        println!("{round}: bare {bare:.0}/s, client {client:.0}/s");
        ratios.push(client / bare);
    }
    ratios.sort_by(f64::total_cmp);
    println!("ratio, median: {:.3}", ratios.get(rounds / 2).copied().unwrap_or_default());
    Ok(())
}

/// Calls a second, after a few that warm up.
fn measure(
    calls: u32,
    mut call: impl FnMut() -> Result<(), Box<dyn Error>>,
) -> Result<f64, Box<dyn Error>> {
    for _ in 0..1000 {
        call()?;
    }
    let begin = Instant::now();
    for _ in 0..calls {
        call()?;
    }
    Ok(f64::from(calls) / begin.elapsed().as_secs_f64())
}

fn client(kind: &str, calls: u32) -> Result<f64, Box<dyn Error>> {
    let (mut server, url) = start(kind)?;
    let client = Client::connect(url)?;
    let speed = measure(calls, || {
        client.call_tool("echo", json!({ "message": "hi" }))?;
        Ok(())
    });
    client.close();
    server.kill()?;
    server.wait()?;
    speed
}

/// The library, with connections that are used again, and the body read to its end.
fn bare(kind: &str, calls: u32) -> Result<f64, Box<dyn Error>> {
    let (mut server, url) = start(kind)?;
    let agent = ureq::Agent::new_with_config(ureq::Agent::config_builder().proxy(None).build());
    let mut body = Vec::new();
    let speed = measure(calls, || {
        let answer = agent
            .post(&url)
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream")
            .header("accept-encoding", "gzip")
            .header("mcp-protocol-version", "2026-07-28")
            .header("mcp-method", "tools/call")
            .header("mcp-name", "echo")
            .send(CALL)?;
        body.clear();
        answer.into_body().into_reader().read_to_end(&mut body)?;
        Ok(())
    });
    server.kill()?;
    server.wait()?;
    speed
}

fn start(kind: &str) -> Result<(Child, String), Box<dyn Error>> {
    let itself = std::env::current_exe()?;
    let mut server = Command::new(itself).args(["--serve", kind]).stdout(Stdio::piped()).spawn()?;
    let mut url = String::new();
    let stdout = server.stdout.take().ok_or("no stdout")?;
    BufReader::new(stdout).read_line(&mut url)?;
    Ok((server, String::from(url.trim())))
}

/// A server that does next to nothing: its part is the same in both measurements.
fn serve(events: bool) -> std::io::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    println!("http://{}/mcp", listener.local_addr()?);
    for stream in listener.incoming() {
        let stream = stream?;
        std::thread::spawn(move || answer(stream, events));
    }
    Ok(())
}

fn answer(stream: TcpStream, events: bool) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let (mut to, mut from) = (stream.try_clone()?, BufReader::new(stream));
    let (mut line, mut body, mut out) = (String::new(), Vec::new(), Vec::new());
    loop {
        let mut length = 0;
        loop {
            line.clear();
            if from.read_line(&mut line)? == 0 {
                return Ok(());
            }
            if line == "\r\n" {
                break;
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap_or(0);
            }
        }
        body.resize(length, 0);
        from.read_exact(&mut body)?;
        let text = String::from_utf8_lossy(&body);
        let id = text.split_once("\"id\":").map_or("", |(_, rest)| rest);
        let id = id.split([',', '}']).next().unwrap_or_default();
        let result = if text.contains("server/discover") {
            r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"serverInfo":{"name":"speed","version":"1"},"ttlMs":0,"cacheScope":"private"}"#
        } else {
            r#"{"resultType":"complete","content":[{"type":"text","text":"hi"}]}"#
        };
        let message = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
        out.clear();
        if events {
            let event = format!("data: {message}\n\n");
            write!(
                out,
                "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n{:x}\r\n{event}\r\n0\r\n\r\n",
                event.len()
            )?;
        } else {
            write!(
                out,
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{message}",
                message.len()
            )?;
        }
        to.write_all(&out)?;
    }
}
