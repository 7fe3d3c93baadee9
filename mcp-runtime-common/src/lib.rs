//! What every runtime adapter of the Model Context Protocol client would otherwise copy.
//!
//! An adapter brings threads or tasks and moves bytes. What is the same in all of them is here,
//! without a runtime and without an HTTP client:
//!
//! * [`launch`] and [`Process`]: server processes, their groups, and their end in any state;
//! * [`ClientOptions`] and [`IntoTarget`]: what a host may set, and by what it names a server;
//! * [`mcp_client_methods!`]: the methods by which a host calls a server;
//! * [`HttpSettings`], [`Proxies`] and [`Tls`]: how servers are reached over HTTP;
//! * [`seed`] and [`Clock`]: the entropy and the time that the core is handed;
//! * [`trace()`]: events of the core on their way to `tracing`;
//! * [`Notices`]: what is told of deprecated features;
//! * [`JournalWriter`]: a journal on its way to a file.

mod entropy;
mod host;
mod http;
mod journal;
mod methods;
mod notices;
mod options;
mod process;
mod trace;

pub use mcp_proto as proto;
pub use rustls;
pub use serde_json;

pub use entropy::{Clock, seed};
pub use http::{
    HttpSettings, Proxies, Proxy, ProxyChoice, ProxyError, Reach, Resolver, Tls, TlsSettings,
    addresses,
};
#[cfg(unix)]
pub use http::{is_silent, tune};
pub use journal::{JOURNAL_LIMIT, JournalWriter, Redactor};
pub use methods::IntoArguments;
pub use notices::Notices;
pub use options::{ClientOptions, IntoTarget};
pub use process::{DROP_GRACE, Launched, Process, launch};
#[cfg(unix)]
pub use process::{read_now, set_nonblocking};
pub use trace::event as trace;
