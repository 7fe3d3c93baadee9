//! How a server is reached.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{CALL_TIMEOUT, HTTP_BACKOFF, HTTP_CALL_TIMEOUT, HTTP_RETRIES};

/// How bytes reach the server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Transport {
    /// A process that the performer launches, and launches again after it has died.
    Stdio(Command),
    /// A byte stream that the performer already has, with the same framing. It is never launched;
    /// its end counts as the exit, and there is no restart.
    Stream,
    /// Streamable HTTP.
    Http(HttpConfig),
}

impl Transport {
    /// How long a call may take when nothing else is said.
    #[must_use]
    pub fn call_timeout(&self) -> Duration {
        match self {
            Transport::Stdio(_) | Transport::Stream => CALL_TIMEOUT,
            Transport::Http(_) => HTTP_CALL_TIMEOUT,
        }
    }

    /// The same transport with a placeholder in the place of each value that may be secret.
    #[must_use]
    pub fn masked(&self) -> Self {
        match self {
            Transport::Stdio(command) => Transport::Stdio(command.masked()),
            Transport::Stream => Transport::Stream,
            Transport::Http(http) => Transport::Http(http.masked()),
        }
    }
}

/// How messages travel over HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HttpTransport {
    /// Streamable HTTP (specification: basic/transports/streamable-http): each message is a POST,
    /// and an answer may be a stream of events.
    Streamable,
    /// HTTP+SSE, deprecated since 2025-03-26 (2024-11-05: basic/transports, "HTTP with SSE"): all
    /// answers come on one stream of events. It knows legacy revisions only, so the settings about
    /// the era mean nothing here.
    Sse,
    /// Requests and answers only: each message is a POST, each answer one JSON message. The server
    /// can neither ask nor tell anything by itself.
    Plain,
}

impl HttpTransport {
    /// What people call it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            HttpTransport::Streamable => "Streamable HTTP",
            HttpTransport::Sse => "HTTP+SSE",
            HttpTransport::Plain => "plain HTTP",
        }
    }
}

impl fmt::Display for HttpTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl std::str::FromStr for HttpTransport {
    type Err = crate::ApiMisuse;

    /// Reads what configurations call it: `streamable-http`, `sse`, or `http`, in any case.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match &*text.trim().to_ascii_lowercase().replace(['_', ' '], "-") {
            "streamable-http" | "streamable" | "streamablehttp" => Ok(HttpTransport::Streamable),
            "sse" | "http+sse" => Ok(HttpTransport::Sse),
            "http" | "plain" | "plain-http" => Ok(HttpTransport::Plain),
            _ => Err(crate::ApiMisuse::Target(format!(
                "no transport is called {:?}; there are streamable-http, sse and http",
                crate::text::excerpt(text)
            ))),
        }
    }
}

/// A server over HTTP (specification: basic/transports/streamable-http).
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct HttpConfig {
    /// The endpoint: `http://` or `https://`, with a host. Journals, debug output and texts do not
    /// show its query, in which some servers want a key.
    pub url: String,
    /// Headers that go out with every request. Journals and debug output show their names only.
    /// Those named `Mcp-Param-*` go to legacy servers only.
    pub headers: Vec<(String, String)>,
    /// The transport, whatever the address looks like. By default the address says it: a path that
    /// ends in `/sse` is HTTP+SSE, one that ends in `/mcp` is Streamable HTTP. With any other,
    /// Streamable HTTP is tried, then HTTP+SSE, then plain HTTP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transport: Option<HttpTransport>,
    /// How often an idempotent request is sent again after a transient failure. By default 3 times,
    /// and not at all over HTTP+SSE. A `tools/call` never is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retries: Option<u32>,
    /// How long the first of these pauses is; each further one is twice as long. 1 s by default.
    pub backoff: Duration,
}

impl HttpConfig {
    /// A server at this address.
    #[must_use]
    pub fn new(url: impl Into<String>) -> Self {
        HttpConfig {
            url: url.into(),
            headers: Vec::new(),
            transport: None,
            retries: None,
            backoff: HTTP_BACKOFF,
        }
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Sets the transport, whatever the address looks like.
    #[must_use]
    pub fn over(mut self, transport: HttpTransport) -> Self {
        self.transport = Some(transport);
        self
    }

    /// The transports to try, in order: never none.
    #[must_use]
    pub fn transports(&self) -> &'static [HttpTransport] {
        use HttpTransport::{Plain, Sse, Streamable};
        match self.transport {
            Some(Streamable) => return &[Streamable],
            Some(Sse) => return &[Sse],
            Some(Plain) => return &[Plain],
            None => {}
        }
        let path = url::Url::parse(&self.url).map(|url| url.path().to_ascii_lowercase());
        let path = path.unwrap_or_default();
        match path.trim_end_matches('/').rsplit('/').next() {
            Some("sse") => &[Sse],
            Some("mcp") => &[Streamable],
            _ => &[Streamable, Sse, Plain],
        }
    }

