//! What a connection is told once, before it begins.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::model::Implementation;

/// The default of [`ConnectionConfig::discover_timeout`].
pub const DISCOVER_TIMEOUT: Duration = Duration::from_secs(5);
/// The default of [`ConnectionConfig::start_timeout`].
pub const START_TIMEOUT: Duration = Duration::from_secs(60);
/// The default of [`ConnectionConfig::call_timeout`] over stdio and byte streams.
pub const CALL_TIMEOUT: Duration = Duration::from_secs(15);
/// The default of [`ConnectionConfig::call_timeout`] over HTTP.
pub const HTTP_CALL_TIMEOUT: Duration = Duration::from_secs(30);
/// The default of [`HttpConfig::retries`].
pub const HTTP_RETRIES: u32 = 3;
/// The default of [`HttpConfig::backoff`].
pub const HTTP_BACKOFF: Duration = Duration::from_secs(1);
/// The default of [`ConnectionConfig::max_message_bytes`].
pub const MAX_MESSAGE_BYTES: usize = 64 * 1024 * 1024;
/// The default of [`ConnectionConfig::max_pages`].
pub const MAX_PAGES: usize = 1000;
/// The default of [`ConnectionConfig::max_list_bytes`].
pub const MAX_LIST_BYTES: usize = 256 * 1024 * 1024;
/// The default of [`ConnectionConfig::max_pending_items`].
pub const MAX_PENDING_ITEMS: usize = 256;
/// The default of [`ConnectionConfig::max_pending_item_bytes`].
pub const MAX_PENDING_ITEM_BYTES: usize = 1024 * 1024;
/// The default of [`ConnectionConfig::max_reply_bytes`].
pub const MAX_REPLY_BYTES: usize = 1024 * 1024;
/// The default of [`ConnectionConfig::max_server_requests`].
pub const MAX_SERVER_REQUESTS: usize = 32;
/// How long each stage of a close waits: after stdin was closed, and again after the request to
/// terminate.
pub const CLOSE_GRACE: Duration = Duration::from_secs(2);
/// After an exit was seen, how long the end of stdout and stderr is waited for; after the end of
/// stdout, how long the exit is. An answer may still be in the pipe.
pub const EXIT_WAIT: Duration = Duration::from_millis(250);
/// How much of a server's stderr is kept for the text of errors, in bytes.
pub const STDERR_TAIL_BYTES: usize = 4096;

/// The settings of one connection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct ConnectionConfig {
    /// What errors call the server. Set by the adapter to the target when the host gives none.
    pub name: String,
    /// Who the host is; sent in `initialize` and with each modern request.
    pub client_info: Implementation,
    /// Whether modern requests carry `client_info`. The specification asks for it; on by default.
    pub send_client_info: bool,
    /// Which era is spoken.
    pub era: EraChoice,
    /// Automatic era only: how long `server/discover` may stay unanswered before `initialize` is
    /// sent as well. 5 s by default.
    pub discover_timeout: Duration,
    /// How long the start may take, from the launch to the answer that decides the era. 60 s by
    /// default, since `npx` and `uvx` may have to download the server first.
    pub start_timeout: Duration,
    /// How long a call may take that brings no timeout of its own, counted from the moment at
    /// which the connection is ready. By default 15 s over stdio and 30 s over HTTP.
    pub call_timeout: Option<Duration>,
    /// The longest message that is accepted, in bytes: 64 MiB by default. A longer one fails the
    /// call that it answers.
    pub max_message_bytes: usize,
    /// How many pages one list may have: 1000 by default.
    pub max_pages: usize,
    /// How many bytes all pages of one list may have together: 256 MiB by default.
    pub max_list_bytes: usize,
    /// How many items (progress) may wait for the host in one mailbox: 256 by default. Beyond it
    /// the oldest is dropped, with an event.
    pub max_pending_items: usize,
    /// How many bytes the items of one mailbox may have: 1 MiB by default. An item that is larger
    /// than this alone is dropped, with an event.
    pub max_pending_item_bytes: usize,
    /// How many bytes of answers that the server asked for (pongs, refusals) may wait to be
    /// written: 1 MiB by default. Beyond it nothing more is read from that server until it reads.
    pub max_reply_bytes: usize,
    /// How many requests of the server's may be open at once: 32 by default. Further ones are
    /// refused. The same number bounds what is held until the era is known.
    pub max_server_requests: usize,
    /// Metadata of the host's that goes into the `_meta` of every request.
    pub meta: Map<String, Value>,
    /// Callbacks that the host has from the start; more can come with
    /// [`Setting::Hear`](crate::Setting::Hear).
    pub hears: Vec<crate::Hearing>,
    /// Whether a journal is recorded; see [`journal`](crate::journal).
    pub journal: bool,
}

