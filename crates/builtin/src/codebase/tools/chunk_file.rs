//! `chunk_file`: a file, split into definitions or sections.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolbay_search::codebase::{Codebase, FileChunks};
use toolbay_server::{Tool, ToolContext, ToolOutput, limit};

use super::{chunk_schema, extend, list_output, list_schema};
use crate::codebase::{CodeError, LazyCodebase, tree::parse_path};

/// How much text a result has at most, in bytes.
pub(super) const MAX_TEXT: usize = 512 * 1024;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ChunkFile {
    /// The file, relative to the root of the codebase
    file_path: String,
    /// Only chunks that include this line or follow it (default: 1)
    #[schemars(range(min = 1))]
    start_line: Option<u64>,
}

/// A chunk in a result.
#[derive(Serialize)]
pub(super) struct ChunkResult {
    file_path: String,
    pub(super) start_line: u32,
    end_line: u32,
    content: String,
    symbol: Option<String>,
    language: &'static str,
    kind: &'static str,
}

impl ChunkResult {
    /// Splits a file.
    pub(super) fn split(codebase: &Codebase, path: &str) -> Result<Vec<Self>, CodeError> {
        let FileChunks { path, language, text, chunks } =
            codebase.chunks(&parse_path(codebase, "file_path", path)?)?;
        let chunks = chunks.iter().map(|chunk| Self {
            file_path: path.to_str_lossy().into_owned(),
            start_line: chunk.start_line,
            end_line: chunk.end_line,
            content: text.get(chunk.bytes.clone()).unwrap_or_default().to_owned(),
            symbol: chunk.symbol().map(str::to_owned),
            language: language.name(),
            kind: chunk.kind.as_str(),
        });
        Ok(chunks.collect())
    }

    /// Estimates what it takes in a result, in bytes.
    pub(super) fn size(&self) -> usize {
        self.content.len() + self.file_path.len() + 100
    }
}

pub(super) fn tool() -> Tool<LazyCodebase> {
    super::tool("chunk_file", "Chunking", chunk_file)
        .title("Chunk file")
        .description(
            "Split a file into chunks: definitions for known languages, sections for documents, lines \
                      otherwise; each with its lines and the symbol it defines.",
        )
        .output_schema(chunks_schema(json!({
            "next_start_line": { "type": "integer", "description": "The `start_line` of the next page" },
        })))
}

/// The schema of a result with chunks.
pub(super) fn chunks_schema(more: Value) -> Value {
    let mut fields = json!({
        "total": { "type": "integer", "description": "Total number of chunks" },
        "truncated": { "type": "boolean", "description": "Whether there are more results" },
    });
    extend(&mut fields, more);
    list_schema(chunk_schema(json!({ "kind": { "type": "string" } })), fields)
}

fn chunk_file(codebase: &Codebase, arguments: ChunkFile, _: &ToolContext) -> Result<ToolOutput, CodeError> {
    let mut chunks = ChunkResult::split(codebase, &arguments.file_path)?;
    let total = chunks.len();
    let first = arguments.start_line.unwrap_or(1);
    chunks.retain(|chunk| u64::from(chunk.end_line) >= first);
    let fitting = limit::leading(&chunks, MAX_TEXT, ChunkResult::size);
    let mut fields = json!({ "total": total, "truncated": fitting < chunks.len() });
    let more = chunks.get(fitting).map(|next| {
        let line = next.start_line;
        fields["next_start_line"] = line.into();
        format!("there are more chunks; call again with `start_line` {line}")
    });
    Ok(list_output(&&chunks[..fitting], fields, more))
}
