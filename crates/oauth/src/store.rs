//! Tokens and registrations that survive restarts and are shared by all processes.
//!
//! [`Storage`] keeps texts under names, in a directory or a keyring. [`CredentialStore`] gives them their meaning: a login points to
//! tokens, which are kept by issuer, resource, principal and client id, so that nothing of one issuer can be mistaken for
//! another's.

mod file;
mod lock_directory;

use std::{any::Any, fmt, io, path::PathBuf, sync::Arc};

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use sha2::{Digest, Sha256};

pub use file::FileStorage;
pub use lock_directory::{LockDirectory, StoreStamp};

use crate::{
    credential::Credential, http_client::BoxFuture, login::Registration, scope::Scopes, token::Tokens,
};

/// Why something was not stored or found.
#[derive(Debug, thiserror::Error)]
pub enum CredentialStoreError {
    /// A file cannot be read or written.
    #[error("cannot access {}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// Another process holds a lock for too long.
    #[error("another process has held {} for {seconds} s", path.display())]
    Locked {
        /// The lock.
        path: PathBuf,
        /// How long it was waited for.
        seconds: u64,
    },
    /// Another kind of storage failed.
    #[error("{0}")]
    Other(String),
}

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CredentialKind {
    /// A [`LoginRecord`].
    Login,
    /// [`Tokens`].
    Tokens,
    /// A [`Registration`].
    Registration,
}

/// The name of an entry. It says nothing about what it names, and is a valid file name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CredentialName(String);

impl CredentialName {
    fn new(kind: CredentialKind, parts: &[&str]) -> Self {
        let mut hash = Sha256::new();
        for part in parts {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        let hash: String = hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        Self(format!("{}{hash}", Self::prefix(kind)))
    }

    /// What the names of all entries of a kind begin with.
    pub fn prefix(kind: CredentialKind) -> &'static str {
        match kind {
            CredentialKind::Login => "login-",
            CredentialKind::Tokens => "tokens-",
            CredentialKind::Registration => "client-",
        }
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Keeps texts under names.
pub trait Storage: fmt::Debug + Send + Sync {
    /// Returns the text of an entry.
    fn load<'a>(
        &'a self,
        name: &'a CredentialName,
    ) -> BoxFuture<'a, Result<Option<Credential>, CredentialStoreError>>;
    /// Replaces an entry as a whole: others see the old text or the new one.
    fn save<'a>(
        &'a self,
        name: &'a CredentialName,
        text: &'a Credential,
    ) -> BoxFuture<'a, Result<(), CredentialStoreError>>;
    /// Removes an entry, if it is there.
    fn remove<'a>(&'a self, name: &'a CredentialName) -> BoxFuture<'a, Result<(), CredentialStoreError>>;
    /// Returns the texts of all entries of a kind.
    fn list(&self, kind: CredentialKind) -> BoxFuture<'_, Result<Vec<Credential>, CredentialStoreError>>;
    /// Waits until no other task and no other process has the lock of an entry.
    fn lock<'a>(
        &'a self,
        name: &'a CredentialName,
    ) -> BoxFuture<'a, Result<StorageLock, CredentialStoreError>>;
    /// Returns a value that changes whenever any process has changed an entry. It is cheap to ask for.
    fn stamp(&self) -> Option<StoreStamp>;
}

/// A lock; dropping it releases it. The end of the process does, too.
pub struct StorageLock(#[expect(dead_code, reason = "it is held")] Box<dyn Any + Send>);

impl StorageLock {
    /// Wraps what holds the lock.
    pub fn new(held: impl Any + Send) -> Self {
        Self(Box::new(held))
    }
}

impl fmt::Debug for StorageLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StorageLock")
    }
}

/// Whose login it is, and for which server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoginKey {
    /// The URL of the server, as configured.
    pub server: String,
    /// Whose tokens they are. Toolbay's own user has the empty name.
    pub principal: String,
}

/// Where and as which client a principal is logged in. Holds no token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoginRecord {
    /// Who, and for which server.
    pub key: LoginKey,
    /// The name of the server at the authorization server.
    pub resource: String,
    /// The client id, and the issuer that it belongs to.
    pub client: Registration,
    /// The scopes that the next login has to request: those of before, and what a request needed since.
    #[serde(default)]
    pub wanted: Scopes,
}

impl LoginRecord {
    fn tokens_name(&self) -> CredentialName {
        let Self { key, resource, client, .. } = self;
        CredentialName::new(
            CredentialKind::Tokens,
            &[&client.issuer, resource, &key.principal, &client.client_id],
        )
    }
}

/// Tokens and registrations.
#[derive(Debug, Clone)]
pub struct CredentialStore(Arc<dyn Storage>);

impl CredentialStore {
    /// A store in some storage.
    pub fn new(storage: impl Storage + 'static) -> Self {
        Self(Arc::new(storage))
    }

    /// Returns the login of a principal at a server.
    ///
    /// # Errors
    /// If the storage fails.
    pub async fn login(&self, key: &LoginKey) -> Result<Option<LoginRecord>, CredentialStoreError> {
        self.read(&login_name(key)).await
    }

    /// Returns all logins.
    ///
    /// # Errors
    /// If the storage fails.
    pub async fn logins(&self) -> Result<Vec<LoginRecord>, CredentialStoreError> {
        let texts = self.0.list(CredentialKind::Login).await?;
        Ok(texts.iter().filter_map(|text| serde_json::from_str(text.expose()).ok()).collect())
    }

