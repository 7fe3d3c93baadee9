//! TLS with a certificate made at start, signed by an authority made at start.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use mcp_runtime_common::rustls::crypto::ring;
use mcp_runtime_common::rustls::pki_types::PrivateKeyDer;
use mcp_runtime_common::rustls::{ServerConfig, ServerConnection, StreamOwned};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, KeyUsagePurpose};

use super::conn::{Plain, Stream};
use super::{Conn, Listener};

/// Who a server on a loopback address is, to clients that trust its authority.
#[derive(Clone, Debug)]
pub struct Identity {
    authority: String,
    config: Arc<ServerConfig>,
}

impl Identity {
    /// A new authority, and a certificate of its for `localhost` and both loopback addresses.
    ///
    /// # Errors
    /// When there is no key to be had.
    pub fn new() -> io::Result<Self> {
        let mut params = CertificateParams::new(Vec::new()).map_err(io::Error::other)?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let key = KeyPair::generate().map_err(io::Error::other)?;
        let authority = CertifiedIssuer::self_signed(params, key).map_err(io::Error::other)?;
        let names = ["localhost", "127.0.0.1", "::1"].map(String::from);
        let key = KeyPair::generate().map_err(io::Error::other)?;
        let params = CertificateParams::new(names).map_err(io::Error::other)?;
        let certificate = params.signed_by(&key, &authority).map_err(io::Error::other)?;
        let key = PrivateKeyDer::try_from(key.serialize_der()).map_err(io::Error::other)?;
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .map_err(io::Error::other)?;
        Ok(Identity { authority: authority.pem(), config: Arc::new(config) })
    }

    /// The authority's certificate, as a PEM file holds it.
    pub fn authority(&self) -> &str {
        &self.authority
    }
}

impl Listener {
    /// The same as [`Listener::start`], over TLS.
    ///
    /// # Errors
    /// When the address cannot be listened at.
    pub fn start_secure(
        at: SocketAddr,
        identity: &Identity,
        serve: impl Fn(Conn) + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let config = identity.config.clone();
        // The handshake comes with the first read; this only fails for a configuration that
        // cannot work at all.
        ServerConnection::new(config.clone()).map_err(io::Error::other)?;
        let wrap = move |plain| -> Box<dyn Stream> {
            match ServerConnection::new(config.clone()) {
                Ok(connection) => Box::new(StreamOwned::new(connection, plain)),
                Err(error) => unreachable!("it has worked before: {error}"),
            }
        };
        Listener::start_with(at, Box::new(wrap), serve)
    }
}

impl Stream for StreamOwned<ServerConnection, Plain> {
    fn say_goodbye(&mut self) -> io::Result<()> {
        self.conn.send_close_notify();
        io::Write::flush(self)
    }
}
