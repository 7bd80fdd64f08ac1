//! Configuration files to checked settings.
//!
//! Reads `mcpServers` files as people already have them (JSON with comments and trailing commas). Each entry is
//! judged alone: a bad one becomes a [`Problem`] with its place in the file, and the others go on.

#![forbid(unsafe_code)]

mod approval;
pub mod descriptor;
mod diff;
mod entry;
mod environment;
mod file;
mod floating;
mod glob;
mod hashing;
mod launch_hash;
mod powerful_env;
mod private_file;
mod redact;
mod remote;
pub mod scope;
mod server;
mod visible;
mod watch;

pub use approval::{ApprovalError, Approvals, DiffLine, Verdict};
pub use diff::{ChangedServer, ConfigDiff, Effect, diff};
pub use environment::{
    EnvironmentName, complete_path, environment_names, inherited, server_environment, shell_to_ask,
};
pub use file::{ConfigError, ConfigFile, Place, Problem, load, parse};
pub use launch_hash::LaunchHash;
pub use server::{
    Command, Era, InheritEnv, Reach, Remote, ServerConfig, Sharing, Standing, Start, Stderr, ToolFilter,
    ToolTuning, Transport, Tuning, Validate,
};
pub use watch::{ConfigWatch, WatchWay, watch_files};
