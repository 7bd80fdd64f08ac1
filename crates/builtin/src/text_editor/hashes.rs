//! Reading and editing ranges of lines that are identified by their hashes.
//!
//! The contract is that of `mcp-text-editor`: an edit names the hash of the file and of the lines that it replaces, so that
//! nothing is replaced that has changed since it was read.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::json;
use toolbay_files::{AccessError, Place, Text};
use toolbay_server::{Annotations, Tool, ToolContext, ToolError, ToolOutput, ToolResult, Toolset};

use crate::files::{
    Expected, Files, MAX_EDITED, OpenError, Opened, decode, for_client, hash, parent, read_bytes,
};

/// The most bytes of text that one call returns.
const MAX_TEXT: usize = 1024 * 1024;
/// The longest file whose content an error shows.
const MAX_SHOWN: usize = 64 * 1024;

pub(super) fn tools() -> Toolset<Files> {
    let results = json!({ "type": "object", "additionalProperties": { "type": "object" } });
    Toolset::new([
        Tool::blocking("get_text_file_contents", for_client(get))
            .title("Read lines with hashes")
            .description(
                "Read ranges of lines of text files, with hashes of the files and ranges that edit_text_file_contents takes. \
                 Paths must be absolute.",
            )
            .output_schema(results.clone())
            .annotations(Annotations::READ_ONLY),
        Tool::blocking("edit_text_file_contents", for_client(edit))
            .title("Edit lines by hashes")
            .description(
                "Replace ranges of lines of text files. Read the same ranges with get_text_file_contents first: file_hash and \
                 range_hash must be those of the current content. To append, set line_start to total_lines + 1; to insert before \
                 a line, set range_hash to the hash of an empty text. New files have an empty file_hash. Paths must be absolute.",
            )
            .output_schema(results)
            .annotations(Annotations {
                read_only: Some(false),
                destructive: Some(true),
                idempotent: Some(false),
                open_world: Some(false),
            }),
    ])
}

#[derive(Deserialize, JsonSchema)]
struct GetArguments {
    /// Files and their line ranges to read
    files: Vec<FileRanges>,
    /// Encoding of the files (default: detected)
    encoding: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
struct FileRanges {
    /// Absolute path
    file_path: String,
    ranges: Vec<RequestedRange>,
}

#[derive(Deserialize, JsonSchema)]
struct RequestedRange {
    /// First line, from 1
    start: i64,
    /// Last line (default: the end of the file)
    end: Option<i64>,
}

#[derive(Serialize)]
struct FileLines {
    ranges: Vec<RangeLines>,
    file_hash: String,
}

#[derive(Serialize)]
struct RangeLines {
    content: String,
    start_line: usize,
    end_line: usize,
    range_hash: String,
    total_lines: usize,
    content_size: usize,
}

/// Results by path, in the order of the request.
struct ByPath<T>(Vec<(String, T)>);

impl<T> ByPath<T> {
    fn set(&mut self, path: String, result: T) {
        self.0.retain(|(known, _)| *known != path);
        self.0.push((path, result));
    }
}

impl<T: Serialize> Serialize for ByPath<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(path, result)| (path, result)))
    }
}

impl<T: Serialize> ByPath<T> {
    fn into_output(self) -> ToolResult {
        let text =
            serde_json::to_string_pretty(&self).map_err(|error| ToolError::failed(error.to_string()))?;
        Ok(ToolOutput::text(text).with_structured(&self))
    }
}

fn get(files: &Files, arguments: GetArguments, context: &ToolContext) -> ToolResult {
    let encoding = arguments.encoding.as_deref();
    let mut results = ByPath(Vec::new());
    let mut room = MAX_TEXT;
    for FileRanges { file_path: path, ranges } in arguments.files {
        if context.is_cancelled() {
            return Err(ToolError::failed("the call was canceled"));
        }
        check_absolute(&path)?;
        let text = read(files, &path, encoding)?;
        let lines = NumberedLines::of(text.as_str());
        let ranges = ranges.iter().map(|range| {
            let range = lines.read(range);
            let too_long =
                || refused(format!("the ranges have more than {MAX_TEXT} bytes; read fewer lines"));
            room = room.checked_sub(range.content.len()).ok_or_else(too_long)?;
            Ok(range)
        });
        let ranges = ranges.collect::<Result<_, ToolError>>()?;
        results.set(path, FileLines { ranges, file_hash: hash(text.as_str().as_bytes()) });
    }
    results.into_output()
}

