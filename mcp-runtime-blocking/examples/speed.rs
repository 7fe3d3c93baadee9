//! Sequential calls a second, beside what the same pipes carry without any protocol.
//!
//! `speed [ROUNDS [CALLS]]`: pin it to one core (`taskset -c 0`) and build it with `--release`.
//! Each round measures both, the one after the other, against the same server, which is this
//! program too.

use std::error::Error;
use std::io::{BufRead, Read, Write};
use std::os::fd::AsFd;
use std::process::{Command, Stdio};
use std::time::Instant;

use mcp_runtime_blocking::{Client, Command as Server};
use rustix::event::{PollFd, PollFlags, poll};
use serde_json::json;

/// What the client sends for a call, but for its id.
const CALL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"message":"hi"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"mcp-proto","version":"0.1.0"},"io.modelcontextprotocol/clientCapabilities":{}}}}"#;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let first = args.next();
    if first.as_deref() == Some("--serve") {
        return Ok(serve()?);
    }
    let rounds: usize = first.map_or(Ok(7), |text| text.parse())?;
    let calls: u32 = args.next().map_or(Ok(100_000), |text| text.parse())?;
    let (mut by_clock, mut by_cpu) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        let (bare, client) = (bare(calls)?, client(calls)?);
        println!("{round}: bare {bare}, client {client}");
        by_clock.push(bare.seconds / client.seconds);
        by_cpu.push(bare.cpu / client.cpu);
    }
    let median = |ratios: &mut Vec<f64>| {
        ratios.sort_by(f64::total_cmp);
        ratios.get(ratios.len() / 2).copied().unwrap_or_default()
    };
    println!("ratio, median: {:.3} by the clock", median(&mut by_clock));
    println!("               {:.3} by processor time, server included", median(&mut by_cpu));
    Ok(())
}

/// What some calls cost.
struct Cost {
    calls: u32,
    seconds: f64,
    /// The same on a machine that does nothing else: processor time of both sides. 0 where the
    /// system does not tell.
    cpu: f64,
}

impl std::fmt::Display for Cost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (calls, cpu) = (f64::from(self.calls), self.cpu);
        write!(f, "{:.0}/s ({:.0} per processor second)", calls / self.seconds, calls / cpu)
    }
}

/// Measures calls, after a few that warm up.
fn measure(
    calls: u32,
    server: u32,
    mut call: impl FnMut() -> Result<(), Box<dyn Error>>,
) -> Result<Cost, Box<dyn Error>> {
    for _ in 0..1000 {
        call()?;
    }
    let cpu = || used("self") + used(&server.to_string());
    let (begin, before) = (Instant::now(), cpu());
    for _ in 0..calls {
        call()?;
    }
    Ok(Cost { calls, seconds: begin.elapsed().as_secs_f64(), cpu: cpu() - before })
}

/// The processor time of all threads of a process, in seconds (Linux).
fn used(pid: &str) -> f64 {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let times = tasks.filter_map(|task| {
        let text = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<f64>().ok()
    });
    times.sum::<f64>() / 1e9
}

fn client(calls: u32) -> Result<Cost, Box<dyn Error>> {
    let client = Client::connect(Server::new(itself()?).arg("--serve"))?;
    let pid = client.call_tool("pid", ())?.text().parse()?;
    let cost = measure(calls, pid, || {
        client.call_tool("echo", json!({ "message": "hi" }))?;
        Ok(())
    });
    client.close();
    cost
}

/// The least that anybody can do: write, poll, read.
fn bare(calls: u32) -> Result<Cost, Box<dyn Error>> {
    let mut child = Command::new(itself()?)
        .arg("--serve")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let (mut stdin, mut stdout) = stdin.zip(stdout).ok_or("no pipes")?;
    let mut buffer = vec![0; 64 * 1024];
    let line = format!("{CALL}\n");
    let cost = measure(calls, child.id(), || {
        stdin.write_all(line.as_bytes())?;
        loop {
            poll(&mut [PollFd::from_borrowed_fd(stdout.as_fd(), PollFlags::IN)], None)?;
            let count = stdout.read(&mut buffer)?;
            if count == 0 {
                return Err("the server has gone".into());
            }
            if buffer[..count].ends_with(b"\n") {
                return Ok(());
            }
        }
    });
    drop(stdin);
    child.wait()?;
    cost
}

fn itself() -> Result<String, Box<dyn Error>> {
    let path = std::env::current_exe()?.into_os_string();
    path.into_string().map_err(|_| "this program's path is not valid Unicode".into())
}

/// A server that does next to nothing: its part is the same in both measurements.
fn serve() -> std::io::Result<()> {
    let (mut stdin, mut stdout) = (std::io::stdin().lock(), std::io::stdout().lock());
    let pid = std::process::id();
    let pid =
        format!(r#"{{"resultType":"complete","content":[{{"type":"text","text":"{pid}"}}]}}"#);
    let (mut line, mut answer) = (Vec::new(), Vec::new());
    while stdin.read_until(b'\n', &mut line)? > 0 {
        let text = String::from_utf8_lossy(&line);
        let id = text.split_once("\"id\":").map_or("", |(_, rest)| rest);
        let id = id.split([',', '}']).next().unwrap_or_default();
        let result = if text.contains("server/discover") {
            r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"serverInfo":{"name":"speed","version":"1"},"ttlMs":0,"cacheScope":"private"}"#
        } else if text.contains("\"pid\"") {
            &pid
        } else {
            r#"{"resultType":"complete","content":[{"type":"text","text":"hi"}]}"#
        };
        answer.clear();
        writeln!(answer, r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)?;
        stdout.write_all(&answer)?;
        stdout.flush()?;
        line.clear();
    }
    Ok(())
}
