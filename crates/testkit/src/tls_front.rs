//! TLS before a server that has none.

use std::{
    io,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_util::task::TaskTracker;

/// Takes TLS off connections to `localhost` and passes them on.
#[derive(Debug)]
pub struct TlsFront {
    /// Where it is; the path is `/mcp`.
    pub url: String,
    accepted: Arc<AtomicUsize>,
}

impl TlsFront {
    /// For `localhost`, signed by itself, good for a century. Made with `openssl req -x509 -newkey ec -pkeyopt
    /// ec_paramgen_curve:P-256 -nodes -days 36500 -subj /CN=localhost -addext subjectAltName=DNS:localhost -addext
    /// basicConstraints=critical,CA:FALSE`; it protects nothing but tests.
    pub const CERTIFICATE: &str = include_str!("tls_front/certificate.pem");
    /// The key that belongs to it.
    pub const KEY: &str = include_str!("tls_front/key.pem");

    /// Serves on a free port, on `tasks`. Clients may choose among `protocols` (ALPN), such as `h2`.
    pub async fn start(tasks: &TaskTracker, behind: SocketAddr, protocols: &[&str]) -> io::Result<Self> {
        let certificate = CertificateDer::from_pem_slice(Self::CERTIFICATE.as_bytes());
        let key = PrivateKeyDer::from_pem_slice(Self::KEY.as_bytes()).map_err(io::Error::other)?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?
            .with_no_client_auth()
            .with_single_cert(vec![certificate.map_err(io::Error::other)?], key)
            .map_err(io::Error::other)?;
        config.alpn_protocols = protocols.iter().map(|protocol| protocol.as_bytes().to_vec()).collect();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("https://localhost:{}/mcp", listener.local_addr()?.port());
        let accepted = Arc::<AtomicUsize>::default();
        let (counted, connections) = (accepted.clone(), tasks.clone());
        tasks.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, counted) = (acceptor.clone(), counted.clone());
                connections.spawn(async move {
                    let Ok(mut front) = acceptor.accept(stream).await else { return };
                    counted.fetch_add(1, Relaxed);
                    let Ok(mut back) = TcpStream::connect(behind).await else { return };
                    let _ = tokio::io::copy_bidirectional(&mut front, &mut back).await; // either may break off
                });
            }
        });
        Ok(Self { url, accepted })
    }

    /// How many connections there were whose clients believed the certificate.
    pub fn accepted(&self) -> usize {
        self.accepted.load(Relaxed)
    }
}
