//! Connects to a server, lists its tools, calls one.
//!
//! `quickstart [--era auto|modern|legacy] [TARGET [TOOL [JSON]]]`: without a target it starts a
//! demo server, which is itself.

use std::process::ExitCode;

use mcp_runtime_blocking::Client;
use mcp_tests::quickstart::{self, Failure, Quickstart};

fn main() -> ExitCode {
    quickstart::main(run)
}

fn run(wanted: Quickstart) -> Result<(), Failure> {
    let client = Client::builder().era(wanted.era).connect(wanted.target.clone())?;
    let tools = client.list_tools()?;
    let server = client.server().ok_or("the server has gone")?;
    if let Some((tool, arguments)) = wanted.introduce(&server, &tools) {
        wanted.show(&client.call_tool(tool, arguments)?)?;
    }
    client.close();
    Ok(())
}
