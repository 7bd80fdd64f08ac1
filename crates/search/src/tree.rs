//! A tree of files: its root, what is in it, and what has changed.
//!
//! [`TreeRoot`] opens files and never leaves the tree. [`Tree`] knows which files ripgrep would search, as of now.

mod error;
mod listing;
mod root;
mod walk;
#[cfg(target_os = "linux")]
mod watch;
#[cfg(target_os = "linux")]
mod watched_listing;

pub use error::TreeError;
pub use listing::{FileEntry, Tree, TreeOptions};
pub(crate) use root::decode;
pub use root::{Content, TreeRoot};
pub use toolbay_files::{PathError, RelPath, Secrets, Stamp, beneath::Links};
pub use walk::Rules;
