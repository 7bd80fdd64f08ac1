//! The server `text-editor`: views and edits of text files, as models were trained to make them.
//!
//! The contract is that of the tool `str_replace_based_edit_tool`. Unlike the reference, tabs, encodings and line endings of a
//! file stay as they are, and `undo_edit` is there in every version.

use std::{
    collections::{HashMap, VecDeque},
    fmt::Write,
    path::{Path, PathBuf},
    sync::Arc,
};

use parking_lot::Mutex;
use rustix::fs::FileType;
use schemars::JsonSchema;
use serde::Deserialize;
use tokio_util::task::TaskTracker;
use toolbay_files::{
    AccessError, AllowedDirectories, Found, Text,
    edit::{MatchError, find_one},
};
use toolbay_server::{
    Annotations, Tool, ToolContext, ToolError, ToolOutput, ToolResult, ToolServer, Toolset, in_process,
};
use toolbay_transport::Connection;

use crate::{
    files::{Files, Opened, check_hash, failed, hash, read_bytes},
    filesystem::FilesystemConfig,
};

/// How many lines around an edit are shown.
const SNIPPET: usize = 4;
/// The longest text of a view, in characters.
const MAX_VIEW: usize = 16_000;
/// The largest file that is viewed.
const MAX_FILE: u64 = 16 * 1024 * 1024;
/// How many edits of a file can be undone.
const MAX_UNDO: usize = 20;
/// The most bytes that are kept to undo edits.
const MAX_UNDO_BYTES: usize = 32 * 1024 * 1024;
/// The most lines of a directory.
const MAX_ENTRIES: usize = 1_000;

/// Makes the server connectable. Directories that cannot be opened are returned with the reason.
pub fn text_editor(
    config: FilesystemConfig,
) -> (Arc<dyn Fn(&TaskTracker) -> Connection + Send + Sync>, Vec<(PathBuf, std::io::Error)>) {
    let (allowed, skipped) = AllowedDirectories::open(config.directories);
    let allowed = allowed.home(config.home).secrets(config.secrets).protection(config.protection);
    let editor =
        Editor { files: Files { allowed, write_mode: config.write_mode }, history: Mutex::default() };
    (in_process(Arc::new(ToolServer::new("text-editor", editor, tools()))), skipped)
}

fn tools() -> Toolset<Editor> {
    Toolset::new([Tool::blocking("str_replace_based_edit_tool", edit)
        .title("Text editor")
        .description(
            "View, create and edit text files. `view` shows a file with line numbers, or a directory; `str_replace` replaces \
             text that must occur exactly once; `insert` inserts text after a line; `undo_edit` undoes the last edit of a file.",
        )
        .annotations(Annotations {
            read_only: Some(false),
            destructive: Some(true),
            idempotent: Some(false),
            open_world: Some(false),
        })])
}

#[derive(Debug)]
struct Editor {
    files: Files,
    history: Mutex<History>,
}

/// What edited files had before.
#[derive(Debug, Default)]
struct History {
    files: HashMap<PathBuf, VecDeque<Version>>,
    bytes: usize,
}

/// A state of a file before an edit.
#[derive(Debug)]
struct Version {
    /// `None` if the edit created the file.
    before: Option<Vec<u8>>,
    /// The hash of the file after the edit.
    after: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum EditorCommand {
    View,
    Create,
    StrReplace,
    Insert,
    UndoEdit,
}

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    command: EditorCommand,
    /// Path of a file or directory
    path: String,
    /// For `view`: the first and the last line, from 1; -1 is the end of the file
    #[schemars(length(min = 2, max = 2))]
    view_range: Option<Vec<i64>>,
    /// For `create`: the content of the file
    file_text: Option<String>,
    /// For `str_replace`: the text to replace, which must occur exactly once
    old_str: Option<String>,
    /// For `str_replace`: the new text; the old one is deleted without it
    new_str: Option<String>,
    /// For `insert`: the line after which to insert; 0 is the start of the file
    insert_line: Option<u64>,
    /// For `insert`: the text to insert
    insert_text: Option<String>,
    /// SHA-256 of the file as it was read; the edit fails if the file has changed since
    expected_hash: Option<String>,
}

fn edit(editor: &Editor, arguments: Arguments, _: &ToolContext) -> ToolResult {
    match arguments.command {
        EditorCommand::View => editor.view(&arguments.path, arguments.view_range.as_deref()),
        EditorCommand::Create => {
            editor.create(&arguments.path, &required(arguments.file_text, "file_text", "create")?)
        }
        EditorCommand::StrReplace => {
            let old = required(arguments.old_str, "old_str", "str_replace")?;
            let new = arguments.new_str.unwrap_or_default();
            editor.replace(&arguments.path, &old, &new, arguments.expected_hash.as_deref())
        }
        EditorCommand::Insert => {
            let line = required(arguments.insert_line, "insert_line", "insert")?;
            // An older version of the tool has the text in `new_str`.
            let text = required(arguments.insert_text.or(arguments.new_str), "insert_text", "insert")?;
            editor.insert(&arguments.path, line, &text, arguments.expected_hash.as_deref())
        }
        EditorCommand::UndoEdit => editor.undo(&arguments.path),
    }
}

