//! Files with secrets.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use toolbay_transport::http::Tls;

use crate::error::CliError;

/// A certificate and its key.
pub(crate) fn tls(certificate: &Path, key: &Path) -> Result<Tls, CliError> {
    let (chain, secret) = (read(certificate)?, read(key)?);
    if is_open(key)? {
        tracing::warn!("{} can be read by other users; `chmod 600` it", key.display());
    }
    Tls::from_pem(&chain, &secret).map_err(|source| CliError::Tls {
        certificate: certificate.to_owned(),
        key: key.to_owned(),
        source,
    })
}

fn read(path: &Path) -> Result<Vec<u8>, CliError> {
    fs::read(path).map_err(|source| CliError::Unreadable { path: path.to_owned(), source })
}

/// Whether anyone but its owner may read or change it.
fn is_open(path: &Path) -> Result<bool, CliError> {
    let metadata = fs::metadata(path);
    let metadata = metadata.map_err(|source| CliError::Unreadable { path: path.to_owned(), source })?;
    Ok(metadata.permissions().mode() & 0o077 != 0)
}
