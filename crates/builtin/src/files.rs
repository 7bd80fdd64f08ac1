//! What the servers for files share.

use std::io::{self, Read};

use rustix::fs::Stat;
use sha2::{Digest, Sha256};
use toolbay_files::{AccessError, AllowedDirectories, Found, Place, Stamp, Text, WriteMode};
use toolbay_server::ToolError;

/// The largest file that is edited.
const MAX_EDITED: u64 = 16 * 1024 * 1024;

/// The files that a server may read and change.
#[derive(Debug)]
pub(crate) struct Files {
    pub(crate) allowed: AllowedDirectories,
    pub(crate) write_mode: WriteMode,
}

/// A text file, and what is needed to write it again.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) found: Found,
    pub(crate) bytes: Vec<u8>,
    pub(crate) text: Text,
    place: Place,
    seen: Stamp,
}

impl Files {
    /// Opens a text file for a change.
    pub(crate) fn open_text(&self, path: &str, encoding: Option<&str>) -> Result<Opened, ToolError> {
        let found = self.allowed.find(path).map_err(|error| failed("open", error))?;
        let place = self.allowed.place(path).map_err(|error| failed("open", error))?;
        let bytes = read_bytes(&found, MAX_EDITED, "it is too large to be edited")?;
        let text = match encoding {
            Some(label) => Text::decode_named(&bytes, label),
            None => Text::decode(&bytes),
        };
        let text = text.map_err(|error| {
            ToolError::failed(format!("{}: {error}, so it is not edited", found.path().display()))
        })?;
        Ok(Opened { seen: Stamp::of(found.stat()), found, place, bytes, text })
    }

    /// Writes a file that was opened and changed, unless another program has changed it meanwhile.
    pub(crate) fn save(&self, opened: &Opened) -> Result<Vec<u8>, ToolError> {
        let content = opened.text.encode().map_err(|error| ToolError::failed(error.to_string()))?;
        self.write(&opened.place, &content, Some(opened.seen))?;
        Ok(content)
    }

    /// Writes a file; only if it is still as it was `seen`, if that is given.
    pub(crate) fn write(&self, place: &Place, content: &[u8], seen: Option<Stamp>) -> Result<(), ToolError> {
        let unchanged = |now: Option<&Stat>| seen.map_or(Ok(()), |seen| check_unchanged(seen, now));
        place.write(content, self.write_mode, unchanged).map(drop).map_err(|error| failed("open", error))
    }
}

/// Reads all bytes of a file that is not longer than `limit`.
pub(crate) fn read_bytes(found: &Found, limit: u64, hint: &str) -> Result<Vec<u8>, ToolError> {
    let file = found.open_file().map_err(|error| failed("open", error))?;
    let size = size(found);
    if size > limit {
        let path = found.path().display();
        return Err(ToolError::failed(format!(
            "{path} has {size} bytes; at most {limit} are read at once: {hint}"
        )));
    }
    let mut bytes = Vec::with_capacity(size.try_into().unwrap_or_default());
    // One that grows meanwhile is read as far as it was.
    file.take(limit).read_to_end(&mut bytes).map_err(|error| unreadable(found, &error))?;
    Ok(bytes)
}

/// The size of a file.
pub(crate) fn size(found: &Found) -> u64 {
    u64::try_from(found.stat().st_size).unwrap_or_default()
}

/// The error for a file that cannot be read.
pub(crate) fn unreadable(found: &Found, error: &io::Error) -> ToolError {
    ToolError::failed(format!("{}: {error}", found.path().display()))
}

/// Compares the hash of a file with the one that the caller knows.
pub(crate) fn check_hash(expected: Option<&str>, content: &[u8]) -> Result<(), ToolError> {
    let Some(expected) = expected else { return Ok(()) };
    let actual = hash(content);
    if expected.eq_ignore_ascii_case(&actual) {
        return Ok(());
    }
    Err(ToolError::failed(format!("the file has changed: its hash is {actual}; read it again")))
}

pub(crate) fn hash(content: &[u8]) -> String {
    Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Refuses to replace a file that is another one now than when it was read.
fn check_unchanged(seen: Stamp, now: Option<&Stat>) -> io::Result<()> {
    if now.is_some_and(|now| Stamp::of(now) == seen) {
        return Ok(());
    }
    Err(io::Error::other("the file was changed by another program meanwhile; read it again"))
}

/// An error as Node words it, which is what models know.
pub(crate) fn failed(call: &str, error: AccessError) -> ToolError {
    ToolError::failed(match error {
        AccessError::Missing { path } => {
            format!("ENOENT: no such file or directory, {call} '{}'", path.display())
        }
        AccessError::NotADirectory { path } if call == "mkdir" => {
            format!("EEXIST: file already exists, mkdir '{}'", path.display())
        }
        AccessError::NotADirectory { path } => {
            format!("ENOTDIR: not a directory, {call} '{}'", path.display())
        }
        error => error.to_string(),
    })
}
