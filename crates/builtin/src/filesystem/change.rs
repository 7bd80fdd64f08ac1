//! Writing, moving and deleting files, and what is known about them.

use std::time::Duration;

use jiff::{Timestamp, tz::TimeZone};
use schemars::JsonSchema;
use serde::Deserialize;
use toolbay_files::{AccessError, Stamp, Text, TextEncoding};
use toolbay_server::{ToolContext, ToolError, ToolResult};

use super::text;
use crate::files::{Expected, Files, check_hash, failed, parent, read_bytes};

/// The largest file to which text is appended.
const MAX_FILE: u64 = 64 * 1024 * 1024;

#[derive(Deserialize, JsonSchema)]
pub(super) struct WriteFile {
    path: String,
    content: String,
    /// Create missing parent directories (default: false)
    #[serde(default)]
    create_dirs: bool,
    /// Replace the content or append to it (default: rewrite)
    #[serde(default)]
    mode: Mode,
    /// SHA-256 of the file as it was read; the write fails if the file has changed since
    expected_hash: Option<String>,
}

#[derive(Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Mode {
    #[default]
    Rewrite,
    Append,
}

pub(super) fn write_file(files: &Files, arguments: WriteFile, _: &ToolContext) -> ToolResult {
    let WriteFile { path, content, create_dirs, mode, expected_hash } = arguments;
    if create_dirs && let Some(parent) = parent(&path) {
        files.allowed.create_directories(parent).map_err(|error| failed("mkdir", error))?;
    }
    let place = files.allowed.place(&path).map_err(|error| failed("open", error))?;
    let found = match files.allowed.find(&path) {
        Ok(found) => Some(found),
        Err(AccessError::Missing { .. }) => None,
        Err(error) => return Err(failed("open", error)),
    };
    let before = match &found {
        Some(found) if mode == Mode::Append || expected_hash.is_some() => {
            Some(read_bytes(found, MAX_FILE, "it is too large for that")?)
        }
        _ => None,
    };
    check_hash(expected_hash.as_deref(), before.as_deref().unwrap_or_default())?;
    let content = match (&mode, before) {
        (Mode::Append, Some(before)) => appended(before, &content)?,
        _ => content.into_bytes(),
    };
    let expected = match &found {
        Some(found) if expected_hash.is_some() || mode == Mode::Append => {
            Expected::Unchanged(Stamp::of(found.stat()))
        }
        None if mode == Mode::Append => Expected::Nothing,
        _ => Expected::Anything,
    };
    files.write(&place, &content, expected)?;
    Ok(text(format!("Successfully wrote to {path}")))
}

/// The bytes of a file with a text at its end, in its encoding and with its line endings.
fn appended(mut before: Vec<u8>, content: &str) -> Result<Vec<u8>, ToolError> {
    let decoded = Text::decode(&before)
        .map_err(|error| ToolError::failed(format!("{error}, so nothing is appended")))?;
    if decoded.encoding() == TextEncoding::UTF_8 && !content.contains('\n') {
        before.extend_from_slice(content.as_bytes());
        return Ok(before);
    }
    let mut decoded = decoded;
    let end = decoded.as_str().len();
    decoded.replace(end..end, content);
    decoded.encode().map_err(|error| ToolError::failed(error.to_string()))
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct OfPath {
    path: String,
}

pub(super) fn create_directory(files: &Files, arguments: OfPath, _: &ToolContext) -> ToolResult {
    files.allowed.create_directories(&arguments.path).map_err(|error| failed("mkdir", error))?;
    Ok(text(format!("Successfully created directory {}", arguments.path)))
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct SourceAndDestination {
    pub(super) source: String,
    pub(super) destination: String,
}

pub(super) fn move_file(files: &Files, arguments: SourceAndDestination, _: &ToolContext) -> ToolResult {
    let SourceAndDestination { source, destination } = arguments;
    let from = files.allowed.place(&source).map_err(|error| failed("rename", error))?;
    let to = files.allowed.place(&destination).map_err(|error| failed("rename", error))?;
    from.rename(&to).map_err(|error| match error {
        AccessError::Exists { path } => {
            ToolError::failed(format!("Destination already exists: {}", path.display()))
        }
        error => failed("rename", error),
    })?;
    Ok(text(format!("Successfully moved {source} to {destination}")))
}

pub(super) fn delete_file(files: &Files, arguments: OfPath, _: &ToolContext) -> ToolResult {
    let place = files.allowed.place(&arguments.path).map_err(|error| failed("unlink", error))?;
    place.remove_file().map_err(|error| failed("unlink", error))?;
    Ok(text(format!("Successfully deleted {}", arguments.path)))
}

pub(super) fn get_file_info(files: &Files, arguments: OfPath, _: &ToolContext) -> ToolResult {
    let found = files.allowed.find(&arguments.path).map_err(|error| failed("stat", error))?;
    let stat = found.stat();
    let time = |seconds: i64, nanoseconds: u64| {
        let zone = TimeZone::system();
        let time = Timestamp::UNIX_EPOCH
            + Duration::new(seconds.unsigned_abs(), u32::try_from(nanoseconds).unwrap_or_default());
        time.to_zoned(zone).strftime("%Y-%m-%dT%H:%M:%S%.3f%:z").to_string()
    };
    let created =
        found.created().map_or_else(|| time(stat.st_ctime, stat.st_ctime_nsec), |(s, ns)| time(s, ns));
    let lines = [
        ("size", stat.st_size.to_string()),
        ("created", created),
        ("modified", time(stat.st_mtime, stat.st_mtime_nsec)),
        ("accessed", time(stat.st_atime, stat.st_atime_nsec)),
        ("isDirectory", found.is_directory().to_string()),
        ("isFile", found.is_file().to_string()),
        ("permissions", format!("{:03o}", stat.st_mode & 0o777)),
    ];
    Ok(text(lines.map(|(name, value)| format!("{name}: {value}")).join("\n")))
}
