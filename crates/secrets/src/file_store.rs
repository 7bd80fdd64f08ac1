//! Secrets in a file, plain or encrypted.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};
use toolbay_protocol::SecretName;

use crate::{
    disk::{self, Audience, LockedFile},
    error::SecretsError,
    file_format::{MAX_FILE, Protection, SecretMap, SecretsFile, content_of},
    key::StoreKey,
    secret::Secret,
    store::{SecretStore, StoreFuture, StoreKind},
};

/// A file of secrets. Reading needs no lock, because the file is replaced in one step.
#[derive(Debug, Clone)]
pub(crate) struct FileStore {
    path: PathBuf,
    /// Without one, the file is plain.
    key: Option<Arc<StoreKey>>,
}

impl FileStore {
    pub(crate) fn plain(path: PathBuf) -> Self {
        Self { path, key: None }
    }

    pub(crate) fn encrypted(path: PathBuf, key: Arc<StoreKey>) -> Self {
        Self { path, key: Some(key) }
    }

    fn protection(&self) -> Protection<'_> {
        match &self.key {
            Some(key) => Protection::Encrypted(key),
            None => Protection::Plain,
        }
    }

    /// Replaces the whole file, whatever store it stands for: all secrets are known to the caller, who holds the lock.
    pub(crate) fn replace_all(&self, file: &LockedFile, secrets: &SecretMap) -> Result<(), SecretsError> {
        file.replace(&content_of(&self.path, secrets, self.protection(), None)?)
    }

    /// Reads all secrets.
    pub(crate) fn load(&self) -> Result<SecretMap, SecretsError> {
        match disk::read(&self.path, Audience::User, MAX_FILE)? {
            Some(content) => SecretsFile::parse(&self.path, &content)?.secrets(self.protection()),
            None => Ok(SecretMap::new()),
        }
    }

    /// Changes the secrets under the lock, unless `change` says that nothing changes.
    fn change(&self, change: impl FnOnce(&mut SecretMap) -> bool) -> Result<bool, SecretsError> {
        let file = LockedFile::lock(&self.path)?;
        let content = file.read(MAX_FILE)?;
        let old = content.as_ref().map(|content| SecretsFile::parse(&self.path, content)).transpose()?;
        let mut secrets = match &old {
            Some(old) => old.secrets(self.protection())?,
            None => SecretMap::new(),
        };
        if !change(&mut secrets) {
            return Ok(false);
        }
        file.replace(&content_of(&self.path, &secrets, self.protection(), old.as_ref())?)?;
        Ok(true)
    }
}

impl SecretStore for FileStore {
    fn kind(&self) -> StoreKind {
        self.protection().kind()
    }

    fn get<'a>(&'a self, name: &'a SecretName) -> StoreFuture<'a, Option<Secret>> {
        let (store, name) = (self.clone(), name.clone());
        Box::pin(blocking(&self.path, move || Ok(store.load()?.remove(&name))))
    }

    fn set<'a>(&'a self, name: &'a SecretName, secret: &'a Secret) -> StoreFuture<'a, ()> {
        let (store, name, secret) = (self.clone(), name.clone(), secret.clone());
        Box::pin(blocking(&self.path, move || {
            store.change(|secrets| {
                secrets.insert(name, secret);
                true
            })?;
            Ok(())
        }))
    }

    fn remove<'a>(&'a self, name: &'a SecretName) -> StoreFuture<'a, bool> {
        let (store, name) = (self.clone(), name.clone());
        Box::pin(blocking(&self.path, move || store.change(|secrets| secrets.remove(&name).is_some())))
    }

    fn names(&self) -> StoreFuture<'_, Vec<SecretName>> {
        let store = self.clone();
        Box::pin(blocking(&self.path, move || Ok(store.load()?.into_keys().collect())))
    }
}

/// Runs what waits for disks, locks and key derivation where that stops no other task.
pub(crate) async fn blocking<T: Send + 'static>(
    path: &Path,
    work: impl FnOnce() -> Result<T, SecretsError> + Send + 'static,
) -> Result<T, SecretsError> {
    let done = tokio::task::spawn_blocking(work).await;
    // Only the end of the runtime stops it.
    done.unwrap_or_else(|error| {
        Err(SecretsError::Read { path: path.to_owned(), source: io::Error::other(error) })
    })
}
