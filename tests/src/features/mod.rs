//! Everything that a server of other people's offers, used once by a client on some runtime.
//!
//! The quickstart shows that a tool can be called. This asks for all the rest, and looks at what
//! comes back: prompts, resources, completion, what the server asks its client and what it says
//! unasked, progress, cancellation, timeouts. A check that fails names the server and the feature.

mod everything;
mod host;
mod sample;
mod small;

use std::error::Error;
use std::fmt::Debug;

use mcp_proto::model::CallToolResult;
use mcp_proto::{Era, EraChoice};
use serde_json::Value;

use self::host::Host;
use crate::client::{Client, Runtime};

/// What is wrong, in one line.
type Failure = Box<dyn Error + Send + Sync>;

const USAGE: &str = "usage: features --runtime blocking|smol|tokio|tokio-threads --era \
    auto|modern|legacy SERVER TARGET";

/// A feature, and how it is checked: what was seen of it, in a few words.
type Check = (&'static str, fn(&Talk) -> Result<String, Failure>);

/// A server that is spoken with.
struct Talk {
    client: Client,
    host: Host,
    era: Era,
    /// Whether it is reached over HTTP+SSE.
    over_sse: bool,
}

/// Uses everything that a server offers, and prints a line for each feature.
///
/// # Errors
/// When it cannot be reached, and when a feature is not as it should be.
pub fn run(args: impl IntoIterator<Item = String>) -> Result<(), Failure> {
    let args: Vec<String> = args.into_iter().collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let ["--runtime", runtime, "--era", era, server, target] = args[..] else {
        return Err(USAGE.into());
    };
    let runtime: Runtime = runtime.parse().map_err(|error| format!("{error}\n{USAGE}"))?;
    let era = match era {
        "auto" => EraChoice::Auto,
        "modern" => EraChoice::Modern,
        "legacy" => EraChoice::Legacy,
        _ => return Err(USAGE.into()),
    };
    let checks = match server {
        "everything" => everything::CHECKS,
        "sample" => sample::CHECKS,
        "filesystem" => small::FILESYSTEM,
        "time" => small::TIME,
        _ => return Err(format!("nothing is known of a server {server}").into()),
    };
    let host = Host::default();
    let client = Client::connect(runtime, target, host.setup(era))?;
    let era = client.server().ok_or("the server has gone")?.era;
    let talk = Talk { client, host, era, over_sse: target.ends_with("/sse") };
    for (feature, check) in checks {
        let seen = check(&talk).map_err(|error| format!("{server}, {feature}: {error}"))?;
        println!("{feature}: {seen}");
    }
    talk.client.close();
    println!("{} features", checks.len());
    Ok(())
}

impl Talk {
    fn is_modern(&self) -> bool {
        self.era == Era::Modern
    }

    /// Calls a tool that does not fail.
    fn call(&self, tool: &str, arguments: Value) -> Result<CallToolResult, Failure> {
        let result = self.client.call_tool(tool, arguments);
        let result = result.map_err(|error| format!("{tool}: {error}"))?;
        match result.is_error {
            true => Err(format!("{tool} failed: {}", result.text()).into()),
            false => Ok(result),
        }
    }

    /// Calls a tool whose answer has this in it.
    fn call_for(&self, tool: &str, arguments: Value, part: &str) -> Result<(), Failure> {
        holds(tool, &self.call(tool, arguments)?.text(), part)
    }

    /// What the server offers is this, and nothing else: what is new has to be checked as well.
    fn offers(&self, wanted: &[&str]) -> Result<String, Failure> {
        let server = self.client.server().ok_or("the server has gone")?;
        // Some send what is empty, and mean nothing by it.
        let members = server.capabilities.members().iter();
        let members = members.filter(|(name, value)| {
            *name != "experimental" || value.as_object().is_none_or(|it| !it.is_empty())
        });
        let mut names: Vec<&str> = members.map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        same("what is offered", names, wanted.to_vec())?;
        Ok(wanted.join(", "))
    }

    /// The tools have these names.
    fn tools(&self, wanted: &[&str]) -> Result<String, Failure> {
        let list = self.client.list_tools()?;
        same("malformed tools", list.malformed.len(), 0)?;
        let mut names: Vec<&str> = list.iter().map(|tool| tool.name.as_str()).collect();
        names.sort_unstable();
        same("the tools", names, wanted.to_vec())?;
        Ok(format!("{} tools", wanted.len()))
    }
}

fn same<T: PartialEq + Debug>(what: &str, is: T, wanted: T) -> Result<(), Failure> {
    if is == wanted {
        return Ok(());
    }
    Err(format!("{what}: {is:?} instead of {wanted:?}").into())
}

fn holds(what: &str, text: &str, part: &str) -> Result<(), Failure> {
    if text.contains(part) {
        return Ok(());
    }
    let text: String = text.chars().take(300).collect();
    Err(format!("{what}: no {part:?} in {text:?}").into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::{HttpDemo, HttpOptions};

    fn run_with(args: &[&str]) -> String {
        run(args.iter().map(|it| (*it).to_owned())).unwrap_err().to_string()
    }

    #[test]
    fn a_server_that_is_another_one_fails_by_name() {
        let demo = HttpDemo::start(HttpOptions::default()).unwrap();
        let args = ["--runtime", "blocking", "--era", "auto", "everything", demo.url()];
        let error = run_with(&args);
        assert!(error.starts_with("everything, offers: what is offered: "), "{error}");
        let error = run_with(&["--runtime", "blocking", "--era", "auto", "x", demo.url()]);
        assert!(error.contains("server x"), "{error}");
        assert_eq!(run_with(&["everything", demo.url()]), USAGE);
    }

    #[test]
    fn what_differs_is_told() {
        assert!(same("it", 1, 1).is_ok() && holds("it", "abc", "b").is_ok());
        assert_eq!(same("it", 1, 2).unwrap_err().to_string(), "it: 1 instead of 2");
        assert_eq!(holds("it", "a", "b").unwrap_err().to_string(), "it: no \"b\" in \"a\"");
    }
}
