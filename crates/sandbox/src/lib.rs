//! Runs programs that must not reach more than they are given.
//!
//! A program is started through a helper, which is the program that uses this crate, started again: see [`run_if_asked`].
//! The helper enters namespaces, builds a file system of what the [`Policy`] allows, restricts itself with Landlock and
//! seccomp, and starts the program, which inherits all of it and can undo none.
//!
//! ```text
//! caller ── helper ──────────── init (process 1 of the namespace) ── program ── …
//!           memory is watched   mounts, Landlock, seccomp, reaps
//! ```
//!
//! When the caller or the helper ends, init is killed, and the kernel ends every process of the namespace with it.

#![deny(unsafe_code)]

mod file_rules;
mod helper;
mod limits;
mod loopback;
mod mounts;
mod namespaces;
mod policy;
mod probe;
mod system_calls;

pub use helper::{HELPER_FAILED, Helper, run_if_asked};
pub use policy::{Level, Limits, Network, Policy};
pub use probe::probe;