fn required<T>(value: Option<T>, name: &str, command: &str) -> Result<T, ToolError> {
    value.ok_or_else(|| ToolError::failed(format!("Parameter `{name}` is required for command: {command}")))
}

impl Editor {
    fn view(&self, path: &str, range: Option<&[i64]>) -> ToolResult {
        let found = self.files.allowed.find(path).map_err(|error| missing(path, error))?;
        if found.is_directory() {
            if range.is_some() {
                let text = "The `view_range` parameter is not allowed when `path` points to a directory.";
                return Err(ToolError::failed(text));
            }
            return self.view_directory(path, &found);
        }
        let bytes = read_bytes(&found, MAX_FILE, "view it with another tool")?;
        let text = Text::decode(&bytes)
            .map_err(|error| ToolError::failed(format!("{}: {error}", found.path().display())))?;
        let lines: Vec<&str> = text.as_str().split('\n').collect();
        let (first, last) = match range {
            Some(range) => check_range(range, lines.len())?,
            None => (1, lines.len()),
        };
        let shown = numbered(&lines[first - 1..last], path, first);
        Ok(ToolOutput::text(shown)
            .with_structured(&serde_json::json!({ "hash": hash(&bytes), "lines": lines.len() })))
    }

    /// Two levels of a directory, without hidden entries.
    fn view_directory(&self, path: &str, found: &Found) -> ToolResult {
        let mut out = format!(
            "Here's the files and directories up to 2 levels deep in {path}, excluding hidden items:\n{path}\n"
        );
        let mut left = MAX_ENTRIES;
        self.list(found, Path::new(path), 2, &mut left, &mut out)?;
        if left == 0 {
            let _ = writeln!(out, "[only the first {MAX_ENTRIES} entries are shown; view a subdirectory]");
        }
        Ok(ToolOutput::text(out))
    }

    fn list(
        &self,
        directory: &Found,
        path: &Path,
        depth: usize,
        left: &mut usize,
        out: &mut String,
    ) -> Result<(), ToolError> {
        for entry in directory.entries().map_err(|error| failed("scandir", error))? {
            if entry.name.as_encoded_bytes().starts_with(b".") || *left == 0 {
                continue;
            }
            *left -= 1;
            let path = path.join(&entry.name);
            let _ = writeln!(out, "{}", path.display());
            if entry.file_type == FileType::Directory
                && depth > 1
                && let Ok(below) = self.files.allowed.enter(directory, &entry.name)
            {
                self.list(&below, &path, depth - 1, left, out)?;
            }
        }
        Ok(())
    }

    fn create(&self, path: &str, content: &str) -> ToolResult {
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
        self.files.write(&place, content.as_bytes(), None)?;
        self.remember(place.path(), None, content.as_bytes());
        Ok(ToolOutput::text(format!("File created successfully at: {path}")))
    }

    fn replace(&self, path: &str, old: &str, new: &str, expected: Option<&str>) -> ToolResult {
        let mut opened = self.open(path, expected)?;
        let old = old.replace("\r\n", "\n");
        let place = find_one(opened.text.as_str(), &old).map_err(|error| not_replaced(path, &old, &error))?;
        let line = opened.text.as_str()[..place.start].matches('\n').count();
        opened.text.replace(place, new);
        let added = new.matches('\n').count();
        let after = self.save(&opened)?;
        let start = line.saturating_sub(SNIPPET);
        let snippet = snippet(opened.text.as_str(), start, line + SNIPPET + added + 1);
        let shown = numbered(&snippet, &format!("a snippet of {path}"), start + 1);
        Ok(edited(path, &shown, "as expected", &after))
    }

    fn insert(&self, path: &str, line: u64, new: &str, expected: Option<&str>) -> ToolResult {
        let mut opened = self.open(path, expected)?;
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
        let shown = numbered(&snippet, "a snippet of the edited file", start + 1);
        let expectation = "as expected (correct indentation, no duplicate lines, etc)";
        Ok(edited(path, &shown, expectation, &after))
    }

