//! `chunk_file`: a file, cut into pieces that mean something.

use serde_json::{Value, json};

use super::{Tool, chunk_schema, list_schema};
use crate::codebase::{CodeChunk, CodeError, TreeWork, arguments::Arguments, output::ToolAnswer};

pub(super) const TOOL: Tool = Tool {
    name: "chunk_file",
    verb: "Chunking",
    definition,
    run: |arguments, work| run(arguments, work).into(),
};

/// How much text an answer holds at most, in bytes.
const MAX_ANSWER: usize = 512 * 1024;

fn definition() -> Value {
    json!({
        "title": "Chunk file",
        "description": "Split a file into chunks: definitions for known languages, sections for documents, lines \
                      otherwise; each with its lines and the symbol it defines.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "file_path": { "type": "string", "description": "The file, relative to the root of the codebase" },
                "start_line": { "type": "integer", "minimum": 1, "description": "Only chunks that include this line or follow it (default: 1)" },
            },
            "required": ["file_path"],
            "additionalProperties": false,
        },
        "outputSchema": output_schema(json!({
            "next_start_line": { "type": "integer", "description": "The `start_line` of the next page" },
        })),
    })
}

/// The schema of an answer with chunks.
pub(super) fn output_schema(more: Value) -> Value {
    let mut fields = json!({
        "total": { "type": "integer", "description": "Total number of chunks" },
        "truncated": { "type": "boolean", "description": "Whether there are more results" },
    });
    if let (Value::Object(all), Value::Object(own)) = (&mut fields, more) {
        all.extend(own);
    }
    list_schema(chunk_schema(json!({ "kind": { "type": "string" } })), fields)
}

fn run(arguments: &Arguments, work: &TreeWork) -> Result<ToolAnswer, CodeError> {
    arguments.only(&["file_path", "start_line"])?;
    let first = arguments.count("start_line", 1, usize::MAX)?.unwrap_or(1) as u64;
    let chunks = work.tree().chunks(arguments.required_text("file_path")?)?;
    let total = chunks.len();
    let chunks: Vec<CodeChunk> = chunks.into_iter().filter(|chunk| chunk.end_line >= first).collect();
    let fitting = fitting(&chunks, MAX_ANSWER);
    let mut fields = json!({ "total": total, "truncated": fitting < chunks.len() });
    let more = chunks.get(fitting).map(|next| {
        let line = next.start_line;
        fields["next_start_line"] = line.into();
        format!("there are more chunks; call again with `start_line` {line}")
    });
    Ok(ToolAnswer::list(&&chunks[..fitting], fields, more))
}

/// What a chunk takes in an answer, about.
pub(super) fn size(chunk: &CodeChunk) -> usize {
    chunk.content.len() + chunk.file_path.len() + 100
}

/// How many chunks fit into so many bytes; one always does.
pub(super) fn fitting(chunks: &[CodeChunk], mut room: usize) -> usize {
    let fits = |chunk: &&CodeChunk| {
        let size = size(chunk);
        let fits = size <= room;
        room = room.saturating_sub(size);
        fits
    };
    chunks.iter().take_while(fits).count().max(1).min(chunks.len())
}
