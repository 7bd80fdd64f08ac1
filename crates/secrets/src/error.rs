//! What goes wrong with secrets. No error contains one.

use std::{io, path::PathBuf, time::Duration};

use toolbay_protocol::SecretName;
use toolbay_supervise::{Exit, SpawnError};

use crate::{key::KeyKind, secret::InvalidSecret, store::StoreKind};

/// Why a secret cannot be read, set or removed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SecretsError {
    /// There is no such secret.
    #[error("secret {name} is not set: toolbay secret set {name}")]
    NotSet { name: SecretName },
    /// The store has something of that name that is no secret.
    #[error("secret `{name}` is not usable; set it again with `toolbay secret set {name}`")]
    Unusable {
        name: SecretName,
        #[source]
        source: InvalidSecret,
    },
    /// A secret was requested, and the store cannot be used.
    #[error("cannot read secret `{name}`")]
    Unavailable {
        name: SecretName,
        #[source]
        source: Box<SecretsError>,
    },

    /// There is no directory for the file of secrets.
    #[error("secrets have no place: set HOME or XDG_CONFIG_HOME")]
    NoHome,
    /// The file cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// The file cannot be written; it has its old content.
    #[error("cannot write {}", path.display())]
    Write {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// A link or device in the place of the file.
    #[error("{} is {what}, not a regular file; move it away", path.display())]
    NotRegular { path: PathBuf, what: &'static str },
    /// The file can be read by others.
    #[error("other users may access {file} (mode {mode:03o}); run `chmod {fix} {file}`, and replace secrets that others may have read", file = path.display())]
    Exposed { path: PathBuf, mode: u32, fix: &'static str },
    /// Another user can replace the file.
    #[error("{} belongs to another user ({owner}); run `chown $(id -u)` on it, or move it away", path.display())]
    ForeignOwner { path: PathBuf, owner: u32 },
    /// The file is larger than a file of secrets can be.
    #[error("{} has more than {limit} bytes", path.display())]
    TooLarge { path: PathBuf, limit: usize },
    /// Another process holds the lock.
    #[error("another process has locked {file} for {} s; find it with `fuser {file}`", waited.as_secs(), file = path.display())]
    Busy { path: PathBuf, waited: Duration },
    /// The file holds as much as it may.
    #[error("{} is full: it holds at most {secrets} secrets and {bytes} bytes; remove some with `toolbay secret remove`", path.display())]
    Full { path: PathBuf, secrets: usize, bytes: usize },
    /// The content is not what we wrote.
    #[error("{} is damaged ({reason}); restore it from a backup, or move it away and set the secrets again", path.display())]
    Damaged { path: PathBuf, reason: String },
    /// The content is of a later version.
    #[error("{} was written by a newer version of toolbay; update toolbay", path.display())]
    Newer { path: PathBuf },

    /// The file is encrypted, and there is no key.
    #[error("the secrets in {} are encrypted, and {needed} was not given; {}", path.display(), needed.hint())]
    NoKey { path: PathBuf, needed: KeyKind },
    /// A key of the wrong kind.
    #[error("the secrets in {} are encrypted with {needed}, but {given} was given; {}", path.display(), needed.hint())]
    OtherKey { path: PathBuf, needed: KeyKind, given: KeyKind },
    /// The key does not fit.
    #[error("wrong {} for {}, which is unchanged; use the one that the secrets were encrypted with", given.noun(), path.display())]
    WrongKey { path: PathBuf, given: KeyKind },
    /// The key file is not one.
    #[error("the key in {} has fewer than 32 bytes; create one with `(umask 077; head -c 32 /dev/urandom | base64 > FILE)`", path.display())]
    WeakKey { path: PathBuf },
    /// An encrypted file is wanted, and there is no key.
    #[error("an encrypted file needs a key; {}", KeyKind::Key.hint())]
    KeyMissing,

    /// The secrets are in another store than the one that is to be used.
    #[error("the secrets are in the {recorded}, not in the {wanted}; move them with `toolbay secret move {}`", wanted.id())]
    OtherStore { recorded: StoreKind, wanted: StoreKind },
    /// The secrets are in the keyring, or should be, and there is none.
    #[error("the desktop's keyring cannot be reached: {reason}")]
    NoKeyring { reason: String },
    /// The keyring is locked, and asking the user is not allowed.
    #[error(
        "the desktop's keyring is locked; unlock it by logging in to the desktop, or with `toolbay secret list`"
    )]
    Locked,
    /// The user was asked and did not unlock it.
    #[error(
        "the desktop's keyring stays locked: its prompt was dismissed, or there is no desktop to show it"
    )]
    Dismissed,
    /// The keyring, or the user it asked, takes too long.
    #[error("the desktop's keyring did not respond within {} s; unlock it, or restart it", waited.as_secs())]
    KeyringTimeout { waited: Duration },
    /// The keyring refused.
    #[error("the desktop's keyring failed")]
    Keyring(#[source] Box<secret_service::Error>),

    /// The command cannot be started.
    #[error("cannot start `{program}`, the command for secret `{name}`")]
    CommandStart {
        name: SecretName,
        program: String,
        #[source]
        source: Box<SpawnError>,
    },
    /// The command failed. Its output is not repeated, because it may contain a secret.
    #[error("`{program}`, the command for secret `{name}`, failed ({exit}); run it in a terminal to see why")]
    CommandFailed { name: SecretName, program: String, exit: Exit },
    /// The command takes too long, as one that waits for input would.
    #[error("`{program}`, the command for secret `{name}`, did not end within {} s; it must not ask questions", waited.as_secs())]
    CommandTimeout { name: SecretName, program: String, waited: Duration },
    /// The output of the command is no secret.
    #[error("`{program}`, the command for secret `{name}`, printed no usable secret")]
    CommandOutput {
        name: SecretName,
        program: String,
        #[source]
        source: InvalidSecret,
    },
}

impl SecretsError {
    /// Whether a command for a secret is the reason.
    pub fn is_of_command(&self) -> bool {
        matches!(
            self,
            Self::CommandStart { .. }
                | Self::CommandFailed { .. }
                | Self::CommandTimeout { .. }
                | Self::CommandOutput { .. }
        )
    }

    /// Whether the same may work later without a change by the user: another process is done, or the keyring responds.
    pub fn is_temporary(&self) -> bool {
        match self {
            Self::Unavailable { source, .. } => source.is_temporary(),
            Self::Busy { .. } | Self::KeyringTimeout { .. } | Self::CommandTimeout { .. } => true,
            _ => false,
        }
    }
}
