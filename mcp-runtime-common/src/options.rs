//! What a host may set for a client, and by what it names a server.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use mcp_proto::{
    ApiMisuse, Command, ConnectionConfig, HttpConfig, HttpTransport, StderrPolicy, Target,
    Transport,
};

use crate::{HttpSettings, JournalWriter, Notices, Redactor};

/// The settings that all adapters have in common. Their builders wrap it, with the methods of
/// [`mcp_client_settings!`](crate::mcp_client_settings).
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct ClientOptions {
    /// The settings of the connection. An empty name becomes that of the target.
    pub config: ConnectionConfig,
    /// Variables for the environment of a server process, besides those of its command.
    pub env: BTreeMap<String, String>,
    /// The working directory of a server process, in the place of its command's.
    pub dir: Option<PathBuf>,
    /// What becomes of a server's stderr, in the place of what its command says.
    pub stderr: Option<StderrPolicy>,
    /// Headers that go out with every HTTP request, besides those of the target.
    pub headers: Vec<(String, String)>,
    /// How often an idempotent request is sent again over HTTP after a transient failure.
    pub retries: Option<u32>,
    /// The transport over HTTP, whatever the address looks like.
    pub transport: Option<HttpTransport>,
    /// How servers are reached over HTTP.
    pub http: HttpSettings,
    /// Where the journal is written to.
    pub journal: Option<Arc<JournalWriter>>,
    /// What changes each line of the journal before it is written.
    pub redactor: Option<Redactor>,
    /// Where notices of deprecated features go.
    pub notices: Notices,
}

impl ClientOptions {
    /// The defaults.
    #[must_use]
    pub fn new() -> Self {
        ClientOptions::default()
    }

    crate::mcp_client_settings!(self => self);

    /// What a connection to this target is made of.
    ///
    /// # Errors
    /// When a setting cannot work.
    pub fn connection(&self, target: &Target) -> Result<(ConnectionConfig, Transport), ApiMisuse> {
        let transport = match target {
            Target::Command(command) => Transport::Stdio(self.command(command)),
            Target::Http(http) => Transport::Http(self.http(http)?),
            other => {
                let label = other.label();
                let why = format!("this adapter cannot reach {label}");
                return Err(ApiMisuse::Target(why));
            }
        };
        Ok((self.checked(|| target.label())?, transport))
    }

    /// What a connection over a byte stream of the host's own is made of. The settings of server
    /// processes have no meaning for it.
    ///
    /// # Errors
    /// When a setting cannot work.
    pub fn stream(&self) -> Result<(ConnectionConfig, Transport), ApiMisuse> {
        Ok((self.checked(|| String::from("stream"))?, Transport::Stream))
    }

    fn http(&self, http: &HttpConfig) -> Result<HttpConfig, ApiMisuse> {
        let mut http = http.clone();
        http.headers.extend(self.headers.iter().cloned());
        http.retries = self.retries.or(http.retries);
        http.transport = self.transport.or(http.transport);
        http.endpoint()?;
        self.http.check()?;
        Ok(http)
    }

    fn command(&self, command: &Command) -> Command {
        let mut command = command.clone();
        let own = self.env.iter().map(|(name, value)| (name.clone(), value.clone()));
        command.env.extend(own);
        if let Some(dir) = &self.dir {
            command.dir = Some(dir.clone());
        }
        if let Some(policy) = self.stderr {
            command.stderr = policy;
        }
        command
    }

    fn checked(&self, label: impl FnOnce() -> String) -> Result<ConnectionConfig, ApiMisuse> {
        self.config.check()?;
        let mut config = self.config.clone();
        if config.name.is_empty() {
            config.name = label();
        }
        config.journal |= self.journal.is_some();
        Ok(config)
    }
}

impl fmt::Debug for ClientOptions {
    /// Values of the environment are often secrets, so only the names are shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientOptions")
            .field("config", &self.config)
            .field("env", &self.env.keys().collect::<Vec<_>>())
            .field("dir", &self.dir)
            .field("stderr", &self.stderr)
            .field("headers", &self.headers.iter().map(|(name, _)| name).collect::<Vec<_>>())
            .field("retries", &self.retries)
            .field("transport", &self.transport)
            .field("http", &self.http)
            .field("journal", &self.journal)
            .field("redactor", &self.redactor.is_some())
            .field("notices", &self.notices)
            .finish()
    }
}

