//! Listing and searching directories.

use std::{ffi::OsStr, path::Path};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::fs::FileType;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolbay_files::{DirectoryEntry, Found};
use toolbay_server::{ToolContext, ToolError, ToolResult};

use super::text;
use crate::files::{Files, failed};

/// The most bytes of a page of results.
const MAX_PAGE: usize = 50 * 1024;
/// The most entries of a tree, unless the caller asks for another number.
const MAX_ENTRIES: usize = 5_000;
/// The deepest directory that is looked into.
const MAX_DEPTH: usize = 64;
/// The most entries of one directory that are listed.
const MAX_LISTED: usize = 10_000;

#[derive(Deserialize, JsonSchema)]
pub(super) struct ListDirectory {
    path: String,
    /// Number of entries to skip (default: 0)
    #[serde(default)]
    offset: usize,
}

pub(super) fn list_directory(files: &Files, arguments: ListDirectory, _: &ToolContext) -> ToolResult {
    let found = files.allowed.find(&arguments.path).map_err(|error| failed("scandir", error))?;
    let entries = found.entries().map_err(|error| failed("scandir", error))?;
    let lines: Vec<String> =
        entries.iter().map(|entry| format!("{} {}", prefix(entry), name(entry))).collect();
    Ok(text(page(&lines, arguments.offset, "entries")))
}

fn prefix(entry: &DirectoryEntry) -> &'static str {
    if entry.file_type == FileType::Directory { "[DIR]" } else { "[FILE]" }
}

fn name(entry: &DirectoryEntry) -> String {
    entry.name.to_string_lossy().into_owned()
}

/// The lines that fit into a page, and how to get the others.
fn page(lines: &[String], offset: usize, what: &str) -> String {
    let mut used = 0;
    let rest = lines.get(offset..).unwrap_or_default();
    let fits = |line: &&String| {
        used += line.len() + 1;
        used <= MAX_PAGE
    };
    let shown: Vec<&str> = rest.iter().take_while(fits).take(MAX_LISTED).map(String::as_str).collect();
    let next = offset + shown.len();
    let mut page = shown.join("\n");
    if next < lines.len() {
        page.push_str(&format!(
            "\n\n[{what} {} to {next} of {}; continue with offset={next}]",
            offset + 1,
            lines.len()
        ));
    }
    page
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ListWithSizes {
    path: String,
    /// Sort entries by name or size
    #[serde(default)]
    sort_by: SortBy,
    /// Number of entries to skip (default: 0)
    #[serde(default)]
    offset: usize,
}

#[derive(Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum SortBy {
    #[default]
    Name,
    Size,
}

pub(super) fn list_directory_with_sizes(
    files: &Files,
    arguments: ListWithSizes,
    _: &ToolContext,
) -> ToolResult {
    let found = files.allowed.find(&arguments.path).map_err(|error| failed("scandir", error))?;
    let mut entries: Vec<(DirectoryEntry, u64)> = found
        .entries()
        .map_err(|error| failed("scandir", error))?
        .into_iter()
        .map(|entry| (found.size_of(&entry), entry))
        .map(|(size, entry)| (entry, size))
        .collect();
    if arguments.sort_by == SortBy::Size {
        entries.sort_by_key(|(_, size)| std::cmp::Reverse(*size));
    }
    let is_directory = |entry: &DirectoryEntry| entry.file_type == FileType::Directory;
    let line = |(entry, size): &(DirectoryEntry, u64)| {
        let size = if is_directory(entry) { String::new() } else { format!("{:>10}", human_size(*size)) };
        format!("{} {:<30} {size}", prefix(entry), name(entry))
    };
    let lines: Vec<String> = entries.iter().map(line).collect();
    let directories = entries.iter().filter(|(entry, _)| is_directory(entry)).count();
    let total: u64 = entries.iter().filter(|(entry, _)| !is_directory(entry)).map(|(_, size)| size).sum();
    let mut shown = page(&lines, arguments.offset, "entries");
    if !shown.is_empty() {
        shown.push('\n');
    }
    Ok(text(format!(
        "{shown}\nTotal: {} files, {directories} directories\nCombined size: {}",
        entries.len() - directories,
        human_size(total)
    )))
}