    /// How often an idempotent request is sent again over this transport.
    #[must_use]
    pub fn retries_over(&self, transport: HttpTransport) -> u32 {
        let default = if transport == HttpTransport::Sse { 0 } else { HTTP_RETRIES };
        self.retries.unwrap_or(default)
    }

    /// The address, if it is one that can be reached.
    ///
    /// # Errors
    /// When it is no URL, has another scheme than `http` or `https`, or has no host.
    pub fn endpoint(&self) -> Result<url::Url, crate::ApiMisuse> {
        let url = mask_url(&self.url);
        let wrong = |why: &str| Err(crate::ApiMisuse::Target(format!("{url:?}: {why}")));
        let Ok(mut url) = url::Url::parse(&self.url) else {
            return wrong("this is no URL");
        };
        if !matches!(url.scheme(), "http" | "https") {
            return wrong("only http and https are reached");
        }
        if url.host_str().is_none_or(str::is_empty) {
            return wrong("the URL has no host");
        }
        if !url.username().is_empty() || url.password().is_some() {
            return wrong("credentials belong into a header, not into the URL");
        }
        url.set_fragment(None);
        for (name, value) in &self.headers {
            crate::transport::http::check_header(name, value)?;
        }
        Ok(url)
    }

    /// The same with a placeholder in the place of the query and of each value of a header.
    #[must_use]
    pub fn masked(&self) -> Self {
        let mut masked = self.clone();
        masked.url = mask_url(&self.url);
        for (_, value) in &mut masked.headers {
            *value = String::from("masked");
        }
        masked
    }
}

impl fmt::Debug for HttpConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.headers.iter().map(|(name, _)| name).collect();
        f.debug_struct("HttpConfig")
            .field("url", &mask_url(&self.url))
            .field("headers", &names)
            .field("transport", &self.transport)
            .field("retries", &self.retries)
            .field("backoff", &self.backoff)
            .finish()
    }
}

/// An address with placeholders where secrets are: in its query, where many servers want a key, and
/// in the place of a user and password. It need not be a valid one.
pub(crate) fn mask_url(url: &str) -> String {
    let (address, query) = match url.split_once('?') {
        Some((address, "")) => (address, "?"),
        Some((address, _)) => (address, "?masked"),
        None => (url, ""),
    };
    // Only an address that is not relative has a user.
    let start = address.find("//").filter(|&at| !address.split_at(at).0.contains('/'));
    let Some(start) = start else { return format!("{address}{query}") };
    let (scheme, rest) = address.split_at(start + 2);
    let (authority, path) = rest.split_at(rest.find(['/', '#']).unwrap_or(rest.len()));
    match authority.rsplit_once('@') {
        Some((_, host)) => format!("{scheme}masked@{host}{path}{query}"),
        None => format!("{address}{query}"),
    }
}

/// A process to launch. No shell is involved.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Command {
    /// The program: a path, or a name that is looked up in `PATH`. A relative path is relative to
    /// the current directory of the host, not to [`dir`](Self::dir).
    pub program: String,
    /// The arguments, handed on byte by byte.
    pub args: Vec<String>,
    /// Variables that are added to the environment of the host. Journals and debug output show
    /// their names only.
    pub env: BTreeMap<String, String>,
    /// The working directory; the host's when absent.
    pub dir: Option<PathBuf>,
    /// What becomes of the server's stderr.
    pub stderr: StderrPolicy,
}

impl Command {
    /// A program without arguments.
    #[must_use]
    pub fn new(program: impl Into<String>) -> Self {
        Command {
            program: program.into(),
            args: Vec::new(),
            env: BTreeMap::new(),
            dir: None,
            stderr: StderrPolicy::Capture,
        }
    }

    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, arg: impl Into<String>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args(mut self, args: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Adds a variable to the environment.
    #[must_use]
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.env.insert(name.into(), value.into());
        self
    }

    /// Sets the working directory.
    #[must_use]
    pub fn dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.dir = Some(dir.into());
        self
    }

    /// Sets what becomes of stderr.
    #[must_use]
    pub fn stderr(mut self, policy: StderrPolicy) -> Self {
        self.stderr = policy;
        self
    }

    /// The command line as a person would write it, for texts.
    #[must_use]
    pub fn line(&self) -> String {
        shell_words::join(std::iter::once(&self.program).chain(&self.args))
    }

    /// The same command with a placeholder in the place of each value of the environment.
    #[must_use]
    pub fn masked(&self) -> Self {
        let mut masked = self.clone();
        for value in masked.env.values_mut() {
            *value = String::from("masked");
        }
        masked
    }
}

impl fmt::Debug for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Command")
            .field("program", &self.program)
            .field("args", &self.args)
            .field("env", &self.env.keys().collect::<Vec<_>>())
            .field("dir", &self.dir)
            .field("stderr", &self.stderr)
            .finish()
    }
}

/// What becomes of a server's stderr.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StderrPolicy {
    /// It is read all the time, its last 4 KiB are kept for the text of errors, and each line is
    /// an [`Event::Stderr`](crate::Event::Stderr).
    #[default]
    Capture,
    /// It goes where the host's own stderr goes.
    Inherit,
    /// It goes nowhere.
    Null,
}
