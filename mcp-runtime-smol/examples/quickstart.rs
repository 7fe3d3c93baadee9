//! Connects to a server, lists its tools and calls one:
//! `quickstart [--era auto|modern|legacy] [TARGET [TOOL [JSON]]]`.

use std::process::ExitCode;

use mcp_runtime_smol::Client;
use mcp_tests::quickstart::{Failure, Quickstart};

fn main() -> ExitCode {
    mcp_tests::quickstart::main(|asked| smol::block_on(run(asked)))
}

async fn run(asked: Quickstart) -> Result<(), Failure> {
    let client = Client::builder().era(asked.era).connect(asked.target.clone()).await?;
    let server = client.server().ok_or("the server has gone")?;
    let tools = client.list_tools().await?;
    if let Some((tool, arguments)) = asked.introduce(&server, &tools) {
        asked.show(&client.call_tool(tool, arguments).await?)?;
    }
    client.close().await;
    Ok(())
}
