//! The key that seals ids of tasks, kept in a file.

use std::{
    fs::{self, DirBuilder, OpenOptions, Permissions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt},
    path::Path,
};

/// A random key.
pub(crate) fn random() -> Result<[u8; 32], getrandom::Error> {
    let mut key = [0; 32];
    getrandom::fill(&mut key)?;
    Ok(key)
}

/// The key in that file, which is made on first use.
pub(crate) fn kept_in(file: &Path) -> io::Result<[u8; 32]> {
    match read(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            create(file)?;
            read(file) // another hub may have been first; then its key counts
        }
        other => other,
    }
}

fn read(file: &Path) -> io::Result<[u8; 32]> {
    let metadata = fs::metadata(file)?;
    if !metadata.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    if metadata.permissions().mode() & 0o077 != 0 {
        fs::set_permissions(file, Permissions::from_mode(0o600))?;
    }
    fs::read(file)?.try_into().map_err(|_| io::Error::other("it does not hold 32 bytes"))
}

/// Makes the file whole or not at all, and never in the place of another.
fn create(file: &Path) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let key = random().map_err(|error| io::Error::other(error.to_string()))?;
    let draft = file.with_extension(format!("{}.new", std::process::id()));
    let mut out = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
    let made = out.write_all(&key).and_then(|()| out.sync_all()).and_then(|()| fs::hard_link(&draft, file));
    fs::remove_file(&draft)?;
    match made {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_made_once_and_only_its_owner_can_read_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a/b/tasks.key");
        let key = kept_in(&file).unwrap();
        assert_eq!(kept_in(&file).unwrap(), key);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));
        assert_eq!(fs::read_dir(file.parent().unwrap()).unwrap().count(), 1, "no draft is left");
        fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
        assert_eq!(kept_in(&file).unwrap(), key);
        assert_eq!(mode(&file), 0o600);
        create(&file).unwrap();
        assert_eq!(kept_in(&file).unwrap(), key, "the first one counts");
        assert_ne!(kept_in(&folder.path().join("other.key")).unwrap(), key);
    }

    #[test]
    fn what_is_no_key_is_not_used_and_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("tasks.key");
        fs::write(&file, "short").unwrap();
        assert!(kept_in(&file).is_err());
        assert_eq!(fs::read(&file).unwrap(), b"short");
        assert!(kept_in(&file.join("below a file")).is_err());
        assert!(kept_in(folder.path()).is_err());
    }
}
