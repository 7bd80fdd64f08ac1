//! Configuration files to checked settings.
//!
//! Reads `mcpServers` files as people already have them (JSON with comments and trailing commas). Each entry is
//! judged alone: a bad one becomes a [`Problem`] with its place in the file, and the others go on.

#![forbid(unsafe_code)]

mod entry;
mod environment;
mod file;
mod remote;
mod server;

pub use environment::inherited;
pub use file::{ConfigError, ConfigFile, Place, Problem, load, parse};
pub use server::{
    Command, Era, InheritEnv, Reach, Remote, ServerConfig, Sharing, Standing, Start, Stderr, ToolFilter,
    ToolTuning, Transport, Tuning, Validate,
};
