//! What a host calls a server by: a command line, an argument list, or a URL.

use crate::{ApiMisuse, Command};

/// Where a server is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Target {
    /// A process to launch.
    Command(Command),
}

impl Target {
    /// Reads what a person wrote.
    ///
    /// A text without `scheme://` is a command line: it is split as a shell splits words, quotes
    /// and backslashes included, and never run by a shell. `stdio://` before it says so
    /// explicitly.
    ///
    /// # Errors
    /// [`ApiMisuse::Target`] for an empty command line, an unfinished quote, and URLs, which this
    /// version cannot reach yet.
    pub fn parse(text: &str) -> Result<Self, ApiMisuse> {
        let line = text.trim();
        let line = match strip_scheme(line) {
            Some(("stdio", rest)) => rest,
            Some((scheme @ ("http" | "https"), _)) => {
                return Err(ApiMisuse::Target(format!(
                    "{scheme} servers are not reached by this version yet; name a command line"
                )));
            }
            Some((scheme, _)) => {
                return Err(ApiMisuse::Target(format!(
                    "no transport has the scheme {:?}; use a command line or stdio://",
                    crate::text::excerpt(scheme)
                )));
            }
            None => line,
        };
        let words = shell_words::split(line).map_err(|_| {
            ApiMisuse::Target(String::from("a quote in the command line is not closed"))
        })?;
        Target::argv(words)
    }

    /// A program and its arguments, taken as they are.
    ///
    /// # Errors
    /// [`ApiMisuse::Target`] when there is no program.
    pub fn argv(words: impl IntoIterator<Item = impl Into<String>>) -> Result<Self, ApiMisuse> {
        let mut words = words.into_iter().map(Into::into);
        match words.next() {
            Some(program) if !program.is_empty() => {
                Ok(Target::Command(Command::new(program).args(words)))
            }
            _ => Err(ApiMisuse::Target(String::from("the command line names no program"))),
        }
    }

    /// What errors call the server when the host gives no name.
    #[must_use]
    pub fn label(&self) -> String {
        match self {
            Target::Command(command) => command.line(),
        }
    }
}

/// The scheme of a text that begins like `scheme://`, in lower case letters as it was written.
fn strip_scheme(text: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = text.split_once("://")?;
    let letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    let is_scheme =
        scheme.starts_with(|c: char| c.is_ascii_alphabetic()) && scheme.chars().all(letter);
    is_scheme.then_some((scheme, rest))
}

impl From<Command> for Target {
    fn from(command: Command) -> Self {
        Target::Command(command)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(text: &str) -> Command {
        let Target::Command(command) = Target::parse(text).unwrap();
        command
    }

    /// M-CONN-05, M-CONN-06, M-CONN-07
    #[test]
    fn command_lines_are_split_as_a_shell_splits_words() {
        assert_eq!(command("uvx x"), Command::new("uvx").arg("x"));
        assert_eq!(
            command(r#"./server --flag "a b""#),
            Command::new("./server").args(["--flag", "a b"])
        );
        let env = command("/usr/bin/env node s.js");
        assert_eq!(env, Command::new("/usr/bin/env").args(["node", "s.js"]));
        assert_eq!(
            command(r"stdio://python3 -m 'x y' \$HOME"),
            Command::new("python3").args(["-m", "x y", "$HOME"])
        );
        assert_eq!(
            command("node a https://example.com/"),
            Command::new("node").args(["a", "https://example.com/"])
        );
    }

    /// M-CONN-10
    #[test]
    fn other_schemes_and_empty_lines_are_refused() {
        for text in ["ftp://x", "https://x/mcp", "", "   ", "stdio://", "a 'b", "''"] {
            assert!(matches!(Target::parse(text), Err(ApiMisuse::Target(_))), "{text}");
        }
        assert!(Target::argv(Vec::<String>::new()).is_err());
    }
}
