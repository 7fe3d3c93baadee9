//! Prints how many requirements are built and tested; fails when rows and tests do not fit.

use std::process::ExitCode;

fn main() -> ExitCode {
    let report = match mcp_tests::requirements::check_workspace() {
        Ok(report) => report,
        Err(error) => {
            eprintln!("requirements: {error}");
            return ExitCode::FAILURE;
        }
    };
    for line in &report.summary {
        println!("{line}");
    }
    for note in &report.notes {
        println!("note: {note}");
    }
    for problem in &report.problems {
        eprintln!("problem: {problem}");
    }
    match report.problems.len() {
        0 => ExitCode::SUCCESS,
        count => {
            eprintln!("requirements: {count} problems");
            ExitCode::FAILURE
        }
    }
}
