//! Tokens of logins in the store of secrets.

use toolbay_oauth::{
    BoxFuture, Credential,
    store::{
        CredentialKind, CredentialName, CredentialStoreError, LockDirectory, Storage, StorageLock, StoreStamp,
    },
};
use toolbay_secrets::{Secret, SecretName, SecretStore, StoreConfig, open_store};

/// Keeps tokens and registrations as secrets with reserved names, and locks in a directory: no keyring has any.
///
/// The store is opened for each use: it may be moved, and a keyring may start after us.
#[derive(Debug)]
pub(crate) struct LoginStorage {
    pub(crate) store: StoreConfig,
    pub(crate) locks: LockDirectory,
}

impl LoginStorage {
    async fn open(&self) -> Result<Box<dyn SecretStore>, CredentialStoreError> {
        open_store(&self.store).await.map_err(failed)
    }
}

impl Storage for LoginStorage {
    fn load<'a>(
        &'a self,
        name: &'a CredentialName,
    ) -> BoxFuture<'a, Result<Option<Credential>, CredentialStoreError>> {
        Box::pin(async move {
            let found = self.open().await?.get(&secret_name(name)?).await.map_err(failed)?;
            Ok(found.map(|secret| Credential::new(secret.expose())))
        })
    }

    fn save<'a>(
        &'a self,
        name: &'a CredentialName,
        text: &'a Credential,
    ) -> BoxFuture<'a, Result<(), CredentialStoreError>> {
        Box::pin(async move {
            let secret = Secret::new(text.expose()).map_err(|why| {
                CredentialStoreError::Other(format!("cannot store what the authorization server sent: {why}"))
            })?;
            self.open().await?.set(&secret_name(name)?, &secret).await.map_err(failed)?;
            self.locks.changed()
        })
    }

    fn remove<'a>(&'a self, name: &'a CredentialName) -> BoxFuture<'a, Result<(), CredentialStoreError>> {
        Box::pin(async move {
            self.open().await?.remove(&secret_name(name)?).await.map_err(failed)?;
            self.locks.changed()
        })
    }

    fn list(&self, kind: CredentialKind) -> BoxFuture<'_, Result<Vec<Credential>, CredentialStoreError>> {
        Box::pin(async move {
            let store = self.open().await?;
            let prefix = format!("{}{}", SecretName::RESERVED, CredentialName::prefix(kind));
            let names = store.names().await.map_err(failed)?;
            let mut found = Vec::new();
            for name in names.iter().filter(|name| name.as_str().starts_with(&prefix)) {
                let secret = store.get(name).await.map_err(failed)?;
                found.extend(secret.map(|secret| Credential::new(secret.expose())));
            }
            Ok(found)
        })
    }

    fn lock<'a>(
        &'a self,
        name: &'a CredentialName,
    ) -> BoxFuture<'a, Result<StorageLock, CredentialStoreError>> {
        self.locks.lock(name)
    }

    fn stamp(&self) -> Option<StoreStamp> {
        self.locks.stamp()
    }
}

fn secret_name(name: &CredentialName) -> Result<SecretName, CredentialStoreError> {
    format!("{}{}", SecretName::RESERVED, name.as_str()).parse().map_err(failed)
}

fn failed(error: impl std::error::Error) -> CredentialStoreError {
    CredentialStoreError::Other(toolbay_protocol::printable::error_chain(&error))
}
