//! The client that the official conformance suite judges:
//! `conformance-client --runtime blocking|smol|tokio|tokio-threads URL`. The suite names the
//! scenario in the environment.

use std::process::ExitCode;

fn main() -> ExitCode {
    match mcp_tests::conformance::run(std::env::args().skip(1), |name| std::env::var(name).ok()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("conformance-client: {error}");
            ExitCode::FAILURE
        }
    }
}
