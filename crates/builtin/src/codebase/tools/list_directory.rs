//! `list_directory`: the files and directories in a directory.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use toolbay_search::codebase::{Codebase, EntryKind, FolderEntry};
use toolbay_server::{Tool, ToolContext, ToolOutput};

use super::{list_output, list_schema, paging_fields};
use crate::codebase::{CodeError, LazyCodebase, tree::parse_path};

/// How many entries a result has at most.
const MAX_ENTRIES: usize = 2000;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListDirectory {
    /// The directory, relative to the root of the codebase; "." is the root
    path: String,
    /// Whether to include ignored and hidden entries (default: false)
    #[serde(default)]
    hidden: bool,
    /// Number of entries to skip (default: 0)
    #[serde(default)]
    offset: usize,
}

/// An entry of a result.
#[derive(Serialize)]
struct Entry {
    name: String,
    path: String,
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
}

impl From<&FolderEntry> for Entry {
    fn from(entry: &FolderEntry) -> Self {
        Self {
            name: String::from_utf8_lossy(entry.path.name()).into_owned(),
            path: entry.path.to_str_lossy().into_owned(),
            kind: match entry.kind {
                EntryKind::Folder => "directory",
                EntryKind::File => "file",
                EntryKind::Link => "symlink",
                EntryKind::Other => "other",
            },
            size: entry.size,
        }
    }
}

pub(super) fn tool() -> Tool<LazyCodebase> {
    super::tool("list_directory", "Listing", list_directory)
        .title("List directory")
        .description(
            "List the files and directories in a directory. Ignored and hidden entries are omitted by default.",
        )
        .output_schema(list_schema(
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
        ))
}

fn list_directory(
    codebase: &Codebase,
    arguments: ListDirectory,
    _: &ToolContext,
) -> Result<ToolOutput, CodeError> {
    let ListDirectory { path, hidden, offset } = arguments;
    let entries = codebase.list(&parse_path(codebase, "path", &path)?, hidden)?;
    let total = entries.len();
    let page: Vec<Entry> = entries.iter().skip(offset).take(MAX_ENTRIES).map(Entry::from).collect();
    let next = offset.saturating_add(page.len());
    let truncated = next < total;
    let mut fields = json!({ "total": total, "truncated": truncated });
    let more = truncated.then(|| {
        fields["next_offset"] = next.into();
        format!("{} of {total} entries; for more, call again with `offset` {next}", page.len())
    });
    Ok(list_output(&page, fields, more))
}
