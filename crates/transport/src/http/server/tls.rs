//! TLS for clients.

use std::{sync::Arc, time::Duration};

use rustls::{
    ServerConfig,
    pki_types::{
        CertificateDer, PrivateKeyDer,
        pem::{self, PemObject},
    },
};
use tokio::net::TcpStream;
use tokio_rustls::{TlsAcceptor, server::TlsStream};

/// A certificate with its key, for clients of HTTP/2 or HTTP/1.1.
#[derive(Clone)]
pub struct Tls(TlsAcceptor);

/// Why a certificate and a key cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// The file of the certificate has none.
    #[error("no PEM certificate found")]
    NoCertificate(#[source] Option<pem::Error>),
    /// The file of the key has none.
    #[error("no PEM private key found")]
    NoKey(#[source] pem::Error),
    /// They do not belong together, or their kind is not supported.
    #[error("the certificate and the key cannot be used together")]
    Unusable(#[source] rustls::Error),
}

impl Tls {
    /// From a chain of certificates, the hub's own first, and the key of the first, both in PEM form.
    pub fn from_pem(certificates: &[u8], key: &[u8]) -> Result<Self, TlsError> {
        let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(certificates)
            .collect::<Result<_, _>>()
            .map_err(|error| TlsError::NoCertificate(Some(error)))?;
        if chain.is_empty() {
            return Err(TlsError::NoCertificate(None));
        }
        let key = PrivateKeyDer::from_pem_slice(key).map_err(TlsError::NoKey)?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(TlsError::Unusable)?
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .map_err(TlsError::Unusable)?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Self(TlsAcceptor::from(Arc::new(config))))
    }

    /// Performs the TLS handshake; nothing when it fails or times out. A client without TLS gets an alert.
    pub(crate) async fn accept(&self, stream: TcpStream, within: Duration) -> Option<TlsStream<TcpStream>> {
        match tokio::time::timeout(within, self.0.accept(stream)).await {
            Ok(Ok(stream)) => Some(stream),
            Ok(Err(error)) => {
                tracing::debug!(%error, "TLS handshake with a client failed");
                None
            }
            Err(_) => None,
        }
    }
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tls")
    }
}
