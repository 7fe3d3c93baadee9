//! What the quickstart examples of all three runtimes share: their command line, and how they
//! print. Each example itself only shows how its client is used.

use std::error::Error;
use std::fmt::Display;
use std::hash::{BuildHasher, RandomState};
use std::process::ExitCode;

use mcp_proto::model::{CallToolResult, ServerInfo, Tool};
use mcp_proto::{Command, EraChoice, Target};
use serde_json::{Map, Value, json};

/// What an example that fails says: something readable, in one line.
pub type Failure = Box<dyn Error + Send + Sync>;

const USAGE: &str = "usage: quickstart [--era auto|modern|legacy] [TARGET [TOOL [JSON]]]";

/// What the command line asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct Quickstart {
    /// Which era is spoken.
    pub era: EraChoice,
    /// The server. Without a TARGET it is this very program, started as the demo server.
    pub target: Target,
    tool: Option<String>,
    arguments: Option<Map<String, Value>>,
}

/// The whole of an example's `main`: the program is the demo server when it was started with
/// `--demo-server` as its first argument, and else does what its command line asks for.
pub fn main(run: impl FnOnce(Quickstart) -> Result<(), Failure>) -> ExitCode {
    if let Some(code) = crate::demo::main_from_args(std::env::args_os()) {
        return code;
    }
    match Quickstart::parse(std::env::args().skip(1)).and_then(run) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {}", one_line(&error));
            ExitCode::FAILURE
        }
    }
}

impl Quickstart {
    /// Reads a command line, the program's name not among its words.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(words: impl IntoIterator<Item = String>) -> Result<Self, Failure> {
        let mut words = words.into_iter().peekable();
        let mut era = EraChoice::Auto;
        while let Some(option) = words.next_if(|word| word.starts_with("--")) {
            era = match (&*option, words.next().as_deref()) {
                ("--era", Some("auto")) => EraChoice::Auto,
                ("--era", Some("modern")) => EraChoice::Modern,
                ("--era", Some("legacy")) => EraChoice::Legacy,
                _ => return Err(USAGE.into()),
            };
        }
        let target = match words.next() {
            Some(target) => Target::parse(&target)?,
            None => itself()?,
        };
        let tool = words.next();
        let arguments = words.next().map(|text| arguments(&text)).transpose()?;
        if words.next().is_some() {
            return Err(USAGE.into());
        }
        Ok(Quickstart { era, target, tool, arguments })
    }

    /// Prints who the server is and what tools it has, and decides which is called, and how. The
    /// tool `add` is called with two random numbers when none are given; it is also what is called
    /// when no tool is named and the server has one that adds two numbers.
    pub fn introduce(&self, server: &ServerInfo, tools: &[Tool]) -> Option<(String, Value)> {
        println!("{}", introduction(server));
        for tool in tools {
            println!("{}", listed(&tool.name, tool.description.as_deref()));
        }
        let (tool, arguments) = match (&self.tool, &self.arguments) {
            (Some(tool), Some(arguments)) => (tool.as_str(), arguments.clone()),
            (Some(tool), None) if tool != "add" => (tool.as_str(), Map::new()),
            (None, _) if !tools.iter().any(adds) => return None,
            _ => ("add", two_numbers()),
        };
        if self.arguments.is_none() && tool == "add" {
            println!("add {} {}", arguments["a"], arguments["b"]);
        }
        Some((tool.to_owned(), Value::Object(arguments)))
    }

    /// Prints the text of a result.
    ///
    /// # Errors
    /// When the tool says that it failed.
    pub fn show(&self, result: &CallToolResult) -> Result<(), Failure> {
        if result.is_error {
            return Err(format!("the tool failed: {}", result.text()).into());
        }
        println!("{}", result.text());
        Ok(())
    }
}

fn itself() -> Result<Target, Failure> {
    let program = std::env::current_exe()?.into_os_string();
    let program =
        program.into_string().map_err(|path| format!("{} is not valid Unicode", path.display()))?;
    Ok(Command::new(program).args(["--demo-server", "stdio"]).into())
}

