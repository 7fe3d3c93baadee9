//! Sequential calls a second through the client, beside a bare loop on the same runtime that moves
//! the same bytes: `speed-tokio [ROUNDS [CALLS]]`. Run it on one core, such as with `taskset -c 0`.

#[path = "../../mcp-runtime-smol/examples/speed-smol/server.rs"]
mod server;

use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};

use mcp_runtime_tokio::{Client, Command as Target, Error};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::runtime::{Builder, Runtime};

use server::{REQUEST, SERVE, Stretch};

fn main() {
    let mut args = std::env::args().skip(1).peekable();
    if args.peek().is_some_and(|arg| arg == SERVE) {
        return server::serve();
    }
    let mut number = |default| args.next().and_then(|arg| arg.parse().ok()).unwrap_or(default);
    let (rounds, calls) = (number(7), number(20_000));
    let program = std::env::current_exe().expect("the path of this program");
    let program = program.to_str().expect("a path that is text");
    let current = Builder::new_current_thread().enable_all().build().expect("a runtime");
    let multi = Builder::new_multi_thread().enable_all().build().expect("a runtime");
    for (name, runtime) in [("tokio current-thread", current), ("tokio multi-thread", multi)] {
        let mut measured: Vec<_> = (0..rounds).map(|_| round(&runtime, program, calls)).collect();
        server::report(name, &mut measured);
    }
}

fn round(runtime: &Runtime, program: &str, calls: u32) -> (f64, f64) {
    let bare = runtime.block_on(bare(program, calls)).expect("a bare loop");
    let client = runtime.block_on(client(program, calls)).expect("a client");
    (bare, client)
}

async fn bare(program: &str, calls: u32) -> std::io::Result<f64> {
    let mut command = Command::new(program);
    command.arg(SERVE).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn()?;
    let mut stdin = Sender::from_owned_fd(OwnedFd::from(child.stdin.take().expect("its stdin")))?;
    let mut stdout =
        Receiver::from_owned_fd(OwnedFd::from(child.stdout.take().expect("its stdout")))?;
    let mut buffer = vec![0; 65536];
    let stretch = Stretch::begin();
    for _ in 0..calls {
        stdin.write_all(REQUEST.as_bytes()).await?;
        while {
            let n = stdout.read(&mut buffer).await?;
            buffer[..n].last() != Some(&b'\n')
        } {}
    }
    let rate = stretch.end(calls);
    drop(stdin);
    child.wait()?;
    Ok(rate)
}

async fn client(program: &str, calls: u32) -> Result<f64, Error> {
    let client = Client::connect(Target::new(program).arg(SERVE)).await?;
    let stretch = Stretch::begin();
    for _ in 0..calls {
        client.call_tool("echo", json!({ "message": "hi" })).await?;
    }
    let rate = stretch.end(calls);
    client.close().await;
    Ok(rate)
}