/// Gives a builder the setters of [`ClientOptions`], as inherent methods that take and return it.
///
/// `mcp_client_settings!(self => self.options);` inside `impl Builder { .. }`, where the expression
/// is the place of the `ClientOptions`.
#[macro_export]
macro_rules! mcp_client_settings {
    ($this:ident => $options:expr) => {
        $crate::mcp_client_settings! { @each $this, $options;
            /// What errors call the server. By default the target, as it was given.
            name(name: impl Into<String>) config.name = name.into();
            /// Who the host is. Servers are told, and may show it.
            client_info(info: $crate::proto::model::Implementation) config.client_info = info;
            /// Whether modern requests say who the host is. On by default.
            send_client_info(send: bool) config.send_client_info = send;
            /// Which era is spoken. Automatic by default: the server decides.
            era(era: $crate::proto::EraChoice) config.era = era;
            /// How long, in the automatic era, `server/discover` may stay unanswered before
            /// `initialize` is sent as well. 5 s by default.
            discover_timeout(time: std::time::Duration) config.discover_timeout = time;
            /// How long a server may take to start. 60 s by default.
            start_timeout(time: std::time::Duration) config.start_timeout = time;
            /// How long a call may take that brings no timeout of its own, once the connection is
            /// ready. 15 s over stdio by default, 30 s over HTTP.
            call_timeout(time: std::time::Duration) config.call_timeout = Some(time);
            /// The longest message that is accepted from the server, in bytes. 64 MiB by default.
            max_message_bytes(bytes: usize) config.max_message_bytes = bytes;
            /// Metadata that goes into every request.
            meta(meta: $crate::serde_json::Map<String, $crate::serde_json::Value>)
                config.meta = meta;
            /// Where servers may work (specification: client/roots). Every server that asks is told:
            /// name only what the user has agreed to.
            roots(roots: impl IntoIterator<Item = $crate::proto::model::Root>)
                config.roots = roots.into_iter().collect();
            /// All settings of the connection at once, for those without a method here.
            config(config: $crate::proto::ConnectionConfig) config = config;
            /// The working directory of a server process.
            dir(dir: impl Into<std::path::PathBuf>) dir = Some(dir.into());
            /// What becomes of a server's stderr. By default it is read, and its end is quoted in
            /// errors.
            stderr(policy: $crate::proto::StderrPolicy) stderr = Some(policy);
            /// How often an idempotent request is sent again over HTTP after a transient failure.
            /// 3 times by default; a `tools/call` never is.
            retries(times: u32) retries = Some(times);
            /// The transport over HTTP, whatever the address looks like. By default a path that ends
            /// in `/sse` is HTTP+SSE, one that ends in `/mcp` is Streamable HTTP, and with any other
            /// Streamable HTTP is tried, then HTTP+SSE, then plain HTTP.
            transport(transport: $crate::proto::HttpTransport) transport = Some(transport);
            /// Through which proxy servers are reached over HTTP: the URL of one, or a
            /// [`ProxyChoice`]($crate::ProxyChoice). By default what the environment says
            /// (`HTTPS_PROXY`, `HTTP_PROXY`, `NO_PROXY`), and none for the loopback interface.
            proxy(proxy: impl Into<$crate::ProxyChoice>) http.proxy = proxy.into();
            /// What finds the addresses of hosts, in the place of the operating system. It is
            /// neither asked for addresses nor for `localhost`. It may block.
            resolver(
                resolver: impl Fn(&str, u16) -> std::io::Result<Vec<std::net::SocketAddr>>
                    + Send + Sync + 'static
            ) http.resolver = Some(std::sync::Arc::new(resolver));
            /// Where notices go when a feature is used that the specification has deprecated: by
            /// default to the log, once a process for each feature. See [`Notices`]($crate::Notices).
            deprecation_notices(notices: $crate::Notices) notices = notices;
            /// Writes a journal: every input and output of the connection, as JSON lines
            /// ([`journal`]($crate::proto::journal) says which). A thread writes it, and nothing
            /// waits for it. Secrets that the client knows of are masked; tool arguments and results
            /// are in it as they are, unless [`redact`](Self::redact) changes them.
            journal(to: impl std::io::Write + Send + 'static)
                journal = Some(std::sync::Arc::new($crate::JournalWriter::new(Box::new(to))));
            /// Changes each line of the journal before it is written: it is given the line as JSON,
            /// and returns what is written in its place, a line of JSON too. It runs in the thread
            /// that writes. What a server sent in two reads is in two lines; the outputs that
            /// follow from it hold it whole. A journal whose inputs and outputs are not changed
            /// alike does not replay.
            redact(redactor: impl Fn(&str) -> String + Send + Sync + 'static)
                redactor = Some(std::sync::Arc::new(redactor));
        }

        /// Adds a variable to the environment of a server process. It wins over the host's
        /// environment and over the command's.
        #[must_use]
        pub fn env(mut $this, name: impl Into<String>, value: impl Into<String>) -> Self {
            $options.env.insert(name.into(), value.into());
            $this
        }

        /// Trusts the certificates in a PEM file, besides those that the platform trusts. The file
        /// is read at the first `https` exchange.
        #[must_use]
        pub fn ca_file(mut $this, file: impl Into<std::path::PathBuf>) -> Self {
            $options.http.tls.files.push(file.into());
            $this
        }

        /// Trusts these certificates in DER, besides those that the platform trusts.
        #[must_use]
        pub fn root_certificates(
            mut $this,
            certificates: impl IntoIterator<Item = impl Into<Vec<u8>>>,
        ) -> Self {
            $options.http.tls.certificates.extend(certificates.into_iter().map(Into::into));
            $this
        }

        /// Adds a header that goes out with every HTTP request. Logs and journals show its name
        /// only.
        #[must_use]
        pub fn header(mut $this, name: impl Into<String>, value: impl Into<String>) -> Self {
            $options.headers.push((name.into(), value.into()));
            $this
        }
    };
    (@each $this:ident, $options:expr; $(
        $(#[$doc:meta])* $name:ident($arg:ident: $type:ty $(,)?) $($field:ident).+ = $value:expr;
    )*) => {$(
        $(#[$doc])*
        #[must_use]
        pub fn $name(mut $this, $arg: $type) -> Self {
            $options.$($field).+ = $value;
            $this
        }
    )*};
}

/// What names a server: a command line, a list of a program and its arguments, a [`Command`].
pub trait IntoTarget {
    /// The server that is meant.
    ///
    /// # Errors
    /// When none is.
    fn into_target(self) -> Result<Target, ApiMisuse>;
}

/// The type parameters, the type, and what it is read as.
macro_rules! into_target {
    ($([$($generic:tt)*] $type:ty => $read:expr;)*) => {$(
        impl<$($generic)*> IntoTarget for $type {
            fn into_target(self) -> Result<Target, ApiMisuse> {
                $read(self)
            }
        }
    )*};
}

into_target! {
    [] Target => Ok;
    [] Command => named;
    [] HttpConfig => Target::http;
    [] &str => Target::parse;
    [] String => |text: String| Target::parse(&text);
    [] &String => |text: &str| Target::parse(text);
    [S: AsRef<str>] &[S] => argv;
    [S: AsRef<str>] Vec<S> => |words: Vec<S>| argv(&words);
    [S: AsRef<str>] &Vec<S> => |words: &[S]| argv(words);
    [S: AsRef<str>, const N: usize] [S; N] => |words: [S; N]| argv(&words);
    [S: AsRef<str>, const N: usize] &[S; N] => |words: &[S]| argv(words);
}

fn named(command: Command) -> Result<Target, ApiMisuse> {
    if command.program.is_empty() {
        let why = String::from("the command names no program");
        return Err(ApiMisuse::Target(why));
    }
    Ok(Target::from(command))
}

fn argv(words: &[impl AsRef<str>]) -> Result<Target, ApiMisuse> {
    Target::argv(words.iter().map(AsRef::as_ref))
}
