//! The demo server as a program: `demo stdio`, `demo http PORT`.

use std::process::ExitCode;

fn main() -> ExitCode {
    mcp_tests::demo::main(std::env::args_os().skip(1))
}
