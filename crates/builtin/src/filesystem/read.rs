//! Reading files.

use std::path::Path;

use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use toolbay_files::{DecodeError, Found};
use toolbay_protocol::file_uri;
use toolbay_server::{ToolContext, ToolError, ToolOutput, ToolResult};

use super::text;
use crate::files::{
    Files, decode, failed,
    lines::{self, LineRange, LinesError, without_line_ending},
    read_bytes,
};

/// The longest text that is returned at once.
pub(super) const MAX_TEXT: u64 = 1024 * 1024;
/// The largest file that is read on the thread that serves all clients.
const MAX_CACHED: usize = 64 * 1024;
/// The largest file that is returned as base64.
const MAX_MEDIA: u64 = 20 * 1024 * 1024;

#[derive(Deserialize, JsonSchema)]
pub(super) struct ReadText {
    path: String,
    /// If provided, returns only the last N lines of the file
    tail: Option<u64>,
    /// If provided, returns only the first N lines of the file
    head: Option<u64>,
    /// Number of the first line to return, from 1
    #[schemars(range(min = 1))]
    offset: Option<u64>,
    /// Number of lines to return from 'offset' on
    limit: Option<u64>,
    /// Prefix each line with its number (default: false)
    #[serde(default)]
    line_numbers: bool,
    /// Encoding of the file, such as 'shift_jis' (default: detected)
    encoding: Option<String>,
}

pub(super) fn read_text_file(files: &Files, arguments: ReadText, _: &ToolContext) -> ToolResult {
    if arguments.head.is_some() && arguments.tail.is_some() {
        return Err(ToolError::failed("Cannot specify both head and tail parameters simultaneously"));
    }
    let found = files.allowed.find(&arguments.path).map_err(|error| failed("open", error))?;
    let encoding = arguments.encoding.as_deref();
    let range = match (arguments.head, arguments.offset, arguments.limit) {
        (Some(head), _, _) => LineRange { first: 1, last: Some(head) },
        (None, offset, limit) => {
            let first = offset.unwrap_or(1);
            LineRange { first, last: limit.map(|limit| (first - 1).saturating_add(limit)) }
        }
    };
    let limit = usize::try_from(MAX_TEXT).unwrap_or(usize::MAX);
    let content = match arguments.tail {
        Some(count) => lines::tail(&found, count, encoding, limit),
        None if (range.first, range.last) == (1, None) => whole(&found, encoding).map_err(LinesError::Failed),
        None => lines::range(&found, range, encoding, limit).map(|read| read.text),
    };
    let mut content = content.map_err(|error| lines_failed(&found, error))?;
    // Lines that were counted are joined: the last one has no line ending.
    if range.last.is_some() && arguments.tail.is_none() {
        content.truncate(without_line_ending(&content).len());
    }
    Ok(text(if arguments.line_numbers && arguments.tail.is_none() {
        numbered(&content, range.first)
    } else {
        content
    }))
}

/// Reads a whole file that is small and in the memory of the system. Everything else is for a thread that may wait.
pub(super) fn read_cached(files: &Files, arguments: ReadText, context: &ToolContext) -> Option<ToolResult> {
    let ReadText { path, tail: None, head: None, offset: None, limit: None, line_numbers: false, encoding } =
        arguments
    else {
        return None;
    };
    if !files.client_roots.is_plain(&files.allowed, context) {
        return None;
    }
    let bytes = files.allowed.read_cached(&path, MAX_CACHED)?;
    let read = decode(&bytes, encoding.as_deref()).ok()?;
    Some(Ok(text(read.with_line_endings())))
}

/// Lines with their numbers, as `cat -n` prints them.
pub(super) fn numbered(content: &str, first: u64) -> String {
    (first..).zip(content.split_inclusive('\n')).map(|(number, line)| format!("{number:6}\t{line}")).collect()
}

/// The whole file.
fn whole(found: &Found, encoding: Option<&str>) -> Result<String, ToolError> {
    let bytes = read_bytes(found, MAX_TEXT, "read a part of it with head, tail, or offset and limit")?;
    let text = decode(&bytes, encoding).map_err(|error| not_text(found, &error))?;
    Ok(text.with_line_endings().into_owned())
}