impl Default for ConnectionConfig {
    fn default() -> Self {
        ConnectionConfig {
            name: String::new(),
            client_info: Implementation::new("mcp-proto", env!("CARGO_PKG_VERSION")),
            send_client_info: true,
            era: EraChoice::Auto,
            discover_timeout: DISCOVER_TIMEOUT,
            start_timeout: START_TIMEOUT,
            call_timeout: None,
            max_message_bytes: MAX_MESSAGE_BYTES,
            max_pages: MAX_PAGES,
            max_list_bytes: MAX_LIST_BYTES,
            max_pending_items: MAX_PENDING_ITEMS,
            max_pending_item_bytes: MAX_PENDING_ITEM_BYTES,
            max_reply_bytes: MAX_REPLY_BYTES,
            max_server_requests: MAX_SERVER_REQUESTS,
            meta: Map::new(),
            hears: Vec::new(),
            journal: false,
        }
    }
}

impl ConnectionConfig {
    /// Checks what cannot work.
    ///
    /// # Errors
    /// [`ApiMisuse`](crate::ApiMisuse), which names the setting and what it may be.
    pub fn check(&self) -> Result<(), crate::ApiMisuse> {
        let wrong = |setting, must| Err(crate::ApiMisuse::Setting { setting, must });
        if self.client_info.name.is_empty() {
            return wrong("client_info.name", "not be empty");
        }
        if self.client_info.version.is_empty() {
            return wrong("client_info.version", "not be empty");
        }
        let positive = [
            ("max_message_bytes", self.max_message_bytes),
            ("max_pages", self.max_pages),
            ("max_list_bytes", self.max_list_bytes),
            ("max_pending_items", self.max_pending_items),
            ("max_pending_item_bytes", self.max_pending_item_bytes),
            ("max_reply_bytes", self.max_reply_bytes),
            ("max_server_requests", self.max_server_requests),
        ];
        for (setting, value) in positive {
            if value == 0 {
                return wrong(setting, "be at least 1");
            }
        }
        let times = [
            ("discover_timeout", self.discover_timeout),
            ("start_timeout", self.start_timeout),
            ("call_timeout", self.call_timeout.unwrap_or(CALL_TIMEOUT)),
        ];
        for (setting, value) in times {
            if value.is_zero() {
                return wrong(setting, "be longer than zero");
            }
        }
        Ok(())
    }
}

/// Which era the client speaks with a server.
///
/// "Modern" are revisions with per-request metadata (2026-07-28), "legacy" those with the
/// `initialize` handshake (2025-11-25 and earlier).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EraChoice {
    /// The server decides: `server/discover` first, `initialize` when that leads nowhere.
    #[default]
    Auto,
    /// Modern only: `initialize` is never sent.
    Modern,
    /// Legacy only: `server/discover` is never sent.
    Legacy,
}

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

/// A server over HTTP (specification: basic/transports/streamable-http).
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct HttpConfig {
    /// The endpoint: `http://` or `https://`, with a host.
    pub url: String,
    /// Headers that go out with every request. Journals and debug output show their names only.
    /// Those named `Mcp-Param-*` go to legacy servers only.
    pub headers: Vec<(String, String)>,
    /// How often an idempotent request is sent again after a transient failure: 3 times by
    /// default. A `tools/call` never is.
    pub retries: u32,
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
            retries: HTTP_RETRIES,
            backoff: HTTP_BACKOFF,
        }
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// The address, if it is one that can be reached.
    ///
    /// # Errors
    /// When it is no URL, has another scheme than `http` or `https`, or has no host.
    pub fn endpoint(&self) -> Result<url::Url, crate::ApiMisuse> {
        let wrong = |why: &str| Err(crate::ApiMisuse::Target(format!("{:?}: {why}", self.url)));
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

    /// The same with a placeholder in the place of each value of a header.
    #[must_use]
    pub fn masked(&self) -> Self {
        let mut masked = self.clone();
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
            .field("url", &self.url)
            .field("headers", &names)
            .field("retries", &self.retries)
            .field("backoff", &self.backoff)
            .finish()
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