fn read(files: &Files, path: &str, encoding: Option<&str>) -> Result<Text, ToolError> {
    let found = files.allowed.find(path).map_err(|error| match error {
        AccessError::Missing { .. } => refused(format!("File not found: {path}")),
        error => refused(error.to_string()),
    })?;
    let bytes =
        read_bytes(&found, MAX_EDITED, "it is too large").map_err(|error| refused(error.to_string()))?;
    decode(&bytes, encoding).map_err(|error| refused(format!("{path}: {error}")))
}

fn check_absolute(path: &str) -> Result<(), ToolError> {
    if path.starts_with('/') || path.starts_with("~/") {
        return Ok(());
    }
    Err(refused(format!("File path must be absolute: {path}")))
}

fn refused(reason: impl Into<String>) -> ToolError {
    ToolError::failed(format!("Error executing command: Error processing request: {}", reason.into()))
}

/// A text and where its lines begin.
struct NumberedLines<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> NumberedLines<'a> {
    fn of(text: &'a str) -> Self {
        let mut starts = vec![0];
        starts.extend(memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1));
        if text.is_empty() || text.ends_with('\n') {
            starts.pop();
        }
        Self { text, starts }
    }

    fn count(&self) -> usize {
        self.starts.len()
    }

    /// Where a line, from 0, begins; the end of the text for one after the last.
    fn start(&self, line: usize) -> usize {
        self.starts.get(line).copied().unwrap_or(self.text.len())
    }

    fn read(&self, range: &RequestedRange) -> RangeLines {
        let total_lines = self.count();
        let first = usize::try_from(range.start.max(1)).unwrap_or(usize::MAX) - 1;
        let last =
            range.end.map_or(total_lines, |end| usize::try_from(end).unwrap_or_default().min(total_lines));
        let is_past = first >= total_lines;
        let content = if is_past { "" } else { &self.text[self.start(first)..self.start(last.max(first))] };
        RangeLines {
            content: content.to_owned(),
            start_line: first + 1,
            end_line: if is_past { first + 1 } else { last },
            range_hash: hash(content.as_bytes()),
            total_lines,
            content_size: content.chars().count(),
        }
    }
}

#[derive(Deserialize, JsonSchema)]
struct EditArguments {
    files: Vec<FilePatches>,
    /// Encoding of the files (default: detected)
    encoding: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
struct FilePatches {
    /// Absolute path
    path: String,
    /// Hash of the file as it was read; empty for a new file
    file_hash: String,
    patches: Vec<Patch>,
}

#[derive(Deserialize, JsonSchema)]
struct Patch {
    /// First line to replace, from 1 (default: 1)
    #[schemars(range(min = 1))]
    line_start: Option<usize>,
    /// Last line to replace (default: the end of the file)
    line_end: Option<usize>,
    /// The new lines
    contents: String,
    /// Hash of the lines to replace; not needed for new files and to append
    range_hash: Option<String>,
}

/// What became of a file, with the fields in the order of the original.
#[derive(Serialize)]
#[serde(tag = "result", rename_all = "lowercase")]
enum EditResult {
    Ok {
        file_hash: String,
        reason: Option<String>,
    },
    Error {
        reason: String,
        file_hash: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        content: Option<Option<String>>,
    },
}

impl EditResult {
    fn error(reason: impl Into<String>) -> Self {
        Self::Error { reason: reason.into(), file_hash: None, content: Some(None) }
    }

