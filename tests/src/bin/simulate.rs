//! Plays worlds that are drawn from seeds; see `mcp_tests::simulate`.

use std::process::ExitCode;

fn main() -> ExitCode {
    mcp_tests::simulate::main(std::env::args().skip(1))
}
