//! Plays as a process of its own: the program `scripted`.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use super::player::Player;
use super::stage::Stage;
use super::{Ending, Script, Transcript};

const USAGE: &str = "usage: scripted (--script FILE | --inline JSON) [--transcript FILE] [-- ARG…]";

/// A test that fails to kill it must not leave a process for ever.
const HANG: Duration = Duration::from_secs(300);

/// The client did not do what the script expects.
const FAILED: i32 = 97;
/// The client closed the end that the server wrote to.
const DESERTED: i32 = 96;
/// The process has hung for as long as it may.
const HUNG: i32 = 98;
const MISUSED: i32 = 2;

/// Plays the script that the arguments name, over the standard streams.
///
/// Exit status: that of the script; 0 at its end; 97 when the client did not do what the script
/// expects, which is told on stderr; 96 when a write failed because the client was gone.
pub fn main(args: impl IntoIterator<Item = String>) -> ! {
    let (script, stage, argv) = match prepare(args) {
        Ok(prepared) => prepared,
        Err(message) => {
            eprintln!("scripted: {message}");
            std::process::exit(MISUSED);
        }
    };
    let log = stage.log();
    let mut player = Player::new(io::stdin(), Box::new(io::stdout()), stage, argv);
    let ending = player.play(script.steps());
    append(log.as_ref(), &Transcript::ending_entry(&ending));
    let status = match ending {
        Ending::Finished => 0,
        Ending::Exited(status) => status,
        Ending::Died(signal) => die(signal),
        Ending::Deserted => DESERTED,
        Ending::Failed(what) => {
            eprintln!("scripted: {}", what.trim_end());
            FAILED
        }
    };
    // Exits with the player alive: dropping it would wait for threads that may be stuck.
    std::process::exit(status)
}

fn prepare(
    args: impl IntoIterator<Item = String>,
) -> Result<(Script, Process, Vec<String>), String> {
    let mut args = args.into_iter();
    let (mut json, mut transcript) = (None, None);
    while let Some(arg) = args.next() {
        if arg == "--" {
            break;
        }
        let value = args.next().ok_or(USAGE)?;
        match arg.as_str() {
            "--script" => {
                let read = fs::read_to_string(&value);
                json = Some(read.map_err(|error| format!("cannot read {value}: {error}"))?);
            }
            "--inline" => json = Some(value),
            "--transcript" => transcript = Some(PathBuf::from(value)),
            _ => return Err(USAGE.to_owned()),
        }
    }
    let script = serde_json::from_str(&json.ok_or(USAGE)?);
    let script = script.map_err(|error| format!("no script: {error}"))?;
    let open = |path| OpenOptions::new().create(true).append(true).open(path);
    let log = transcript.map(open).transpose();
    let log = log.map_err(|error| format!("cannot write the transcript: {error}"))?;
    Ok((script, Process { log }, args.collect()))
}

/// The stage that is a process.
struct Process {
    log: Option<File>,
}

impl Process {
    fn log(&self) -> Option<File> {
        self.log.as_ref().and_then(|log| log.try_clone().ok())
    }
}

/// Each entry is written at once and whole: the process may be killed before the next.
fn append(log: Option<&File>, entry: &str) {
    if let Some(mut log) = log
        && let Err(error) = log.write_all(format!("{entry}\n").as_bytes())
    {
        eprintln!("scripted: cannot write the transcript: {error}");
    }
}

impl Stage for Process {
    fn received(&mut self, line: &[u8]) {
        append(self.log.as_ref(), &Transcript::line_entry(line));
    }

    fn stderr(&mut self) -> Box<dyn Write + '_> {
        Box::new(io::stderr())
    }

    fn close_stdin(&mut self) -> io::Result<()> {
        streams::close_stdin()
    }

    fn close_stdout(&mut self) -> io::Result<()> {
        streams::close_stdout()
    }

    fn gate(&mut self, name: &str) -> Result<(), String> {
        Err(format!("nobody can open the gate `{name}` of a process"))
    }

    fn hang(&mut self) {
        thread::sleep(HANG);
        std::process::exit(HUNG);
    }

    fn is_process(&self) -> bool {
        true
    }
}

#[cfg(unix)]
fn die(signal: i32) -> ! {
    use rustix::process::{Signal, getpid, kill_process};

    if signal != super::player::ABORT
        && let Some(signal) = Signal::from_named_raw(signal)
        && let Err(error) = kill_process(getpid(), signal)
    {
        eprintln!("scripted: cannot send itself a signal: {error}");
    }
    std::process::abort()
}

#[cfg(not(unix))]
fn die(_signal: i32) -> ! {
    std::process::abort()
}

/// The standard library never closes a standard stream. Putting the null device in its place
/// closes the end of the pipe that was there.
#[cfg(unix)]
mod streams {
    use std::fs::OpenOptions;
    use std::io;

    pub(super) fn close_stdin() -> io::Result<()> {
        Ok(rustix::stdio::dup2_stdin(null()?)?)
    }

    pub(super) fn close_stdout() -> io::Result<()> {
        Ok(rustix::stdio::dup2_stdout(null()?)?)
    }

    fn null() -> io::Result<std::fs::File> {
        OpenOptions::new().read(true).write(true).open("/dev/null")
    }
}

#[cfg(not(unix))]
mod streams {
    use std::io;

    pub(super) fn close_stdin() -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn close_stdout() -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
