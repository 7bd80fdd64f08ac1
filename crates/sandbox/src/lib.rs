//! Runs programs that must not reach more than they are given.
//!
//! A program is started through a helper, which is the program that uses this crate, started again: see [`run_if_asked`].
//! The helper enters namespaces, builds a file system of what the [`Policy`] allows, restricts itself with Landlock and
//! seccomp, and starts the program, which inherits all of it and can undo none.
//!
//! ```text
//! caller ── helper ───────────────── init (process 1 of the namespace) ── program ── …
//!           memory and processes     mounts, Landlock, seccomp, reaps
//!           are watched
//! ```
//!
//! What runs may also be a [`Function`] of the program itself. It then runs in init, gets no file of the system, and no program is
//! started any more.
//!
//! When the caller or the helper ends, init is killed, and the kernel ends every process of the namespace with it.
//!
//! # Invariants
//!
//! - Nothing that the program controls is used before it is confined: its variables reach it under other names
//!   ([`Helper::environment`]), so that the loader of the helper never sees an `LD_PRELOAD` of it; paths that it may have
//!   replaced by links are opened without following any.
//! - What cannot be set up at [`Level::Full`] is an error. The program does not run with less.
//! - The super-user is an unprivileged user in its namespace, but still the owner of its files outside. So nothing of `/proc`
//!   can be written, and files of the system that only the super-user may read are covered.

#![deny(unsafe_code)]

mod cgroup;
mod file_rules;
mod init;
mod launch;
mod limits;
mod loopback;
mod mounts;
mod namespaces;
mod policy;
mod probe;
mod raw_calls;
mod root_directory;
mod system_calls;

pub use init::Function;
pub use launch::{Helper, run_functions_if_asked, run_if_asked, setup_failure};
pub use policy::{Level, Limits, Network, Policy};
pub use probe::{Probe, probe};
