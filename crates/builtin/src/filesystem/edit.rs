//! Editing files.

use std::fmt::Write;

use schemars::JsonSchema;
use serde::Deserialize;
use similar::{ChangeTag, TextDiff};
use toolbay_files::{
    Text,
    edit::{MatchError, find, find_trimmed},
};
use toolbay_server::{ToolContext, ToolError, ToolResult};

use super::text;
use crate::files::{Files, check_hash};

/// How many unchanged lines a diff shows around each change.
const CONTEXT: usize = 4;

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct EditFile {
    path: String,
    edits: Vec<TextEdit>,
    /// Preview changes using git-style diff format
    #[serde(default)]
    dry_run: bool,
    /// SHA-256 of the file as it was read; the edit fails if the file has changed since
    #[serde(rename = "expected_hash")]
    expected_hash: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct TextEdit {
    /// Text to search for - must match exactly
    old_text: String,
    /// Text to replace with
    new_text: String,
    /// Replace all occurrences (default: false)
    #[serde(default, rename = "replace_all")]
    replace_all: bool,
    /// How many occurrences there must be (default: 1)
    #[serde(rename = "expected_replacements")]
    expected_replacements: Option<usize>,
}

pub(super) fn edit_file(files: &Files, arguments: EditFile, _: &ToolContext) -> ToolResult {
    let opened = files.open_text(&arguments.path, None);
    let mut opened = opened.map_err(|error| error.describe(&arguments.path))?;
    check_hash(arguments.expected_hash.as_deref(), &opened.bytes)?;
    let before = opened.text.as_str().to_owned();
    for edit in &arguments.edits {
        edit.apply(&mut opened.text)?;
    }
    if !arguments.dry_run {
        files.save(&opened)?;
    }
    let name = opened.found.path().display().to_string();
    Ok(text(fenced(&unified_diff(&name, &before, opened.text.as_str()))))
}

impl TextEdit {
    fn apply(&self, text: &mut Text) -> Result<(), ToolError> {
        let (old, new) = (self.old_text.replace("\r\n", "\n"), self.new_text.replace("\r\n", "\n"));
        let expected = if self.replace_all { None } else { Some(self.expected_replacements.unwrap_or(1)) };
        match find(text.as_str(), &old, expected) {
            Ok(places) => {
                // From the end, so that the places before stay where they are.
                for place in places.into_iter().rev() {
                    text.replace(place, &new);
                }
                Ok(())
            }
            Err(MatchError::NotFound { nearest }) if expected == Some(1) => {
                match find_trimmed(text.as_str(), &old) {
                    Ok(place) => {
                        let indented = reindent(&text.as_str()[place.clone()], &old, &new);
                        text.replace(place, &indented);
                        Ok(())
                    }
                    Err(ambiguous @ MatchError::Ambiguous { .. }) => Err(self.failed(&ambiguous)),
                    Err(_) => Err(self.failed(&MatchError::NotFound { nearest })),
                }
            }
            Err(error) => Err(self.failed(&error)),
        }
    }

    fn failed(&self, error: &MatchError) -> ToolError {
        let old = &self.old_text;
        ToolError::failed(match error {
            MatchError::NotFound { nearest: None } => format!("Could not find exact match for edit:\n{old}"),
            error => format!("Could not find exact match for edit:\n{old}\n\n{error}"),
        })
    }
}

/// Gives new lines the indentation of those that they replace: the first line that of the first one there, the others as
/// much more as they have in `new` than in `old`.
fn reindent(there: &str, old: &str, new: &str) -> String {
    let indent = |line: &str| line[..line.len() - line.trim_start().len()].to_owned();
    let first = indent(there);
    let old: Vec<&str> = old.split('\n').collect();
    let lines = new.split('\n').enumerate().map(|(number, line)| {
        if number == 0 {
            return first.clone() + line.trim_start();
        }
        let before = old.get(number).map(|line| indent(line)).unwrap_or_default();
        let after = indent(line);
        if before.is_empty() || after.is_empty() {
            return line.to_owned();
        }
        let deeper = after.chars().count().saturating_sub(before.chars().count());
        first.clone() + &" ".repeat(deeper) + line.trim_start()
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The differences between two texts, as `diff -u` shows them, under the header that the contract has.
pub(super) fn unified_diff(name: &str, before: &str, after: &str) -> String {
    let mut out = format!("Index: {name}\n{}\n--- {name}\toriginal\n+++ {name}\tmodified\n", "=".repeat(67));
    let diff = TextDiff::from_lines(before, after);
    for group in diff.grouped_ops(CONTEXT) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
        let old = first.old_range().start..last.old_range().end;
        let new = first.new_range().start..last.new_range().end;
        // The position of an empty range is that of the line before it.
        let start = |range: &std::ops::Range<usize>| range.start + usize::from(!range.is_empty());
        let _ = writeln!(out, "@@ -{},{} +{},{} @@", start(&old), old.len(), start(&new), new.len());
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            out.push(match change.tag() {
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
                ChangeTag::Equal => ' ',
            });
            out.push_str(change.value());
            if change.missing_newline() {
                out.push_str("\n\\ No newline at end of file\n");
            }
        }
    }
    out
}

/// A diff as Markdown, in a fence that is longer than any in it.
fn fenced(diff: &str) -> String {
    let mut fence = "```".to_owned();
    while diff.contains(&fence) {
        fence.push('`');
    }
    format!("{fence}diff\n{diff}{fence}\n\n")
}
