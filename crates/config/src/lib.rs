//! Configuration files to checked settings.
//!
//! Reads our own `toolbay.toml` and every format that people already have ([`Format`]): JSON with comments, TOML and YAML.
//! Each entry is judged alone: a bad one becomes a [`Problem`] with its place in the file, and the others go on.
//!
//! The way of a file: `tree` (one tree for all syntaxes) → `file::detect` (whose it is, and where its servers are) →
//! `entry` or `native` (a [`WrittenServer`]: the words that all formats share, variables unexpanded) → `file::check` (a
//! [`ServerConfig`], with the [`Variables`] that the caller gave). The way back, into any file, is [`edit`](edit()).
//!
//! Beside that: which file counts ([`scope`]), which servers of a project may run ([`Approvals`]), what changed ([`diff()`]) and
//! when ([`watch_files`]), what servers inherit, and servers that others describe ([`descriptor`]).

#![forbid(unsafe_code)]

mod approval;
mod built_in;
pub mod descriptor;
mod diff;
mod duration;
mod edit;
mod entry;
mod environment;
mod file;
mod floating;
mod format;
mod glob;
mod hashing;
mod launch_hash;
mod native;
mod ownership;
mod place;
mod powerful_env;
mod private_file;
mod redact;
mod remote;
mod schema;
pub mod scope;
mod server;
mod show;
mod small_file;
mod suggest;
mod table;
mod template;
mod transport;
mod tree;
mod variables;
mod visible;
mod watch;
mod written;

pub use approval::{ApprovalError, ApprovalState, Approvals, DiffLine};
pub use built_in::{BuiltIn, Codebase, Embeddings, WrittenBuiltIn};
pub use diff::{ChangedServer, ConfigDiff, Effect, diff};
pub use edit::{Edit, EditError, Edited, Folders, client_files, client_paths, edit, edit_text, preview};
pub use entry::Extension;
pub use environment::{
    EnvironmentName, complete_path, environment_names, inherited, server_environment, shell_to_ask,
};
pub use file::{ConfigError, ConfigFile, Input, Origin, load, load_from, load_with, parse, parse_with};
pub use format::{Format, Syntax};
pub use launch_hash::LaunchHash;
pub use native::{HubFile, Listen};
pub use place::{Location, Problem};
pub use schema::schema;
pub use server::{
    Command, InheritEnv, Permission, Remote, Restart, RevisionSetting, ServerConfig, ServerEndpoint,
    ServerOptions, Sharing, Start, Stderr, ToolFilter, ToolOptions, Transport, Validate,
};
pub use show::REDACTED;
pub use small_file::read_small;
pub use template::Template;
pub use variables::{ReadFiles, Variables};
pub use visible::visible;
pub use watch::{ConfigWatch, WatchMethod, watch_files};
pub use written::WrittenServer;
