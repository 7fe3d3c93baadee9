//! Records the journal of a conversation with a server:
//! `record [--era auto|modern|legacy] FILE TOOL JSON URL`, or a command and its arguments in the
//! place of the URL.
//!
//! It lists the tools, calls the one that is named, asks for what no server has, and says goodbye.
//! The journals in `mcp-proto/tests/journals` are made by `tests/record`.

use std::error::Error;
use std::fs::File;
use std::process::ExitCode;

use mcp_proto::EraChoice;
use mcp_runtime_blocking::{CallOptions, Client};
use serde_json::{Map, Value};

const USAGE: &str =
    "usage: record [--era auto|modern|legacy] FILE TOOL JSON (URL | COMMAND [ARGUMENT]...)";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match record(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("record: {error}");
            ExitCode::FAILURE
        }
    }
}

fn record(words: &[String]) -> Result<(), Box<dyn Error>> {
    let (era, words) = match words {
        [option, era, rest @ ..] if option == "--era" => match era.as_str() {
            "auto" => (EraChoice::Auto, rest),
            "modern" => (EraChoice::Modern, rest),
            "legacy" => (EraChoice::Legacy, rest),
            _ => return Err(USAGE.into()),
        },
        _ => (EraChoice::Auto, words),
    };
    let [file, tool, arguments, command @ ..] = words else { return Err(USAGE.into()) };
    if command.is_empty() {
        return Err(USAGE.into());
    }
    let arguments: Value = serde_json::from_str(arguments)?;
    let builder = Client::builder().era(era).journal(File::create(file)?);
    let client = match command {
        [url] if url.contains("://") => builder.connect(url)?,
        command => builder.connect(command)?,
    };
    client.list_tools()?;
    client.call_tool(tool, arguments.clone())?;
    client.call_tool_with(tool, arguments, CallOptions::new().on_progress(drop))?;
    client.ping()?;
    if client.request("no/such", Map::new()).is_ok() {
        return Err("the server has a method that no server has".into());
    }
    client.close();
    Ok(())
}
