//! A server that takes no side: it knows the eras, answers as fast as it can, and parses nothing it
//! need not. `bench-server (stdio | http [json | sse]) [TOOLS]`, where TOOLS is the length of
//! `tools/list`. Over HTTP it prints its URL, and ends when its stdin does.

mod answers;
mod http;
mod stdio;

use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let (serve, tools): (fn(answers::Answers) -> std::io::Result<()>, _) = match args[..] {
        ["stdio", ref tools @ ..] => (stdio::serve, tools),
        ["http", "json", ref tools @ ..] => (http::serve_json, tools),
        ["http", "sse", ref tools @ ..] => (http::serve_sse, tools),
        _ => {
            eprintln!("usage: bench-server (stdio | http json | http sse) [TOOLS]");
            return ExitCode::from(2);
        }
    };
    let tools = tools.first().and_then(|count| count.parse().ok()).unwrap_or(10);
    match serve(answers::Answers::new(tools)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench-server: {error}");
            ExitCode::FAILURE
        }
    }
}
