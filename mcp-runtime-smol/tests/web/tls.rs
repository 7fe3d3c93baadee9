//! Servers over TLS, with certificates made for the test.

use std::sync::Arc;

use mcp_proto::HttpFailureKind;
use mcp_runtime_common::rustls::ServerConfig;
use mcp_runtime_common::rustls::crypto::ring;
use mcp_runtime_common::rustls::pki_types::PrivateKeyDer;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, KeyUsagePurpose};

use super::server::{Era, Kind, Web};
use super::{Client, echo, failure};
use crate::block_on;

/// Who issues certificates.
pub(super) struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    pub(super) fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        Authority(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    pub(super) fn der(&self) -> Vec<u8> {
        self.0.der().to_vec()
    }

    /// What a server with these names needs.
    pub(super) fn server(&self, names: &[&str]) -> Arc<ServerConfig> {
        let names: Vec<_> = names.iter().map(|name| String::from(*name)).collect();
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new(names).unwrap().signed_by(&key, &self.0).unwrap();
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth();
        Arc::new(builder.with_single_cert(vec![certificate.der().clone()], key).unwrap())
    }
}

fn web(authority: &Authority, names: &[&str], kind: Kind) -> Web {
    Web::secure(authority.server(names), move |line| line.serve(Era::Modern, kind))
}

#[test]
fn a_server_whose_authority_is_trusted_is_spoken_with() {
    let authority = Authority::new();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), authority.0.pem()).unwrap();
    for kind in [Kind::Json, Kind::Sse] {
        let web = web(&authority, &["127.0.0.1", "localhost"], kind);
        for builder in [
            Client::builder().root_certificates([authority.der()]),
            Client::builder().ca_file(file.path()),
        ] {
            let before = web.connections();
            block_on(async {
                let client = builder.connect(web.url()).await.unwrap();
                for n in 0..100 {
                    assert_eq!(echo(&client, &n.to_string()).await.unwrap(), n.to_string());
                }
                client.close().await;
            });
            assert_eq!(web.connections(), before + 1);
        }
        block_on(async {
            let builder = Client::builder().root_certificates([authority.der()]);
            builder.connect(web.url_as("localhost")).await.unwrap().close().await;
        });
    }
}

#[test]
fn a_certificate_that_is_not_for_this_server_is_an_error_that_says_so() {
    let (authority, stranger) = (Authority::new(), Authority::new());
    let connect = |web: &Web, trusted: &Authority| {
        let builder = Client::builder().root_certificates([trusted.der()]).retries(0);
        let error = block_on(builder.connect(web.url())).unwrap_err();
        let failure = failure(&error);
        assert_eq!(failure.kind, HttpFailureKind::Tls, "{error}");
        assert!(error.to_string().contains("certificate"), "{error}");
    };
    connect(&web(&authority, &["127.0.0.1"], Kind::Json), &stranger);
    connect(&web(&authority, &["other.test"], Kind::Json), &authority);
}

#[test]
fn certificates_that_cannot_be_read_are_an_error_that_names_the_file() {
    let web = web(&Authority::new(), &["127.0.0.1"], Kind::Json);
    for file in ["/does/not/exist.pem", "/dev/null"] {
        let builder = Client::builder().ca_file(file).retries(0);
        let error = block_on(builder.connect(web.url())).unwrap_err();
        assert!(error.to_string().contains(file), "{error}");
    }
}
