//! Real files, processes and keyrings.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod choice; // which store is used, and moving secrets
mod commands; // secrets that programs print
mod encrypted; // keys, passphrases, damage
mod keyring; // GNOME Keyring on a bus of its own: unlocked, locked, stopped, absent
mod plain; // permissions, links, limits
mod processes; // several at once, and killed ones
mod prompts; // a keyring that asks the user: unlocked, dismissed, ignored
mod support; // stores, errors as users see them