    /// Saves new tokens and the login that they belong to.
    ///
    /// # Errors
    /// If the storage fails.
    pub async fn save_login(&self, login: &LoginRecord, tokens: &Tokens) -> Result<(), CredentialStoreError> {
        self.save_tokens(login, tokens).await?;
        self.write(&login_name(&login.key), login).await
    }

    /// Returns the tokens of a login.
    ///
    /// # Errors
    /// If the storage fails.
    pub async fn tokens(&self, login: &LoginRecord) -> Result<Option<Tokens>, CredentialStoreError> {
        self.read(&login.tokens_name()).await
    }

    /// Replaces the tokens of a login.
    ///
    /// # Errors
    /// If the storage fails.
    pub async fn save_tokens(
        &self,
        login: &LoginRecord,
        tokens: &Tokens,
    ) -> Result<(), CredentialStoreError> {
        self.write(&login.tokens_name(), tokens).await
    }

    /// Forgets tokens that are of no use any more. The login stays, because it says what to request next time.
    ///
    /// # Errors
    /// If the storage fails.
    pub async fn remove_tokens(&self, login: &LoginRecord) -> Result<(), CredentialStoreError> {
        self.0.remove(&login.tokens_name()).await
    }

    /// Forgets a login and its tokens.
    ///
    /// # Errors
    /// If the storage fails.
    pub async fn remove_login(&self, key: &LoginKey) -> Result<(), CredentialStoreError> {
        if let Some(login) = self.login(key).await? {
            self.remove_tokens(&login).await?;
        }
        self.0.remove(&login_name(key)).await
    }

    /// Remembers which scopes the next login has to request, for whichever process does it.
    ///
    /// # Errors
    /// If the storage fails.
    pub(crate) async fn want(&self, key: &LoginKey, scopes: &Scopes) -> Result<(), CredentialStoreError> {
        match self.login(key).await? {
            Some(login) if !login.wanted.includes(scopes) => {
                let wanted = login.wanted.union(scopes);
                self.write(&login_name(key), &LoginRecord { wanted, ..login }).await
            }
            _ => Ok(()),
        }
    }

    /// Returns a value that changes whenever any process has changed an entry.
    pub fn stamp(&self) -> Option<StoreStamp> {
        self.0.stamp()
    }

    /// Waits until no other task and no other process renews the tokens of a login.
    ///
    /// # Errors
    /// If another process holds the lock for a minute.
    pub async fn lock_tokens(&self, login: &LoginRecord) -> Result<StorageLock, CredentialStoreError> {
        self.0.lock(&login.tokens_name()).await
    }

    /// Returns the client that we registered at an issuer.
    ///
    /// # Errors
    /// If the storage fails.
    pub async fn registration(
        &self,
        issuer: &str,
        redirect_uri: Option<&str>,
    ) -> Result<Option<Registration>, CredentialStoreError> {
        self.read(&registration_name(issuer, redirect_uri)).await
    }

    /// Returns the client for logins at an issuer while the port of the first one is in use: another login, perhaps of another
    /// process, waits there for its user.
    ///
    /// # Errors
    /// If the storage fails.
    pub async fn spare_registration(
        &self,
        issuer: &str,
    ) -> Result<Option<Registration>, CredentialStoreError> {
        self.read(&spare_name(issuer)).await
    }

    /// Saves a client that we registered at an issuer: in place of itself, else as the first one, else as the spare one.
    ///
    /// # Errors
    /// If the storage fails.
    pub async fn save_registration(&self, client: &Registration) -> Result<(), CredentialStoreError> {
        let name = registration_name(&client.issuer, client.public_redirect_uri());
        let name = match self.read::<Registration>(&name).await? {
            Some(first) if first.client_id != client.client_id && client.public_redirect_uri().is_none() => {
                spare_name(&client.issuer)
            }
            _ => name,
        };
        self.write(&name, client).await
    }

    /// Forgets a client, unless another one was registered meanwhile.
    ///
    /// # Errors
    /// If the storage fails.
    pub async fn remove_registration(&self, client: &Registration) -> Result<(), CredentialStoreError> {
        let first = registration_name(&client.issuer, client.public_redirect_uri());
        for name in [first, spare_name(&client.issuer)] {
            match self.read::<Registration>(&name).await? {
                Some(saved) if saved.client_id == client.client_id => self.0.remove(&name).await?,
                _ => {}
            }
        }
        Ok(())
    }

    /// An entry that cannot be understood is treated as missing: a login repairs it.
    async fn read<T: DeserializeOwned>(
        &self,
        name: &CredentialName,
    ) -> Result<Option<T>, CredentialStoreError> {
        let text = self.0.load(name).await?;
        Ok(text.and_then(|text| serde_json::from_str(text.expose()).ok()))
    }

    async fn write<T: Serialize>(
        &self,
        name: &CredentialName,
        value: &T,
    ) -> Result<(), CredentialStoreError> {
        let text =
            serde_json::to_string(value).map_err(|error| CredentialStoreError::Other(error.to_string()))?;
        self.0.save(name, &Credential::new(text)).await
    }
}

fn login_name(key: &LoginKey) -> CredentialName {
    CredentialName::new(CredentialKind::Login, &[&key.server, &key.principal])
}

/// Clients whose users come back to a port of this machine, and those whose users come back elsewhere, are registered apart.
fn registration_name(issuer: &str, public_redirect_uri: Option<&str>) -> CredentialName {
    let parts: Vec<&str> = std::iter::once(issuer).chain(public_redirect_uri).collect();
    CredentialName::new(CredentialKind::Registration, &parts)
}

fn spare_name(issuer: &str) -> CredentialName {
    CredentialName::new(CredentialKind::Registration, &[issuer, "spare"])
}
