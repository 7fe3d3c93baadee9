//! The demo server over Streamable HTTP, in both eras.
//!
//! [`HttpDemo`] listens on a thread of its own until it is dropped, and counts what it is asked
//! for. The [`Endpoint`] is the part that knows MCP: it takes a request and answers it on its
//! connection, so that a scripted server can leave some of its requests to it.
//!
//! It is as strict as the specification lets a server be: headers that are missing or do not fit
//! the body, requests without their session, and versions that were not agreed on are refused.

mod counters;
mod endpoint;
mod legacy;
mod modern;
mod respond;
mod session;

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Options;
use crate::http::{Identity, Listener};

pub use counters::Counters;
pub(crate) use endpoint::{Endpoint, Next};

/// How requests are answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answers {
    /// As one JSON object; as an event stream where there is progress to tell.
    #[default]
    Auto,
    /// As one JSON object, and progress is dropped.
    Json,
    /// As an event stream.
    Sse,
    /// As one JSON object and as an event stream in turn, beginning with the object.
    Alternate,
}

/// What kind of server it is over HTTP.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HttpOptions {
    /// What it is over any transport. Where it is silent over stdio, it leaves a request open.
    pub demo: Options,
    /// Where it listens; a loopback address.
    pub host: IpAddr,
    /// The port, 0 for any that is free.
    pub port: u16,
    /// How it answers.
    pub answers: Answers,
    /// Whether a legacy client is given a session. Without one each request is served by itself,
    /// as many deployed servers do.
    pub sessions: bool,
    /// Whether a legacy client may open a stream with GET; nothing is ever sent on it.
    pub get_stream: bool,
    /// Whether it speaks TLS, with a certificate made at its start.
    pub tls: bool,
}

impl Default for HttpOptions {
    fn default() -> Self {
        HttpOptions {
            demo: Options::default(),
            host: Ipv4Addr::LOCALHOST.into(),
            port: 0,
            answers: Answers::Auto,
            sessions: true,
            get_stream: false,
            tls: false,
        }
    }
}

impl From<Options> for HttpOptions {
    fn from(demo: Options) -> Self {
        HttpOptions { demo, ..HttpOptions::default() }
    }
}

/// The demo server, listening. Dropping it ends its connections and its threads.
#[derive(Debug)]
pub struct HttpDemo {
    endpoint: Arc<Endpoint>,
    listener: Listener,
    identity: Option<Identity>,
    url: String,
}

impl HttpDemo {
    /// Starts to listen.
    ///
    /// # Errors
    /// When the address cannot be listened at, or no certificate can be made.
    pub fn start(options: HttpOptions) -> io::Result<Self> {
        let at = (options.host, options.port).into();
        let identity = options.tls.then(Identity::new).transpose()?;
        let endpoint = Arc::new(Endpoint::new(options));
        let serving = endpoint.clone();
        let serve = move |conn| serving.serve(conn);
        let (scheme, listener) = match &identity {
            Some(identity) => ("https", Listener::start_secure(at, identity, serve)?),
            None => ("http", Listener::start(at, serve)?),
        };
        let url = format!("{scheme}://{}{}", listener.address(), endpoint::PATH);
        Ok(HttpDemo { endpoint, listener, identity, url })
    }

    /// Where a client reaches it.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The certificate that a client has to trust, as a PEM file holds it; none without TLS.
    pub fn authority(&self) -> Option<&str> {
        self.identity.as_ref().map(Identity::authority)
    }

    /// What has happened so far.
    pub fn counters(&self) -> Counters {
        self.endpoint.tally().counters()
    }

    /// Waits until what has happened is as asked for.
    ///
    /// # Panics
    /// When that takes too long.
    #[track_caller]
    pub fn wait_until(&self, is_met: impl Fn(&Counters) -> bool) -> Counters {
        self.endpoint.tally().wait_until(is_met)
    }

    /// Forgets all sessions, as a server does that was restarted or has lost patience.
    pub fn expire_sessions(&self) {
        self.endpoint.expire_sessions();
    }

    /// Closes all connections that are open now, as a server does with those that are idle.
    pub fn end_connections(&self) {
        self.listener.end_connections();
    }
}

impl Drop for HttpDemo {
    fn drop(&mut self) {
        // Calls that go on without their connection would hold the listener's threads.
        self.endpoint.expire_sessions();
    }
}

/// Serves until the process ends, after it has printed where. The certificate to trust goes into
/// the file.
pub(super) fn run(options: HttpOptions, authority: Option<&Path>) -> io::Result<()> {
    let demo = HttpDemo::start(options)?;
    if let (Some(file), Some(pem)) = (authority, demo.authority()) {
        std::fs::write(file, pem)?;
    }
    println!("listening on {}", demo.url());
    loop {
        std::thread::park();
    }
}

#[cfg(test)]
mod tests;
