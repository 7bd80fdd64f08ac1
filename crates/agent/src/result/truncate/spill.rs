//! Files with what did not fit.

use std::{
    fs::{self, DirBuilder, OpenOptions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

/// What our files begin with; no other file in the folder is ever touched.
const PREFIX: &str = "toolbay-output-";
const MAX_ABOUT: usize = 48;

/// Writes a text to a new file that only its owner may read.
pub(super) fn write(folder: &Path, about: &str, text: &str) -> io::Result<PathBuf> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let about: String = about
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' })
        .take(MAX_ABOUT)
        .collect();
    let mut random = [0; 8];
    getrandom::fill(&mut random).map_err(io::Error::other)?;
    let path = folder.join(format!("{PREFIX}{about}-{:016x}.txt", u64::from_be_bytes(random)));
    // Never follows a link, never writes to what is there.
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
    if let Err(error) = file.write_all(text.as_bytes()) {
        let _ = fs::remove_file(&path); // half of it helps nobody
        return Err(error);
    }
    Ok(path)
}

/// Removes what is too old, then the oldest until the others fit; `newest` stays in any case. A folder that cannot be read
/// is left as it is: whoever writes there hears of that.
pub(super) fn sweep(folder: &Path, newest: Option<&Path>, max_total: u64, max_age: Duration) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let mut files: Vec<(SystemTime, u64, PathBuf)> = Vec::new();
    for entry in entries.flatten() {
        let is_ours = entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX));
        if let Ok(metadata) = entry.metadata()
            && is_ours
            && metadata.is_file()
            && Some(entry.path().as_path()) != newest
        {
            let written = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            files.push((written, metadata.len(), entry.path()));
        }
    }
    files.sort_by_key(|(written, ..)| std::cmp::Reverse(*written));
    let now = SystemTime::now();
    let mut total = newest.and_then(|path| fs::metadata(path).ok()).map_or(0, |metadata| metadata.len());
    for (written, length, path) in files {
        total = total.saturating_add(length);
        let is_old = now.duration_since(written).is_ok_and(|age| age > max_age);
        if is_old || total > max_total {
            let _ = fs::remove_file(path); // another process may have been faster
        }
    }
}