    fn undo(&self, path: &str) -> ToolResult {
        let place = self.files.allowed.place(path).map_err(|error| missing(path, error))?;
        let mut history = self.history.lock();
        let nothing = || ToolError::failed(format!("No edit history found for {path}."));
        let version = history.files.get(place.path()).and_then(VecDeque::back).ok_or_else(nothing)?;
        let found = self.files.allowed.find(path).map_err(|error| missing(path, error))?;
        if hash(&read_bytes(&found, MAX_FILE, "it is too large")?) != version.after {
            let text = format!(
                "{path} was changed by another program since its last edit, so the edit is not undone."
            );
            return Err(ToolError::failed(text));
        }
        match &version.before {
            Some(before) => self.files.write(&place, before, None)?,
            None => place.remove_file().map_err(|error| failed("unlink", error))?,
        }
        history.forget_last(place.path());
        Ok(ToolOutput::text(format!("Last edit to {path} undone successfully.")))
    }

    fn open(&self, path: &str, expected: Option<&str>) -> Result<Opened, ToolError> {
        let found = self.files.allowed.find(path).map_err(|error| missing(path, error))?;
        if found.is_directory() {
            let text = format!(
                "The path {path} is a directory and only the `view` command can be used on directories"
            );
            return Err(ToolError::failed(text));
        }
        let opened = self.files.open_text(path, None)?;
        check_hash(expected, &opened.bytes)?;
        Ok(opened)
    }

    /// Writes an edit, and keeps what was there before.
    fn save(&self, opened: &Opened) -> Result<Vec<u8>, ToolError> {
        let after = self.files.save(opened)?;
        self.remember(opened.found.path(), Some(opened.bytes.clone()), &after);
        Ok(after)
    }

    fn remember(&self, path: &Path, before: Option<Vec<u8>>, after: &[u8]) {
        let mut history = self.history.lock();
        history.bytes += before.as_ref().map_or(0, Vec::len);
        let versions = history.files.entry(path.to_owned()).or_default();
        versions.push_back(Version { before, after: hash(after) });
        let is_full = versions.len() > MAX_UNDO;
        if is_full {
            history.forget_first(path);
        }
        while history.bytes > MAX_UNDO_BYTES {
            let Some(path) = history.files.keys().next().cloned() else { break };
            history.forget_first(&path);
        }
    }
}

impl History {
    fn forget_first(&mut self, path: &Path) {
        self.forget(path, VecDeque::pop_front);
    }

    fn forget_last(&mut self, path: &Path) {
        self.forget(path, VecDeque::pop_back);
    }

    fn forget(&mut self, path: &Path, take: fn(&mut VecDeque<Version>) -> Option<Version>) {
        let Some(versions) = self.files.get_mut(path) else { return };
        if let Some(Version { before: Some(before), .. }) = take(versions) {
            self.bytes -= before.len();
        }
        if versions.is_empty() {
            self.files.remove(path);
        }
    }
}

/// Lines with their numbers, as `cat -n` prints them.
fn numbered(lines: &[&str], what: &str, first: usize) -> String {
    let mut out = format!("Here's the result of running `cat -n` on {what}:\n");
    let mut left = MAX_VIEW;
    for (number, line) in (first..).zip(lines) {
        if line.len() > left {
            let rest = line.floor_char_boundary(left);
            let _ = writeln!(out, "{number:6}\t{}", &line[..rest]);
            out.push_str(
                "<response clipped><NOTE>To save on context only part of this file has been shown to you. You should retry this \
                 tool with `view_range`, after you have searched inside the file with `grep -n` for the lines you are looking \
                 for.</NOTE>\n",
            );
            return out;
        }
        left -= line.len();
        let _ = writeln!(out, "{number:6}\t{line}");
    }
    out
}

fn snippet(text: &str, start: usize, end: usize) -> Vec<&str> {
    text.split('\n').skip(start).take(end - start).collect()
}

fn edited(path: &str, shown: &str, expectation: &str, after: &[u8]) -> ToolOutput {
    let text = format!(
        "The file {path} has been edited. {shown}Review the changes and make sure they are {expectation}. Edit the file again if necessary."
    );
    ToolOutput::text(text).with_structured(&serde_json::json!({ "hash": hash(after) }))
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

fn missing(path: &str, error: AccessError) -> ToolError {
    match error {
        AccessError::Missing { .. } => {
            ToolError::failed(format!("The path {path} does not exist. Please provide a valid path."))
        }
        error => failed("open", error),
    }
}

fn not_replaced(path: &str, old: &str, error: &MatchError) -> ToolError {
    ToolError::failed(match error {
        MatchError::Ambiguous { lines, .. } => format!(
            "No replacement was performed. Multiple occurrences of old_str `{old}` in lines {lines:?}. Please ensure it is unique"
        ),
        MatchError::NotFound { nearest: Some(nearest) } => format!(
            "No replacement was performed, old_str `{old}` did not appear verbatim in {path}. The nearest text is at line {} \
             ({:.0} % equal):\n{}",
            nearest.line,
            nearest.similarity * 100.0,
            nearest.diff
        ),
        _ => format!("No replacement was performed, old_str `{old}` did not appear verbatim in {path}."),
    })
}
