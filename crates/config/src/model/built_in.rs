//! Servers that are a part of Toolbay itself: `"builtin": "filesystem"` and the like.
//!
//! [`keys`] has the keys of each, [`WrittenBuiltIn`] what a file writes behind them, and [`BuiltIn`] the settings that they make.

pub(crate) mod keys;
mod settings;
mod written;

pub use settings::{
    BraveSearchSettings, BuiltIn, CodebaseSettings, Compat, Embeddings, FetchSettings, FileSettings,
    GrepSettings, MemorySettings, NetworkAccess, RootsSetting, SandboxLevel, Secret, ShellLimits,
    ShellSettings, TimeSettings, ToolsetName,
};
pub use written::WrittenBuiltIn;
pub(crate) use written::{check, read, unknown_key};
