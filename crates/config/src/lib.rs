//! Configuration files to checked settings.
//!
//! Reads our own `toolbay.toml` and every format that people already have ([`Format`]): JSON with comments, TOML and YAML.
//! Each entry is judged alone: a bad one becomes a [`Problem`] with its place in the file, and the others go on.
//!
//! The way of a file: `tree` (one tree for all syntaxes) → `file::detect` (whose it is, and where its servers are) →
//! `entry` or `native` (a [`Written`]: the words that all formats share, variables unexpanded) → `file::check` (a
//! [`ServerConfig`], with the [`Variables`] that the caller gave). The way back, into any file, is [`edit`](edit()).

#![forbid(unsafe_code)]

mod duration;
mod edit;
mod entry;
mod environment;
mod file;
mod format;
mod native;
mod place;
mod remote;
mod schema;
mod server;
mod show;
mod suggest;
mod table;
mod template;
mod transport;
mod tree;
mod variables;
mod written;

pub use edit::{Edit, EditError, Edited, Folders, client_files, edit, edit_text};
pub use entry::Extension;
pub use environment::inherited;
pub use file::{ConfigError, ConfigFile, Input, load, load_with, parse, parse_with};
pub use format::{Format, Syntax};
pub use native::{HubFile, Listen};
pub use place::{Place, Problem};
pub use schema::schema;
pub use server::{
    Command, Era, InheritEnv, Reach, Remote, ServerConfig, Sharing, Standing, Start, Stderr, ToolFilter,
    ToolTuning, Transport, Tuning, Validate,
};
pub use show::REDACTED;
pub use template::Template;
pub use variables::{ReadFiles, Variables};
pub use written::Written;