/// Explains why lines of a file are not read.
pub(super) fn lines_failed(found: &Found, error: LinesError) -> ToolError {
    match error {
        LinesError::TooLong { fit } => ToolError::failed(format!(
            "these lines of {} are longer than {MAX_TEXT} bytes; ask for fewer: {fit} of them fit",
            found.path().display()
        )),
        LinesError::NotText(error) => not_text(found, &error),
        LinesError::Failed(error) => error,
    }
}

fn not_text(found: &Found, error: &DecodeError) -> ToolError {
    let hint = if *error == DecodeError::Binary { "; use read_media_file" } else { "" };
    ToolError::failed(format!("{}: {error}{hint}", found.path().display()))
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct ReadMultiple {
    /// Array of file paths to read. Each path must be a string pointing to a valid file within allowed directories.
    #[schemars(length(min = 1))]
    paths: Vec<String>,
}

pub(super) fn read_multiple_files(
    files: &Files,
    arguments: ReadMultiple,
    context: &ToolContext,
) -> ToolResult {
    let mut room = MAX_TEXT;
    let total = arguments.paths.len() as u64;
    let mut parts = Vec::with_capacity(arguments.paths.len());
    for (number, path) in (1..).zip(&arguments.paths) {
        if context.is_cancelled() {
            return Err(ToolError::failed("the call was canceled"));
        }
        let read = files.allowed.find(path).map_err(|error| failed("open", error));
        let read = read.and_then(|found| whole(&found, None)).and_then(|content| {
            room = room.checked_sub(content.len() as u64).ok_or_else(|| {
                ToolError::failed(format!(
                    "the files together have more than {MAX_TEXT} bytes; read this one alone"
                ))
            })?;
            Ok(content)
        });
        parts.push(match read {
            Ok(content) => format!("{path}:\n{content}\n"),
            Err(error) => format!("{path}: Error - {error}"),
        });
        context.report_progress(number, Some(total), path);
    }
    Ok(text(parts.join("\n---\n")))
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct ReadMedia {
    path: String,
}

pub(super) fn read_media_file(files: &Files, arguments: ReadMedia, _: &ToolContext) -> ToolResult {
    let found = files.allowed.find(&arguments.path).map_err(|error| failed("open", error))?;
    let data = BASE64.encode(read_bytes(&found, MAX_MEDIA, "it is too large")?);
    let mime = mime_type(found.path());
    let kind = mime.split('/').next().unwrap_or_default();
    let block = match kind {
        "image" | "audio" => json!({ "type": kind, "data": data, "mimeType": mime }),
        _ => {
            let uri = file_uri::of(found.path());
            json!({ "type": "resource", "resource": { "uri": uri, "mimeType": mime, "blob": data } })
        }
    };
    let structured = json!({ "content": [block] });
    Ok(ToolOutput::default().and_block(&block).with_structured(&structured))
}

fn mime_type(path: &Path) -> &'static str {
    let extension = path.extension().map(|it| it.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    match extension.as_str() {
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "bmp" => "image/bmp",
        "svg" => "image/svg+xml",
        "mp3" => "audio/mpeg",
        "wav" => "audio/wav",
        "ogg" => "audio/ogg",
        "flac" => "audio/flac",
        _ => "application/octet-stream",
    }
}

pub(super) fn media_schema() -> Value {
    let media = json!({
        "type": "object",
        "properties": { "type": { "enum": ["image", "audio"] }, "data": { "type": "string" }, "mimeType": { "type": "string" } },
        "required": ["type", "data", "mimeType"]
    });
    let resource = json!({
        "type": "object",
        "properties": {
            "type": { "const": "resource" },
            "resource": {
                "type": "object",
                "properties": { "uri": { "type": "string" }, "mimeType": { "type": "string" }, "blob": { "type": "string" } },
                "required": ["uri", "blob"]
            }
        },
        "required": ["type", "resource"]
    });
    let content = json!({ "type": "array", "items": { "anyOf": [media, resource] } });
    json!({ "type": "object", "properties": { "content": content }, "required": ["content"] })
}
