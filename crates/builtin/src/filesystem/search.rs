//! Finding files by their names.

use rustix::fs::FileType;
use schemars::JsonSchema;
use serde::Deserialize;
use toolbay_server::{ToolContext, ToolResult};

use super::{
    list::{MAX_PAGE, rest_of},
    text,
};
use crate::files::{
    Files, failed,
    walk::{Walk, globs},
};

#[derive(Deserialize, JsonSchema)]
pub(super) struct SearchFiles {
    path: String,
    pattern: String,
    #[serde(default, rename = "excludePatterns")]
    exclude_patterns: Vec<String>,
    /// Maximum number of paths (default: as many as fit into 50 KB)
    #[schemars(range(min = 1))]
    limit: Option<usize>,
    /// Number of paths to skip (default: 0)
    #[serde(default)]
    offset: usize,
    /// Leave out what .gitignore files exclude (default: false)
    #[serde(default)]
    gitignore: bool,
    /// Only files or only directories (default: both)
    r#type: Option<EntryKind>,
}

#[derive(Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum EntryKind {
    File,
    Directory,
}

pub(super) fn search_files(files: &Files, arguments: SearchFiles, context: &ToolContext) -> ToolResult {
    let found = files.allowed.find(&arguments.path).map_err(|error| failed("scandir", error))?;
    let pattern = globs("pattern", [arguments.pattern])?;
    let mut walk =
        Walk::new(&files.allowed, context).excluding(globs("excludePatterns", arguments.exclude_patterns)?);
    if arguments.gitignore {
        walk = walk.with_gitignore(&found);
    }
    let mut page =
        Page { offset: arguments.offset, limit: arguments.limit.unwrap_or(usize::MAX), ..Page::default() };
    walk.all(&found, &mut |_, entry, relative| {
        let is_wanted = arguments
            .r#type
            .is_none_or(|kind| (kind == EntryKind::Directory) == (entry.file_type == FileType::Directory));
        if !is_wanted || !pattern.is_match(relative) {
            return;
        }
        let path = found.path().join(relative).to_string_lossy().into_owned();
        // A link that leads out, or nowhere, is not found.
        if entry.file_type != FileType::Symlink || files.allowed.find(&path).is_ok() {
            page.add(&path);
        }
    })?;
    Ok(text(page.finish()))
}

/// A page of paths. What is before and after it is only counted, so that a large tree takes no memory.
#[derive(Default)]
struct Page {
    offset: usize,
    limit: usize,
    total: usize,
    shown: usize,
    is_full: bool,
    text: String,
}

impl Page {
    fn add(&mut self, path: &str) {
        self.total += 1;
        if self.total <= self.offset || self.is_full {
            return;
        }
        let fits = self.shown == 0 || self.text.len() + path.len() < MAX_PAGE;
        if self.shown == self.limit || !fits {
            self.is_full = true;
            return;
        }
        if self.shown > 0 {
            self.text.push('\n');
        }
        self.text.push_str(path);
        self.shown += 1;
    }

    fn finish(mut self) -> String {
        if self.total == 0 {
            return "No matches found".to_owned();
        }
        let end = self.offset + self.shown;
        if self.shown == 0 {
            return format!("[no more matches: offset={} of {}]", self.offset, self.total);
        }
        if end < self.total {
            self.text.push_str(&rest_of(self.offset..end, self.total, "matches"));
        }
        self.text
    }
}
