//! `chunk_files`: several files, cut into pieces. One that cannot be read takes nothing from the others.

use serde_json::{Value, json};

use super::{
    Tool,
    chunk_file::{fitting, output_schema, size},
};
use crate::codebase::{
    CodeChunk, CodeError, TreeWork,
    arguments::{Arguments, misfit},
    output::ToolAnswer,
};

pub(super) const TOOL: Tool = Tool {
    name: "chunk_files",
    verb: "Chunking",
    definition,
    run: |arguments, work| run(arguments, work).into(),
};

/// How many files a call may name.
const MAX_FILES: usize = 1000;
/// How much text an answer holds at most, in bytes.
const MAX_ANSWER: usize = 512 * 1024;

fn definition() -> Value {
    json!({
        "title": "Chunk files",
        "description": "Split several files into chunks, like `chunk_file`.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "file_paths": {
                    "type": "array", "items": { "type": "string" }, "minItems": 1, "maxItems": MAX_FILES,
                    "description": "The files, relative to the root of the codebase",
                },
            },
            "required": ["file_paths"],
            "additionalProperties": false,
        },
        "outputSchema": output_schema(json!({
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
        })),
    })
}

fn run(arguments: &Arguments, work: &TreeWork) -> Result<ToolAnswer, CodeError> {
    arguments.only(&["file_paths"])?;
    let paths = arguments.required_texts("file_paths")?;
    if paths.is_empty() || paths.len() > MAX_FILES {
        return Err(misfit("file_paths", &format!("must name 1 to {MAX_FILES} files")));
    }
    let (mut chunks, mut errors, mut remaining): (Vec<CodeChunk>, Vec<Value>, Vec<&str>) = Default::default();
    let mut more: Vec<String> = Vec::new();
    let mut room = MAX_ANSWER;
    for (done, path) in paths.iter().enumerate() {
        if work.is_stopped() {
            return Err(CodeError::Stopped);
        }
        if !remaining.is_empty() {
            remaining.push(path);
            continue;
        }
        match work.tree().chunks(path) {
            Ok(file) => {
                let size: usize = file.iter().map(size).sum();
                if size > room && !chunks.is_empty() {
                    remaining.push(path);
                    continue;
                }
                // One that is too long even alone is given as far as it fits.
                let fit = fitting(&file, room);
                if let Some(next) = file.get(fit) {
                    let line = next.start_line;
                    more.push(format!("{path} has more chunks: see `chunk_file` with `start_line` {line}"));
                }
                room = room.saturating_sub(size);
                chunks.extend(file.into_iter().take(fit));
            }
            Err(CodeError::Stopped) => return Err(CodeError::Stopped),
            Err(why) => errors.push(json!({ "file_path": path, "error": why.to_string() })),
        }
        work.tell(done as u64 + 1, Some(paths.len() as u64), "cutting files");
    }
    if errors.len() == paths.len() {
        let all = errors.iter().map(|it| format!("{}: {}", text(&it["file_path"]), text(&it["error"])));
        return Err(CodeError::Failed(all.collect::<Vec<_>>().join("; ")));
    }
    let is_cut = !more.is_empty();
    if !remaining.is_empty() {
        more.push(format!("call again for the files that did not fit: {}", json!(remaining)));
    }
    if !errors.is_empty() {
        more.push(format!("could not be split: {}", json!(errors)));
    }
    let fields = json!({
        "total": chunks.len(),
        "truncated": is_cut || !remaining.is_empty(),
        "errors": errors,
        "remaining": remaining,
    });
    Ok(ToolAnswer::list(&chunks, fields, (!more.is_empty()).then(|| more.join("; "))))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
