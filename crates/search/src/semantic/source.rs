//! Where texts come from.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::tree::{Links, RelPath, Stamp, Tree, TreeError, decode};

/// Larger files are not cut into chunks: they are data, and the exact search finds what is in them.
pub const LARGEST_FILE: u64 = 4 << 20;

/// What was in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    /// To be kept with what is derived from the text; see [`crate::tree::Content`].
    pub stamp: Stamp,
    /// None if it is no text, or too large.
    pub text: Option<String>,
}

/// Gives the texts of files.
pub trait TextSource: Sync {
    /// Returns the text of a file now; none if it is not there or may not be read.
    fn text(&self, path: &RelPath) -> Option<Text>;
}

impl TextSource for Tree {
    fn text(&self, path: &RelPath) -> Option<Text> {
        match self.root().read(path, Links::Refuse, LARGEST_FILE) {
            Ok(content) => Some(Text { stamp: content.stamp, text: decode(content.bytes) }),
            Err(TreeError::TooLarge { .. }) => {
                let (_, stamp) = self.root().open_file(path, Links::Refuse).ok()?;
                Some(Text { stamp, text: None })
            }
            Err(_) => None,
        }
    }
}

/// A source that returns no more texts once it is stopped, so that loops over files end soon.
pub(super) struct Until<'a> {
    pub(super) source: &'a dyn TextSource,
    pub(super) stop: &'a AtomicBool,
}

impl Until<'_> {
    /// Whether it was stopped.
    pub(super) fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

impl TextSource for Until<'_> {
    fn text(&self, path: &RelPath) -> Option<Text> {
        if self.is_over() { None } else { self.source.text(path) }
    }
}
