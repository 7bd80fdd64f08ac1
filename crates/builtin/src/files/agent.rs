//! The tools `read`, `write`, `edit`, `glob` and `grep`, as agents know them.
//!
//! The contract is that of `agent_toolset_20260401`. Encodings, line endings and tabs stay as they are in a file; an edit that
//! does not match is answered with the nearest text.

use std::{cmp::Reverse, collections::BinaryHeap, path::Path};

use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use toolbay_files::{
    AccessError, Found,
    edit::{MatchError, find},
};
use toolbay_server::{Annotations, Tool, ToolContext, ToolError, ToolOutput, ToolResult, Toolset};

use super::{
    Expected, Files, OpenError, decode, for_client, hash,
    lines::{self, LineRange, LinesError},
    parent, read_bytes, size,
    walk::{Walk, globs},
};
use crate::grep::agent_grep;

/// The longest text that is read at once, and the largest file that is edited.
const MAX_TEXT: u64 = 256 * 1024;
/// The largest image: 5 MiB as base64.
const MAX_IMAGE: u64 = 5 * 1024 * 1024 / 4 * 3;
/// The largest PDF file.
const MAX_PDF: u64 = 20 * 1024 * 1024;
/// The most paths that `glob` returns.
const MAX_PATHS: usize = 200;

/// The tools that read and change files.
pub(crate) fn editing() -> Toolset<Files> {
    Toolset::new([read_tool(), write_tool(), edit_tool()])
}

/// The tools that read, change and find files.
pub(crate) fn editing_and_searching() -> Toolset<Files> {
    Toolset::new([read_tool(), write_tool(), edit_tool(), glob_tool(), grep_tool()])
}

fn read_tool() -> Tool<Files> {
    Tool::blocking("read", for_client(read))
        .title("Read file")
        .description(
            "Read a text file, or lines of it with view_range. Images and PDF files are returned as such.",
        )
        .output::<AgentResult>()
        .annotations(Annotations::READ_ONLY)
}

fn write_tool() -> Tool<Files> {
    Tool::blocking("write", for_client(write))
        .title("Write file")
        .description("Write a file, creating parent directories as needed.")
        .output::<AgentResult>()
        .annotations(Annotations { idempotent: Some(true), ..CHANGES })
}

fn edit_tool() -> Tool<Files> {
    Tool::blocking("edit", for_client(edit))
        .title("Edit file")
        .description("Replace text in a file. old_string must occur exactly once, unless replace_all is set.")
        .output::<AgentResult>()
        .annotations(CHANGES)
}

fn glob_tool() -> Tool<Files> {
    Tool::blocking("glob", for_client(glob))
        .title("Find files")
        .description("List files and directories that match a glob pattern such as `**/*.rs`, newest first.")
        .output::<AgentResult>()
        .annotations(Annotations::READ_ONLY)
}

fn grep_tool() -> Tool<Files> {
    Tool::blocking("grep", for_client(grep))
        .title("Search files")
        .description("Search the contents of files for a regular expression. Returns `path:line:text`.")
        .output::<AgentResult>()
        .annotations(Annotations::READ_ONLY)
}

const CHANGES: Annotations = Annotations {
    read_only: Some(false),
    destructive: Some(true),
    idempotent: Some(false),
    open_world: Some(false),
};

/// What a tool returns.
#[derive(Default, Serialize, JsonSchema)]
struct AgentResult {
    content: String,
    /// SHA-256 of the file
    #[serde(skip_serializing_if = "Option::is_none")]
    hash: Option<String>,
    /// Number of replacements, or of matching paths
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<usize>,
}

impl From<AgentResult> for ToolOutput {
    fn from(content: AgentResult) -> Self {
        Self::text(content.content.clone()).with_structured(&content)
    }
}

#[derive(Deserialize, JsonSchema)]
struct ReadArguments {
    /// Path of the file
    file_path: String,
    /// First and last line, from 1; a last line of 0 or less is the end of the file
    #[schemars(length(min = 2, max = 2))]
    view_range: Option<Vec<i64>>,
}

