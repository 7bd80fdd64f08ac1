//! Whose certificates we believe.

use std::sync::{Arc, LazyLock};

use rustls::{ClientConfig, RootCertStore, crypto::ring, pki_types::CertificateDer};

/// Trusts whom this machine trusts, and `extra` besides.
pub(super) fn trusting(extra: &[CertificateDer<'static>]) -> ClientConfig {
    let mut roots = MACHINE.clone();
    let (_, ignored) = roots.add_parsable_certificates(extra.iter().cloned());
    if ignored > 0 {
        tracing::warn!(ignored, "some certificates in the file `toolbay.ca` are invalid");
    }
    if roots.is_empty() {
        tracing::warn!("no trusted certificates are installed, so no `https` server can be reached");
    }
    config(roots)
}

/// For servers without TLS.
pub(super) fn trusting_nobody() -> ClientConfig {
    config(RootCertStore::empty())
}

/// Read when first needed: there are many.
static MACHINE: LazyLock<RootCertStore> = LazyLock::new(|| {
    let found = rustls_native_certs::load_native_certs();
    for error in found.errors {
        tracing::debug!(%error, "cannot read a trusted certificate of this machine");
    }
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(found.certs);
    roots
});

fn config(roots: RootCertStore) -> ClientConfig {
    ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("the provider speaks the usual versions of TLS")
        .with_root_certificates(roots)
        .with_no_client_auth()
}
