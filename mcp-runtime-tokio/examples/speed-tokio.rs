//! Sequential calls a second through the client, beside a bare loop on the same runtime that moves
//! the same bytes: `speed-tokio [ROUNDS [CALLS]]`. Run it on one core, such as with
//! `taskset -c 0`.

#[path = "../../mcp-runtime-smol/examples/speed-smol/server.rs"]
mod server;

use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};

use mcp_runtime_tokio::Client;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::runtime::Builder;

use server::{Asked, Cost, REQUEST, measure};

fn main() {
    let Some(asked) = Asked::read() else { return };
    let current = Builder::new_current_thread().enable_all().build().expect("a runtime");
    let multi = Builder::new_multi_thread().enable_all().build().expect("a runtime");
    for (name, runtime) in [("tokio current-thread", current), ("tokio multi-thread", multi)] {
        let round = |_| runtime.block_on(async { (bare(&asked).await, client(&asked).await) });
        let rounds: Vec<_> = (0..asked.rounds).map(round).collect();
        server::report(name, &rounds);
    }
}

async fn bare(asked: &Asked) -> Cost {
    let [program, argument] = &asked.server;
    let mut command = Command::new(program);
    command.arg(argument).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("a server");
    let stdin = OwnedFd::from(child.stdin.take().expect("its stdin"));
    let stdout = OwnedFd::from(child.stdout.take().expect("its stdout"));
    let mut stdin = Sender::from_owned_fd(stdin).expect("a pipe");
    let mut stdout = Receiver::from_owned_fd(stdout).expect("a pipe");
    let mut buffer = vec![0; 65536];
    let cost = measure(asked.calls, child.id(), async || {
        stdin.write_all(REQUEST.as_bytes()).await.expect("a server that reads");
        let mut last = None;
        while last != Some(b'\n') {
            let n = stdout.read(&mut buffer).await.expect("a server that answers");
            last = buffer[..n].last().copied();
        }
    });
    let cost = cost.await;
    drop(stdin);
    child.wait().expect("its end");
    cost
}

async fn client(asked: &Asked) -> Cost {
    let client = Client::connect(&asked.server).await.expect("a server");
    let pid = client.call_tool("pid", ()).await.expect("its pid");
    let pid = pid.text().parse().expect("a number");
    let cost = measure(asked.calls, pid, async || {
        client.call_tool("echo", json!({ "message": "hi" })).await.expect("an answer");
    });
    let cost = cost.await;
    client.close().await;
    cost
}
