//! The tools, one file each. To add one, write such a file and put it into [`ALL`].

mod chunk_file;
mod chunk_files;
mod list_directory;
mod read_file;
mod search_by_embedding;
mod search_code;

use serde_json::{Value, json};

use super::{arguments::Arguments, output::ToolOutcome, worker::TreeWork};

/// A tool.
pub(super) struct Tool {
    pub(super) name: &'static str,
    /// What it tries, to say that it failed.
    pub(super) verb: &'static str,
    definition: fn() -> Value,
    /// Does it; blocks.
    pub(super) run: fn(&Arguments, &TreeWork) -> ToolOutcome,
}

const ALL: [Tool; 6] = [
    search_code::TOOL,
    search_by_embedding::TOOL,
    list_directory::TOOL,
    read_file::TOOL,
    chunk_file::TOOL,
    chunk_files::TOOL,
];

pub(super) fn find(name: &str) -> Option<&'static Tool> {
    const { &ALL }.iter().find(|tool| tool.name == name)
}

pub(super) fn names() -> [&'static str; ALL.len()] {
    ALL.map(|tool| tool.name)
}

/// All tools, as `tools/list` gives them.
pub(super) fn definitions() -> Value {
    ALL.iter()
        .map(|tool| {
            let mut definition = json!({ "name": tool.name });
            if let (Value::Object(all), Value::Object(own)) = (&mut definition, (tool.definition)()) {
                all.extend(own);
            }
            // None of them changes anything, or reaches anything but the tree.
            definition["annotations"] = json!({
                "readOnlyHint": true,
                "destructiveHint": false,
                "idempotentHint": true,
                "openWorldHint": false,
            });
            definition
        })
        .collect()
}

/// The schema of an answer with a list of results.
fn list_schema(item: Value, fields: Value) -> Value {
    let mut properties = json!({
        "results": { "type": "array", "items": item },
        "more": { "type": "string", "description": "What was omitted, and how to get it" },
    });
    if let (Value::Object(all), Value::Object(own)) = (&mut properties, fields) {
        all.extend(own);
    }
    json!({ "type": "object", "properties": properties, "required": ["results"] })
}

/// Fields of answers that may be cut.
fn paging_fields() -> Value {
    json!({
        "total": { "type": "integer", "description": "Total number of results" },
        "truncated": { "type": "boolean", "description": "Whether there are more results" },
        "next_offset": { "type": "integer", "description": "The `offset` of the next page" },
    })
}

/// The schema of a chunk.
fn chunk_schema(more: Value) -> Value {
    let mut properties = json!({
        "file_path": { "type": "string" },
        "start_line": { "type": "integer" },
        "end_line": { "type": "integer" },
        "content": { "type": "string" },
        "symbol": { "type": ["string", "null"] },
        "language": { "type": "string" },
    });
    if let (Value::Object(all), Value::Object(own)) = (&mut properties, more) {
        all.extend(own);
    }
    json!({
        "type": "object",
        "properties": properties,
        "required": ["file_path", "start_line", "end_line", "content", "language"],
    })
}
