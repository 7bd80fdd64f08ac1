//! A file as text.

use crate::tree::{Content, RelPath, Tree, TreeError, decode};

/// A file larger than this is not read as a whole.
pub const MAX_READ: u64 = 32 * 1024 * 1024;

/// A file as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileText {
    /// Where it is.
    pub path: RelPath,
    /// All of it; what is not UTF-8 is replaced.
    pub text: String,
}

/// Why a file cannot be had as text.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// It cannot be had at all.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// It is not text.
    #[error("`{path}` is a binary file")]
    Binary {
        /// What was asked for.
        path: RelPath,
    },
}

pub(super) fn read(tree: &Tree, path: &RelPath) -> Result<FileText, FileError> {
    let Content { bytes, .. } = tree.read(path, MAX_READ)?;
    match decode(bytes) {
        Some(text) => Ok(FileText { path: path.clone(), text }),
        None => Err(FileError::Binary { path: path.clone() }),
    }
}
