//! Command lines that start a scripted server as a child process.

use std::path::PathBuf;

use super::Script;

/// The command line of a scripted server.
///
/// An integration test of this crate knows where the program is:
///
/// ```text
/// Program::new(env!("CARGO_BIN_EXE_scripted"), Script::modern().answer_rest()).argv()
/// ```
#[derive(Clone, Debug)]
pub struct Program {
    path: PathBuf,
    script: Script,
    transcript: Option<PathBuf>,
    arguments: Vec<String>,
}

impl Program {
    /// The program at this path, playing this script.
    pub fn new(path: impl Into<PathBuf>, script: Script) -> Self {
        Program { path: path.into(), script, transcript: None, arguments: Vec::new() }
    }

    /// Appends what the server receives to this file
    /// ([`Transcript::load`](super::Transcript::load)).
    pub fn transcript(mut self, path: impl Into<PathBuf>) -> Self {
        self.transcript = Some(path.into());
        self
    }

    /// Arguments for the server itself, which it can tell as `$argv`.
    pub fn arguments<A: Into<String>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// The command line as a list. The script is one of its arguments, so it has to be shorter
    /// than 128 KiB: long texts are made by filler and by repetition.
    pub fn argv(&self) -> Vec<String> {
        let text = |path: &PathBuf| path.to_string_lossy().into_owned();
        let script = serde_json::to_string(&self.script).unwrap_or_default();
        let mut argv = vec![text(&self.path), "--inline".to_owned(), script];
        if let Some(transcript) = &self.transcript {
            argv.extend(["--transcript".to_owned(), text(transcript)]);
        }
        if !self.arguments.is_empty() {
            argv.push("--".to_owned());
            argv.extend(self.arguments.iter().cloned());
        }
        argv
    }

    /// The command line as a person would type it into a shell.
    pub fn line(&self) -> String {
        shell_words::join(self.argv())
    }
}

/// The same program, to which SIGTERM means nothing: only SIGKILL ends it from outside.
pub fn ignoring_term(argv: Vec<String>) -> Vec<String> {
    shell(r#"trap "" TERM; exec "$0" "$@""#, argv)
}

/// The same program behind a shell that waits for it, as launchers do: the program that serves is
/// then a grandchild of the client. (A shell gives a background command no input, unless it is
/// passed on under another number.)
pub fn behind_shell(argv: Vec<String>) -> Vec<String> {
    shell(r#"exec 3<&0; "$0" "$@" <&3 3<&- & exec 3<&-; wait"#, argv)
}

fn shell(script: &str, argv: Vec<String>) -> Vec<String> {
    let mut command = vec!["sh".to_owned(), "-c".to_owned(), script.to_owned()];
    command.extend(argv);
    command
}
