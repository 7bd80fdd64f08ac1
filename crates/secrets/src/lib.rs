//! Named secrets of the user: where they are kept, and how they are found again.
//!
//! A secret is a text with a name, such as the token of a service. It is kept in one of three stores: the desktop's keyring, an
//! encrypted file, or a plain file that only the user may read. Which one is decided once, by [`open_store`], and recorded in the
//! file of secrets: a keyring that cannot be reached for a while must not make secrets appear lost, or an old value appear again.
//! A secret may also come from a command, such as that of a password manager. [`SecretResolver`] asks both.
//!
//! # Invariants
//!
//! - A secret is in no error, no log and no `Debug` output. Memory that held one is overwritten, as far as it is ours.
//! - Nothing here reads the environment: callers pass what counts.
//! - Every call ends within a bounded time, whatever the keyring, another process or a command does.
//! - A file of secrets has its old content or its new one. One that cannot be read is never written.

#![forbid(unsafe_code)]

mod command;
mod disk;
mod encryption;
mod error;
mod file_format;
mod file_store;
mod key;
mod keyring;
mod open;
mod resolver;
mod secret;
mod store;

pub use command::{CommandContext, SecretCommand};
pub use error::SecretsError;
pub use key::{KeyKind, StoreKey};
pub use keyring::{BusAddress, KeyringPrompts};
pub use open::{StoreConfig, move_secrets, open_store};
pub use resolver::SecretResolver;
pub use secret::{InvalidSecret, Secret};
pub use store::{SecretStore, StoreFuture, StoreKind};
pub use toolbay_protocol::SecretName;