fn arguments(text: &str) -> Result<Map<String, Value>, Failure> {
    match serde_json::from_str(text) {
        Ok(Value::Object(arguments)) => Ok(arguments),
        Ok(_) => Err("the arguments of a tool are a JSON object".into()),
        Err(error) => Err(format!("the arguments are no JSON: {error}").into()),
    }
}

fn introduction(server: &ServerInfo) -> String {
    let named = match &server.implementation {
        Some(it) => one_line(format_args!("{} {}", it.name, it.version)),
        None => String::from("(a server without a name)"),
    };
    format!("{named}\nera: {}, protocol: {}", server.era, server.version)
}

/// A tool in one line: its name, and the first line of its description.
fn listed(name: &str, description: Option<&str>) -> String {
    let lines = description.unwrap_or_default().lines().map(str::trim);
    match lines.into_iter().find(|line| !line.is_empty()) {
        Some(first) => one_line(format_args!("{name}: {first}")),
        None => one_line(name),
    }
}

/// Whether this is a tool that adds two numbers called `a` and `b`.
fn adds(tool: &Tool) -> bool {
    let properties = tool.input_schema.member("properties");
    let takes = |name| properties.as_ref().is_some_and(|it| it.member(name).is_some());
    tool.name == "add" && takes("a") && takes("b")
}

/// The seed of a hash map is the one thing random in the standard library.
fn two_numbers() -> Map<String, Value> {
    let number = || RandomState::new().hash_one(()) % 100;
    let (a, b) = (number(), number());
    [("a", json!(a)), ("b", json!(b))]
        .map(|(name, value)| (name.to_owned(), value))
        .into_iter()
        .collect()
}

/// The text in one line, without what could steer a terminal.
fn one_line(text: impl Display) -> String {
    let text = text.to_string();
    let words = text.split(char::is_whitespace).filter(|it| !it.is_empty());
    let line = words.collect::<Vec<_>>().join(" ");
    line.chars().filter(|c| !c.is_control()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str]) -> Result<Quickstart, String> {
        let words = words.iter().map(|word| String::from(*word));
        Quickstart::parse(words).map_err(|error| error.to_string())
    }

    #[test]
    fn the_command_line_names_era_target_tool_and_arguments() {
        let all = parse(&["--era", "legacy", "npx x", "echo", r#"{"message":"hi"}"#]).unwrap();
        assert_eq!(all.era, EraChoice::Legacy);
        assert_eq!(all.target, Command::new("npx").arg("x").into());
        assert_eq!(all.tool.as_deref(), Some("echo"));
        assert_eq!(all.arguments.unwrap()["message"], "hi");
    }

    #[test]
    fn without_a_target_it_is_the_demo_server() {
        let none = parse(&[]).unwrap();
        assert_eq!(none.era, EraChoice::Auto);
        let Target::Command(command) = none.target else {
            panic!("not a command");
        };
        assert_eq!(command.args, ["--demo-server", "stdio"]);
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        for words in [&["--help"][..], &["--era", "old"], &["--era"]] {
            assert_eq!(parse(words).unwrap_err(), USAGE);
        }
        assert_eq!(parse(&["a", "b", "{}", "c"]).unwrap_err(), USAGE);
        assert!(parse(&["a", "b", "[]"]).unwrap_err().contains("object"));
        assert!(parse(&["a", "b", "{"]).unwrap_err().contains("no JSON"));
        assert!(parse(&["ftp://x"]).is_err());
    }

    #[test]
    fn tools_and_errors_take_one_line_each() {
        assert_eq!(listed("t", Some("\n first \nsecond")), "t: first");
        assert_eq!(listed("t", None), "t");
        assert_eq!(one_line("a\n  b\u{1b}[31m\r\nc"), "a b[31m c");
    }

    #[test]
    fn two_numbers_are_drawn_anew() {
        let drawn: std::collections::BTreeSet<_> =
            (0..50).map(|_| two_numbers()["a"].as_u64()).collect();
        assert!(drawn.len() > 1);
    }
}
