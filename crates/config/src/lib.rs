//! Configuration files to checked settings.
//!
//! Reads our own `toolbay.toml` and the formats of other clients ([`Format`]): JSON with comments, TOML and YAML.
//! Each entry is judged alone: a bad one becomes a [`Problem`] with its place in the file, and the others go on.
//!
//! Stages: `syntax` (one tree for all syntaxes) → `format::detect` (the format, and where the servers are) → `format::entry` or
//! `format::native` (a [`WrittenServer`], independent of the format, variables unexpanded) → `load::check` (a [`ServerConfig`], with the
//! [`Variables`] of the caller). [`edit`](edit()) writes servers to a file of any format.
//!
//! Beside that: which file counts ([`scope`]), which servers of a project may run ([`Approvals`]), when files
//! change ([`watch_files`]), and which variables servers inherit.

#![forbid(unsafe_code)]

mod approval;
mod edit;
mod env;
mod escape;
mod files;
mod format;
mod glob;
mod launch_hash;
mod load;
mod model;
mod problem;
mod redact;
mod replacement;
pub mod scope;
mod syntax;
mod template;
mod unpinned;
mod watch;

pub use approval::{ApprovalError, ApprovalState, Approvals, DiffLine, line_diff};
pub use edit::{Edit, EditError, Edited, Folders, client_files, client_paths, edit, edit_text, preview};
pub use env::decides_what_runs;
pub use env::{
    EnvironmentName, complete_path, environment_names, inherited, server_environment, shell_to_ask,
};
pub use escape::visible;
pub use files::replace::lock_file;
pub use files::replace::{Durability, replace_file};
pub use files::small::{read_small, read_small_text};
pub use format::entry::Extension;
pub use format::native::schema;
pub use format::native::{AuditFailure, AuditFile, AuditSection};
pub use format::native::{AuthFile, AuthProxyFile, AuthSection, ClaimFile, ClientSecret, IntrospectionFile};
pub use format::native::{HubFile, Listen, PolicySection, ProfileEntry, SecretCommands};
pub use format::remote::check_remote;
pub use format::{Format, Syntax};
pub use launch_hash::LaunchHash;
pub use load::{ConfigError, ConfigFile, Input, Origin, load, load_from, load_with, parse, parse_with};
pub use model::built_in::keys::{DirectoryKey, built_in_keys, toolsets};
pub use model::built_in::{
    BraveSearchSettings, BuiltIn, CodebaseSettings, Compat, Embeddings, FetchSettings, FileSettings,
    GrepSettings, MemorySettings, NetworkAccess, RootsSetting, SandboxLevel, Secret, ShellLimits,
    ShellSettings, TimeSettings, ToolsetName, WrittenBuiltIn,
};
pub use model::oauth::{OAuthConfig, OAuthGrant};
pub use model::secret_text::{SecretField, SecretPlace};
pub use model::server::{
    Command, InheritEnv, Permission, PinMode, Remote, Restart, RevisionSetting, ServerConfig, ServerEndpoint,
    ServerOptions, Sharing, Start, Stderr, ToolFilter, ToolOptions, Transport, Validate, ValidateOutput,
};
pub use model::written::WrittenServer;
pub use problem::{Location, Problem};
pub use redact::REDACTED;
pub use replacement::Replacement;
pub use template::Template;
pub use template::variables::{ReadFiles, Variables};
pub use watch::{ConfigWatch, WatchMethod, watch_files};
