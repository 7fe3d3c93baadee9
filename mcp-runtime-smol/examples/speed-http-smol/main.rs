//! Sequential calls a second over HTTP through the client, beside a bare loop on the same runtime
//! that moves the same bytes over one connection: `speed-http-smol [json|sse [ROUNDS [CALLS]]]`. Run
//! it on one core, such as with `taskset -c 0`.

#[allow(dead_code)]
#[path = "../speed-smol/server.rs"]
mod figures;
mod web;

use std::net::TcpStream;

use async_io::Async;
use futures_lite::{AsyncReadExt, AsyncWriteExt};
use mcp_runtime_smol::Client;
use serde_json::json;

use figures::{Cost, measure, report};
use web::{Asked, REQUEST, is_complete};

fn main() {
    let Some(asked) = Asked::read() else { return };
    let round = |_| smol::block_on(async { (bare(&asked).await, client(&asked).await) });
    let rounds: Vec<_> = (0..asked.rounds).map(round).collect();
    report(&format!("smol, {}", asked.kind), &rounds);
}

async fn bare(asked: &Asked) -> Cost {
    let server = asked.start();
    let mut stream = Async::<TcpStream>::connect(server.address).await.expect("a connection");
    stream.get_ref().set_nodelay(true).expect("a socket");
    let mut buffer = vec![0; 65536];
    let cost = measure(asked.calls, server.pid(), async || {
        stream.write_all(REQUEST.as_bytes()).await.expect("a server that reads");
        let mut read = 0;
        while !is_complete(&buffer[..read]) {
            read += stream.read(&mut buffer[read..]).await.expect("a server that answers");
        }
    });
    cost.await
}

async fn client(asked: &Asked) -> Cost {
    let server = asked.start();
    let client = Client::connect(format!("http://{}/mcp", server.address)).await.expect("a server");
    let cost = measure(asked.calls, server.pid(), async || {
        client.call_tool("echo", json!({ "message": "hi" })).await.expect("an answer");
    });
    let cost = cost.await;
    client.close().await;
    cost
}