fn read(files: &Files, arguments: ReadArguments, _: &ToolContext) -> ToolResult {
    let ReadArguments { file_path: path, view_range } = arguments;
    let failed = |error: AccessError| failed(files, "read", &path, error);
    let found = files.allowed.find(&path).map_err(failed)?;
    if !found.is_file() {
        return Err(failed(AccessError::NotAFile { path: found.path().to_owned() }));
    }
    if let Some(media_type) = media_type(found.path()) {
        if view_range.is_some() {
            return Err(ToolError::failed("read: view_range is not supported for image/PDF files"));
        }
        return media(&found, &path, media_type);
    }
    let not_text = || {
        ToolError::failed(format!(
            "read: {path}: not a text file (binary files are only supported for image/PDF extensions)"
        ))
    };
    if let Some(range) = view_range {
        let [first, last] = [range.first(), range.get(1)].map(|line| line.copied().unwrap_or_default());
        let range = LineRange {
            first: u64::try_from(first).unwrap_or_default().max(1),
            last: u64::try_from(last).ok().filter(|last| *last > 0),
        };
        let limit = usize::try_from(MAX_TEXT).unwrap_or(usize::MAX);
        let read = lines::range(&found, range, None, limit).map_err(|error| match error {
            LinesError::TooLong { fit: 0 } => ToolError::failed(format!(
                "read: line {} of {path} alone exceeds {MAX_TEXT}-byte limit. The read tool cannot return part of a line, \
                 so view_range cannot narrow this further.",
                range.first
            )),
            LinesError::TooLong { fit } => ToolError::failed(format!(
                "read: view_range [{first}, {last}] of {path} exceeds {MAX_TEXT}-byte limit. Narrow the view_range to read a \
                 smaller portion; the first {fit} lines fit."
            )),
            LinesError::NotText(_) => not_text(),
            LinesError::Failed(error) => error,
        })?;
        return Ok(AgentResult { content: read.joined(), ..AgentResult::default() }.into());
    }
    let size = size(&found);
    if size > MAX_TEXT {
        return Err(ToolError::failed(format!(
            "read: {path} is {size} bytes, exceeds {MAX_TEXT}-byte limit. Use the view_range parameter to read specific line \
             ranges, e.g. view_range: [1, 500]."
        )));
    }
    let bytes = read_bytes(&found, MAX_TEXT, "use view_range")?;
    let text = decode(&bytes, None).map_err(|_| not_text())?;
    let content = text.with_line_endings().into_owned();
    Ok(AgentResult { content, hash: Some(hash(&bytes)), ..AgentResult::default() }.into())
}

fn media_type(path: &Path) -> Option<&'static str> {
    let extension = path.extension()?.to_str()?.to_ascii_lowercase();
    Some(match extension.as_str() {
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "pdf" => "application/pdf",
        _ => return None,
    })
}

/// An image, or a PDF file as an embedded resource.
fn media(found: &Found, path: &str, media_type: &str) -> ToolResult {
    let is_image = media_type.starts_with("image/");
    let limit = if is_image { MAX_IMAGE } else { MAX_PDF };
    let size = size(found);
    if size > limit {
        return Err(ToolError::failed(format!(
            "read: {path} is {size} bytes, exceeds {limit}-byte limit for image/PDF files."
        )));
    }
    let bytes = read_bytes(found, limit, "it is too large")?;
    let data = BASE64.encode(&bytes);
    let block = if is_image {
        json!({ "type": "image", "data": data, "mimeType": media_type })
    } else {
        let uri = toolbay_protocol::file_uri::of(found.path());
        json!({ "type": "resource", "resource": { "uri": uri, "mimeType": media_type, "blob": data } })
    };
    let content = format!("{path}: {media_type}, {size} bytes");
    let described = AgentResult { content, hash: Some(hash(&bytes)), ..AgentResult::default() };
    Ok(ToolOutput::default().and_block(&block).with_structured(&described))
}

#[derive(Deserialize, JsonSchema)]
struct WriteArguments {
    /// Path of the file
    file_path: String,
    /// The whole content
    content: String,
}

fn write(files: &Files, arguments: WriteArguments, _: &ToolContext) -> ToolResult {
    let WriteArguments { file_path: path, content } = arguments;
    let failed = |error: AccessError| failed(files, "write", &path, error);
    if let Some(parent) = parent(&path) {
        files.allowed.create_directories(parent).map_err(failed)?;
    }
    let place = files.allowed.place(&path).map_err(failed)?;
    files.write(&place, content.as_bytes(), Expected::Anything)?;
    let hash = Some(hash(content.as_bytes()));
    Ok(AgentResult { content: format!("wrote {} bytes to {path}", content.len()), hash, count: None }.into())
}

#[derive(Deserialize, JsonSchema)]
struct EditArguments {
    /// Path of the file
    file_path: String,
    /// Text to replace
    old_string: String,
    /// Text to replace it with
    new_string: String,
    /// Replace all occurrences (default: false)
    #[serde(default)]
    replace_all: bool,
}

