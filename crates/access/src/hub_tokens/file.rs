//! The file with the tokens of the hub.
//!
//! It holds hashes, so that a copy of it opens nothing. It is replaced as a whole, under a lock of all processes: one that is
//! killed meanwhile leaves the old file, and two that create tokens at once lose none.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use serde::{Deserialize, Serialize};

use super::token::{InvalidTokenName, NewToken, TokenName, hex};
use crate::{
    owner_token::TokenDigest,
    rights::{Rights, Tier, UnknownTier},
};

/// How many tokens there may be.
const MAX_TOKENS: usize = 10_000;
/// A larger file is not ours.
const MAX_FILE: u64 = 16 * 1024 * 1024;

/// A file with tokens of the hub.
#[derive(Debug, Clone)]
pub struct TokenFile {
    path: PathBuf,
}

/// A token of the hub, without its secret.
#[derive(Debug, Clone)]
pub struct HubToken {
    /// Its name, which is that of its principal.
    pub name: TokenName,
    /// What it allows.
    pub rights: Rights,
    /// When it was created.
    pub created: SystemTime,
    /// When it expires, if ever.
    pub expires: Option<SystemTime>,
    pub(super) digest: TokenDigest,
}

/// Tells versions of a file apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileStamp {
    inode: u64,
    changed: (i64, i64),
    length: u64,
}

/// Why the file of tokens cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TokenFileError {
    /// The system refuses.
    #[error("cannot {verb} {}", path.display())]
    Io {
        /// What was tried.
        verb: &'static str,
        /// With which file.
        path: PathBuf,
        /// Why it failed.
        #[source]
        source: io::Error,
    },
    /// It is not what we write.
    #[error("{} is not a file of tokens: {why}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// Others could add tokens.
    #[error("other users can write to {}; run `chmod 600` on it", path.display())]
    Writable {
        /// The file.
        path: PathBuf,
    },
    /// There is a token of that name.
    #[error("there is a token `{0}` already; choose another name, or run `toolbay token revoke {0}`")]
    Exists(TokenName),
    /// There is no token of that name.
    #[error("there is no token `{0}`")]
    Unknown(TokenName),
    /// There are too many tokens.
    #[error("there are {MAX_TOKENS} tokens; revoke some of them first")]
    TooMany,
    /// Nothing that must not be guessed can be made.
    #[error("the system has no randomness")]
    NoRandomness,
}

#[derive(Serialize, Deserialize)]
struct TokenFileContent {
    version: u32,
    tokens: Vec<TokenEntry>,
}

#[derive(Serialize, Deserialize)]
struct TokenEntry {
    name: String,
    sha256: String,
    /// Seconds since 1970, as the next one.
    created: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires: Option<u64>,
    tier: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    servers: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    profile: Option<String>,
}

impl TokenFile {
    const VERSION: u32 = 1;

