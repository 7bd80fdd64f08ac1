//! What the file of secrets contains.
//!
//! The first line says that it is such a file, its version, and where the secrets are:
//!
//! ```text
//! toolbay-secrets 1 plain        a JSON object of names and secrets follows
//! toolbay-secrets 1 encrypted    a JSON object with the encrypted one follows
//! toolbay-secrets 1 keyring      nothing follows: the secrets are in the desktop's keyring
//! ```
//!
//! So where secrets are is decided in one place, and changed in one step: by replacing this file.

use std::{collections::BTreeMap, io, path::Path};

use toolbay_protocol::SecretName;
use zeroize::Zeroizing;

use crate::{
    encryption::{DecryptError, EncryptedContent},
    error::SecretsError,
    key::{KeyDerivation, KeyError, KeyKind, StoreKey},
    secret::Secret,
    store::StoreKind,
};

/// The most secrets of a file, and the most bytes of their names and values together.
pub(crate) const MAX_SECRETS: usize = 1_000;
pub(crate) const MAX_BYTES: usize = 1024 * 1024;
/// What they take in JSON, where a character may take six bytes, and in base64.
pub(crate) const MAX_FILE: usize = 9 * MAX_BYTES;

const MAGIC: &str = "toolbay-secrets ";
const VERSION: &str = "1 ";

/// Secrets by name.
pub(crate) type SecretMap = BTreeMap<SecretName, Secret>;

/// How the secrets of a file are protected.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Protection<'a> {
    /// By the permissions of the file alone.
    Plain,
    /// By a key too.
    Encrypted(&'a StoreKey),
}

/// A file of secrets whose first line was read. Without `Debug`, because the body may contain secrets.
pub(crate) struct SecretsFile<'a> {
    path: &'a Path,
    pub(crate) kind: StoreKind,
    body: &'a [u8],
}

impl<'a> SecretsFile<'a> {
    /// Reads the first line.
    ///
    /// # Errors
    /// If it is not a file of secrets, or one of a later version.
    pub(crate) fn parse(path: &'a Path, content: &'a [u8]) -> Result<Self, SecretsError> {
        let end = content.iter().position(|byte| *byte == b'\n').unwrap_or(content.len());
        let (line, body) = (&content[..end], content.get(end + 1..).unwrap_or_default());
        let line = std::str::from_utf8(line).ok().and_then(|line| line.strip_prefix(MAGIC));
        let line = line.ok_or_else(|| damaged(path, "it does not begin with `toolbay-secrets`"))?;
        let kind = match line.strip_prefix(VERSION) {
            Some("plain") => StoreKind::PlainFile,
            Some("encrypted") => StoreKind::EncryptedFile,
            Some("keyring") => StoreKind::Keyring,
            Some(_) => return Err(damaged(path, "its first line names no kind of store")),
            None => return Err(SecretsError::Newer { path: path.to_owned() }),
        };
        Ok(Self { path, kind, body })
    }

    /// Which kind of key the secrets are encrypted with, if they are.
    ///
    /// # Errors
    /// If the file is damaged.
    pub(crate) fn key_kind(&self) -> Result<Option<KeyKind>, SecretsError> {
        match self.kind {
            StoreKind::EncryptedFile => Ok(Some(envelope_of(self.path, self.body)?.key.kind())),
            StoreKind::Keyring | StoreKind::PlainFile => Ok(None),
        }
    }

    /// Reads the secrets.
    ///
    /// # Errors
    /// If they are in another store, if the key does not fit, or if the file is damaged.
    pub(crate) fn secrets(&self, protection: Protection<'_>) -> Result<SecretMap, SecretsError> {
        match (self.kind, protection) {
            (StoreKind::PlainFile, Protection::Plain) => secrets_of(self.path, self.body),
            (StoreKind::EncryptedFile, Protection::Encrypted(key)) => {
                let content = decrypt(self.path, &envelope_of(self.path, self.body)?, key)?;
                secrets_of(self.path, &content)
            }
            (recorded, protection) => Err(SecretsError::OtherStore { recorded, wanted: protection.kind() }),
        }
    }
}

impl Protection<'_> {
    pub(crate) fn kind(self) -> StoreKind {
        match self {
            Self::Plain => StoreKind::PlainFile,
            Self::Encrypted(_) => StoreKind::EncryptedFile,
        }
    }
}

/// The content of a file that says: the secrets are in the keyring.
pub(crate) fn keyring_record() -> Vec<u8> {
    first_line("keyring").into_bytes()
}

