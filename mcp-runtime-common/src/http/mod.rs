//! How servers are reached over HTTP: what all adapters have in common.

mod no_proxy;
mod proxy;
mod settings;
mod tls;

pub use proxy::{Proxies, Proxy, ProxyChoice, ProxyError};
pub use settings::{HttpSettings, Resolver, addresses};
pub use tls::{Tls, TlsSettings};
