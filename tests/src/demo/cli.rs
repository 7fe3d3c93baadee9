//! The command line of the demo server.

use std::ffi::OsString;
use std::process::ExitCode;

use super::{Eras, Options, run_stdio};

const USAGE: &str = "\
usage: demo stdio [--era both|modern|legacy] [--page-size N]
       demo http PORT";

/// Runs the demo server when the program was started with `--demo-server …` as its first
/// argument: an example program calls this first, and is its own server then.
///
/// `args` are those of the process, its name included ([`std::env::args_os`]). `None` means that
/// the program is meant to do its own work.
pub fn main_from_args<A: Into<OsString>>(args: impl IntoIterator<Item = A>) -> Option<ExitCode> {
    let mut args = args.into_iter().map(Into::into).skip(1);
    (args.next()? == "--demo-server").then(|| main(args))
}

/// Runs the demo server with the given arguments, the program's name not among them.
pub fn main<A: Into<OsString>>(args: impl IntoIterator<Item = A>) -> ExitCode {
    let args = args.into_iter().map(|arg| arg.into());
    let args: Vec<String> = args.map(|arg| arg.to_string_lossy().into_owned()).collect();
    match parse(&args) {
        Ok(options) => match run_stdio(options) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("demo: {error}");
                ExitCode::FAILURE
            }
        },
        Err(message) => {
            eprintln!("demo: {message}");
            ExitCode::FAILURE
        }
    }
}

pub(super) fn parse(args: &[String]) -> Result<Options, String> {
    let mut args = args.iter().map(String::as_str);
    match args.next() {
        Some("stdio") => {}
        Some("http") => return Err("HTTP is not built yet; use `demo stdio`".to_owned()),
        _ => return Err(format!("say how to serve\n{USAGE}")),
    }
    let mut options = Options::default();
    while let Some(arg) = args.next() {
        let value = args.next();
        match (arg, value) {
            ("--era", Some("both")) => options.eras = Eras::Both,
            ("--era", Some("modern")) => options.eras = Eras::Modern,
            ("--era", Some("legacy")) => options.eras = Eras::Legacy,
            ("--page-size", Some(value)) if value.parse::<usize>().is_ok_and(|size| size > 0) => {
                options.page_size = value.parse().ok();
            }
            _ => {
                let value = value.map(|value| format!(" {value}")).unwrap_or_default();
                return Err(format!("cannot make sense of `{arg}{value}`\n{USAGE}"));
            }
        }
    }
    Ok(options)
}