/// The content of a file with these secrets. `old` is the content that it replaces, whose salt is used again: deriving a key for each
/// change would take its time, and a nonce is never used twice anyway.
///
/// # Errors
/// If there are too many secrets, or if there is no key.
pub(crate) fn content_of(
    path: &Path,
    secrets: &SecretMap,
    protection: Protection<'_>,
    old: Option<&SecretsFile<'_>>,
) -> Result<Zeroizing<Vec<u8>>, SecretsError> {
    let bytes: usize = secrets.iter().map(|(name, secret)| name.as_str().len() + secret.expose().len()).sum();
    if secrets.len() > MAX_SECRETS || bytes > MAX_BYTES {
        return Err(SecretsError::Full { path: path.to_owned(), secrets: MAX_SECRETS, bytes: MAX_BYTES });
    }
    let json = json_of(secrets, bytes).map_err(|error| not_written(path, error.into()))?;
    match protection {
        Protection::Plain => {
            let line = first_line("plain");
            let mut content = Zeroizing::new(Vec::with_capacity(line.len() + json.len() + 1));
            content.extend_from_slice(line.as_bytes());
            content.extend_from_slice(&json);
            content.push(b'\n');
            Ok(content)
        }
        Protection::Encrypted(key) => {
            let derivation = match old.filter(|old| old.kind == StoreKind::EncryptedFile) {
                Some(old) => envelope_of(path, old.body)?.key,
                None => key.new_derivation().map_err(|source| not_written(path, source))?,
            };
            let derived = key.derive(&derivation).map_err(|error| no_key(path, error, key, &derivation))?;
            let envelope = EncryptedContent::encrypt(derivation, &derived, &json)
                .map_err(|source| not_written(path, source))?;
            let mut content = first_line("encrypted").into_bytes();
            serde_json::to_writer(&mut content, &envelope)
                .map_err(|error| not_written(path, error.into()))?;
            content.push(b'\n');
            Ok(Zeroizing::new(content))
        }
    }
}

fn first_line(kind: &str) -> String {
    format!("{MAGIC}{VERSION}{kind}\n")
}

/// As people read it: one secret per line.
fn json_of(secrets: &SecretMap, bytes: usize) -> Result<Zeroizing<Vec<u8>>, serde_json::Error> {
    let texts: BTreeMap<&str, &str> =
        secrets.iter().map(|(name, secret)| (name.as_str(), secret.expose())).collect();
    // More than it can take, so that the buffer never moves and leaves a copy behind.
    let mut json = Zeroizing::new(Vec::with_capacity(6 * bytes + 16 * secrets.len() + 16));
    serde_json::to_writer_pretty(&mut *json, &texts)?;
    Ok(json)
}

fn secrets_of(path: &Path, json: &[u8]) -> Result<SecretMap, SecretsError> {
    // The place of an error only: its text may quote a secret.
    let texts: BTreeMap<String, String> = serde_json::from_slice(json).map_err(|error| {
        damaged(
            path,
            format!("no JSON object of texts, line {}, column {}", error.line() + 1, error.column()),
        )
    })?;
    let secret = |(name, text): (String, String)| {
        let secret = Secret::new(text);
        let name: SecretName = name.parse().map_err(|_| damaged(path, "a name is not valid"))?;
        let secret = secret.map_err(|error| damaged(path, format!("secret `{name}`: {error}")))?;
        Ok((name, secret))
    };
    texts.into_iter().map(secret).collect()
}

fn envelope_of(path: &Path, json: &[u8]) -> Result<EncryptedContent, SecretsError> {
    serde_json::from_slice(json).map_err(|_| damaged(path, "its second line is incomplete"))
}

fn decrypt(
    path: &Path,
    envelope: &EncryptedContent,
    key: &StoreKey,
) -> Result<Zeroizing<Vec<u8>>, SecretsError> {
    let derived = key.derive(&envelope.key).map_err(|error| no_key(path, error, key, &envelope.key))?;
    envelope.decrypt(&derived).map_err(|error| match error {
        DecryptError::WrongKey => SecretsError::WrongKey { path: path.to_owned(), given: key.kind() },
        DecryptError::Damaged => damaged(path, "it was changed after it was encrypted"),
    })
}

fn no_key(path: &Path, error: KeyError, key: &StoreKey, derivation: &KeyDerivation) -> SecretsError {
    match error {
        KeyError::OtherKind => {
            SecretsError::OtherKey { path: path.to_owned(), needed: derivation.kind(), given: key.kind() }
        }
        KeyError::Cost => damaged(path, "the cost of its passphrase is out of range"),
        KeyError::Other(error) => error,
    }
}

fn damaged(path: &Path, reason: impl Into<String>) -> SecretsError {
    SecretsError::Damaged { path: path.to_owned(), reason: reason.into() }
}

fn not_written(path: &Path, source: io::Error) -> SecretsError {
    SecretsError::Write { path: path.to_owned(), source }
}
