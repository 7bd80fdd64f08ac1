//! The key of an encrypted file: where it comes from, and how it is derived.

use std::{
    fmt, io,
    path::{Path, PathBuf},
};

use argon2::{Algorithm, Argon2, Params, Version};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use crate::{
    disk::{self, Audience},
    error::SecretsError,
    secret::Secret,
};

/// The cost of a passphrase: 64 MiB and three passes, the second recommendation of RFC 9106.
const MEMORY_KIB: u32 = 64 * 1024;
const PASSES: u32 = 3;
/// What a file may ask for: a damaged one must not take all memory, or hours.
const MAX_MEMORY_KIB: u32 = 1024 * 1024;
const MAX_PASSES: u32 = 64;
const SALT_LENGTH: usize = 16;
/// What a key file must contain: as much as the key that is made of it.
const MIN_KEY_LENGTH: usize = 32;
const MAX_KEY_LENGTH: usize = 64 * 1024;

/// A key of 256 bits.
pub(crate) type FileKey = Zeroizing<[u8; 32]>;

/// Which kind of key encrypts a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyKind {
    /// The content of a key file or of a credential of systemd.
    Key,
    /// A passphrase.
    Passphrase,
}

impl KeyKind {
    pub(crate) fn noun(self) -> &'static str {
        match self {
            Self::Key => "key",
            Self::Passphrase => "passphrase",
        }
    }

    /// How the key is given.
    pub(crate) fn hint(self) -> &'static str {
        match self {
            Self::Key => {
                "set TOOLBAY_SECRET_KEY_FILE to the path of a key file, or use a credential of systemd"
            }
            Self::Passphrase => "run the command in a terminal to enter it",
        }
    }
}

impl fmt::Display for KeyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a {}", self.noun())
    }
}

/// The key of an encrypted file, or where to find it.
///
/// It is read for each use. A key that is derived from a passphrase, which takes a fraction of a second by design, is kept in memory.
#[derive(Debug)]
pub struct StoreKey {
    material: Material,
    derived: Mutex<Option<(KeyDerivation, DerivedKey)>>,
}

#[derive(Debug)]
enum Material {
    File(PathBuf),
    Credential(PathBuf),
    Passphrase(Secret),
}

/// A key without a `Debug` that prints it.
struct DerivedKey(FileKey);

impl fmt::Debug for DerivedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DerivedKey(redacted)")
    }
}

/// How the key of a file is derived, as the file says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "from", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum KeyDerivation {
    /// SHA-256 of a key of at least 256 bits.
    Key,
    /// Argon2id.
    Passphrase { salt: [u8; SALT_LENGTH], memory_kib: u32, passes: u32 },
}

impl KeyDerivation {
    pub(crate) fn kind(&self) -> KeyKind {
        match self {
            Self::Key => KeyKind::Key,
            Self::Passphrase { .. } => KeyKind::Passphrase,
        }
    }
}

/// Why there is no key for a file.
pub(crate) enum KeyError {
    /// The file needs a key of another kind.
    OtherKind,
    /// The file asks for what no file of ours asks for.
    Cost,
    /// The key cannot be read.
    Other(SecretsError),
}

impl StoreKey {
    /// The key in a file that only the user may read. It has at least 32 bytes, beside blanks at its end.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Self::new(Material::File(path.into()))
    }

    /// The key in a credential of systemd: a file of `$CREDENTIALS_DIRECTORY`.
    pub fn credential(path: impl Into<PathBuf>) -> Self {
        Self::new(Material::Credential(path.into()))
    }

    /// A passphrase.
    pub fn passphrase(passphrase: Secret) -> Self {
        Self::new(Material::Passphrase(passphrase))
    }

    fn new(material: Material) -> Self {
        Self { material, derived: Mutex::default() }
    }

    /// Which kind of key this is.
    pub fn kind(&self) -> KeyKind {
        match &self.material {
            Material::File(_) | Material::Credential(_) => KeyKind::Key,
            Material::Passphrase(_) => KeyKind::Passphrase,
        }
    }

    /// How a new file derives its key from this.
    ///
    /// # Errors
    /// If the system has no random numbers.
    pub(crate) fn new_derivation(&self) -> io::Result<KeyDerivation> {
        Ok(match self.kind() {
            KeyKind::Key => KeyDerivation::Key,
            KeyKind::Passphrase => {
                let mut salt = [0; SALT_LENGTH];
                getrandom::fill(&mut salt).map_err(io::Error::other)?;
                KeyDerivation::Passphrase { salt, memory_kib: MEMORY_KIB, passes: PASSES }
            }
        })
    }

    /// Derives the key of a file. Takes a fraction of a second for a passphrase.
    pub(crate) fn derive(&self, derivation: &KeyDerivation) -> Result<FileKey, KeyError> {
        match (&self.material, derivation) {
            (Material::File(path), KeyDerivation::Key) => key_of_file(path, Audience::User),
            (Material::Credential(path), KeyDerivation::Key) => key_of_file(path, Audience::Group),
            (Material::Passphrase(passphrase), KeyDerivation::Passphrase { salt, memory_kib, passes }) => {
                let mut derived = self.derived.lock();
                if let Some((known, key)) = &*derived
                    && known == derivation
                {
                    return Ok(key.0.clone());
                }
                let key = key_of_passphrase(passphrase, salt, *memory_kib, *passes)?;
                *derived = Some((derivation.clone(), DerivedKey(key.clone())));
                Ok(key)
            }
            _ => Err(KeyError::OtherKind),
        }
    }
}

fn key_of_file(path: &Path, audience: Audience) -> Result<FileKey, KeyError> {
    let content = disk::read(path, audience, MAX_KEY_LENGTH).map_err(KeyError::Other)?;
    let content = content.ok_or_else(|| {
        KeyError::Other(SecretsError::Read { path: path.to_owned(), source: io::ErrorKind::NotFound.into() })
    })?;
    // An editor adds a line break to a key that is text.
    let key = content.trim_ascii_end();
    if key.len() < MIN_KEY_LENGTH {
        return Err(KeyError::Other(SecretsError::WeakKey { path: path.to_owned() }));
    }
    let hash = Sha256::new().chain_update(b"toolbay secrets key\0").chain_update(key).finalize();
    Ok(Zeroizing::new(hash.into()))
}

fn key_of_passphrase(
    passphrase: &Secret,
    salt: &[u8],
    memory: u32,
    passes: u32,
) -> Result<FileKey, KeyError> {
    if memory > MAX_MEMORY_KIB || passes > MAX_PASSES {
        return Err(KeyError::Cost);
    }
    let mut key = FileKey::default();
    let parameters = Params::new(memory, passes, 1, Some(key.len())).map_err(|_| KeyError::Cost)?;
    Argon2::new(Algorithm::Argon2id, Version::V0x13, parameters)
        .hash_password_into(passphrase.expose().as_bytes(), salt, &mut *key)
        .map_err(|_| KeyError::Cost)?;
    Ok(key)
}
