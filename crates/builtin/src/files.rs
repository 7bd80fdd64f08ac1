//! What the servers for files share.

pub(crate) mod agent;
pub(crate) mod lines;
pub(crate) mod walk;

use std::{
    borrow::Cow,
    io::{self, Read},
    path::PathBuf,
};

use rustix::fs::Stat;
use sha2::{Digest, Sha256};
use toolbay_files::{
    AccessError, AllowedDirectories, DecodeError, Found, Place, Protection, Secrets, Stamp, Text, WriteMode,
};
use toolbay_server::{ClientRoot, ToolContext, ToolError, ToolResult};

/// The largest file that is edited.
pub(crate) const MAX_EDITED: u64 = 16 * 1024 * 1024;

/// What the roots of a client, the directories that its user works on, mean for the directories of a server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ClientRoots {
    /// Only those parts of the directories that are in a root can be used. Roots never add a directory.
    #[default]
    Narrow,
    /// They mean nothing.
    Ignore,
    /// As `Narrow`, but they are the directories where none is configured.
    Provide,
}

/// What a server may do with files.
#[derive(Debug)]
pub(crate) struct FileAccess {
    pub(crate) directories: Vec<PathBuf>,
    pub(crate) home: Option<PathBuf>,
    pub(crate) secrets: Secrets,
    pub(crate) protection: Protection,
    pub(crate) write_mode: WriteMode,
    pub(crate) client_roots: ClientRoots,
}

/// The files that a server may read and change.
#[derive(Debug, Clone)]
pub(crate) struct Files {
    pub(crate) allowed: AllowedDirectories,
    pub(crate) write_mode: WriteMode,
    pub(crate) client_roots: ClientRoots,
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

/// What must be where a file is written.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Expected {
    Anything,
    Nothing,
    /// The file as it was read.
    Unchanged(Stamp),
}

/// Why a file is not opened for a change.
#[derive(Debug)]
pub(crate) enum OpenError {
    Access(AccessError),
    TooLarge { size: u64 },
    NotText(DecodeError),
}

impl ClientRoots {
    /// Whether the client of a call may use the directories as they are.
    pub(crate) fn is_plain(self, allowed: &AllowedDirectories, context: &ToolContext) -> bool {
        self == Self::Ignore || (!allowed.is_empty() && root_paths(context).is_empty())
    }

    /// Returns the directories that the client of a call may use.
    pub(crate) fn apply<'a>(
        self,
        allowed: &'a AllowedDirectories,
        context: &ToolContext,
    ) -> Result<Cow<'a, AllowedDirectories>, ToolError> {
        if self.is_plain(allowed, context) {
            return Ok(Cow::Borrowed(allowed));
        }
        let paths = root_paths(context);
        if !allowed.is_empty() {
            let narrowed = allowed.narrow(&paths);
            if narrowed.is_empty() {
                return Err(ToolError::failed(
                    "Access denied - none of the roots of the client is in an allowed directory; set `client_roots = \"ignore\"` \
                     to use the directories in spite of them",
                ));
            }
            return Ok(Cow::Owned(narrowed));
        }
        let (provided, _) = if self == Self::Provide { allowed.reopen(paths) } else { allowed.reopen([]) };
        if provided.is_empty() {
            return Err(ToolError::failed(
                "Access denied - there are no allowed directories: none is configured, and the client has no roots that \
                 can be used",
            ));
        }
        Ok(Cow::Owned(provided))
    }
}

fn root_paths(context: &ToolContext) -> Vec<PathBuf> {
    context.roots().unwrap_or_default().iter().filter_map(ClientRoot::path).collect()
}

/// Makes a handler work on what the client of a call may use.
pub(crate) fn for_client<A>(
    handler: fn(&Files, A, &ToolContext) -> ToolResult,
) -> impl Fn(&Files, A, &ToolContext) -> ToolResult + Send + Sync {
    move |files, arguments, context| handler(&*files.of_client(context)?, arguments, context)
}

impl Files {
    /// Opens the directories. Those that cannot be opened are returned with the reason.
    pub(crate) fn open(access: FileAccess) -> (Self, Vec<(PathBuf, io::Error)>) {
        let (allowed, skipped) = AllowedDirectories::open(access.directories);
        let allowed = allowed.home(access.home).secrets(access.secrets).protection(access.protection);
        (Self { allowed, write_mode: access.write_mode, client_roots: access.client_roots }, skipped)
    }

