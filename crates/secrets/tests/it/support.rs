//! Stores in a temporary directory, and errors as users see them.

use std::{
    error::Error,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::Arc,
};

use tempfile::TempDir;
use toolbay_secrets::{
    KeyringPrompts, Secret, SecretName, SecretStore, SecretsError, StoreConfig, StoreKey, open_store,
};

pub(crate) const HOST: &str = env!("CARGO_BIN_EXE_secrets-test-host");

/// A directory with a file of secrets, which need not exist.
pub(crate) struct Place {
    pub(crate) directory: TempDir,
    pub(crate) config: StoreConfig,
}

impl Place {
    /// Without a keyring and without a key.
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let config = StoreConfig {
            path: directory.path().join("toolbay/secrets"),
            kind: None,
            buses: Vec::new(),
            key: None,
            prompts: KeyringPrompts::Never,
        };
        Self { directory, config }
    }

    /// With a key in a file.
    pub(crate) fn with_key_file() -> Self {
        let mut place = Self::new();
        let key = place.private_file("key", b"0123456789abcdef0123456789abcdef\n");
        place.config.key = Some(Arc::new(StoreKey::file(key)));
        place
    }

    pub(crate) fn with_passphrase(passphrase: &str) -> Self {
        let mut place = Self::new();
        place.use_passphrase(passphrase);
        place
    }

    pub(crate) fn use_passphrase(&mut self, passphrase: &str) {
        self.config.key = Some(Arc::new(StoreKey::passphrase(secret(passphrase))));
    }

    pub(crate) fn private_file(&self, name: &str, content: &[u8]) -> PathBuf {
        let path = self.directory.path().join(name);
        fs::write(&path, content).unwrap();
        set_mode(&path, 0o600);
        path
    }

    pub(crate) fn path(&self) -> &Path {
        &self.config.path
    }

    pub(crate) async fn open(&self) -> Result<Box<dyn SecretStore>, SecretsError> {
        open_store(&self.config).await
    }

    pub(crate) async fn set(&self, name: &str, value: &str) -> Result<(), SecretsError> {
        self.open().await?.set(&self::name(name), &secret(value)).await
    }

    pub(crate) async fn get(&self, name: &str) -> Result<Option<String>, SecretsError> {
        let secret = self.open().await?.get(&self::name(name)).await?;
        Ok(secret.map(|secret| secret.expose().to_owned()))
    }

    pub(crate) async fn remove(&self, name: &str) -> Result<bool, SecretsError> {
        self.open().await?.remove(&self::name(name)).await
    }

    /// All names, separated by spaces.
    pub(crate) async fn names(&self) -> Result<String, SecretsError> {
        let names = self.open().await?.names().await?;
        Ok(names.iter().map(SecretName::as_str).collect::<Vec<_>>().join(" "))
    }

    /// Names of the files beside the file of secrets.
    pub(crate) fn files(&self) -> Vec<String> {
        let directory = fs::read_dir(self.path().parent().unwrap()).unwrap();
        let mut names: Vec<_> =
            directory.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

pub(crate) fn name(name: &str) -> SecretName {
    name.parse().unwrap()
}

pub(crate) fn secret(text: &str) -> Secret {
    Secret::new(text).unwrap()
}

pub(crate) fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// The error with its causes. Fails if there is none.
pub(crate) fn message<T>(result: Result<T, SecretsError>) -> String {
    let Err(error) = result else { panic!("no error") };
    let mut message = error.to_string();
    let mut cause = error.source();
    while let Some(source) = cause {
        message = format!("{message}: {source}");
        cause = source.source();
    }
    message
}

/// Fails unless the error says all of this.
pub(crate) fn assert_says<T>(result: Result<T, SecretsError>, parts: &[&str]) {
    let message = message(result);
    for part in parts {
        assert!(message.contains(part), "`{part}` is not in: {message}");
    }
}
