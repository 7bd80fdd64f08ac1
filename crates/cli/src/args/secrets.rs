//! Arguments of `toolbay secret`.

use clap::{Args, Subcommand, ValueEnum};
use toolbay_secrets::{SecretName, StoreKind};

#[derive(Debug, Subcommand)]
pub(crate) enum SecretSubcommand {
    /// Set a secret; its value is asked for, or read from stdin
    Set(SetSecretArgs),
    /// List the names of all secrets, and where they are kept
    List,
    /// Remove a secret
    #[command(visible_alias = "rm")]
    Remove(SecretArgs),
    /// Move all secrets to another store
    Move(MoveSecretsArgs),
}

#[derive(Debug, Args)]
pub(crate) struct SetSecretArgs {
    /// Name of the secret
    pub(crate) name: SecretName,
    /// Where to keep the first secret [default: the safest that is available]
    #[arg(long, value_enum)]
    pub(crate) store: Option<StoreArg>,
    /// A value that should not be here. Taken to be refused without being printed.
    #[arg(hide = true)]
    pub(crate) value: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct SecretArgs {
    /// Name of the secret
    pub(crate) name: SecretName,
}

#[derive(Debug, Args)]
pub(crate) struct MoveSecretsArgs {
    /// Where to keep secrets from now on
    #[arg(value_enum)]
    pub(crate) store: StoreArg,
}

/// A store of secrets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum StoreArg {
    /// The keyring of the desktop
    Keyring,
    /// A file that is encrypted with a key or a passphrase
    EncryptedFile,
    /// A file that only you may read
    PlainFile,
}

impl From<StoreArg> for StoreKind {
    fn from(store: StoreArg) -> Self {
        match store {
            StoreArg::Keyring => Self::Keyring,
            StoreArg::EncryptedFile => Self::EncryptedFile,
            StoreArg::PlainFile => Self::PlainFile,
        }
    }
}
