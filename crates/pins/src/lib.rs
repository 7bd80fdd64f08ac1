//! Pins: what a server's definitions were when they were first used or approved, and what changed since.
//!
//! Models read the definitions of tools, so a server that changes one later can make a model do something else than what its
//! user agreed to (a "rug pull"). Pinned are tools, prompts and resource templates as a whole, whatever fields they have, and the
//! instructions of the server. Resources are data and not pinned.
//!
//! [`PinStore`] compares a catalog with its pins; [`PinFile`] is the file that all hubs of a user share. What is done with a
//! change (hidden or only reported) is decided by the [`PinMode`] of the server, and carried out by the host.
//!
//! # Invariants
//!
//! - Nothing is ever pinned in place of something else without a decision of the user: only what has no pin yet is pinned by itself,
//!   when a launch is used for the first time.
//! - A file that cannot be read or trusted pins nothing and approves nothing.

#![forbid(unsafe_code)]

mod canonical;
mod changes;
mod definitions;
mod diff;
mod file;
mod poisoning;
mod store;

pub use changes::{Change, ChangeKind};
pub use definitions::{Definition, DefinitionKey, DefinitionKind, Definitions};
pub use diff::{DefinitionDiff, diff};
pub use file::{PinFile, PinFileError, PinnedServer, Pins, ServerPins};
pub use poisoning::Suspicion;
pub use store::{HiddenDefinition, PinStore, PinSubject, Review};
pub use toolbay_config::PinMode;
