//! The settings.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::sync::Arc;

use mcp_proto::ApiMisuse;

use super::no_proxy::address;
use super::proxy::{ProxyChoice, is_loopback};
use super::tls::TlsSettings;

/// Finds the addresses of a host. It may block: adapters never call it where that would hold up
/// anything else.
pub type Resolver = Arc<dyn Fn(&str, u16) -> io::Result<Vec<SocketAddr>> + Send + Sync>;

/// How servers are reached over HTTP. The setters are those of
/// [`mcp_client_settings!`](crate::mcp_client_settings).
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct HttpSettings {
    /// Through which proxy.
    pub proxy: ProxyChoice,
    /// Whose certificates are trusted.
    pub tls: TlsSettings,
    /// What finds the addresses of hosts, in the place of the operating system.
    pub resolver: Option<Resolver>,
}

impl HttpSettings {
    /// Checks what cannot work.
    ///
    /// # Errors
    /// When it cannot.
    pub(crate) fn check(&self) -> Result<(), ApiMisuse> {
        self.proxy.check()
    }

    /// The addresses of a host, in the order in which they are to be tried. It blocks while a name
    /// is looked up, for which [`addresses`] shows whether it is.
    ///
    /// # Errors
    /// When there are none.
    pub fn resolve(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        if let Some(known) = addresses(host, port) {
            return Ok(known);
        }
        let found = match &self.resolver {
            Some(resolver) => resolver(host, port)?,
            None => (host, port).to_socket_addrs()?.collect(),
        };
        if found.is_empty() {
            return Err(io::Error::new(io::ErrorKind::NotFound, "the name has no address"));
        }
        Ok(found)
    }
}

impl fmt::Debug for HttpSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpSettings")
            .field("proxy", &self.proxy)
            .field("tls", &self.tls)
            .field("resolver", &self.resolver.as_ref().map(|_| ".."))
            .finish()
    }
}

/// The addresses of a host that needs no lookup: an address is its own, and `localhost`, with all
/// names below it, is the loopback interface of both families (RFC 6761, section 6.3).
#[must_use]
pub fn addresses(host: &str, port: u16) -> Option<Vec<SocketAddr>> {
    let bare = host.trim_end_matches('.');
    if let Some(address) = address(bare) {
        return Some(vec![SocketAddr::new(address, port)]);
    }
    let loopback: [IpAddr; 2] = [Ipv6Addr::LOCALHOST.into(), Ipv4Addr::LOCALHOST.into()];
    is_loopback(&bare.to_ascii_lowercase())
        .then(|| loopback.map(|address| SocketAddr::new(address, port)).to_vec())
}
