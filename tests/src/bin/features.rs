//! Uses everything that a server of other people's offers:
//! `features --runtime blocking|smol|tokio|tokio-threads --era auto|modern|legacy SERVER TARGET`.

use std::process::ExitCode;

fn main() -> ExitCode {
    match mcp_tests::features::run(std::env::args().skip(1)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("features: {error}");
            ExitCode::FAILURE
        }
    }
}
