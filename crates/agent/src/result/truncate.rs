//! Truncation of output that is too long for a model.
//!
//! A megabyte of log fills the context of a model. The model gets the beginning and the end instead, and the name of a file
//! with all of it, which its other tools can search.

use std::{
    fs::{self, DirBuilder, OpenOptions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

/// The prefix of our files; no other file in the directory is ever touched.
const PREFIX: &str = "toolbay-output-";
const MAX_ABOUT: usize = 48;

/// The limit of an output, and where longer ones are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputLimit {
    /// The longest text that is not truncated.
    pub max_bytes: usize,
    /// The directory for longer ones; without it, the rest is lost.
    pub spill_dir: Option<PathBuf>,
    /// How many bytes are kept there in all; the oldest files are removed first.
    pub max_total: u64,
    /// How long a file is kept.
    pub max_age: Duration,
}

/// A text within the limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Truncated {
    /// The text, or its beginning and its end.
    pub text: String,
    /// The file with all of it, if it was truncated and could be kept.
    pub file: Option<PathBuf>,
    /// The length of all of it.
    pub total_bytes: usize,
}

impl Default for OutputLimit {
    /// 64 KiB, without a directory.
    fn default() -> Self {
        Self {
            max_bytes: 64 * 1024,
            spill_dir: None,
            max_total: 256 * 1024 * 1024,
            max_age: Duration::from_secs(24 * 3600),
        }
    }
}

impl OutputLimit {
    /// A limit in bytes.
    pub fn new(max_bytes: usize) -> Self {
        Self { max_bytes, ..Self::default() }
    }

    /// No limit at all.
    pub fn none() -> Self {
        Self::new(usize::MAX)
    }

    /// Keeps longer texts in this directory, which is created if necessary. Only its owner may read the files.
    pub fn spill_to(self, folder: impl Into<PathBuf>) -> Self {
        Self { spill_dir: Some(folder.into()), ..self }
    }

    /// Truncates a text. `about` becomes part of the name of the file.
    ///
    /// A text that cannot be kept is truncated, too, and says why there is no file.
    pub async fn apply(&self, about: &str, text: String) -> Truncated {
        let total_bytes = text.len();
        if total_bytes <= self.max_bytes {
            return Truncated { text, file: None, total_bytes };
        }
        let Some(folder) = &self.spill_dir else {
            let text = preview(&text, self.max_bytes, "the rest is lost");
            return Truncated { text, file: None, total_bytes };
        };
        let (kept, text) = self.keep(folder, about, text).await;
        match kept {
            Ok(file) => {
                let place = format!("all of it is in the file {}", file.display());
                Truncated { text: preview(&text, self.max_bytes, &place), file: Some(file), total_bytes }
            }
            Err(error) => {
                let place = format!("the rest is lost: cannot write to {}: {error}", folder.display());
                Truncated { text: preview(&text, self.max_bytes, &place), file: None, total_bytes }
            }
        }
    }

    /// Writes a text to a file on a blocking thread, and returns it.
    async fn keep(&self, folder: &Path, about: &str, text: String) -> (std::io::Result<PathBuf>, String) {
        let (folder, about, limits) = (folder.to_owned(), about.to_owned(), (self.max_total, self.max_age));
        let written = tokio::task::spawn_blocking(move || {
            let kept = spill(&folder, &about, &text);
            sweep(&folder, kept.as_deref().ok(), limits.0, limits.1);
            (kept, text)
        });
        written.await.unwrap_or_else(|error| (Err(std::io::Error::other(error)), String::new()))
    }
}

/// The beginning and the end of a text, in about `max` bytes, with a line between them that says how much is missing.
fn preview(text: &str, max: usize, place: &str) -> String {
    let head = text.floor_char_boundary(max / 3 * 2);
    let tail = text.ceil_char_boundary(text.len() - max / 3);
    let (head, tail) = (&text[..head], &text[tail..]);
    let missing = text.len() - head.len() - tail.len();
    format!("{head}\n[… {missing} of {} bytes are left out here; {place} …]\n{tail}", text.len())
}

/// Writes a text to a new file that only its owner may read.
fn spill(folder: &Path, about: &str, text: &str) -> io::Result<PathBuf> {
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
        let _ = fs::remove_file(&path); // half a file is of no use
        return Err(error);
    }
    Ok(path)
}

/// Removes files that are too old, then the oldest until the rest fits; `newest` always stays. A directory that cannot be read
/// is skipped: writing to it reports the error.
fn sweep(folder: &Path, newest: Option<&Path>, max_total: u64, max_age: Duration) {
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
