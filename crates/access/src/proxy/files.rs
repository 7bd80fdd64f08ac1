//! Files that only their owner can read, replaced as a whole.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Read as _, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _},
    path::Path,
};

use serde::{Serialize, de::DeserializeOwned};
use toolbay_oauth::Credential;

/// What a name of a file that is not finished ends with.
const UNFINISHED: &str = "tmp";

/// Makes a directory that no other user can read, and removes files in it that were never finished.
pub(super) fn prepare(directory: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    fs::set_permissions(directory, fs::Permissions::from_mode(0o700))?;
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == UNFINISHED) {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}

/// Reads a value. There is none if there is no file.
pub(super) fn read<T: DeserializeOwned>(path: &Path, max: u64) -> io::Result<Option<T>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut text = Vec::new();
    file.take(max).read_to_end(&mut text)?;
    serde_json::from_slice(&text).map(Some).map_err(io::Error::other)
}

/// Replaces a file: its content is on disk before it gets its name.
pub(super) fn write(path: &Path, value: &impl Serialize) -> io::Result<()> {
    let unique = Credential::random().map_err(io::Error::other)?;
    let temporary = path.with_extension(format!("{}.{UNFINISHED}", &unique.expose()[..12]));
    let written = (|| {
        let mut file = OpenOptions::new().mode(0o600).write(true).create_new(true).open(&temporary)?;
        file.write_all(&serde_json::to_vec(value)?)?;
        file.sync_all()?;
        fs::rename(&temporary, path)
    })();
    if written.is_err() {
        let _ = fs::remove_file(&temporary); // it may not be there; what failed is returned
    }
    written
}

/// Removes a file, if it is there.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Runs work on files where it may block.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(io::Error::other(error)))
}
