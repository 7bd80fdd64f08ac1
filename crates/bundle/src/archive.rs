//! Untrusted zip archives.

use std::{
    collections::HashMap,
    fs::{self, DirBuilder, OpenOptions},
    io::{self, Read, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::Path,
};

use flate2::bufread::DeflateDecoder;
use rawzip::{CompressionMethod, ZipArchive, ZipArchiveEntryWayfinder, ZipSliceArchive};

/// How much an archive may be.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// Files and folders.
    pub(super) entries: usize,
    /// Bytes of all files together.
    pub(super) bytes: u64,
    /// How many times larger than packed; only above [`Limits::small`].
    pub(super) ratio: u64,
    /// Bytes that may be packed as well as one likes.
    pub(super) small: u64,
}

impl Limits {
    /// Room for a bundle with all the modules that it brings.
    pub(super) const BUNDLE: Self = Self { entries: 100_000, bytes: 1 << 30, ratio: 100, small: 16 << 20 };
}

/// Longer names do not fit into file systems.
const MAX_NAME: usize = 255;
const MAX_PATH: usize = 1024;
/// Types of files in the mode of an entry.
const TYPE_MASK: u32 = 0o170_000;
const TYPES_WE_KNOW: [u32; 3] = [0, 0o100_000, 0o040_000];

/// An archive whose names are all harmless. Nothing was unpacked to find that out.
pub(super) struct Archive<'a> {
    zip: ZipSliceArchive<&'a [u8]>,
    entries: Vec<Entry>,
    limits: Limits,
    packed: u64,
}

struct Entry {
    path: String,
    is_folder: bool,
    is_program: bool,
    is_deflated: bool,
    place: ZipArchiveEntryWayfinder,
}

impl<'a> Archive<'a> {
    /// Looks at every entry; the error is a sentence.
    pub(super) fn open(bytes: &'a [u8], limits: Limits) -> Result<Self, String> {
        let zip =
            ZipArchive::from_slice(bytes).map_err(|error| format!("it is not a zip archive: {error}"))?;
        let mut names = Names::default();
        let mut entries = Vec::new();
        let mut directory = zip.entries();
        while let Some(record) = directory.next_entry().map_err(|error| format!("it is corrupt: {error}"))? {
            if entries.len() == limits.entries {
                return Err(format!("it contains more than {} files", limits.entries));
            }
            let raw = record.file_path();
            let name = std::str::from_utf8(raw.as_bytes())
                .map_err(|_| "a name in it is not valid UTF-8".to_owned())?;
            let is_folder = name.ends_with('/');
            let path = checked_path(name.strip_suffix('/').unwrap_or(name))?;
            names.take(path, is_folder)?;
            let mode = record.mode().value();
            if !TYPES_WE_KNOW.contains(&(mode & TYPE_MASK)) {
                return Err(format!("`{}` in it is neither a file nor a directory", path.escape_debug()));
            }
            if record.flags().is_encrypted() {
                return Err(format!("`{path}` in it is encrypted"));
            }
            let is_deflated = match record.compression_method() {
                CompressionMethod::STORE => false,
                CompressionMethod::DEFLATE => true,
                other => {
                    return Err(format!(
                        "`{path}` in it is compressed with an unsupported method: {other:?}"
                    ));
                }
            };
            entries.push(Entry {
                path: path.to_owned(),
                is_folder,
                is_program: mode & 0o111 != 0,
                is_deflated,
                place: record.wayfinder(),
            });
        }
        if entries.len() as u64 != zip.entries_hint() {
            return Err("its number of files is not the one it declares".to_owned());
        }
        Ok(Self { packed: bytes.len() as u64, zip, entries, limits })
    }

    /// One file as text.
    pub(super) fn text(&self, path: &str, most: u64) -> Result<String, String> {
        let entry = self.entries.iter().find(|entry| entry.path == path && !entry.is_folder);
        let entry = entry.ok_or_else(|| format!("it contains no {path}"))?;
        let mut bytes = Vec::new();
        self.copy(entry, &mut bytes, &mut 0, most).map_err(|error| format!("{path}: {error}"))?;
        String::from_utf8(bytes).map_err(|_| format!("{path} is not valid UTF-8"))
    }

