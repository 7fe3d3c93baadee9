//! Whose certificates are trusted.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rustls::ClientConfig;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls_platform_verifier::Verifier;

/// Whose certificates are trusted: those of the platform's store always, and these.
#[derive(Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TlsSettings {
    /// Files with certificates in PEM. They are read at the first `https` exchange.
    pub files: Vec<PathBuf>,
    /// Certificates in DER.
    pub certificates: Vec<Vec<u8>>,
}

impl fmt::Debug for TlsSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TlsSettings")
            .field("files", &self.files)
            .field("certificates", &self.certificates.len())
            .finish()
    }
}

impl TlsSettings {
    fn roots(&self) -> io::Result<Vec<CertificateDer<'static>>> {
        let mut roots: Vec<_> =
            self.certificates.iter().map(|der| CertificateDer::from(der.clone())).collect();
        for file in &self.files {
            let before = roots.len();
            read(file, &mut roots).map_err(|why| about(file, &why))?;
            if roots.len() == before {
                return Err(about(file, &"it holds no certificate"));
            }
        }
        Ok(roots)
    }

    fn build(&self) -> io::Result<ClientConfig> {
        let provider = Arc::new(ring::default_provider());
        let verifier = self.verifier(Arc::clone(&provider))?;
        let builder =
            ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let mut config = builder
            .map_err(io::Error::other)?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(config)
    }

    fn verifier(&self, provider: Arc<CryptoProvider>) -> io::Result<Verifier> {
        let roots = self.roots()?;
        Verifier::new_with_extra_roots(roots, provider).map_err(|error| {
            io::Error::other(format!("the certificates to trust cannot be loaded: {error}"))
        })
    }
}

fn read(file: &Path, into: &mut Vec<CertificateDer<'static>>) -> Result<(), String> {
    let certificates = CertificateDer::pem_file_iter(file).map_err(|error| error.to_string())?;
    for certificate in certificates {
        into.push(certificate.map_err(|error| error.to_string())?);
    }
    Ok(())
}

fn about(file: &Path, why: &dyn fmt::Display) -> io::Error {
    let text = format!("the certificates in {} cannot be used: {why}", file.display());
    io::Error::new(io::ErrorKind::InvalidInput, text)
}

/// TLS as a client speaks it: rustls on ring, with the trust store of the platform.
pub struct Tls {
    settings: TlsSettings,
    config: OnceLock<Arc<ClientConfig>>,
    building: Mutex<()>,
}

impl Tls {
    /// Nothing is read before the first use.
    #[must_use]
    pub fn new(settings: TlsSettings) -> Self {
        Tls { settings, config: OnceLock::new(), building: Mutex::new(()) }
    }

    /// The configuration, if it was made by now.
    #[must_use]
    pub fn ready(&self) -> Option<Arc<ClientConfig>> {
        self.config.get().cloned()
    }

    /// The configuration. The first time it reads files and the platform's store, which takes some
    /// 20 ms. A failure is not remembered.
    ///
    /// # Errors
    /// When certificates cannot be loaded.
    pub fn config(&self) -> io::Result<Arc<ClientConfig>> {
        let _building = self.building.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(config) = self.ready() {
            return Ok(config);
        }
        let config = Arc::new(self.settings.build()?);
        Ok(Arc::clone(self.config.get_or_init(|| config)))
    }

    /// The name that a server's certificate is to be for. `host` may be an address.
    ///
    /// # Errors
    /// When no certificate can be for it.
    pub fn server_name(host: &str) -> io::Result<ServerName<'static>> {
        let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
        let bare = bare.trim_end_matches('.');
        ServerName::try_from(String::from(bare))
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))
    }

    /// What a handshake that failed means to a host.
    #[must_use]
    pub fn explain(error: io::Error) -> io::Error {
        let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
        match inner {
            Some(rustls::Error::InvalidCertificate(why)) => {
                io::Error::other(format!("the certificate of the server is not accepted: {why}"))
            }
            _ => error,
        }
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Tls").field(&self.settings).finish()
    }
}
