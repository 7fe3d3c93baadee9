//! Replays journals: `replay [--full] FILE...`.
//!
//! Says of each whether the same inputs still give the same outputs, and if not, which output is the
//! first that differs, on both sides, and which input led there. `--full` shows long lines whole.

use std::process::ExitCode;

use mcp_proto::journal::{ReplayError, replay};

const USAGE: &str = "usage: replay [--full] FILE...";

fn main() -> ExitCode {
    let mut files: Vec<String> = std::env::args().skip(1).collect();
    let full = files.first().is_some_and(|word| word == "--full");
    files.drain(..usize::from(full));
    if files.is_empty() || files.iter().any(|file| file.starts_with("--")) {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    }
    let mut all = ExitCode::SUCCESS;
    for file in files {
        match of_file(&file, full) {
            Ok(said) => println!("{file}: {said}"),
            Err(why) => {
                println!("{file}: {why}");
                all = ExitCode::FAILURE;
            }
        }
    }
    all
}

fn of_file(file: &str, full: bool) -> Result<String, String> {
    let journal = std::fs::read_to_string(file).map_err(|error| error.to_string())?;
    match replay(&journal) {
        Ok(seen) => {
            let cut_off = if seen.truncated { "; the recording was cut off there" } else { "" };
            Ok(format!("{} inputs gave the same {} outputs{cut_off}", seen.inputs, seen.outputs))
        }
        Err(ReplayError::Differs(difference)) if full => Err(format!(
            "line {}: the outputs differ\n  recorded: {}\n  replayed: {}\n  after the input of line \
             {}: {}",
            difference.line,
            difference.recorded,
            difference.replayed,
            difference.after,
            difference.input
        )),
        Err(error) => Err(error.to_string()),
    }
}
