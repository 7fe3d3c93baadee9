//! How servers are reached over HTTP: what all adapters have in common.

mod aside;
mod no_proxy;
mod proxy;
mod reach;
mod settings;
#[cfg(unix)]
mod socket;
mod tls;

pub use proxy::{Proxies, Proxy, ProxyChoice, ProxyError};
pub use reach::Reach;
pub use settings::{HttpSettings, Resolver, addresses};
#[cfg(unix)]
pub use socket::{is_silent, tune};
pub use tls::{Tls, TlsSettings};
