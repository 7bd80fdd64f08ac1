//! Files with secrets.

use std::{
    fs::{self, File},
    io::{self, Read},
    os::unix::fs::PermissionsExt,
    path::Path,
};

use toolbay_access::OwnerToken;
use toolbay_transport::http::Tls;

use crate::app::error::CliError;

/// A larger file holds no token, certificate or key.
const MAX_FILE: u64 = 1024 * 1024;

/// Reads the token in the first line of a file that is private to the user.
pub(crate) fn token(path: &Path) -> Result<OwnerToken, CliError> {
    OwnerToken::new(&first_line(path)?).map_err(|why| CliError::Usage {
        message: format!("invalid token in the first line of {}: {why}", path.display()),
        hint: Some("generate one with `openssl rand -hex 32`".to_owned()),
    })
}

/// Reads the first line of a file that is private to the user.
pub(crate) fn first_line(path: &Path) -> Result<String, CliError> {
    Ok(text(path)?.lines().next().unwrap_or_default().trim().to_owned())
}

/// Reads a file that is private to the user.
pub(crate) fn text(path: &Path) -> Result<String, CliError> {
    let bytes = read(path)?;
    refuse_open(path)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// A certificate and its key.
pub(crate) fn tls(certificate: &Path, key: &Path) -> Result<Tls, CliError> {
    let (chain, secret) = (read(certificate)?, read(key)?);
    refuse_open(key)?;
    Tls::from_pem(&chain, &secret).map_err(|source| CliError::Tls {
        certificate: certificate.to_owned(),
        key: key.to_owned(),
        source,
    })
}

/// Reads a file of the command line, which may be a pipe: `--token-file <(pass show hub)`.
fn read(path: &Path) -> Result<Vec<u8>, CliError> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MAX_FILE + 1).read_to_end(&mut bytes));
    let read = read.and_then(|length| match length as u64 > MAX_FILE {
        true => Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is larger than 1 MiB")),
        false => Ok(()),
    });
    read.map(|()| bytes).map_err(|source| CliError::Unreadable { path: path.to_owned(), source })
}

/// Whether anyone but its owner may read or change it.
pub(crate) fn is_open(path: &Path) -> Result<bool, CliError> {
    let metadata = fs::metadata(path);
    let metadata = metadata.map_err(|source| CliError::Unreadable { path: path.to_owned(), source })?;
    Ok(metadata.permissions().mode() & 0o077 != 0)
}

/// Refuses a file that anyone but its owner may read or change.
fn refuse_open(path: &Path) -> Result<(), CliError> {
    if !is_open(path)? {
        return Ok(());
    }
    Err(CliError::Usage {
        message: format!("{} is readable by other users", path.display()),
        hint: Some(format!("restrict it: chmod 600 {}", path.display())),
    })
}
