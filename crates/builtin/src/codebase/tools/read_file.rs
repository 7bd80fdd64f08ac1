//! `read_file`: a file, or a range of its lines.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use toolbay_search::codebase::Codebase;
use toolbay_server::{Tool, ToolContext, ToolOutput, limit};

use super::with_more;
use crate::codebase::{CodeError, LazyCodebase, tree::parse_path};

/// How much text a result has at most, in bytes.
const MAX_TEXT: usize = 256 * 1024;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReadFile {
    /// The file, relative to the root of the codebase
    file_path: String,
    /// The first line to read, from 1 (default: 1)
    #[schemars(range(min = 1))]
    start_line: Option<usize>,
    /// The last line to read (default: the last of the file)
    #[schemars(range(min = 1))]
    end_line: Option<usize>,
}

pub(super) fn tool() -> Tool<LazyCodebase> {
    super::tool("read_file", "Reading", read_file)
        .title("Read file")
        .description("Read a file, or a range of its lines with `start_line` and `end_line`.")
        .output_schema(json!({
            "type": "object",
            "properties": {
                "file_path": { "type": "string" },
                "content": { "type": "string" },
                "start_line": { "type": "integer" },
                "end_line": { "type": "integer", "description": "The last line that is in `content`" },
                "total_lines": { "type": "integer", "description": "Number of lines in the file" },
                "truncated": { "type": "boolean", "description": "Whether the content was truncated" },
                "more": { "type": "string", "description": "What was omitted, and how to get it" },
            },
            "required": ["file_path", "content", "start_line", "end_line", "total_lines", "truncated"],
        }))
}

fn read_file(codebase: &Codebase, arguments: ReadFile, _: &ToolContext) -> Result<ToolOutput, CodeError> {
    let ReadFile { file_path, start_line, end_line: last } = arguments;
    let first = start_line.unwrap_or(1);
    if last.is_some_and(|last| last < first) {
        return Err(CodeError::argument("end_line", "is before `start_line`"));
    }
    let file = codebase.read(&parse_path(codebase, "file_path", &file_path)?)?;
    let lines: Vec<&str> = file.text.split_inclusive('\n').collect();
    let total = lines.len();
    if first > total.max(1) {
        return Err(CodeError::argument(
            "start_line",
            format!("is past the end: the file has {total} lines"),
        ));
    }
    let last = last.unwrap_or(total).min(total);
    let wanted: String = lines.get(first - 1..last).unwrap_or_default().concat();
    let content = limit::head(&wanted, MAX_TEXT);
    let truncated = content.len() < wanted.len();
    let count = content.split_inclusive('\n').count();
    let end = first + count.max(1) - 1;
    let fields = json!({
        "file_path": file.path.to_str_lossy(),
        "content": content,
        "start_line": first,
        "end_line": end,
        "total_lines": total,
        "truncated": truncated,
    });
    let more = truncated.then(|| match content.ends_with('\n') {
        true => {
            format!("lines {first} to {end} of {total}; for more, call again with `start_line` {}", end + 1)
        }
        false => format!("line {end} is too long for one result; this is its beginning"),
    });
    Ok(with_more(ToolOutput::text(content), fields, more))
}
