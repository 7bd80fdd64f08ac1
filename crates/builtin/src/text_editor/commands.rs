//! The commands of `str_replace_based_edit_tool`, with the words of the reference.

use std::{fmt::Write, path::Path};

use parking_lot::Mutex;
use rustix::fs::FileType;
use toolbay_files::{
    AccessError, Found, Stamp, Text,
    edit::{MatchError, find_one},
};
use toolbay_server::ToolError;

use super::{EditorResult, history::History};
use crate::files::{Expected, Files, MAX_EDITED, Opened, check_hash, failed, hash, read_bytes};

/// How many lines around an edit are shown.
const SNIPPET: usize = 4;
/// The most lines of a directory.
const MAX_ENTRIES: usize = 1_000;

/// The commands on one path.
pub(super) struct Commands<'a> {
    pub(super) files: &'a Files,
    pub(super) history: &'a Mutex<History>,
    pub(super) max_characters: usize,
    pub(super) path: &'a str,
}

impl Commands<'_> {
    pub(super) fn view(&self, range: Option<&[i64]>) -> Result<EditorResult, ToolError> {
        let path = self.path;
        let found = self.find()?;
        if found.is_directory() {
            if range.is_some() {
                let text = "The `view_range` parameter is not allowed when `path` points to a directory.";
                return Err(ToolError::failed(text));
            }
            return self.view_directory(&found);
        }
        let bytes = read_bytes(&found, MAX_EDITED, "it is too large to be viewed")?;
        let text = Text::decode(&bytes).map_err(|error| ToolError::failed(format!("{path}: {error}")))?;
        let lines: Vec<&str> = text.as_str().split('\n').collect();
        let (first, last) = match range {
            Some(range) => check_range(range, lines.len())?,
            None => (1, lines.len()),
        };
        let content = self.numbered(&lines[first - 1..last], path, first);
        Ok(EditorResult { content, hash: Some(hash(&bytes)), lines: Some(lines.len()) })
    }

    /// Two levels of a directory, without hidden entries.
    fn view_directory(&self, found: &Found) -> Result<EditorResult, ToolError> {
        let path = self.path;
        let mut content = format!(
            "Here's the files and directories up to 2 levels deep in {path}, excluding hidden items:\n{path}\n"
        );
        let mut count = 0;
        self.list(found, Path::new(path), 2, &mut count, &mut content)?;
        if count > MAX_ENTRIES {
            let _ = writeln!(content, "[{MAX_ENTRIES} of {count} entries are shown; view a subdirectory]");
        }
        Ok(EditorResult { content, ..EditorResult::default() })
    }

    fn list(
        &self,
        directory: &Found,
        path: &Path,
        depth: usize,
        count: &mut usize,
        out: &mut String,
    ) -> Result<(), ToolError> {
        for entry in self.files.allowed.entries(directory).map_err(|error| failed("scandir", error))? {
            if entry.name.as_encoded_bytes().starts_with(b".") {
                continue;
            }
            *count += 1;
            let path = path.join(&entry.name);
            if *count <= MAX_ENTRIES {
                let _ = writeln!(out, "{}", path.display());
            }
            if entry.file_type == FileType::Directory
                && depth > 1
                && let Ok(below) = self.files.allowed.enter(directory, &entry.name)
            {
                // One that may not be read is shown without what is in it.
                let _ = self.list(&below, &path, depth - 1, count, out);
            }
        }
        Ok(())
    }

    pub(super) fn create(&self, content: &str) -> Result<EditorResult, ToolError> {
        let path = self.path;
        match self.files.allowed.find(path) {
            Ok(_) => {
                let text =
                    format!("File already exists at: {path}. Cannot overwrite files using command `create`.");
                return Err(ToolError::failed(text));
            }
            Err(AccessError::Missing { .. }) => {}
            Err(error) => return Err(failed("open", error)),
        }
        let place = self.files.allowed.place(path).map_err(|error| failed("open", error))?;
        self.files.write(&place, content.as_bytes(), Expected::Nothing)?;
        self.history.lock().add(place.path(), None, content.as_bytes());
        Ok(EditorResult {
            content: format!("File created successfully at: {path}"),
            hash: Some(hash(content.as_bytes())),
            lines: Some(content.split('\n').count()),
        })
    }

    pub(super) fn replace(
        &self,
        old: &str,
        new: &str,
        expected: Option<&str>,
    ) -> Result<EditorResult, ToolError> {
        let mut opened = self.open(expected)?;
        let old = old.replace("\r\n", "\n");
        let place = find_one(opened.text.as_str(), &old).map_err(|error| self.not_replaced(&old, &error))?;
        let line = opened.text.as_str()[..place.start].matches('\n').count();
        opened.text.replace(place, new);
        let added = new.matches('\n').count();
        let after = self.save(&opened)?;
        let start = line.saturating_sub(SNIPPET);
        let snippet = snippet(opened.text.as_str(), start, line + SNIPPET + added + 1);
        let shown = self.numbered(&snippet, &format!("a snippet of {}", self.path), start + 1);
        Ok(self.edited(&opened, &shown, "as expected", &after))
    }

    pub(super) fn insert(
        &self,
        line: u64,
        new: &str,
        expected: Option<&str>,
    ) -> Result<EditorResult, ToolError> {
        let mut opened = self.open(expected)?;
        let text = opened.text.as_str();
        let lines = text.split('\n').count();
        let line = usize::try_from(line).unwrap_or(usize::MAX);
        if line > lines {
            return Err(ToolError::failed(format!(
                "Invalid `insert_line` parameter: {line}. It should be within the range of lines of the file: [0, {lines}]"
            )));
        }
        let new = new.replace("\r\n", "\n");
        // After the last line, a line ending comes first; everywhere else it comes after the new text.
        if line == lines {
            let end = text.len();
            opened.text.replace(end..end, &format!("\n{new}"));
        } else {
            let at = text.split_inclusive('\n').take(line).map(str::len).sum();
            opened.text.replace(at..at, &format!("{new}\n"));
        }
        let after = self.save(&opened)?;
        let start = line.saturating_sub(SNIPPET);
        let snippet = snippet(opened.text.as_str(), start, line + new.split('\n').count() + SNIPPET);
        let shown = self.numbered(&snippet, "a snippet of the edited file", start + 1);
        let expectation = "as expected (correct indentation, no duplicate lines, etc)";
        Ok(self.edited(&opened, &shown, expectation, &after))
    }

    pub(super) fn undo(&self) -> Result<EditorResult, ToolError> {
        let path = self.path;
        let place = self.files.allowed.place(path).map_err(|error| self.missing(error))?;
        // Held until the file is written, so that two calls do not undo the same edit.
        let mut history = self.history.lock();
        let nothing = || ToolError::failed(format!("No edit history found for {path}."));
        let version = history.last(place.path()).ok_or_else(nothing)?;
        let found = self.find()?;
        if hash(&read_bytes(&found, MAX_EDITED, "it is too large")?) != version.after {
            let text = format!(
                "{path} was changed by another program since its last edit, so the edit is not undone."
            );
            return Err(ToolError::failed(text));
        }
        let restored = match &version.before {
            Some(before) => {
                self.files.write(&place, before, Expected::Unchanged(Stamp::of(found.stat())))?;
                Some(hash(before))
            }
            None => {
                place.remove_file().map_err(|error| failed("unlink", error))?;
                None
            }
        };
        history.remove_last(place.path());
        let content = format!("Last edit to {path} undone successfully.");
        Ok(EditorResult { content, hash: restored, lines: None })
    }

    fn find(&self) -> Result<Found, ToolError> {
        self.files.allowed.find(self.path).map_err(|error| self.missing(error))
    }

    fn open(&self, expected: Option<&str>) -> Result<Opened, ToolError> {
        let path = self.path;
        if self.find()?.is_directory() {
            let text = format!(
                "The path {path} is a directory and only the `view` command can be used on directories"
            );
            return Err(ToolError::failed(text));
        }
        let opened = self.files.open_text(path, None).map_err(|error| error.describe(path))?;
        check_hash(expected, &opened.bytes)?;
        Ok(opened)
    }

    /// Writes an edit, and keeps what was there before.
    fn save(&self, opened: &Opened) -> Result<Vec<u8>, ToolError> {
        let after = self.files.save(opened)?;
        self.history.lock().add(opened.found.path(), Some(opened.bytes.clone()), &after);
        Ok(after)
    }

    fn edited(&self, opened: &Opened, shown: &str, expectation: &str, after: &[u8]) -> EditorResult {
        let content = format!(
            "The file {} has been edited. {shown}Review the changes and make sure they are {expectation}. Edit the file again if \
             necessary.",
            self.path
        );
        let lines = opened.text.as_str().split('\n').count();
        EditorResult { content, hash: Some(hash(after)), lines: Some(lines) }
    }

    /// Lines with their numbers, as `cat -n` prints them, as far as they fit.
    fn numbered(&self, lines: &[&str], what: &str, first: usize) -> String {
        let mut out = format!("Here's the result of running `cat -n` on {what}:\n");
        let mut left = self.max_characters;
        for (number, line) in (first..).zip(lines) {
            if let Some((cut, _)) = line.char_indices().nth(left) {
                let _ = writeln!(out, "{number:6}\t{}", &line[..cut]);
                out.push_str(
                    "<response clipped><NOTE>To save on context only part of this file has been shown to you. You should retry \
                     this tool with `view_range`, after you have searched inside the file with `grep -n` for the lines you are \
                     looking for.</NOTE>\n",
                );
                return out;
            }
            left = left.saturating_sub(line.chars().count() + 1);
            let _ = writeln!(out, "{number:6}\t{line}");
        }
        out
    }

    fn missing(&self, error: AccessError) -> ToolError {
        match error {
            AccessError::Missing { .. } => ToolError::failed(format!(
                "The path {} does not exist. Please provide a valid path.",
                self.path
            )),
            error => failed("open", error),
        }
    }

    fn not_replaced(&self, old: &str, error: &MatchError) -> ToolError {
        let path = self.path;
        ToolError::failed(match error {
            MatchError::Ambiguous { lines, .. } => format!(
                "No replacement was performed. Multiple occurrences of old_str `{old}` in lines {lines:?}. Please ensure it is \
                 unique"
            ),
            MatchError::NotFound { nearest: Some(nearest) } => format!(
                "No replacement was performed, old_str `{old}` did not appear verbatim in {path}. Nothing was changed; {nearest}"
            ),
            _ => format!("No replacement was performed, old_str `{old}` did not appear verbatim in {path}."),
        })
    }
}

fn snippet(text: &str, start: usize, end: usize) -> Vec<&str> {
    text.split('\n').skip(start).take(end - start).collect()
}

/// The first and the last line of a range, from 1.
fn check_range(range: &[i64], lines: usize) -> Result<(usize, usize), ToolError> {
    let &[first, last] = range else {
        return Err(ToolError::failed("Invalid `view_range`. It should be a list of two integers."));
    };
    let invalid =
        |reason: String| ToolError::failed(format!("Invalid `view_range`: [{first}, {last}]. {reason}"));
    let count = i64::try_from(lines).unwrap_or(i64::MAX);
    if first < 1 || first > count {
        return Err(invalid(format!(
            "Its first element `{first}` should be within the range of lines of the file: [1, {count}]"
        )));
    }
    if last > count {
        return Err(invalid(format!(
            "Its second element `{last}` should be smaller than the number of lines in the file: `{count}`"
        )));
    }
    if last != -1 && last < first {
        return Err(invalid(format!(
            "Its second element `{last}` should be larger or equal than its first `{first}`"
        )));
    }
    let last = if last == -1 { count } else { last };
    Ok((usize::try_from(first).unwrap_or(1), usize::try_from(last).unwrap_or(lines)))
}
