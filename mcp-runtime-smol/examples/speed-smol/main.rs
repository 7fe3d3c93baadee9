//! Sequential calls a second through the client, beside a bare loop on the same runtime that moves
//! the same bytes: `speed-smol [ROUNDS [CALLS]]`. Run it on one core, such as with `taskset -c 0`.

mod server;

use std::process::{Command, Stdio};

use async_io::Async;
use futures_lite::{AsyncReadExt, AsyncWriteExt};
use mcp_runtime_smol::{Client, Command as Target, Error};
use serde_json::json;

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
    for name in ["smol global", "smol joined", "smol local"] {
        let mut measured: Vec<_> = (0..rounds)
            .map(|_| {
                let bare = smol::block_on(bare(program, calls)).expect("a bare loop");
                let client = smol::block_on(async {
                    match name {
                        "smol global" => client(program, calls).await,
                        "smol local" => local(program, calls).await,
                        _ => joined(program, calls).await,
                    }
                })
                .expect("a client");
                (bare, client)
            })
            .collect();
        server::report(name, &mut measured);
    }
}

async fn bare(program: &str, calls: u32) -> std::io::Result<f64> {
    let mut command = Command::new(program);
    command.arg(SERVE).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn()?;
    let mut stdin = Async::new(child.stdin.take().expect("its stdin"))?;
    let mut stdout = Async::new(child.stdout.take().expect("its stdout"))?;
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

async fn joined(program: &str, calls: u32) -> Result<f64, Error> {
    let target = Target::new(program).arg(SERVE);
    let (client, driver) = Client::builder().connect_with_driver(target)?;
    let calling = async {
        let client = client.await?;
        measure(client, calls).await
    };
    futures_lite::future::or(calling, async {
        driver.await;
        std::future::pending().await
    })
    .await
}

async fn local(program: &str, calls: u32) -> Result<f64, Error> {
    let ex = std::sync::Arc::new(smol::Executor::new());
    let ex2 = ex.clone();
    ex.run(async {
        let target = Target::new(program).arg(SERVE);
        let client =
            Client::builder().spawn_with(move |d| ex2.spawn(d).detach()).connect(target).await?;
        measure(client, calls).await
    })
    .await
}

async fn client(program: &str, calls: u32) -> Result<f64, Error> {
    let client = Client::connect(Target::new(program).arg(SERVE)).await?;
    measure(client, calls).await
}

async fn measure(client: Client, calls: u32) -> Result<f64, Error> {
    let stretch = Stretch::begin();
    for _ in 0..calls {
        client.call_tool("echo", json!({ "message": "hi" })).await?;
    }
    let rate = stretch.end(calls);
    client.close().await;
    Ok(rate)
}
