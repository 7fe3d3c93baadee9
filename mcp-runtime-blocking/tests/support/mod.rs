//! Servers for the tests: this very test program, started to play a script.

#![allow(dead_code, reason = "no test program needs all of it")]

pub(crate) mod http;

use std::time::{Duration, Instant};

use mcp_runtime_blocking::proto::op::CallTool;
use mcp_runtime_blocking::{Background, Client, Command};
use mcp_tests::script::Script;
use serde_json::{Value, json};

/// What the server is to play.
const SCRIPT: &str = "MCP_TEST_SCRIPT";

pub(crate) const BACKGROUNDS: [Background; 2] = [Background::Helper, Background::Never];

/// Becomes the server that [`command`] starts. A test named `server` in each test program calls
/// it; without the variable it is a test that finds nothing wrong.
pub(crate) fn serve() {
    if let Ok(script) = std::env::var(SCRIPT) {
        mcp_tests::script::main([String::from("--inline"), script]);
    }
}

/// The command line of a server that plays this script. What the test harness prints before it is
/// a line that any client skips.
pub(crate) fn argv() -> Vec<String> {
    let program = std::env::current_exe().unwrap().into_os_string().into_string().unwrap();
    vec![program, "--exact".into(), "server".into(), "--nocapture".into()]
}

pub(crate) fn command(argv: Vec<String>, script: &Script) -> Command {
    let mut argv = argv.into_iter();
    Command::new(argv.next().unwrap())
        .args(argv)
        .env(SCRIPT, serde_json::to_string(script).unwrap())
}

/// A server that answers its first call with its pid, and everything else as the demo server does.
pub(crate) fn telling_its_pid() -> Script {
    Script::modern().expect("tools/call").text("$pid.string").answer_rest()
}

pub(crate) fn demo() -> Command {
    command(argv(), &Script::new().answer_rest())
}

pub(crate) fn connect(background: Background, server: Command) -> Client {
    Client::builder().background(background).connect(server).unwrap()
}

pub(crate) fn pid(client: &Client) -> u32 {
    client.call_tool("pid", ()).unwrap().text().parse().unwrap()
}

pub(crate) fn echo(client: &Client, message: &str) {
    let result = client.call_tool("echo", json!({ "message": message })).unwrap();
    assert_eq!(result.text(), message);
}

/// A call of the demo server's `slow`.
pub(crate) fn slow(arguments: Value) -> CallTool {
    let Value::Object(arguments) = arguments else { panic!("no object") };
    CallTool::new("slow", arguments)
}

/// How long something takes.
pub(crate) fn time(act: impl FnOnce()) -> Duration {
    let begin = Instant::now();
    act();
    begin.elapsed()
}
