//! Listing directories.

use std::ops::Range;

use rustix::fs::FileType;
use schemars::JsonSchema;
use serde::Deserialize;
use toolbay_files::DirectoryEntry;
use toolbay_server::{ToolContext, ToolResult, limit};

use super::text;
use crate::files::{Files, failed};

/// The most bytes of a page of results.
pub(super) const MAX_PAGE: usize = 50 * 1024;

#[derive(Deserialize, JsonSchema)]
pub(super) struct ListDirectory {
    path: String,
    /// Number of entries to skip (default: 0)
    #[serde(default)]
    offset: usize,
}

pub(super) fn list_directory(files: &Files, arguments: ListDirectory, _: &ToolContext) -> ToolResult {
    let found = files.allowed.find(&arguments.path).map_err(|error| failed("scandir", error))?;
    let entries = files.allowed.entries(&found).map_err(|error| failed("scandir", error))?;
    let lines: Vec<String> =
        entries.iter().map(|entry| format!("{} {}", prefix(entry), name(entry))).collect();
    Ok(text(page(&lines, arguments.offset)))
}

fn prefix(entry: &DirectoryEntry) -> &'static str {
    if entry.file_type == FileType::Directory { "[DIR]" } else { "[FILE]" }
}

fn name(entry: &DirectoryEntry) -> String {
    entry.name.to_string_lossy().into_owned()
}

/// The lines that fit into a page, and how to get the others.
fn page(lines: &[String], offset: usize) -> String {
    let rest = lines.get(offset..).unwrap_or_default();
    let shown = limit::leading(rest, MAX_PAGE, |line| line.len() + 1);
    let next = offset + shown;
    let mut page = rest[..shown].join("\n");
    if next < lines.len() {
        page.push_str(&rest_of(offset..next, lines.len(), "entries"));
    }
    page
}

/// The last line of a page that is not the last one.
pub(super) fn rest_of(shown: Range<usize>, total: usize, what: &str) -> String {
    let Range { start, end } = shown;
    format!("\n\n[{what} {} to {end} of {total}; continue with offset={end}]", start + 1)
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
    let entries = files.allowed.entries(&found).map_err(|error| failed("scandir", error))?;
    let size = |entry: &DirectoryEntry| {
        found.stat_of(entry).and_then(|stat| u64::try_from(stat.st_size).ok()).unwrap_or_default()
    };
    let mut entries: Vec<(DirectoryEntry, u64)> =
        entries.into_iter().map(|entry| (size(&entry), entry)).map(|(size, entry)| (entry, size)).collect();
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
    let mut shown = page(&lines, arguments.offset);
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
