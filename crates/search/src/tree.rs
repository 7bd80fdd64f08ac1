//! A tree of files: its root, what is in it, and what has changed.
//!
//! [`TreeRoot`] opens files and never leaves the tree. [`Tree`] knows which files ripgrep would search, as of now.

mod error;
mod listing;
mod path;
mod root;
mod secrets;
mod stamp;
mod walk;
#[cfg(target_os = "linux")]
mod watch;
#[cfg(target_os = "linux")]
mod watched_listing;

pub use error::TreeError;
pub use listing::{FileEntry, Tree, TreeOptions};
pub use path::{PathError, RelPath};
pub(crate) use root::decode;
pub use root::{Content, Links, TreeRoot};
pub use secrets::Secrets;
pub use stamp::Stamp;
pub use walk::Rules;
