//! The files that the servers work on.

use std::{
    fs,
    io::{BufWriter, Write},
    path::Path,
};

use anyhow::Result;
use tempfile::TempDir;

const DIRECTORIES: usize = 150;
const FILES: usize = 100;
/// The size of the long file.
const LARGE: usize = 100 * 1024 * 1024;

/// A project of 15,000 files, a long file, and some to read and edit.
pub(super) struct Project {
    directory: TempDir,
    memory: TempDir,
}

impl Project {
    /// Creates it on the disk that the repository is on.
    pub(super) fn create() -> Result<Self> {
        let target = crate::workspace::root().join("target");
        let temporary = |place: &Path| tempfile::Builder::new().prefix("builtins-").tempdir_in(place);
        let memory = Path::new("/dev/shm");
        let memory = if memory.is_dir() { temporary(memory)? } else { tempfile::tempdir()? };
        let project = Self { directory: temporary(&target)?, memory };
        let root = project.path();
        for directory in 0..DIRECTORIES {
            let path = root.join(format!("tree/part{}/module{directory}", directory % 10));
            fs::create_dir_all(&path)?;
            for file in 0..FILES {
                let extension = if file % 10 == 0 { "md" } else { "rs" };
                let name = format!("file{file}.{extension}");
                fs::write(path.join(name), source(directory * FILES + file))?;
            }
        }
        let mut log = BufWriter::new(fs::File::create(root.join("large.log"))?);
        let mut written = 0;
        for number in 0.. {
            let line =
                format!("2026-11-17T12:00:00Z INFO request {number} was answered in {} ms\n", number % 97);
            log.write_all(line.as_bytes())?;
            written += line.len();
            if written > LARGE {
                break;
            }
        }
        log.flush()?;
        let text = "A line of the small file, which has sixty bytes as it happens\n".repeat(48);
        fs::write(root.join("small.txt"), &text)?;
        for side in ["ours", "original"] {
            for directory in [root, project.memory()] {
                fs::write(directory.join(format!("edit-{side}.txt")), format!("edit 0\n{text}"))?;
            }
        }
        Ok(project)
    }

    pub(super) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// A directory in memory.
    pub(super) fn memory(&self) -> &Path {
        self.memory.path()
    }
}

/// A file of some fifty lines.
fn source(number: usize) -> String {
    let line = |line: usize| {
        format!("    let value_{line} = compute({number}, {line}); // what needle_{number} is for\n")
    };
    let lines: String =
        (0..40).map(|at| if at == 20 { line(at) } else { line(at).replace("needle_", "thing_") }).collect();
    format!("/// Computes the number {number}.\nfn compute_{number}() {{\n{lines}}}\n")
}
