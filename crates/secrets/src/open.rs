//! Which store is used.

use std::{path::PathBuf, sync::Arc};

use crate::{
    disk::{self, Audience, LockedFile},
    error::SecretsError,
    file_format::{MAX_FILE, SecretMap, SecretsFile, keyring_record},
    file_store::{FileStore, blocking},
    key::{KeyKind, StoreKey},
    keyring::{BusAddress, KeyringPrompts, KeyringStore},
    store::{SecretStore, StoreKind},
};

/// What decides which store is used.
#[derive(Debug, Clone)]
pub struct StoreConfig {
    /// The file of secrets. It records which store is used, even if that is the keyring.
    pub path: PathBuf,
    /// The store that the user has chosen.
    pub kind: Option<StoreKind>,
    /// Where a keyring may be found: the session bus of the environment, then that of the user.
    pub buses: Vec<BusAddress>,
    /// The key of an encrypted file.
    pub key: Option<Arc<StoreKey>>,
    /// Whether a locked keyring asks the user.
    pub prompts: KeyringPrompts,
}

/// Opens the store that is in use. Where none is yet, it is the one that the user has chosen, else the keyring if there is one, else an
/// encrypted file if there is a key, else a plain file.
///
/// A keyring that does not respond is an error. Another store in its place would be less safe, and its secrets would not be
/// found later.
///
/// # Errors
/// If the store in use is not the chosen one, if it needs a key that is missing, or if the file of secrets cannot be read.
pub async fn open_store(config: &StoreConfig) -> Result<Box<dyn SecretStore>, SecretsError> {
    let recorded = recorded(config).await?;
    let kind = match (&recorded, config.kind) {
        (Some(recorded), Some(wanted)) if recorded.kind != wanted => {
            return Err(SecretsError::OtherStore { recorded: recorded.kind, wanted });
        }
        (Some(Recorded { kind, .. }), _) => *kind,
        (None, Some(kind)) => kind,
        (None, None) => first_choice(config).await?,
    };
    let no_key = || match recorded.and_then(|recorded| recorded.key) {
        Some(needed) => SecretsError::NoKey { path: config.path.clone(), needed },
        None => SecretsError::KeyMissing,
    };
    Ok(match kind {
        StoreKind::Keyring => Box::new(config.keyring()),
        StoreKind::EncryptedFile => Box::new(config.encrypted_file().ok_or_else(no_key)?),
        StoreKind::PlainFile => Box::new(config.plain_file()),
    })
}

impl StoreConfig {
    fn keyring(&self) -> KeyringStore {
        KeyringStore { buses: self.buses.clone(), prompts: self.prompts, record: self.path.clone() }
    }

    fn encrypted_file(&self) -> Option<FileStore> {
        Some(FileStore::encrypted(self.path.clone(), Arc::clone(self.key.as_ref()?)))
    }

    fn plain_file(&self) -> FileStore {
        FileStore::plain(self.path.clone())
    }
}

/// What the file of secrets says.
struct Recorded {
    kind: StoreKind,
    /// If it is encrypted.
    key: Option<KeyKind>,
}

async fn recorded(config: &StoreConfig) -> Result<Option<Recorded>, SecretsError> {
    let path = config.path.clone();
    blocking(&config.path, move || {
        let Some(content) = disk::read(&path, Audience::User, MAX_FILE)? else { return Ok(None) };
        let file = SecretsFile::parse(&path, &content)?;
        Ok(Some(Recorded { kind: file.kind, key: file.key_kind()? }))
    })
    .await
}

async fn first_choice(config: &StoreConfig) -> Result<StoreKind, SecretsError> {
    match (config.keyring().probe().await, &config.key) {
        (Ok(()), _) => Ok(StoreKind::Keyring),
        (Err(SecretsError::NoKeyring { .. }), Some(_)) => Ok(StoreKind::EncryptedFile),
        (Err(SecretsError::NoKeyring { .. }), None) => Ok(StoreKind::PlainFile),
        (Err(error), _) => Err(error),
    }
}

/// Moves all secrets to another store, and returns how many.
///
/// From then on that store is used, by one replacement of the file of secrets: if anything fails before, everything is as it was.
/// Other processes wait meanwhile, and those that still use the old store are told. Secrets in the keyring are removed from it in the
/// end.
///
/// # Errors
/// If either store cannot be used.
pub async fn move_secrets(config: &StoreConfig, target: StoreKind) -> Result<usize, SecretsError> {
    let path = config.path.clone();
    let file = blocking(&config.path, move || LockedFile::lock(&path)).await?;
    let source = open_store(&StoreConfig { kind: None, ..config.clone() }).await?;
    if source.kind() == target {
        return Ok(0);
    }
    let mut secrets = SecretMap::new();
    for name in source.names().await? {
        if let Some(secret) = source.get(&name).await? {
            secrets.insert(name, secret);
        }
    }
    let names: Vec<_> = secrets.keys().cloned().collect();
    let target_file = match target {
        StoreKind::Keyring => {
            for (name, secret) in &secrets {
                config.keyring().set_secret(name, secret).await?;
            }
            None
        }
        StoreKind::EncryptedFile => Some(config.encrypted_file().ok_or(SecretsError::KeyMissing)?),
        StoreKind::PlainFile => Some(config.plain_file()),
    };
    blocking(&config.path, move || match target_file {
        None => file.replace(&keyring_record()),
        Some(store) => store.replace_all(&file, &secrets),
    })
    .await?;
    if source.kind() == StoreKind::Keyring {
        for name in &names {
            source.remove(name).await?;
        }
    }
    Ok(names.len())
}
