//! Reading files.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    path::Path,
};

use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use toolbay_files::{DecodeError, Found, Text};
use toolbay_server::{ToolContext, ToolError, ToolOutput, ToolResult};

use super::text;
use crate::files::{Files, failed, read_bytes, size, unreadable};

/// The longest text that is returned at once.
const MAX_TEXT: u64 = 1024 * 1024;
/// The largest file that is returned as base64.
const MAX_MEDIA: u64 = 20 * 1024 * 1024;
/// The largest file of which lines are read by their numbers, since it must be read from its start.
const MAX_SCAN: u64 = 256 * 1024 * 1024;
/// How much is read at once from the end of a file.
const BLOCK: u64 = 64 * 1024;

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
    let (first, count) = match (arguments.head, arguments.offset, arguments.limit) {
        (Some(head), _, _) => (1, Some(head)),
        (None, offset, limit) => (offset.unwrap_or(1), limit),
    };
    let is_whole = arguments.tail.is_none() && first == 1 && count.is_none();
    let content = match arguments.tail {
        Some(lines) => tail(&found, lines, encoding)?,
        None if is_whole => whole(&found, encoding)?,
        None => range(&found, first, count, encoding)?,
    };
    // Lines that were counted are joined: the last one has no line ending.
    let content = if count.is_some() { without_line_ending(&content).to_owned() } else { content };
    Ok(text(if arguments.line_numbers && arguments.tail.is_none() {
        numbered(&content, first)
    } else {
        content
    }))
}

fn numbered(content: &str, first: u64) -> String {
    (first..).zip(content.split_inclusive('\n')).map(|(number, line)| format!("{number:6}\t{line}")).collect()
}

/// The whole file.
pub(super) fn whole(found: &Found, encoding: Option<&str>) -> Result<String, ToolError> {
    let bytes = read_bytes(found, MAX_TEXT, "read a part of it with head, tail, or offset and limit")?;
    decode(found, &bytes, encoding)
}

fn decode(found: &Found, bytes: &[u8], encoding: Option<&str>) -> Result<String, ToolError> {
    let decoded = match encoding {
        Some(label) => Text::decode_named(bytes, label),
        None => Text::decode(bytes),
    };
    decoded.map(|text| text.with_line_endings().into_owned()).map_err(|error| {
        let hint = if error == DecodeError::Binary { "; use read_media_file" } else { "" };
        ToolError::failed(format!("{}: {error}{hint}", found.path().display()))
    })
}

/// The last lines of a file, read from its end.
fn tail(found: &Found, lines: u64, encoding: Option<&str>) -> Result<String, ToolError> {
    let mut file = found.open_file().map_err(|error| failed("open", error))?;
    let mut start = size(found);
    let mut read: Vec<u8> = Vec::new();
    let wanted = usize::try_from(lines).unwrap_or(usize::MAX);
    let step = |file: &mut File, start: &mut u64, read: &mut Vec<u8>| -> io::Result<()> {
        let length = BLOCK.min(*start);
        *start -= length;
        file.seek(SeekFrom::Start(*start))?;
        let mut block = vec![0; usize::try_from(length).unwrap_or_default()];
        file.read_exact(&mut block)?;
        read.splice(..0, block);
        Ok(())
    };
    let begins = |read: &[u8]| {
        let end = read.len() - usize::from(read.ends_with(b"\n"));
        memchr::memrchr_iter(b'\n', &read[..end]).nth(wanted.saturating_sub(1)).map(|at| at + 1)
    };
    let from = loop {
        if let Some(from) = begins(&read).filter(|_| wanted > 0) {
            break from;
        }
        if start == 0 || wanted == 0 {
            break if wanted == 0 { read.len() } else { 0 };
        }
        if read.len() as u64 >= MAX_TEXT {
            return Err(ToolError::failed(format!(
                "the last {lines} lines of {} are longer than {MAX_TEXT} bytes; ask for fewer",
                found.path().display()
            )));
        }
        step(&mut file, &mut start, &mut read).map_err(|error| unreadable(found, &error))?;
    };
    Ok(without_line_ending(&decode(found, &read[from..], encoding)?).to_owned())
}

/// A text without the line ending of its last line.
fn without_line_ending(text: &str) -> &str {
    text.strip_suffix('\n').map_or(text, |text| text.strip_suffix('\r').unwrap_or(text))
}

/// Lines of a file by their numbers.
fn range(found: &Found, first: u64, count: Option<u64>, encoding: Option<&str>) -> Result<String, ToolError> {
    if size(found) > MAX_SCAN && first > 1 {
        let hint = "use tail to read its end";
        let path = found.path().display();
        return Err(ToolError::failed(format!("{path} has more than {MAX_SCAN} bytes; {hint}")));
    }
    let mut file = found.open_file().map_err(|error| failed("open", error))?;
    let last = count.map_or(u64::MAX, |count| (first - 1).saturating_add(count));
    let (mut line, mut kept) = (1, Vec::new());
    let mut block = vec![0; 64 * 1024];
    'file: loop {
        let length = file.read(&mut block).map_err(|error| unreadable(found, &error))?;
        if length == 0 {
            break;
        }
        for part in block[..length].split_inclusive(|byte| *byte == b'\n') {
            if line > last {
                break 'file;
            }
            if line >= first {
                kept.extend_from_slice(part);
            }
            if kept.len() as u64 > MAX_TEXT {
                return Err(ToolError::failed(format!(
                    "these lines are longer than {MAX_TEXT} bytes; ask for fewer, the first {} fit",
                    line.saturating_sub(first)
                )));
            }
            line += u64::from(part.ends_with(b"\n"));
        }
    }
    decode(found, &kept, encoding)
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
            let uri = format!("file://{}", uri_path(found.path()));
            json!({ "type": "resource", "resource": { "uri": uri, "mimeType": mime, "blob": data } })
        }
    };
    let structured = json!({ "content": [block] });
    Ok(ToolOutput::default().and_block(block).with_structured(&structured))
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

/// A path as it is written in a URI.
fn uri_path(path: &Path) -> String {
    use std::os::unix::ffi::OsStrExt;
    let mut uri = String::new();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'A'..=b'Z'
            | b'a'..=b'z'
            | b'0'..=b'9'
            | b'/'
            | b'-'
            | b'.'
            | b'_'
            | b'~'
            | b'!'
            | b'$'
            | b'&'
            | b'\''
            | b'('
            | b')'
            | b'*'
            | b'+'
            | b','
            | b';'
            | b'='
            | b':'
            | b'@' => uri.push(char::from(*byte)),
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
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