/// `12 B`, `1.50 KB`, `3.25 MB`.
fn human_size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KB", "MB", "GB", "TB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let unit = (bytes.ilog2() / 10).min(4);
    format!("{:.2} {}", bytes as f64 / f64::from(1024_u32).powi(unit.cast_signed()), UNITS[unit as usize])
}

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
    let mut walk = Walk {
        files,
        context,
        exclude: globs(patterns)?,
        gitignore: arguments.gitignore,
        depth: arguments.depth.unwrap_or(MAX_DEPTH).min(MAX_DEPTH),
        left: arguments.max_entries.unwrap_or(MAX_ENTRIES),
        cut: 0,
        ignores: Vec::new(),
    };
    let tree = walk.tree(&found, Path::new(""), 1)?;
    let mut json =
        serde_json::to_string_pretty(&tree).map_err(|error| ToolError::failed(error.to_string()))?;
    if walk.cut > 0 {
        json.push_str(&format!(
            "\n\n[{} directories are not shown in full: at most {} entries; list a subdirectory, or use depth or excludePatterns]",
            walk.cut,
            arguments.max_entries.unwrap_or(MAX_ENTRIES)
        ));
    }
    Ok(text(json))
}

/// A walk through a directory and all below it. Links are not followed.
struct Walk<'a> {
    files: &'a Files,
    context: &'a ToolContext,
    exclude: GlobSet,
    gitignore: bool,
    depth: usize,
    /// How many entries there is still room for.
    left: usize,
    /// How many directories were cut.
    cut: usize,
    /// The `.gitignore` files of the directories above.
    ignores: Vec<Gitignore>,
}

impl Walk<'_> {
    fn tree(&mut self, directory: &Found, path: &Path, depth: usize) -> Result<Vec<TreeNode>, ToolError> {
        let mut nodes = Vec::new();
        let mut is_cut = false;
        self.visit(directory, path, &mut |walk, entry, below| {
            if walk.left == 0 {
                is_cut = true;
                return Ok(());
            }
            walk.left -= 1;
            let is_directory = entry.file_type == FileType::Directory;
            let children = match below {
                Some(below) if depth < walk.depth => {
                    Some(walk.tree(&below, &path.join(&entry.name), depth + 1)?)
                }
                _ => is_directory.then(Vec::new),
            };
            let kind = if is_directory { "directory" } else { "file" };
            nodes.push(TreeNode { name: name(entry), kind, children });
            Ok(())
        })?;
        self.cut += usize::from(is_cut);
        Ok(nodes)
    }

    /// Calls `each` for everything in a directory that is not excluded, with the directory itself where it is one.
    fn visit(
        &mut self,
        directory: &Found,
        path: &Path,
        each: &mut dyn FnMut(&mut Self, &DirectoryEntry, Option<Found>) -> Result<(), ToolError>,
    ) -> Result<(), ToolError> {
        let entries = directory.entries().map_err(|error| failed("scandir", error))?;
        if self.gitignore {
            self.ignores.push(gitignore(directory, path, &entries));
        }
        for entry in &entries {
            if self.context.is_cancelled() {
                return Err(ToolError::failed("the call was canceled"));
            }
            let relative = path.join(&entry.name);
            let is_directory = entry.file_type == FileType::Directory;
            if self.exclude.is_match(&relative) || self.is_ignored(&relative, is_directory) {
                continue;
            }
            // One that vanishes or that we may not read is passed over.
            let below =
                if is_directory { self.files.allowed.enter(directory, &entry.name).ok() } else { None };
            each(self, entry, below)?;
        }
        if self.gitignore {
            self.ignores.pop();
        }
        Ok(())
    }

    /// Whether a `.gitignore` file excludes a path. The deepest one that says something about it decides.
    fn is_ignored(&self, path: &Path, is_directory: bool) -> bool {
        if !self.gitignore {
            return false;
        }
        if path.file_name() == Some(OsStr::new(".git")) {
            return true;
        }
        let decision = self.ignores.iter().rev().map(|ignore| ignore.matched(path, is_directory));
        decision.into_iter().find(|decision| !decision.is_none()).is_some_and(|decision| decision.is_ignore())
    }
}

