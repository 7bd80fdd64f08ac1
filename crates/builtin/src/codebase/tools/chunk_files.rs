//! `chunk_files`: several files, split. One that cannot be read does not fail the call.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use toolbay_search::codebase::Codebase;
use toolbay_server::{Tool, ToolContext, ToolOutput, limit};

use super::{
    Strings,
    chunk_file::{ChunkResult, MAX_TEXT, chunks_schema},
    list_output,
};
use crate::codebase::{CodeError, LazyCodebase};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ChunkFiles {
    /// The files, relative to the root of the codebase
    #[schemars(extend("minItems" = 1, "maxItems" = 1000))]
    file_paths: Strings,
}

pub(super) fn tool() -> Tool<LazyCodebase> {
    super::tool("chunk_files", "Chunking", chunk_files)
        .title("Chunk files")
        .description("Split several files into chunks, like `chunk_file`.")
        .edit_input_schema(|schema| schema["properties"]["file_paths"]["type"] = "array".into())
        .output_schema(chunks_schema(json!({
            "errors": {
                "type": "array",
                "description": "Files that could not be split, and why",
                "items": {
                    "type": "object",
                    "properties": { "file_path": { "type": "string" }, "error": { "type": "string" } },
                    "required": ["file_path", "error"],
                },
            },
            "remaining": { "type": "array", "items": { "type": "string" }, "description": "Files that did not fit; call again with them" },
        })))
}

fn chunk_files(
    codebase: &Codebase,
    arguments: ChunkFiles,
    context: &ToolContext,
) -> Result<ToolOutput, CodeError> {
    let Strings(paths) = arguments.file_paths;
    let mut chunks: Vec<ChunkResult> = Vec::new();
    let (mut errors, mut remaining): (Vec<(&str, CodeError)>, Vec<&str>) = Default::default();
    let mut more: Vec<String> = Vec::new();
    let mut room = MAX_TEXT;
    for (done, path) in paths.iter().enumerate() {
        if context.is_cancelled() {
            return Err(CodeError::Cancelled);
        }
        if !remaining.is_empty() {
            remaining.push(path);
            continue;
        }
        match ChunkResult::split(codebase, path) {
            Ok(file) => {
                let size: usize = file.iter().map(ChunkResult::size).sum();
                if size > room && !chunks.is_empty() {
                    remaining.push(path);
                    continue;
                }
                // One that is too long even alone is given as far as it fits.
                let fitting = limit::leading(&file, room, ChunkResult::size);
                if let Some(next) = file.get(fitting) {
                    let line = next.start_line;
                    more.push(format!("{path} has more chunks: see `chunk_file` with `start_line` {line}"));
                }
                room = room.saturating_sub(size);
                chunks.extend(file.into_iter().take(fitting));
            }
            Err(error) => errors.push((path, error)),
        }
        context.report_progress(done as u64 + 1, Some(paths.len() as u64), "cutting files");
    }
    if errors.len() == paths.len() {
        let all: Vec<String> = errors.iter().map(|(path, error)| format!("{path}: {error}")).collect();
        return Err(CodeError::Failed(all.join("; ")));
    }
    let is_cut = !more.is_empty();
    if !remaining.is_empty() {
        more.push(format!("call again for the files that did not fit: {}", json!(remaining)));
    }
    let errors: Vec<Value> =
        errors.iter().map(|(path, error)| json!({ "file_path": path, "error": error.to_string() })).collect();
    if !errors.is_empty() {
        more.push(format!("could not be split: {}", json!(errors)));
    }
    let fields = json!({
        "total": chunks.len(),
        "truncated": is_cut || !remaining.is_empty(),
        "errors": errors,
        "remaining": remaining,
    });
    Ok(list_output(&chunks, fields, (!more.is_empty()).then(|| more.join("; "))))
}
