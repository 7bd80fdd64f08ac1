//! Files of allowed directories, read and changed without damage.
//!
//! [`Text`] decodes the content of a file and encodes it again with every byte that was not edited; [`edit`] finds the text
//! that an edit replaces; [`write_file`] replaces a file in one step.

#![forbid(unsafe_code)]

mod allowed;
pub mod beneath;
pub mod edit;
mod path;
mod protect;
mod secrets;
mod stamp;
mod text;
mod write;

pub use allowed::{AccessError, AllowedDirectories, DirectoryEntry, Found, Place, Protection};
pub use path::{PathError, RelPath};
pub use protect::is_protected;
pub use secrets::Secrets;
pub use stamp::Stamp;
pub use text::{DecodeError, EncodeError, LineEnding, Text, TextEncoding};
pub use write::{WriteMode, WriteOutcome, write_file};
