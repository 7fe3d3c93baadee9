//! The settings of a scenario's client, and its handlers.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::io::Write;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use mcp_proto::driver::HandlerError;
use mcp_proto::model::{
    ElicitRequest, ElicitResult, Notification, SamplingRequest, SamplingResult,
};
use mcp_proto::{ConnectionConfig, EraChoice, Raw, StderrPolicy, WaitAnswer, WaitRequest};
use mcp_runtime_common::Notices;
use serde_json::{Map, Value};

use super::Caller;

/// What a handler gives back.
pub type Handled<T> = Pin<Box<dyn Future<Output = Result<T, HandlerError>> + Send>>;

pub(super) type Handler<A, T> = Arc<dyn Fn(Caller, A) -> Handled<T> + Send + Sync>;

/// What a callback for notifications gives back.
pub(super) type Telling = Pin<Box<dyn Future<Output = ()> + Send>>;

pub(super) type Told = Arc<dyn Fn(Caller, Notification) -> Telling + Send + Sync>;

/// The settings of a client, and what answers its server.
///
/// The times are longer than the defaults, so that a busy machine fails no scenario; those that
/// are about a time set it.
pub struct Setup {
    pub(super) config: ConnectionConfig,
    pub(super) env: BTreeMap<String, String>,
    pub(super) dir: Option<PathBuf>,
    pub(super) stderr: Option<StderrPolicy>,
    pub(super) ca_file: Option<PathBuf>,
    pub(super) journal: Option<Box<dyn Write + Send>>,
    pub(super) redactor: Option<fn(&str) -> String>,
    pub(super) headers: Vec<(String, String)>,
    pub(super) proxy: Option<String>,
    pub(super) notices: Notices,
    pub(super) request_meta: Option<Handler<String, Map<String, Value>>>,
    pub(super) elicitation: Option<Handler<Raw, Value>>,
    pub(super) url_elicitation: Option<Handler<ElicitRequest, ElicitResult>>,
    pub(super) sampling: Option<Handler<SamplingRequest, SamplingResult>>,
    pub(super) sampling_tools: bool,
    pub(super) input_wait: Option<Handler<WaitRequest, WaitAnswer>>,
    pub(super) notifications: Vec<Told>,
}

impl Default for Setup {
    fn default() -> Self {
        Setup::new()
    }
}