    /// Unpacks everything into an empty folder of ours. Whatever fails leaves it half full.
    pub(super) fn unpack(&self, folder: &Path, program: Option<&str>) -> io::Result<()> {
        let most =
            self.limits.bytes.min(self.packed.saturating_mul(self.limits.ratio).max(self.limits.small));
        let mut written = 0;
        for entry in &self.entries {
            // Invariant: checked when the archive was opened, and there are no links in a folder of ours: it stays beneath.
            let path = folder.join(&entry.path);
            let make = |folder: &Path| DirBuilder::new().recursive(true).mode(0o755).create(folder);
            if entry.is_folder {
                make(&path)?;
                continue;
            }
            path.parent().map(make).transpose()?;
            let is_program = entry.is_program || program == Some(entry.path.as_str());
            let mode = if is_program { 0o755 } else { 0o644 };
            let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&path)?;
            self.copy(entry, &mut file, &mut written, most)
                .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", entry.path)))?;
        }
        Ok(())
    }

    /// Counts the bytes that are really unpacked, whatever sizes the archive declares.
    fn copy(&self, entry: &Entry, to: &mut dyn Write, written: &mut u64, most: u64) -> io::Result<()> {
        let found = self.zip.get_entry(entry.place).map_err(io::Error::other)?;
        let packed: Box<dyn Read> = match entry.is_deflated {
            true => Box::new(DeflateDecoder::new(found.data())),
            false => Box::new(found.data()),
        };
        let mut reader = found.verifying_reader(packed);
        let room = most.saturating_sub(*written);
        let copied = io::copy(&mut Read::by_ref(&mut reader).take(room), to)?;
        *written += copied;
        // The end is where size and checksum are verified; it must be reached.
        match reader.read(&mut [0])? {
            0 => Ok(()),
            _ => Err(io::Error::new(
                io::ErrorKind::FileTooLarge,
                format!("it expands to more than {most} bytes"),
            )),
        }
    }
}

/// Names that were seen, as a case-insensitive file system compares them.
#[derive(Default)]
struct Names(HashMap<String, (String, bool)>);

impl Names {
    fn take(&mut self, path: &str, is_folder: bool) -> Result<(), String> {
        for (end, _) in path.match_indices('/') {
            self.see(&path[..end], true)?;
        }
        let is_new = self.see(path, is_folder)?;
        match is_new || is_folder {
            true => Ok(()),
            false => Err(format!("`{path}` occurs twice in it")),
        }
    }

    fn see(&mut self, path: &str, is_folder: bool) -> Result<bool, String> {
        let key = path.to_lowercase();
        match self.0.get(&key) {
            None => {
                self.0.insert(key, (path.to_owned(), is_folder));
                Ok(true)
            }
            Some((other, _)) if other != path => {
                Err(format!("`{other}` and `{path}` in it differ only in case"))
            }
            Some((_, was_folder)) if *was_folder != is_folder => {
                Err(format!("`{path}` in it is both a file and a directory"))
            }
            Some(_) => Ok(false),
        }
    }
}

/// A path that stays beneath, on any system.
fn checked_path(name: &str) -> Result<&str, String> {
    let shown = name.escape_debug();
    if name.is_empty()
        || name.len() > MAX_PATH
        || name.contains(['\\', ':'])
        || name.chars().any(char::is_control)
    {
        return Err(format!("`{shown}` in it is not a valid file name"));
    }
    if name.starts_with('/') {
        return Err(format!("`{shown}` in it is an absolute path"));
    }
    for part in name.split('/') {
        match part {
            ".." => return Err(format!("`{shown}` in it leads outside the directory")),
            "" | "." => return Err(format!("`{shown}` in it is not a valid file name")),
            part if part.len() > MAX_NAME => return Err(format!("`{shown}` in it is too long")),
            _ => {}
        }
    }
    Ok(name)
}

/// Removes a folder that is partly unpacked; files that cannot be removed do no harm.
pub(super) fn discard(folder: &Path) {
    drop(fs::remove_dir_all(folder));
}
