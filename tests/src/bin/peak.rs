//! Does one thing with a client, and prints what it took:
//! `peak --runtime blocking|smol|tokio|tokio-threads WORK`; without arguments it says what there is.

use std::process::ExitCode;

fn main() -> ExitCode {
    #[cfg(target_os = "linux")]
    let cost = mcp_tests::peak::run(std::env::args().skip(1));
    #[cfg(not(target_os = "linux"))]
    let cost: Result<(), _> = Err("only Linux tells what a process took");
    match cost.map(|cost| serde_json::to_string(&cost)) {
        Ok(Ok(line)) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Ok(Err(error)) => fail(&error.to_string()),
        Err(error) => fail(&error.to_string()),
    }
}

fn fail(error: &str) -> ExitCode {
    eprintln!("peak: {error}");
    ExitCode::FAILURE
}
