//! The demo server as a program: `demo stdio`.

use std::process::ExitCode;

fn main() -> ExitCode {
    mcp_tests::demo::main(std::env::args_os().skip(1))
}