fn edit(files: &Files, arguments: EditArguments, _: &ToolContext) -> ToolResult {
    let EditArguments { file_path: path, old_string, new_string, replace_all } = arguments;
    let mut opened = files.open_text(&path, None).map_err(|error| match error {
        OpenError::Access(error) => failed(files, "edit", &path, error),
        OpenError::TooLarge { size } => ToolError::failed(format!(
            "edit: {path} is {size} bytes. The edit tool loads the whole file and cannot modify a file this large."
        )),
        OpenError::NotText(_) => {
            ToolError::failed(format!("edit: {path}: not a text file (cannot edit binary files)"))
        }
    })?;
    let (old, new) = (old_string.replace("\r\n", "\n"), new_string.replace("\r\n", "\n"));
    let places = find(opened.text.as_str(), &old, if replace_all { None } else { Some(1) });
    let places = places.map_err(|error| {
        ToolError::failed(match error {
            MatchError::Empty => "edit: old_string is empty".to_owned(),
            MatchError::NotFound { nearest: None } => format!("edit: old_string not found in {path}"),
            MatchError::NotFound { nearest: Some(nearest) } => {
                format!("edit: old_string not found in {path}; {nearest}")
            }
            MatchError::Ambiguous { count, lines } => format!(
                "edit: old_string appears {count} times in {path} (must be unique), in lines {lines:?}; add surrounding lines, \
                 or set replace_all"
            ),
        })
    })?;
    let count = places.len();
    // From the end, so that the places before stay where they are.
    for place in places.into_iter().rev() {
        opened.text.replace(place, &new);
    }
    let after = files.save(&opened)?;
    let content = format!("edited {path} ({count} replacement(s))");
    Ok(AgentResult { content, hash: Some(hash(&after)), count: Some(count) }.into())
}

#[derive(Deserialize, JsonSchema)]
struct GlobArguments {
    /// Pattern, relative to the path
    pattern: String,
    /// Directory to search (default: the first allowed directory)
    path: Option<String>,
}

fn glob(files: &Files, arguments: GlobArguments, context: &ToolContext) -> ToolResult {
    let GlobArguments { pattern, path } = arguments;
    if pattern.starts_with('/') {
        let reason = "glob: absolute pattern not permitted; pass a relative pattern (and optionally path)";
        return Err(ToolError::failed(reason));
    }
    if pattern.split('/').any(|part| part == "..") {
        return Err(ToolError::failed("glob: '..' is not permitted in the pattern"));
    }
    let path = path.as_deref().unwrap_or(".");
    let found = files.allowed.find(path).map_err(|error| failed(files, "glob", path, error))?;
    let matcher = globs("pattern", [pattern])?;
    let mut newest = BinaryHeap::with_capacity(MAX_PATHS + 1);
    let mut count = 0;
    Walk::new(&files.allowed, context).all(&found, &mut |directory, entry, relative| {
        if !matcher.is_match(relative) {
            return;
        }
        count += 1;
        let modified = directory.stat_of(entry).map_or((0, 0), |stat| (stat.st_mtime, stat.st_mtime_nsec));
        newest.push((Reverse(modified), relative.to_owned()));
        if newest.len() > MAX_PATHS {
            newest.pop();
        }
    })?;
    let paths = newest.into_sorted_vec();
    let mut content: Vec<String> =
        paths.iter().map(|(_, path)| found.path().join(path).to_string_lossy().into_owned()).collect();
    if count == 0 {
        content.push("no matches".to_owned());
    } else if count > paths.len() {
        content
            .push(format!("[the {} newest of {count} matches; use a narrower pattern or path]", paths.len()));
    }
    Ok(AgentResult { content: content.join("\n"), count: Some(count), hash: None }.into())
}

#[derive(Deserialize, JsonSchema)]
struct GrepArguments {
    /// Regular expression
    pattern: String,
    /// File or directory to search (default: the first allowed directory)
    path: Option<String>,
}

fn grep(files: &Files, arguments: GrepArguments, context: &ToolContext) -> ToolResult {
    let content = agent_grep(&files.allowed, &arguments.pattern, arguments.path.as_deref(), context)?;
    Ok(AgentResult { content, ..AgentResult::default() }.into())
}

/// An error in the words of the contract.
fn failed(files: &Files, tool: &str, path: &str, error: AccessError) -> ToolError {
    let reason = match error {
        AccessError::Outside { .. } | AccessError::LinkOutside { .. } => {
            let others =
                if files.allowed.paths().count() > 1 { " and its other permitted directories" } else { "" };
            format!("path '{path}' is outside the session's working directory{others}")
        }
        AccessError::Missing { .. } | AccessError::NoParent { .. } => {
            format!("{path}: no such file or directory")
        }
        AccessError::NotAFile { .. } => format!("{path}: not a regular file"),
        AccessError::NotADirectory { .. } => format!("{path}: not a directory"),
        AccessError::Exists { .. } => format!("{path}: file already exists"),
        AccessError::Io { source, .. } if source.kind() == std::io::ErrorKind::PermissionDenied => {
            format!("{path}: permission denied")
        }
        AccessError::Io { source, .. } => format!("{path}: {source}"),
        error => error.to_string(),
    };
    ToolError::failed(format!("{tool}: {reason}"))
}
