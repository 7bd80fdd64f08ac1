//! `list_directory`: what is in a folder.

use serde_json::{Value, json};

use super::{Tool, list_schema, paging_fields};
use crate::codebase::{CodeError, TreeWork, arguments::Arguments, output::ToolAnswer};

pub(super) const TOOL: Tool = Tool {
    name: "list_directory",
    verb: "Listing",
    definition,
    run: |arguments, work| run(arguments, work).into(),
};

/// How many entries an answer has at most.
const MAX: usize = 2000;

fn definition() -> Value {
    json!({
        "title": "List directory",
        "description": "List the files and directories in a directory. Ignored and hidden entries are omitted by default.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "path": { "type": "string", "description": "The directory, relative to the root of the codebase; \".\" is the root" },
                "hidden": { "type": "boolean", "description": "Whether to include ignored and hidden entries (default: false)" },
                "offset": { "type": "integer", "minimum": 0, "description": "Number of entries to skip (default: 0)" },
            },
            "required": ["path"],
            "additionalProperties": false,
        },
        "outputSchema": list_schema(
            json!({
                "type": "object",
                "properties": {
                    "name": { "type": "string" },
                    "path": { "type": "string", "description": "Relative to the root" },
                    "type": { "type": "string", "enum": ["file", "directory", "symlink", "other"] },
                    "size": { "type": "integer", "description": "Size of a file in bytes" },
                },
                "required": ["name", "path", "type"],
            }),
            paging_fields(),
        ),
    })
}

fn run(arguments: &Arguments, work: &TreeWork) -> Result<ToolAnswer, CodeError> {
    arguments.only(&["path", "hidden", "offset"])?;
    let path = arguments.required_text("path")?;
    let offset = arguments.count("offset", 0, usize::MAX)?.unwrap_or(0);
    let entries = work.tree().list(path, arguments.flag("hidden")?)?;
    let total = entries.len();
    let page: Vec<_> = entries.into_iter().skip(offset).take(MAX).collect();
    let next = offset.saturating_add(page.len());
    let truncated = next < total;
    let mut fields = json!({ "total": total, "truncated": truncated });
    let more = truncated.then(|| {
        fields["next_offset"] = next.into();
        format!("{} of {total} entries; for more, call again with `offset` {next}", page.len())
    });
    Ok(ToolAnswer::list(&page, fields, more))
}
