//! Texts that are too long for a model.
//!
//! A model that gets a megabyte of log reads nothing else. It gets the beginning and the end instead, and the name of a
//! file where all of it is, which its other tools can search.

mod spill;

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

/// How long a text may be, and what becomes of one that is longer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputLimit {
    /// The longest text that is passed on whole.
    pub max_bytes: usize,
    /// Where longer ones are kept; without it, what does not fit is lost.
    pub spill_dir: Option<PathBuf>,
    /// How many bytes are kept there together; then the oldest go.
    pub max_total: u64,
    /// How long each is kept.
    pub max_age: Duration,
}

/// A text that fits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Truncated {
    /// The text itself, or its beginning and its end.
    pub text: String,
    /// Where all of it is, if it did not fit and could be kept.
    pub file: Option<PathBuf>,
    /// How long all of it is.
    pub total_bytes: usize,
}

impl Default for OutputLimit {
    /// 64 KiB, and no place for what is longer.
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
    /// Texts of up to so many bytes.
    pub fn new(max_bytes: usize) -> Self {
        Self { max_bytes, ..Self::default() }
    }

    /// No limit at all.
    pub fn none() -> Self {
        Self::new(usize::MAX)
    }

    /// Keeps longer ones in this folder, which is made if need be. Only its owner may read what is in there.
    pub fn spill_to(self, folder: impl Into<PathBuf>) -> Self {
        Self { spill_dir: Some(folder.into()), ..self }
    }

    /// Makes a text fit. `about` becomes part of the name of the file.
    ///
    /// A text that cannot be kept is shortened all the same, and says why there is no file.
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

    /// Writes a text to a file, beside the task that wants it, and gives it back.
    async fn keep(&self, folder: &Path, about: &str, text: String) -> (std::io::Result<PathBuf>, String) {
        let (folder, about, limits) = (folder.to_owned(), about.to_owned(), (self.max_total, self.max_age));
        let written = tokio::task::spawn_blocking(move || {
            let kept = spill::write(&folder, &about, &text);
            spill::sweep(&folder, kept.as_deref().ok(), limits.0, limits.1);
            (kept, text)
        });
        written.await.unwrap_or_else(|error| (Err(std::io::Error::other(error)), String::new()))
    }
}

/// The beginning and the end of a text, in about `max` bytes, with a line between them that says what is missing.
fn preview(text: &str, max: usize, place: &str) -> String {
    let head = text.floor_char_boundary(max / 3 * 2);
    let tail = text.ceil_char_boundary(text.len() - max / 3);
    let (head, tail) = (&text[..head], &text[tail..]);
    let missing = text.len() - head.len() - tail.len();
    format!("{head}\n[… {missing} of {} bytes are left out here; {place} …]\n{tail}", text.len())
}