    /// An error that shows the content of the file, unless that is long.
    fn error_showing(reason: impl Into<String>, text: &str) -> Self {
        let content = (text.len() <= MAX_SHOWN).then(|| text.to_owned());
        Self::Error { reason: reason.into(), file_hash: None, content: Some(content) }
    }
}

fn edit(files: &Files, arguments: EditArguments, context: &ToolContext) -> ToolResult {
    let encoding = arguments.encoding.as_deref();
    let mut results = ByPath(Vec::new());
    for operation in arguments.files {
        if context.is_cancelled() {
            return Err(ToolError::failed("the call was canceled"));
        }
        check_absolute(&operation.path)?;
        let result = edit_file(files, &operation, encoding).unwrap_or_else(|error| error);
        results.set(operation.path, result);
    }
    results.into_output()
}

/// A file to edit, which need not be there.
enum Target {
    Existing(Box<Opened>),
    New(Place, Text),
}

fn edit_file(
    files: &Files,
    operation: &FilePatches,
    encoding: Option<&str>,
) -> Result<EditResult, EditResult> {
    let FilePatches { path, file_hash, patches } = operation;
    if patches.is_empty() {
        let reason = "Empty patches list".to_owned();
        return Err(EditResult::Error { reason, file_hash: Some(file_hash.clone()), content: None });
    }
    let mut target = open(files, path, file_hash, encoding)?;
    let text = match &mut target {
        Target::Existing(opened) => &mut opened.text,
        Target::New(_, text) => text,
    };
    let before = text.as_str().to_owned();
    if !before.is_empty() && file_hash.is_empty() {
        return Err(EditResult::error("Unexpected error - Cannot treat existing file as new"));
    }
    if !before.is_empty() && *file_hash != hash(before.as_bytes()) {
        return Err(EditResult::error_showing("Hash mismatch - file has been modified", &before));
    }
    apply(text, &before, patches).map_err(|reason| EditResult::error_showing(reason, &before))?;
    let file_hash = hash(text.as_str().as_bytes());
    let failed = |error: ToolError| EditResult::error(format!("Error editing file: {error}"));
    match &target {
        Target::Existing(opened) => files.save(opened).map(drop).map_err(failed)?,
        Target::New(place, text) => {
            let content = text.encode().map_err(|error| failed(ToolError::failed(error.to_string())))?;
            files.write(place, &content, Expected::Nothing).map_err(failed)?;
        }
    }
    Ok(EditResult::Ok { file_hash, reason: None })
}

fn open(files: &Files, path: &str, file_hash: &str, encoding: Option<&str>) -> Result<Target, EditResult> {
    let failed = |reason: String| EditResult::error(format!("Error editing file: {reason}"));
    match files.open_text(path, encoding) {
        Ok(opened) => return Ok(Target::Existing(Box::new(opened))),
        Err(OpenError::Access(AccessError::Missing { .. } | AccessError::NoParent { .. })) => {}
        Err(error) => return Err(failed(error.describe(path).to_string())),
    }
    if !file_hash.is_empty() {
        return Err(EditResult::error("File not found and non-empty hash provided"));
    }
    let text = decode(b"", encoding).map_err(|error| failed(error.to_string()))?;
    if let Some(parent) = parent(path) {
        let created = files.allowed.create_directories(parent);
        created.map_err(|error| EditResult::error(format!("Failed to create directory: {error}")))?;
    }
    let place = files.allowed.place(path).map_err(|error| failed(error.to_string()))?;
    Ok(Target::New(place, text))
}

/// Applies patches to a text, all of them or none. `before` is the text.
fn apply(text: &mut Text, before: &str, patches: &[Patch]) -> Result<(), String> {
    let lines = NumberedLines::of(before);
    let total = lines.count();
    let first = |patch: &Patch| patch.line_start.unwrap_or(1).max(1);
    let last = |patch: &Patch| patch.line_end.unwrap_or(total).max(first(patch));
    // From the bottom to the top, so that the lines above keep their numbers.
    let mut sorted: Vec<&Patch> = patches.iter().collect();
    sorted.sort_by_key(|patch| std::cmp::Reverse((first(patch), last(patch))));
    if sorted.windows(2).any(|pair| last(pair[1]) >= first(pair[0])) {
        return Err("Overlapping patches detected".to_owned());
    }
    let mut changes = Vec::with_capacity(sorted.len());
    for patch in sorted {
        let (start, is_append) = (first(patch), first(patch) > total);
        if !is_append && patch.line_end.is_some_and(|end| end < start) {
            return Err("End line must be greater than or equal to start line".to_owned());
        }
        let from = lines.start(start - 1);
        let mut range = from..from;
        if !is_append {
            let there = from..lines.start(last(patch));
            let range_hash = patch.range_hash.as_deref().filter(|hash| !hash.is_empty());
            let range_hash = range_hash.ok_or("range_hash is required for file modifications")?;
            let is_insertion = range_hash == hash(b"");
            if !is_insertion && range_hash != hash(before[there.clone()].as_bytes()) {
                let end = patch.line_end.map_or("None".to_owned(), |end| end.to_string());
                return Err(format!(
                    "Content hash mismatch - file has been modified since last read. Please use get_text_file_contents tool with \
                     lines {start}-{end} to get current content and hashes, then retry with the updated hashes. If you want to \
                     append content, set line_start to {}.",
                    total + 1
                ));
            }
            if !is_insertion {
                range = there;
            }
        }
        let mut contents = patch.contents.replace("\r\n", "\n");
        if !contents.ends_with('\n') {
            contents.push('\n');
        }
        changes.push((range, contents));
    }
    // What is appended begins on a line of its own.
    let end = before.len();
    if !before.is_empty() && !before.ends_with('\n') && changes.iter().any(|(range, _)| range.start == end) {
        text.replace(end..end, "\n");
        for (range, _) in changes.iter_mut().filter(|(range, _)| range.start == end) {
            *range = end + 1..end + 1;
        }
    }
    for (range, contents) in changes {
        text.replace(range, &contents);
    }
    Ok(())
}
