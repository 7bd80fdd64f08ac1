//! What every store of secrets does.

use std::{fmt, pin::Pin};
use toolbay_protocol::SecretName;

use crate::{error::SecretsError, secret::Secret};

/// A store's answer, later.
pub type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, SecretsError>> + Send + 'a>>;

/// Where secrets are kept.
///
/// Several processes may use the same store at once. Nothing is remembered between calls, so each sees what others have set. A call
/// ends within a bounded time. One whose future is dropped has happened or not, and never in part.
pub trait SecretStore: fmt::Debug + Send + Sync {
    /// Which kind of store this is.
    fn kind(&self) -> StoreKind;

    /// Returns a secret, if there is one of that name.
    fn get<'a>(&'a self, name: &'a SecretName) -> StoreFuture<'a, Option<Secret>>;

    /// Sets a secret, or replaces the one of that name. It is kept for good when this returns.
    fn set<'a>(&'a self, name: &'a SecretName, secret: &'a Secret) -> StoreFuture<'a, ()>;

    /// Removes a secret; says whether there was one.
    fn remove<'a>(&'a self, name: &'a SecretName) -> StoreFuture<'a, bool>;

    /// Returns the names of all secrets, in order.
    fn names(&self) -> StoreFuture<'_, Vec<SecretName>>;
}

/// A kind of store, from the safest to the least safe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreKind {
    /// The keyring of the desktop, over the Secret Service.
    Keyring,
    /// A file that is encrypted with a key or a passphrase.
    EncryptedFile,
    /// A file that only the user may read.
    PlainFile,
}

impl StoreKind {
    /// All kinds, in the order of preference.
    pub const ALL: [Self; 3] = [Self::Keyring, Self::EncryptedFile, Self::PlainFile];

    /// The name in settings, arguments and JSON.
    pub fn id(self) -> &'static str {
        match self {
            Self::Keyring => "keyring",
            Self::EncryptedFile => "encrypted-file",
            Self::PlainFile => "plain-file",
        }
    }
}

/// For people.
impl fmt::Display for StoreKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Keyring => "desktop's keyring",
            Self::EncryptedFile => "encrypted file",
            Self::PlainFile => "plain file",
        })
    }
}
