//! What a host calls a server by: a command line, an argument list, or a URL.

use crate::{ApiMisuse, Command, HttpConfig};

/// Where a server is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Target {
    /// A process to launch.
    Command(Command),
    /// A server over HTTP.
    Http(HttpConfig),
}

impl Target {
    /// Reads what a person wrote.
    ///
    /// A text without `scheme://` is a command line: it is split as a shell splits words, quotes
    /// and backslashes included, and never run by a shell. `stdio://` before it says so
    /// explicitly.
    ///
    /// An `http://` or `https://` URL is a server over HTTP; its path says over which transport, see
    /// [`HttpConfig::transport`].
    ///
    /// # Errors
    /// [`ApiMisuse::Target`] for an empty command line, an unfinished quote, other schemes, and
    /// for URLs that cannot be reached.
    pub fn parse(text: &str) -> Result<Self, ApiMisuse> {
        let line = text.trim();
        let line = match strip_scheme(line) {
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("stdio") => rest,
            Some((scheme, _))
                if scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https") =>
            {
                return Target::http(HttpConfig::new(line));
            }
            Some((scheme, _)) => {
                return Err(ApiMisuse::Target(format!(
                    "no transport has the scheme {:?}; use an http or https URL, a command line, \
                     or stdio://",
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

    /// A server over HTTP.
    ///
    /// # Errors
    /// When the address cannot be reached.
    pub fn http(config: HttpConfig) -> Result<Self, ApiMisuse> {
        let url = config.endpoint()?;
        Ok(Target::Http(HttpConfig { url: url.to_string(), ..config }))
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
            Target::Http(http) => crate::config::mask_url(&http.url),
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
        match Target::parse(text).unwrap() {
            Target::Command(command) => command,
            other => panic!("{other:?}"),
        }
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
        for text in ["ftp://x", "ws://x/mcp", "", "   ", "stdio://", "a 'b", "''"] {
            assert!(matches!(Target::parse(text), Err(ApiMisuse::Target(_))), "{text}");
        }
        assert!(Target::argv(Vec::<String>::new()).is_err());
    }

    /// M-CONN-04, M-CONN-10, M-CONN-20
    #[test]
    fn urls_are_normalised_and_only_http_with_a_host_is_taken() {
        let url = |text: &str| match Target::parse(text) {
            Ok(Target::Http(http)) => http.url,
            other => panic!("{text}: {other:?}"),
        };
        assert_eq!(url("HTTPS://Example.com:443/mcp#x"), "https://example.com/mcp");
        assert_eq!(url(" http://[::1]:8080 "), "http://[::1]:8080/");
        for text in ["http://", "http://user:pw@x/mcp"] {
            assert!(matches!(Target::parse(text), Err(ApiMisuse::Target(_))), "{text}");
        }
    }
}