/// The rules of the `.gitignore` file in a directory.
fn gitignore(directory: &Found, path: &Path, entries: &[DirectoryEntry]) -> Gitignore {
    const MAX_RULES: usize = 256 * 1024;
    let mut rules = GitignoreBuilder::new(path);
    let is_there =
        |entry: &DirectoryEntry| entry.name == ".gitignore" && entry.file_type == FileType::RegularFile;
    if entries.iter().any(is_there)
        && let Ok(content) = directory.read_small(OsStr::new(".gitignore"), MAX_RULES)
    {
        for line in String::from_utf8_lossy(&content).lines() {
            let _ = rules.add_line(None, line); // as git does, one that it cannot read counts for nothing
        }
    }
    rules.build().unwrap_or_else(|_| Gitignore::empty())
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct SearchFiles {
    path: String,
    pattern: String,
    #[serde(default, rename = "excludePatterns")]
    exclude_patterns: Vec<String>,
    /// Maximum number of paths (default: as many as fit into 50 KB)
    limit: Option<usize>,
    /// Number of paths to skip (default: 0)
    #[serde(default)]
    offset: usize,
    /// Leave out what .gitignore files exclude (default: false)
    #[serde(default)]
    gitignore: bool,
    /// Only files or only directories (default: both)
    r#type: Option<Kind>,
}

#[derive(Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Kind {
    File,
    Directory,
}

pub(super) fn search_files(files: &Files, arguments: SearchFiles, context: &ToolContext) -> ToolResult {
    let found = files.allowed.find(&arguments.path).map_err(|error| failed("scandir", error))?;
    let pattern = globs([arguments.pattern.clone()])?;
    let mut walk = Walk {
        files,
        context,
        exclude: globs(arguments.exclude_patterns)?,
        gitignore: arguments.gitignore,
        depth: MAX_DEPTH,
        left: usize::MAX,
        cut: 0,
        ignores: Vec::new(),
    };
    let mut paths = Vec::new();
    let is_wanted = |is_directory: bool| match arguments.r#type {
        None => true,
        Some(Kind::File) => !is_directory,
        Some(Kind::Directory) => is_directory,
    };
    walk.search(&found, Path::new(""), 1, &mut |relative, entry| {
        if is_wanted(entry.file_type == FileType::Directory) && pattern.is_match(relative) {
            let path = found.path().join(relative).to_string_lossy().into_owned();
            // A link that leads out, or nowhere, is not found.
            if entry.file_type != FileType::Symlink || files.allowed.find(&path).is_ok() {
                paths.push(path);
            }
        }
    })?;
    if paths.is_empty() {
        return Ok(text("No matches found"));
    }
    let end =
        arguments.limit.map_or(paths.len(), |limit| paths.len().min(arguments.offset.saturating_add(limit)));
    let total = paths.len();
    let mut result = page(&paths[..end], arguments.offset, "matches");
    if end < total && !result.ends_with(']') {
        result.push_str(&format!(
            "\n\n[matches {} to {end} of {total}; continue with offset={end}]",
            arguments.offset + 1
        ));
    }
    Ok(text(result))
}

impl Walk<'_> {
    fn search(
        &mut self,
        directory: &Found,
        path: &Path,
        depth: usize,
        found: &mut dyn FnMut(&Path, &DirectoryEntry),
    ) -> Result<(), ToolError> {
        self.visit(directory, path, &mut |walk, entry, below| {
            let relative = path.join(&entry.name);
            found(&relative, entry);
            match below {
                Some(below) if depth < walk.depth => walk.search(&below, &relative, depth + 1, found),
                _ => Ok(()),
            }
        })
    }
}

fn globs(patterns: impl IntoIterator<Item = String>) -> Result<GlobSet, ToolError> {
    let invalid = |error: globset::Error| ToolError::failed(format!("invalid pattern: {error}"));
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        set.add(GlobBuilder::new(&pattern).literal_separator(true).build().map_err(invalid)?);
    }
    set.build().map_err(invalid)
}