    /// Returns what the client of a call may use.
    pub(crate) fn of_client(&self, context: &ToolContext) -> Result<Cow<'_, Self>, ToolError> {
        Ok(match self.client_roots.apply(&self.allowed, context)? {
            Cow::Borrowed(_) => Cow::Borrowed(self),
            Cow::Owned(allowed) => Cow::Owned(Self { allowed, ..self.clone() }),
        })
    }

    /// Opens a text file for a change. The encoding is detected, unless it is named.
    pub(crate) fn open_text(&self, path: &str, encoding: Option<&str>) -> Result<Opened, OpenError> {
        let found = self.allowed.find(path)?;
        let place = self.allowed.place(path)?;
        let size = size(&found);
        if size > MAX_EDITED {
            return Err(OpenError::TooLarge { size });
        }
        let bytes = read_at_most(&found, MAX_EDITED)?;
        let text = decode(&bytes, encoding).map_err(OpenError::NotText)?;
        Ok(Opened { seen: Stamp::of(found.stat()), found, place, bytes, text })
    }

    /// Writes a file that was opened and changed, unless another program has changed it meanwhile.
    pub(crate) fn save(&self, opened: &Opened) -> Result<Vec<u8>, ToolError> {
        let content = opened.text.encode().map_err(|error| ToolError::failed(error.to_string()))?;
        self.write(&opened.place, &content, Expected::Unchanged(opened.seen))?;
        Ok(content)
    }

    /// Writes a file, if what is there is as expected.
    pub(crate) fn write(&self, place: &Place, content: &[u8], expected: Expected) -> Result<(), ToolError> {
        place
            .write(content, self.write_mode, |now| expected.check(now))
            .map(drop)
            .map_err(|error| failed("open", error))
    }
}

impl Expected {
    fn check(self, now: Option<&Stat>) -> io::Result<()> {
        let is_expected = match self {
            Self::Anything => true,
            Self::Nothing => now.is_none(),
            Self::Unchanged(seen) => now.is_some_and(|now| Stamp::of(now) == seen),
        };
        if is_expected {
            return Ok(());
        }
        Err(io::Error::other("the file was changed by another program meanwhile; read it again"))
    }
}

impl From<AccessError> for OpenError {
    fn from(error: AccessError) -> Self {
        Self::Access(error)
    }
}

impl OpenError {
    /// The error for a model.
    pub(crate) fn describe(self, path: &str) -> ToolError {
        match self {
            Self::Access(error) => failed("open", error),
            Self::TooLarge { size } => ToolError::failed(format!(
                "{path} has {size} bytes; only files of at most {MAX_EDITED} bytes are edited"
            )),
            Self::NotText(error) => ToolError::failed(format!("{path}: {error}, so it is not edited")),
        }
    }
}

/// Decodes a text whose encoding is detected, unless it is named.
pub(crate) fn decode(bytes: &[u8], encoding: Option<&str>) -> Result<Text, DecodeError> {
    match encoding {
        Some(label) => Text::decode_named(bytes, label),
        None => Text::decode(bytes),
    }
}

/// Reads all bytes of a file that is not longer than `limit`.
pub(crate) fn read_bytes(found: &Found, limit: u64, hint: &str) -> Result<Vec<u8>, ToolError> {
    let size = size(found);
    if size > limit && found.is_file() {
        let path = found.path().display();
        return Err(ToolError::failed(format!(
            "{path} has {size} bytes; at most {limit} are read at once: {hint}"
        )));
    }
    read_at_most(found, limit).map_err(|error| failed("open", error))
}

/// Reads a file. One that grows meanwhile is read as far as `limit`.
fn read_at_most(found: &Found, limit: u64) -> Result<Vec<u8>, AccessError> {
    let file = found.open_file()?;
    let mut bytes = Vec::with_capacity(size(found).min(limit).try_into().unwrap_or_default());
    let read = file.take(limit).read_to_end(&mut bytes);
    read.map_err(|source| AccessError::Io { path: found.path().to_owned(), source })?;
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

/// The SHA-256 of some bytes, in hexadecimal.
pub(crate) fn hash(content: &[u8]) -> String {
    hexadecimal(&Sha256::digest(content))
}

pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The directory of a path, as the caller wrote it.
pub(crate) fn parent(path: &str) -> Option<&str> {
    let (parent, _) = path.trim_end_matches('/').rsplit_once('/')?;
    (!parent.is_empty()).then_some(parent)
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