impl Setup {
    /// The settings of most scenarios. The server has a name that no other one has.
    pub fn new() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(1);
        let mut config = ConnectionConfig::default();
        config.name = format!("server-{}", COUNT.fetch_add(1, Ordering::Relaxed));
        config.discover_timeout = Duration::from_secs(40);
        config.call_timeout = Some(Duration::from_secs(60));
        Setup {
            config,
            env: BTreeMap::new(),
            dir: None,
            stderr: None,
            ca_file: None,
            journal: None,
            redactor: None,
            headers: Vec::new(),
            proxy: None,
            notices: Notices::log(),
            request_meta: None,
            elicitation: None,
            url_elicitation: None,
            sampling: None,
            sampling_tools: false,
            input_wait: None,
            notifications: Vec::new(),
        }
    }

    /// The defaults, as a host has them that sets nothing.
    pub fn plain() -> Self {
        Setup { config: ConnectionConfig::default(), ..Setup::new() }
    }

    /// What errors and logs call the server.
    pub fn server_name(&self) -> &str {
        &self.config.name
    }

    /// Changes settings of the connection.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut ConnectionConfig)) -> Self {
        change(&mut self.config);
        self
    }

    /// Which era is spoken.
    #[must_use]
    pub fn era(self, era: EraChoice) -> Self {
        self.with(|config| config.era = era)
    }

    /// Adds a variable to the server's environment.
    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.env.insert(name.to_owned(), value.to_owned());
        self
    }

    /// The server's working directory.
    #[must_use]
    pub fn dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.dir = Some(dir.into());
        self
    }

    /// What becomes of the server's stderr.
    #[must_use]
    pub fn stderr(mut self, policy: StderrPolicy) -> Self {
        self.stderr = Some(policy);
        self
    }

    /// Whose certificates are trusted besides.
    #[must_use]
    pub fn ca_file(mut self, file: impl Into<PathBuf>) -> Self {
        self.ca_file = Some(file.into());
        self
    }

    /// Where the journal goes.
    #[must_use]
    pub fn journal(mut self, to: impl Write + Send + 'static) -> Self {
        self.journal = Some(Box::new(to));
        self
    }

    /// What changes each line of the journal.
    #[must_use]
    pub fn redact(mut self, redactor: fn(&str) -> String) -> Self {
        self.redactor = Some(redactor);
        self
    }

    /// Adds a header to each HTTP request.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The proxy on the way to servers over HTTP.
    #[must_use]
    pub fn proxy(mut self, url: impl Into<String>) -> Self {
        self.proxy = Some(url.into());
        self
    }

    /// Where notices of deprecated features go.
    #[must_use]
    pub fn notices(mut self, notices: Notices) -> Self {
        self.notices = notices;
        self
    }

    /// What gives the metadata of each request.
    #[must_use]
    pub fn on_request_meta<F, T>(mut self, handler: F) -> Self
    where
        F: Fn(Caller, String) -> T + Send + Sync + 'static,
        T: Future<Output = Result<Map<String, Value>, HandlerError>> + Send + 'static,
    {
        self.request_meta = Some(Arc::new(move |caller, method| Box::pin(handler(caller, method))));
        self
    }

    /// What answers a server that wants something from the user.
    #[must_use]
    pub fn on_elicitation<F, T>(mut self, handler: F) -> Self
    where
        F: Fn(Caller, Raw) -> T + Send + Sync + 'static,
        T: Future<Output = Result<Value, HandlerError>> + Send + 'static,
    {
        self.elicitation = Some(Arc::new(move |caller, params| Box::pin(handler(caller, params))));
        self
    }

    /// What answers a server that wants the user to visit a page.
    #[must_use]
    pub fn on_url_elicitation<F, T>(mut self, handler: F) -> Self
    where
        F: Fn(Caller, ElicitRequest) -> T + Send + Sync + 'static,
        T: Future<Output = Result<ElicitResult, HandlerError>> + Send + 'static,
    {
        self.url_elicitation =
            Some(Arc::new(move |caller, asked| Box::pin(handler(caller, asked))));
        self
    }

    /// What answers a server that wants something from the host's model, with tools or without.
    #[must_use]
    pub fn on_sampling<F, T>(mut self, tools: bool, handler: F) -> Self
    where
        F: Fn(Caller, SamplingRequest) -> T + Send + Sync + 'static,
        T: Future<Output = Result<SamplingResult, HandlerError>> + Send + 'static,
    {
        self.sampling_tools = tools;
        self.sampling = Some(Arc::new(move |caller, asked| Box::pin(handler(caller, asked))));
        self
    }

    /// What is told of notifications: one more callback.
    #[must_use]
    pub fn on_notification<F, T>(mut self, callback: F) -> Self
    where
        F: Fn(Caller, Notification) -> T + Send + Sync + 'static,
        T: Future<Output = ()> + Send + 'static,
    {
        self.notifications.push(Arc::new(move |caller, told| Box::pin(callback(caller, told))));
        self
    }

    /// What says how to wait for a server that wants nothing but time.
    #[must_use]
    pub fn on_input_wait<F, T>(mut self, handler: F) -> Self
    where
        F: Fn(Caller, WaitRequest) -> T + Send + Sync + 'static,
        T: Future<Output = Result<WaitAnswer, HandlerError>> + Send + 'static,
    {
        self.input_wait = Some(Arc::new(move |caller, asked| Box::pin(handler(caller, asked))));
        self
    }
}

impl fmt::Debug for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Setup").field("config", &self.config).finish_non_exhaustive()
    }
}
