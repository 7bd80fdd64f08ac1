//! Walks through directories.

use std::{ffi::OsStr, path::Path};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::fs::FileType;
use toolbay_files::{AllowedDirectories, DirectoryEntry, Found};
use toolbay_server::{ToolContext, ToolError};

use super::failed;

/// The deepest directory that is looked into.
pub(crate) const MAX_DEPTH: usize = 64;
/// The most bytes of a `.gitignore` file that are read.
const MAX_RULES: usize = 256 * 1024;
/// How many entries are visited between two progress notifications.
const REPORTED: u64 = 10_000;

/// A walk through a directory and all below it. Links are not followed.
pub(crate) struct Walk<'a> {
    allowed: &'a AllowedDirectories,
    context: &'a ToolContext,
    /// What is left out, by its path in the directory where the walk begins.
    exclude: GlobSet,
    /// The `.gitignore` files of the directories above, if they count.
    ignores: Option<Vec<Gitignore>>,
    visited: u64,
}

impl<'a> Walk<'a> {
    pub(crate) fn new(allowed: &'a AllowedDirectories, context: &'a ToolContext) -> Self {
        Self { allowed, context, exclude: GlobSet::empty(), ignores: None, visited: 0 }
    }

    /// Leaves out what matches, by its path in the directory where the walk begins.
    pub(crate) fn excluding(self, exclude: GlobSet) -> Self {
        Self { exclude, ..self }
    }

    /// Leaves out what `.gitignore` files exclude, also those above the directory where the walk begins.
    pub(crate) fn with_gitignore(self, start: &Found) -> Self {
        let above: Vec<&Path> = start.path().ancestors().skip(1).collect();
        let rules = above.into_iter().rev().filter_map(|path| {
            let directory = self.allowed.find(path.to_str()?).ok()?;
            Some(gitignore(&directory))
        });
        let ignores = rules.collect();
        Self { ignores: Some(ignores), ..self }
    }

    /// Calls `each` for everything in a directory that is not left out, with its path from where the walk began.
    pub(crate) fn visit(
        &mut self,
        directory: &Found,
        relative: &Path,
        each: &mut dyn FnMut(&mut Self, &DirectoryEntry, &Path) -> Result<(), ToolError>,
    ) -> Result<(), ToolError> {
        let entries = self.allowed.entries(directory).map_err(|error| failed("scandir", error))?;
        if let Some(ignores) = &mut self.ignores {
            let has_rules = entries.iter().any(|entry| entry.name == ".gitignore");
            ignores.push(if has_rules { gitignore(directory) } else { Gitignore::empty() });
        }
        for entry in &entries {
            if self.context.is_cancelled() {
                return Err(ToolError::failed("the call was canceled"));
            }
            self.visited += 1;
            if self.visited.is_multiple_of(REPORTED) {
                self.context.report_progress(self.visited, None, "entries visited");
            }
            let relative = relative.join(&entry.name);
            if !self.exclude.is_match(&relative) && !self.is_ignored(directory, entry) {
                each(self, entry, &relative)?;
            }
        }
        if let Some(ignores) = &mut self.ignores {
            ignores.pop();
        }
        Ok(())
    }

    /// Calls `each` for everything in a directory and below it.
    pub(crate) fn all(
        &mut self,
        directory: &Found,
        each: &mut dyn FnMut(&Found, &DirectoryEntry, &Path),
    ) -> Result<(), ToolError> {
        self.below(directory, Path::new(""), 1, each)
    }

    fn below(
        &mut self,
        directory: &Found,
        relative: &Path,
        depth: usize,
        each: &mut dyn FnMut(&Found, &DirectoryEntry, &Path),
    ) -> Result<(), ToolError> {
        self.visit(directory, relative, &mut |walk, entry, relative| {
            each(directory, entry, relative);
            match walk.open(directory, entry) {
                Some(below) if depth < MAX_DEPTH => walk.below(&below, relative, depth + 1, each),
                _ => Ok(()),
            }
        })
    }

    /// Opens a directory that was found. One that vanished or that may not be read is passed over.
    pub(crate) fn open(&self, directory: &Found, entry: &DirectoryEntry) -> Option<Found> {
        if entry.file_type != FileType::Directory {
            return None;
        }
        self.allowed.enter(directory, &entry.name).ok().filter(|below| below.open_directory().is_ok())
    }

    /// Whether a `.gitignore` file excludes an entry. The deepest one that says something about it decides.
    fn is_ignored(&self, directory: &Found, entry: &DirectoryEntry) -> bool {
        let Some(ignores) = &self.ignores else { return false };
        if entry.name == ".git" {
            return true;
        }
        if ignores.iter().all(Gitignore::is_empty) {
            return false;
        }
        let path = directory.path().join(&entry.name);
        let is_directory = entry.file_type == FileType::Directory;
        let mut decisions = ignores.iter().rev().map(|ignore| ignore.matched(&path, is_directory));
        decisions.find(|decision| !decision.is_none()).is_some_and(|decision| decision.is_ignore())
    }
}

/// The rules of the `.gitignore` file in a directory.
fn gitignore(directory: &Found) -> Gitignore {
    let Ok(content) = directory.read_small(OsStr::new(".gitignore"), MAX_RULES) else {
        return Gitignore::empty();
    };
    let mut rules = GitignoreBuilder::new(directory.path());
    for line in String::from_utf8_lossy(&content).lines() {
        let _ = rules.add_line(None, line); // as git does, one that it cannot read counts for nothing
    }
    rules.build().unwrap_or_else(|_| Gitignore::empty())
}

/// Compiles patterns. `argument` is the name of the one that they come from.
pub(crate) fn globs(
    argument: &str,
    patterns: impl IntoIterator<Item = String>,
) -> Result<GlobSet, ToolError> {
    let invalid =
        |error: globset::Error| ToolError::argument(argument, format!("is not a valid pattern: {error}"));
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        set.add(GlobBuilder::new(&pattern).literal_separator(true).build().map_err(invalid)?);
    }
    set.build().map_err(invalid)
}