    /// The file at a path; it need not exist.
    pub fn at(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    /// All tokens, sorted by name. There are none if there is no file.
    ///
    /// # Errors
    /// If it cannot be read, or is not a file of tokens.
    pub fn read(&self) -> Result<Vec<HubToken>, TokenFileError> {
        let Some(stamp) = self.stamp()? else { return Ok(Vec::new()) };
        if stamp.length > MAX_FILE {
            return Err(self.malformed("it is too large"));
        }
        let text = fs::read(&self.path).map_err(|source| self.failed("read", source))?;
        let content: TokenFileContent =
            serde_json::from_slice(&text).map_err(|error| self.malformed(&error.to_string()))?;
        if content.version != Self::VERSION {
            return Err(self.malformed("it was written by a newer version"));
        }
        let tokens = content.tokens.into_iter().map(HubToken::try_from);
        tokens.collect::<Result<_, _>>().map_err(|why| self.malformed(&why))
    }

    /// Adds a token. The returned secret is not kept anywhere.
    ///
    /// # Errors
    /// If there is one of that name, or the file cannot be changed.
    pub fn create(
        &self,
        name: TokenName,
        rights: Rights,
        expires: Option<SystemTime>,
    ) -> Result<NewToken, TokenFileError> {
        let secret = NewToken::random().map_err(|_| TokenFileError::NoRandomness)?;
        let digest = TokenDigest::of(secret.reveal());
        let token = HubToken { name, rights, created: SystemTime::now(), expires, digest };
        self.change(|tokens| {
            if tokens.iter().any(|other| other.name == token.name) {
                return Err(TokenFileError::Exists(token.name));
            }
            if tokens.len() >= MAX_TOKENS {
                return Err(TokenFileError::TooMany);
            }
            tokens.push(token);
            Ok(())
        })?;
        Ok(secret)
    }

    /// Removes a token.
    ///
    /// # Errors
    /// If there is none of that name, or the file cannot be changed.
    pub fn revoke(&self, name: &TokenName) -> Result<(), TokenFileError> {
        self.change(|tokens| {
            let count = tokens.len();
            tokens.retain(|token| token.name != *name);
            if tokens.len() == count { Err(TokenFileError::Unknown(name.clone())) } else { Ok(()) }
        })
    }

    /// What tells this version of the file from others; nothing if there is no file.
    pub(super) fn stamp(&self) -> Result<Option<FileStamp>, TokenFileError> {
        let metadata = match fs::metadata(&self.path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(self.failed("read", source)),
        };
        if !metadata.is_file() {
            return Err(self.malformed("it is not a regular file"));
        }
        if metadata.mode() & 0o022 != 0 {
            return Err(TokenFileError::Writable { path: self.path.clone() });
        }
        let changed = (metadata.ctime(), metadata.ctime_nsec());
        Ok(Some(FileStamp { inode: metadata.ino(), changed, length: metadata.len() }))
    }

    /// Changes the tokens under the lock.
    fn change(
        &self,
        change: impl FnOnce(&mut Vec<HubToken>) -> Result<(), TokenFileError>,
    ) -> Result<(), TokenFileError> {
        if let Some(folder) = self.path.parent() {
            let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
            made.map_err(|source| self.failed("create the directory of", source))?;
        }
        let lock = private(&self.path.with_extension("lock")).and_then(|lock| lock.lock().map(|()| lock));
        let _lock = lock.map_err(|source| self.failed("lock", source))?; // until the end
        let mut tokens = self.read()?;
        change(&mut tokens)?;
        tokens.sort_by(|one, other| one.name.cmp(&other.name));
        self.replace(&tokens).map_err(|source| self.failed("write", source))
    }

    /// Replaces the file as a whole. The caller has the lock.
    fn replace(&self, tokens: &[HubToken]) -> io::Result<()> {
        let content = TokenFileContent {
            version: Self::VERSION,
            tokens: tokens.iter().map(TokenEntry::from).collect(),
        };
        let mut text = serde_json::to_vec_pretty(&content)?;
        text.push(b'\n');
        // Left behind by a process that was killed, it is overwritten.
        let draft = self.path.with_extension("new");
        let mut file = private(&draft)?;
        file.set_len(0)?;
        file.write_all(&text)?;
        file.sync_all()?;
        fs::rename(&draft, &self.path)?;
        match self.path.parent() {
            Some(folder) => File::open(folder)?.sync_all(),
            None => Ok(()),
        }
    }

    fn failed(&self, verb: &'static str, source: io::Error) -> TokenFileError {
        TokenFileError::Io { verb, path: self.path.clone(), source }
    }

    fn malformed(&self, why: &str) -> TokenFileError {
        TokenFileError::Malformed { path: self.path.clone(), why: why.to_owned() }
    }
}

/// A file for us to write that only its user may read.
fn private(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path)
}

impl From<&HubToken> for TokenEntry {
    fn from(token: &HubToken) -> Self {
        let seconds = |time: SystemTime| time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let Rights { tier, servers, profile } = &token.rights;
        Self {
            name: token.name.as_str().to_owned(),
            sha256: hex(token.digest.as_bytes()),
            created: seconds(token.created),
            expires: token.expires.map(seconds),
            tier: tier.as_str().to_owned(),
            servers: servers.as_ref().map(|servers| servers.iter().cloned().collect()),
            profile: profile.as_deref().map(str::to_owned),
        }
    }
}

impl TryFrom<TokenEntry> for HubToken {
    type Error = String;

    fn try_from(entry: TokenEntry) -> Result<Self, String> {
        let time = |seconds| {
            let time = UNIX_EPOCH.checked_add(Duration::from_secs(seconds));
            time.ok_or_else(|| format!("token `{}` has an impossible time", entry.name))
        };
        let name: TokenName = entry.name.parse().map_err(|error: InvalidTokenName| error.to_string())?;
        let tier: Tier =
            entry.tier.parse().map_err(|error: UnknownTier| format!("token `{name}`: {error}"))?;
        let digest =
            TokenDigest::from_hex(&entry.sha256).ok_or_else(|| format!("token `{name}` has no hash"))?;
        Ok(Self {
            rights: Rights {
                tier,
                servers: entry
                    .servers
                    .map(|servers| servers.into_iter().collect::<std::collections::BTreeSet<_>>().into()),
                profile: entry.profile.map(Into::into),
            },
            created: time(entry.created)?,
            expires: entry.expires.map(time).transpose()?,
            name,
            digest,
        })
    }
}
