//! Entries as files of a directory that only its owner can read.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read as _, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use super::{
    CredentialKind, CredentialName, CredentialStoreError, LockDirectory, Storage, StorageLock, StoreStamp,
};
use crate::{credential::Credential, http_client::BoxFuture};

/// The largest entry that is read.
const MAX_ENTRY: u64 = 1024 * 1024;

/// A directory with a file per entry.
#[derive(Debug, Clone)]
pub struct FileStorage {
    directory: PathBuf,
    locks: LockDirectory,
}

impl FileStorage {
    /// Opens a directory, which is created if needed, and makes sure that no other user can read it.
    ///
    /// # Errors
    /// If it cannot be created or belongs to another user.
    pub fn open(directory: impl Into<PathBuf>) -> Result<Self, CredentialStoreError> {
        let directory = directory.into();
        Ok(Self { locks: LockDirectory::open(&directory)?, directory })
    }

    fn path(&self, name: &str, extension: &str) -> PathBuf {
        self.directory.join(format!("{name}.{extension}"))
    }
}

impl Storage for FileStorage {
    fn load<'a>(
        &'a self,
        name: &'a CredentialName,
    ) -> BoxFuture<'a, Result<Option<Credential>, CredentialStoreError>> {
        let path = self.path(name.as_str(), "json");
        Box::pin(blocking(move || read(&path).map_err(|source| failed(&path, source))))
    }

    fn save<'a>(
        &'a self,
        name: &'a CredentialName,
        text: &'a Credential,
    ) -> BoxFuture<'a, Result<(), CredentialStoreError>> {
        Box::pin(async move {
            let unique =
                Credential::random().map_err(|error| CredentialStoreError::Other(error.to_string()))?;
            let path = self.path(name.as_str(), "json");
            let temporary = self.path(&format!("{}.{}", name.as_str(), unique.expose()), "tmp");
            let text = text.clone();
            blocking(move || replace(&path, &temporary, &text).map_err(|source| failed(&path, source)))
                .await?;
            self.locks.changed()
        })
    }

    fn remove<'a>(&'a self, name: &'a CredentialName) -> BoxFuture<'a, Result<(), CredentialStoreError>> {
        let path = self.path(name.as_str(), "json");
        Box::pin(async move {
            match fs::remove_file(&path) {
                Err(source) if source.kind() != io::ErrorKind::NotFound => Err(failed(&path, source)),
                _ => self.locks.changed(),
            }
        })
    }

    fn list(&self, kind: CredentialKind) -> BoxFuture<'_, Result<Vec<Credential>, CredentialStoreError>> {
        let directory = self.directory.clone();
        Box::pin(blocking(move || list(&directory, kind).map_err(|source| failed(&directory, source))))
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

/// Runs work on files where it may block.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, CredentialStoreError> + Send + 'static,
) -> Result<T, CredentialStoreError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => Err(CredentialStoreError::Other(error.to_string())),
    }
}

pub(super) fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(0o600);
    options
}

fn read(path: &Path) -> io::Result<Option<Credential>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut text = String::new();
    file.take(MAX_ENTRY).read_to_string(&mut text)?;
    Ok(Some(Credential::new(text)))
}

/// Replaces a file: its content is on disk before it gets its name.
fn replace(path: &Path, temporary: &Path, text: &Credential) -> io::Result<()> {
    let written = (|| {
        let mut file = private().write(true).create_new(true).open(temporary)?;
        file.write_all(text.expose().as_bytes())?;
        file.sync_all()?;
        fs::rename(temporary, path)
    })();
    if written.is_err() {
        let _ = fs::remove_file(temporary); // it may not be there; what failed is returned
    }
    written
}

fn list(directory: &Path, kind: CredentialKind) -> io::Result<Vec<Credential>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory)? {
        let (path, name) = {
            let entry = entry?;
            (entry.path(), entry.file_name())
        };
        let name = name.to_string_lossy();
        if name.starts_with(CredentialName::prefix(kind)) && name.ends_with(".json") {
            found.extend(read(&path)?);
        }
    }
    Ok(found)
}

pub(super) fn failed(path: &Path, source: io::Error) -> CredentialStoreError {
    CredentialStoreError::File { path: path.to_owned(), source }
}
