//! `read_file`: a file, or some lines of it.

use serde_json::{Value, json};

use super::Tool;
use crate::codebase::{
    CodeError, TreeWork,
    arguments::{Arguments, misfit},
    output::{ToolAnswer, head},
};

pub(super) const TOOL: Tool = Tool {
    name: "read_file",
    verb: "Reading",
    definition,
    run: |arguments, work| run(arguments, work).into(),
};

/// How much an answer holds at most, in bytes.
const MAX_ANSWER: usize = 256 * 1024;

fn definition() -> Value {
    json!({
        "title": "Read file",
        "description": "Read a file, or a range of its lines with `start_line` and `end_line`.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "file_path": { "type": "string", "description": "The file, relative to the root of the codebase" },
                "start_line": { "type": "integer", "minimum": 1, "description": "The first line to read, from 1 (default: 1)" },
                "end_line": { "type": "integer", "minimum": 1, "description": "The last line to read (default: the last of the file)" },
            },
            "required": ["file_path"],
            "additionalProperties": false,
        },
        "outputSchema": {
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
        },
    })
}

fn run(arguments: &Arguments, work: &TreeWork) -> Result<ToolAnswer, CodeError> {
    arguments.only(&["file_path", "start_line", "end_line"])?;
    let path = arguments.required_text("file_path")?;
    let first = arguments.count("start_line", 1, usize::MAX)?.unwrap_or(1);
    let last = arguments.count("end_line", 1, usize::MAX)?;
    if let Some(last) = last
        && last < first
    {
        return Err(misfit("end_line", "is before `start_line`"));
    }
    let file = work.tree().read(path)?;
    let lines: Vec<&str> = file.text.split_inclusive('\n').collect();
    let total = lines.len();
    if first > total.max(1) {
        return Err(misfit("start_line", &format!("is past the end: the file has {total} lines")));
    }
    let wanted = last.unwrap_or(total).min(total);
    let wanted: String = lines.get(first - 1..wanted).unwrap_or_default().concat();
    let content = head(&wanted, MAX_ANSWER);
    let truncated = content.len() < wanted.len();
    let given = content.split_inclusive('\n').count();
    let end = first + given.max(1) - 1;
    let structured = json!({
        "file_path": file.file_path,
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
    Ok(ToolAnswer { text: content.to_owned(), structured, more })
}
