//! The files of a store: lines, states and how they are opened.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use super::super::graph::{Entity, Graph, GraphChange, Relation};

/// Only the user may read what is remembered.
pub(super) const PRIVATE: u32 = 0o600;

/// What tells one state of a file from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileState {
    inode: u64,
    pub(super) size: u64,
    changed: (i64, i64),
}

impl FileState {
    pub(super) fn of(path: &Path) -> Option<Self> {
        let file = fs::metadata(path).ok()?;
        Some(Self { inode: file.ino(), size: file.size(), changed: (file.ctime(), file.ctime_nsec()) })
    }
}

/// A line of the file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(super) enum Line {
    Entity(Entity),
    Relation(Relation),
}

impl Graph {
    /// Takes over a line of the file. What is there already stays as it is.
    pub(super) fn insert(&mut self, line: Line) {
        drop(self.apply(match line {
            Line::Entity(entity) => GraphChange::CreateEntities(vec![entity]),
            Line::Relation(relation) => GraphChange::CreateRelations(vec![relation]),
        })); // only added observations can be refused
    }
}

/// Writes a graph to a file that takes the place of another one.
pub(super) fn write_draft(draft: &Path, path: &Path, graph: &Graph) -> io::Result<()> {
    let mut content = Vec::new();
    let entities = graph.entities().cloned().map(Line::Entity);
    let relations = graph.relations().iter().cloned().map(Line::Relation);
    for line in entities.chain(relations) {
        if !content.is_empty() {
            content.push(b'\n');
        }
        serde_json::to_writer(&mut content, &line)?;
    }
    let mut file = OpenOptions::new().create(true).truncate(true).write(true).mode(PRIVATE).open(draft)?;
    file.write_all(&content)?;
    if let Ok(old) = fs::metadata(path) {
        file.set_permissions(old.permissions())?;
    }
    file.sync_all()
}

pub(super) fn lines(content: &[u8]) -> impl Iterator<Item = &[u8]> {
    content.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty())
}

pub(super) fn is_read_only(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}

/// `memory.jsonl` → `memory.jsonl.journal`.
pub(super) fn beside(path: &Path, extension: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(extension);
    name.into()
}

/// Opens a journal, to write if that is allowed; `None` if there is none.
pub(super) fn open_journal(path: &Path) -> io::Result<Option<File>> {
    match open_regular(path, OpenOptions::new().read(true).write(true)) {
        Err(error) if is_read_only(&error) => open_regular(path, OpenOptions::new().read(true)),
        opened => opened,
    }
}

/// Opens a file that must be a regular one; `None` if there is none.
pub(super) fn open_regular(path: &Path, options: &mut OpenOptions) -> io::Result<Option<File>> {
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
    let file = match options.custom_flags(flags).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    Ok(Some(file))
}
