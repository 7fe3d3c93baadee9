//! The command line of the demo server.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use super::{Answers, Eras, HttpOptions, Options, run_stdio};

const USAGE: &str = "\
usage: demo stdio [--era both|modern|legacy] [--page-size N]
       demo http PORT [--era both|modern|legacy] [--page-size N]
                 [--answers auto|json|sse|alternate] [--no-sessions] [--get-stream]
                 [--tls FILE]

PORT 0 is any that is free; where the server listens is its first line. With --tls the certificate
to trust is written to the file.";

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
    let served = parse(&args).and_then(|serving| {
        let served = match serving {
            Serving::Stdio(options) => run_stdio(options),
            Serving::Http(options, authority) => super::http::run(options, authority.as_deref()),
        };
        served.map_err(|error| error.to_string())
    });
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("demo: {message}");
            ExitCode::FAILURE
        }
    }
}

/// The options of a demo server over HTTP, from its arguments.
///
/// # Errors
/// When there is no such option.
pub fn http_options(args: &[&str]) -> Result<HttpOptions, String> {
    let words = ["http", "0"].iter().chain(args).map(|arg| (*arg).to_owned());
    match parse(&words.collect::<Vec<_>>())? {
        Serving::Http(options, _) => Ok(options),
        Serving::Stdio(options) => Ok(options.into()),
    }
}

/// What the command line asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Serving {
    Stdio(Options),
    /// The file is for the certificate to trust.
    Http(HttpOptions, Option<PathBuf>),
}

pub(super) fn parse(args: &[String]) -> Result<Serving, String> {
    let mut args = args.iter().map(String::as_str);
    let mut http = HttpOptions::default();
    let mut authority = None;
    let is_http = match args.next() {
        Some("stdio") => false,
        Some("http") => {
            let port = args.next().and_then(|port| port.parse().ok());
            http.port = port.ok_or_else(|| format!("a port is a number up to 65535\n{USAGE}"))?;
            true
        }
        _ => return Err(format!("say how to serve\n{USAGE}")),
    };
    while let Some(arg) = args.next() {
        if is_http && flag(&mut http, arg) {
            continue;
        }
        let value = args.next();
        if let (true, "--tls", Some(file)) = (is_http, arg, value) {
            http.tls = true;
            authority = Some(PathBuf::from(file));
            continue;
        }
        let known = option(&mut http.demo, arg, value)
            || (is_http && arg == "--answers" && answers(&mut http, value));
        if !known {
            let value = value.map(|value| format!(" {value}")).unwrap_or_default();
            return Err(format!("cannot make sense of `{arg}{value}`\n{USAGE}"));
        }
    }
    Ok(if is_http { Serving::Http(http, authority) } else { Serving::Stdio(http.demo) })
}

/// Takes an option of any transport; says whether it is one.
fn option(options: &mut Options, arg: &str, value: Option<&str>) -> bool {
    match (arg, value) {
        ("--era", Some("both")) => options.eras = Eras::Both,
        ("--era", Some("modern")) => options.eras = Eras::Modern,
        ("--era", Some("legacy")) => options.eras = Eras::Legacy,
        ("--page-size", Some(value)) if value.parse::<usize>().is_ok_and(|size| size > 0) => {
            options.page_size = value.parse().ok();
        }
        _ => return false,
    }
    true
}

fn flag(options: &mut HttpOptions, arg: &str) -> bool {
    match arg {
        "--no-sessions" => options.sessions = false,
        "--get-stream" => options.get_stream = true,
        _ => return false,
    }
    true
}

fn answers(options: &mut HttpOptions, value: Option<&str>) -> bool {
    options.answers = match value {
        Some("auto") => Answers::Auto,
        Some("json") => Answers::Json,
        Some("sse") => Answers::Sse,
        Some("alternate") => Answers::Alternate,
        _ => return false,
    };
    true
}
