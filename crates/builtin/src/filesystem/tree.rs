//! The tree of a directory.

use std::path::Path;

use rustix::fs::FileType;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolbay_files::Found;
use toolbay_server::{ToolContext, ToolError, ToolResult};

use super::text;
use crate::files::{
    Files, failed,
    walk::{MAX_DEPTH, Walk, globs},
};

/// The most entries of a tree, unless the caller asks for another number.
const MAX_ENTRIES: usize = 5_000;
/// The most bytes of a tree.
const MAX_BYTES: usize = 1024 * 1024;

#[derive(Deserialize, JsonSchema)]
pub(super) struct DirectoryTree {
    path: String,
    #[serde(default, rename = "excludePatterns")]
    exclude_patterns: Vec<String>,
    /// Number of levels (default: all)
    #[schemars(range(min = 1))]
    depth: Option<usize>,
    /// Leave out what .gitignore files exclude (default: true)
    #[serde(default = "yes")]
    gitignore: bool,
    /// Maximum number of entries (default: 5000)
    max_entries: Option<usize>,
}

fn yes() -> bool {
    true
}

#[derive(Serialize)]
struct TreeNode {
    name: String,
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    children: Option<Vec<TreeNode>>,
}

impl TreeNode {
    /// Stands for entries that are not shown.
    fn truncated(count: usize) -> Self {
        let entries = if count == 1 { "entry" } else { "entries" };
        Self { name: format!("[{count} more {entries}]"), kind: "truncated", children: None }
    }
}

pub(super) fn directory_tree(files: &Files, arguments: DirectoryTree, context: &ToolContext) -> ToolResult {
    let found = files.allowed.find(&arguments.path).map_err(|error| failed("scandir", error))?;
    // A plain name stands for everything of that name, however deep.
    let patterns = arguments.exclude_patterns.iter().flat_map(|pattern| {
        if pattern.contains('*') {
            vec![pattern.clone()]
        } else {
            vec![pattern.clone(), format!("**/{pattern}"), format!("**/{pattern}/**")]
        }
    });
    let mut walk = Walk::new(&files.allowed, context).excluding(globs("excludePatterns", patterns)?);
    if arguments.gitignore {
        walk = walk.with_gitignore(&found);
    }
    let mut tree = TreeBuilder {
        depth: arguments.depth.unwrap_or(MAX_DEPTH).min(MAX_DEPTH),
        entries_left: arguments.max_entries.unwrap_or(MAX_ENTRIES),
        bytes_left: MAX_BYTES,
    };
    let nodes = tree.nodes(&mut walk, &found, Path::new(""), 1)?;
    let json = serde_json::to_string_pretty(&nodes).map_err(|error| ToolError::failed(error.to_string()))?;
    Ok(text(json))
}

/// What there is still room for.
struct TreeBuilder {
    depth: usize,
    entries_left: usize,
    bytes_left: usize,
}

impl TreeBuilder {
    fn nodes(
        &mut self,
        walk: &mut Walk<'_>,
        directory: &Found,
        path: &Path,
        depth: usize,
    ) -> Result<Vec<TreeNode>, ToolError> {
        let mut nodes = Vec::new();
        let mut omitted = 0;
        walk.visit(directory, path, &mut |walk, entry, relative| {
            let name = entry.name.to_string_lossy().into_owned();
            if depth > self.depth || !self.take(name.len(), depth) {
                omitted += 1;
                return Ok(());
            }
            let (kind, children) = match (entry.file_type == FileType::Directory, walk.open(directory, entry))
            {
                (true, Some(below)) => ("directory", Some(self.nodes(walk, &below, relative, depth + 1)?)),
                (true, None) => ("directory", Some(Vec::new())),
                (false, _) => ("file", None),
            };
            nodes.push(TreeNode { name, kind, children });
            Ok(())
        })?;
        if omitted > 0 {
            nodes.push(TreeNode::truncated(omitted));
        }
        Ok(nodes)
    }

    /// Takes the room of one entry, if there is some.
    fn take(&mut self, name: usize, depth: usize) -> bool {
        const LINES: usize = 60; // the braces and names of an entry
        let bytes = name + LINES + 4 * 4 * depth;
        if self.entries_left == 0 || self.bytes_left < bytes {
            self.entries_left = 0;
            return false;
        }
        self.entries_left -= 1;
        self.bytes_left -= bytes;
        true
    }
}
