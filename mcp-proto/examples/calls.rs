//! What a call costs without any I/O: `calls (core | hub) [CALLS]` makes `tools/call` over stdio so
//! often, against answers that are made beside it.
//!
//! Instructions and allocations can be counted exactly, also on a machine that does other things:
//! `calls-cost` beside this file runs it under valgrind, and prints both for one call.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use mcp_proto::driver::{Host, Hub, Step, Turn, Work};
use mcp_proto::op::CallTool;
use mcp_proto::{
    CallOptions, Command, Connection, ConnectionConfig, Event, Input, Now, Output, ProcessId,
    StdioInput, StdioOutput, Transport,
};
use serde_json::json;

const WELCOME: &str = r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"serverInfo":{"name":"calls","version":"1"},"ttlMs":0,"cacheScope":"private"}"#;
const ANSWER: &str = r#"{"resultType":"complete","content":[{"type":"text","text":"hi"}]}"#;

type Failure = Box<dyn Error>;

#[allow(clippy::disallowed_methods, reason = "the core does not read arguments; its examples may")]
fn main() -> Result<(), Failure> {
    let mut args = std::env::args().skip(1);
    let what = args.next();
    let calls = args.next().map_or(Ok(10_000), |text| text.parse())?;
    match what.as_deref() {
        Some("core") => core(calls),
        Some("hub") => hub(calls),
        _ => Err("usage: calls (core | hub) [CALLS]".into()),
    }
}

fn connection() -> Connection {
    let mut config = ConnectionConfig::default();
    config.name = String::from("calls");
    let transport = Transport::Stdio(Command::new("server"));
    Connection::new(Arc::new(config), transport, [7; 32], Now::default())
}

fn echo() -> CallTool {
    let serde_json::Value::Object(arguments) = json!({ "message": "hi" }) else {
        return CallTool::new("echo", serde_json::Map::new());
    };
    CallTool::new("echo", arguments)
}

/// Writes the answer to a request into `answer`.
fn serve(request: &[u8], answer: &mut Vec<u8>) {
    let rest = request.strip_prefix(br#"{"jsonrpc":"2.0","id":"#).unwrap_or_default();
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (id, rest) = rest.split_at(digits);
    let calls = rest.starts_with(br#","method":"tools/call""#);
    answer.clear();
    answer.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    answer.extend_from_slice(id);
    answer.extend_from_slice(br#","result":"#);
    answer.extend_from_slice(if calls { ANSWER } else { WELCOME }.as_bytes());
    answer.extend_from_slice(b"}\n");
}

/// The connection alone.
fn core(calls: u32) -> Result<(), Failure> {
    let mut connection = connection();
    let (mut answer, mut written, mut time) = (Vec::new(), 0, Duration::ZERO);
    for _ in 0..calls {
        time += Duration::from_micros(20);
        let now = Now::at(time);
        let call = connection.start(echo(), CallOptions::default(), now)?;
        let done = loop {
            match connection.poll_output() {
                Some(Output::Stdio(id, StdioOutput::Write(line))) => {
                    written += line.len() as u64;
                    serve(&line, &mut answer);
                    connection.handle(Input::Stdio(id, StdioInput::Written(written)), now);
                    connection.handle(Input::Stdio(id, StdioInput::Stdout(&answer)), now);
                }
                Some(Output::Done(_, done)) => break done,
                Some(_) => {}
                None => return Err("the call has no end".into()),
            }
        };
        call.finish(done)?;
        let _ = connection.poll_timeout();
    }
    Ok(())
}

/// The time stands still.
struct Still;

impl Host for Still {
    fn now(&self) -> Now {
        Now::default()
    }

    fn event(&self, _: Event) {}

    fn record(&self, _: Vec<u8>) {}
}

/// The same behind the lock that adapters use.
fn hub(calls: u32) -> Result<(), Failure> {
    let hub = Hub::new(connection(), Box::new(Still));
    let (mut work, mut answer, mut written) = (Work::new(), Vec::new(), 0);
    let mut drive = |id: ProcessId, line: &[u8]| {
        written += line.len() as u64;
        serve(line, &mut answer);
        hub.drive(Input::Stdio(id, StdioInput::Written(written)));
        hub.drive(Input::Stdio(id, StdioInput::Stdout(&answer)));
    };
    for _ in 0..calls {
        let call = hub.begin(echo(), CallOptions::default(), true)?;
        let done = loop {
            let Turn { finished, .. } = hub.turn(None, &mut work);
            while let Some((id, output)) = work.pop_front() {
                if let StdioOutput::Write(line) = output {
                    drive(id, &line);
                }
            }
            match hub.take_step(call.id()) {
                Some(Step::Done(done)) => break done,
                _ if finished => return Err("the call has no end".into()),
                _ => {}
            }
        };
        call.finish(done)?;
    }
    Ok(())
}
