//! Files as text, and the entries of folders.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use ignore::WalkBuilder;
use rustix::fs::{AtFlags, Dir, FileType, Stat};

use crate::tree::{Content, Links, RelPath, Tree, TreeError, TreeRoot, decode};

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
        /// The requested path.
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

/// More entries than this are never listed at once.
const MAX_ENTRIES: usize = 200_000;

/// Something in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderEntry {
    /// Where it is.
    pub path: RelPath,
    /// What it is.
    pub kind: EntryKind,
    /// In bytes, of files.
    pub size: Option<u64>,
}

/// What something in a folder is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EntryKind {
    /// A folder.
    Folder,
    /// A file with contents.
    File,
    /// A link, wherever it leads.
    Link,
    /// A socket, a pipe, a device: never opened.
    Other,
}

/// Lists a folder: folders first, then by name. What is hidden or ignored is there only with `all`.
pub(super) fn list(root: &TreeRoot, folder: &RelPath, all: bool) -> Result<Vec<FolderEntry>, TreeError> {
    let opened = root.open_folder(folder, Links::Follow)?;
    let failed = |errno: rustix::io::Errno| TreeError::Read { path: folder.clone(), source: errno.into() };
    let shown = (!all).then(|| shown(root, folder));
    let mut entries = Vec::new();
    for entry in Dir::read_from(&opened).map_err(failed)?.take(MAX_ENTRIES) {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name().to_bytes();
        if matches!(name, b"." | b"..") || shown.as_ref().is_some_and(|shown| !shown.contains(name)) {
            continue;
        }
        // One that cannot be looked at is gone by now.
        let Ok(stat) = rustix::fs::statat(&opened, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW) else {
            continue;
        };
        entries.push(described(folder.join(name), &stat));
    }
    entries.sort_unstable_by(|a, b| (a.kind, &a.path).cmp(&(b.kind, &b.path)));
    Ok(entries)
}

fn described(path: RelPath, stat: &Stat) -> FolderEntry {
    let kind = match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => EntryKind::Folder,
        FileType::RegularFile => EntryKind::File,
        FileType::Symlink => EntryKind::Link,
        _ => EntryKind::Other,
    };
    FolderEntry { path, kind, size: (kind == EntryKind::File).then(|| stat.st_size.cast_unsigned()) }
}

/// Names in a folder that no rule hides. It only chooses among what the folder itself was seen to hold, so it does not
/// matter where its path leads by now.
fn shown(root: &TreeRoot, folder: &RelPath) -> HashSet<Box<[u8]>> {
    let mut builder = WalkBuilder::new(root.path().join(folder.as_path()));
    builder.max_depth(Some(1)).current_dir(root.path()).add_custom_ignore_filename(".rgignore");
    let entries = builder.build().filter_map(Result::ok).filter(|entry| entry.depth() == 1);
    entries.map(|entry| OsStr::as_bytes(entry.file_name()).into()).collect()
}
