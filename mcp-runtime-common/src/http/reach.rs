//! What a client makes of its settings, once, for async runtimes.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use mcp_proto::driver::{Address, BoxFuture, Via};
use rustls::ClientConfig;

use super::aside::aside;
use super::{HttpSettings, Proxies, Tls, addresses};

/// How one client reaches servers: what its settings and the environment say, and what needs no
/// runtime to be done. Blocking work is done on threads of its own, which nobody waits for.
pub struct Reach {
    settings: HttpSettings,
    proxies: Proxies,
    tls: Tls,
}

impl Reach {
    /// Reads the variables of the environment now, and no files.
    #[must_use]
    pub fn new(settings: HttpSettings) -> Arc<Self> {
        let (proxies, tls) = (settings.proxy.proxies(), Tls::new(settings.tls.clone()));
        Arc::new(Reach { settings, proxies, tls })
    }

    /// The proxy through which a server is reached, if there is one.
    ///
    /// # Errors
    /// When one is named that cannot be used.
    pub fn proxy(&self, server: &Address) -> Result<Option<Via>, String> {
        let found = self.proxies.find(server.https, &server.host, server.port);
        let proxy = found.map_err(|error| error.to_string())?;
        Ok(proxy.map(|proxy| Via {
            authorization: proxy.authorization(),
            host: proxy.host,
            port: proxy.port,
        }))
    }

    /// The addresses of a host, in the order in which they are to be tried.
    #[must_use]
    pub fn resolve(
        self: &Arc<Self>,
        host: &str,
        port: u16,
    ) -> BoxFuture<io::Result<Vec<SocketAddr>>> {
        if let Some(known) = addresses(host, port) {
            return Box::pin(std::future::ready(Ok(known)));
        }
        let (this, host) = (Arc::clone(self), String::from(host));
        aside("mcp-resolve", move || this.settings.resolve(&host, port))
    }

    /// The configuration of TLS.
    #[must_use]
    pub fn tls(self: &Arc<Self>) -> BoxFuture<io::Result<Arc<ClientConfig>>> {
        if let Some(config) = self.tls.ready() {
            return Box::pin(std::future::ready(Ok(config)));
        }
        let this = Arc::clone(self);
        aside("mcp-tls", move || this.tls.config())
    }
}

impl fmt::Debug for Reach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Reach").field(&self.settings).finish()
    }
}
