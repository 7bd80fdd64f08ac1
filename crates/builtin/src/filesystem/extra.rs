//! Tools that the contract does not have.

use std::io::Read;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use toolbay_files::AccessError;
use toolbay_server::{Annotations, Tool, ToolContext, ToolError, ToolOutput, ToolResult};

use super::{
    CREATES,
    change::SourceAndDestination,
    read::{MAX_TEXT, lines_failed, numbered},
    text, text_schema,
};
use crate::files::{
    Files, failed, for_client, hexadecimal,
    lines::{self, LineRange},
    size, unreadable,
};

/// How much is hashed at once.
const BLOCK: usize = 64 * 1024;

pub(super) fn tools() -> [Tool<Files>; 3] {
    [
        Tool::blocking("copy_file", for_client(copy_file))
            .title("Copy File")
            .description("Copy a file with its permissions. Fails if the destination exists.")
            .output_schema(text_schema())
            .annotations(Annotations { idempotent: Some(false), ..CREATES }),
        Tool::blocking("read_file_lines", for_client(read_file_lines))
            .title("Read File Lines")
            .description("Read a range of lines of a text file, with their numbers.")
            .output_schema(text_schema())
            .annotations(Annotations::READ_ONLY),
        Tool::blocking("file_hash", for_client(file_hash))
            .title("File Hash")
            .description("Get the SHA-256 of a file, which expected_hash of other tools takes.")
            .output::<FileHash>()
            .annotations(Annotations::READ_ONLY),
    ]
}

fn copy_file(files: &Files, arguments: SourceAndDestination, _: &ToolContext) -> ToolResult {
    let SourceAndDestination { source, destination } = arguments;
    let from = files.allowed.find(&source).map_err(|error| failed("copyfile", error))?;
    let to = files.allowed.place(&destination).map_err(|error| failed("copyfile", error))?;
    let copied = to.copy_from(&from).map_err(|error| match error {
        AccessError::Exists { path } => {
            ToolError::failed(format!("Destination already exists: {}", path.display()))
        }
        error => failed("copyfile", error),
    })?;
    Ok(text(format!("Successfully copied {source} to {destination} ({copied} bytes)")))
}

#[derive(Deserialize, JsonSchema)]
struct ReadFileLines {
    path: String,
    /// First line, from 1
    #[schemars(range(min = 1))]
    start: u64,
    /// Last line (default: the end of the file)
    #[schemars(range(min = 1))]
    end: Option<u64>,
}

fn read_file_lines(files: &Files, arguments: ReadFileLines, _: &ToolContext) -> ToolResult {
    let ReadFileLines { path, start, end } = arguments;
    if end.is_some_and(|end| end < start) {
        return Err(ToolError::argument("end", "must not be less than /start"));
    }
    let found = files.allowed.find(&path).map_err(|error| failed("open", error))?;
    let limit = usize::try_from(MAX_TEXT).unwrap_or(usize::MAX);
    let lines = lines::range(&found, LineRange { first: start, last: end }, None, limit);
    let lines = lines.map_err(|error| lines_failed(&found, error))?.joined();
    if lines.is_empty() && start > 1 {
        return Err(ToolError::argument("start", format!("is past the end of {path}")));
    }
    Ok(text(numbered(&lines, start)))
}

#[derive(Deserialize, JsonSchema)]
struct FileHashArguments {
    path: String,
}

#[derive(Serialize, JsonSchema)]
struct FileHash {
    /// SHA-256, hexadecimal
    content: String,
    /// Size in bytes
    size: u64,
}

fn file_hash(files: &Files, arguments: FileHashArguments, context: &ToolContext) -> ToolResult {
    let found = files.allowed.find(&arguments.path).map_err(|error| failed("open", error))?;
    let mut file = found.open_file().map_err(|error| failed("open", error))?;
    let (mut digest, mut block, mut done) = (Sha256::new(), vec![0; BLOCK], 0);
    loop {
        if context.is_cancelled() {
            return Err(ToolError::failed("the call was canceled"));
        }
        let length = file.read(&mut block).map_err(|error| unreadable(&found, &error))?;
        if length == 0 {
            break;
        }
        digest.update(&block[..length]);
        done += length as u64;
        if done.is_multiple_of(1 << 28) {
            context.report_progress(done, Some(size(&found)), "hashing");
        }
    }
    let content = hexadecimal(&digest.finalize());
    Ok(ToolOutput::text(content.clone()).with_structured(&FileHash { content, size: done }))
}
