//! Files that configuration consists of or names, read so that none of them can hold up or exhaust the reader.
//!
//! A path in a configuration may come from a cloned repository. Behind it may be a FIFO without a writer, a terminal,
//! or a device without an end; so only regular files are opened, without waiting, and only so much of them is read.

use std::{
    fs::{self, File, Metadata, OpenOptions},
    io::{self, Read},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use rustix::fs::OFlags;

/// A regular file that is open and not read yet.
#[derive(Debug)]
pub(crate) struct SmallFile {
    file: File,
    metadata: Metadata,
    limit: u64,
}

impl SmallFile {
    /// Opens a regular file of at most `limit` bytes.
    pub(crate) fn open(path: &Path, limit: u64) -> io::Result<Self> {
        // Before it is opened, because opening some devices does something; and after, because it may be another by then.
        check(&fs::metadata(path)?, limit)?;
        let flags = (OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC).bits();
        let file = OpenOptions::new().read(true).custom_flags(flags.cast_signed()).open(path)?;
        let metadata = file.metadata()?;
        check(&metadata, limit)?;
        Ok(Self { file, metadata, limit })
    }

    /// What the system knows of the file that is open.
    pub(crate) fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// Reads all of it.
    pub(crate) fn read(self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        // Files of `/proc` have the size 0.
        self.file.take(self.limit + 1).read_to_end(&mut bytes)?;
        match bytes.len() as u64 > self.limit {
            true => Err(too_large(self.limit)),
            false => Ok(bytes),
        }
    }

    /// Reads all of it as text.
    pub(crate) fn read_to_string(self) -> io::Result<String> {
        let not_text = |_| io::Error::new(io::ErrorKind::InvalidData, "it is not valid UTF-8");
        String::from_utf8(self.read()?).map_err(not_text)
    }
}

/// Reads a regular file of at most `limit` bytes, without ever waiting for another process.
///
/// # Errors
///
/// When it cannot be read, is larger, or is something else: a directory, a FIFO, a socket or a device.
pub fn read_small(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    SmallFile::open(path, limit)?.read()
}

/// As [`read_small`], for text.
///
/// # Errors
///
/// As [`read_small`], and when it is not UTF-8.
pub fn read_small_text(path: &Path, limit: u64) -> io::Result<String> {
    SmallFile::open(path, limit)?.read_to_string()
}

fn check(metadata: &Metadata, limit: u64) -> io::Result<()> {
    match metadata.is_file() {
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file")),
        true if metadata.len() > limit => Err(too_large(limit)),
        true => Ok(()),
    }
}

fn too_large(limit: u64) -> io::Error {
    let limit = match limit >> 20 {
        0 => format!("{} KiB", limit >> 10),
        mebibytes => format!("{mebibytes} MiB"),
    };
    io::Error::new(io::ErrorKind::FileTooLarge, format!("it is larger than {limit}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_are_read_and_only_so_much_of_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("small"), "12345678").unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, path("fifo"), rustix::fs::FileType::Fifo, 0o600.into(), 0)
            .unwrap();
        std::os::unix::fs::symlink("/dev/zero", path("zero")).unwrap();
        std::os::unix::net::UnixListener::bind(path("socket")).unwrap();
        assert_eq!(read_small(&path("small"), 8).unwrap(), b"12345678");
        for (name, limit, why) in [
            ("small", 7, "it is larger than 0 KiB"),
            ("fifo", 8, "it is not a regular file"),
            ("zero", 8, "it is not a regular file"),
            ("socket", 8, "it is not a regular file"),
            (".", 8, "it is not a regular file"),
        ] {
            assert_eq!(read_small(&path(name), limit).unwrap_err().to_string(), why, "{name}");
        }
        // Its size is reported as 0.
        let endless = read_small(Path::new("/proc/kallsyms"), 1024).unwrap_err();
        assert_eq!(endless.to_string(), "it is larger than 1 KiB");
        assert_eq!(read_small(&path("none"), 8).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
