//! Sequential calls a second through the client, beside a bare loop on the same runtime that moves
//! the same bytes: `speed-smol [ROUNDS [CALLS]]`. Run it on one core, such as with `taskset -c 0`.

mod server;

use std::process::{Command, Stdio};

use async_io::Async;
use futures_lite::{AsyncReadExt, AsyncWriteExt};
use mcp_runtime_smol::Client;
use serde_json::json;

use server::{Asked, Cost, REQUEST, measure};

fn main() {
    let Some(asked) = Asked::read() else { return };
    let round = |_| smol::block_on(async { (bare(&asked).await, client(&asked).await) });
    let rounds: Vec<_> = (0..asked.rounds).map(round).collect();
    server::report("smol", &rounds);
}

async fn bare(asked: &Asked) -> Cost {
    let [program, argument] = &asked.server;
    let mut command = Command::new(program);
    command.arg(argument).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("a server");
    let mut stdin = Async::new(child.stdin.take().expect("its stdin")).expect("a pipe");
    let mut stdout = Async::new(child.stdout.take().expect("its stdout")).expect("a pipe");
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
