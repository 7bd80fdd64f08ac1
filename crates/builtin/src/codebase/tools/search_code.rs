//! `search_code`: exact text.

use serde_json::{Value, json};

use super::{Tool, list_schema, paging_fields};
use crate::codebase::{
    Case, CodeError, TextHit, TextQuery, TreeWork, arguments::Arguments, output::ToolAnswer,
};

pub(super) const TOOL: Tool = Tool {
    name: "search_code",
    verb: "Search",
    definition,
    run: |arguments, work| run(arguments, work).into(),
};

const DEFAULT: usize = 50;
const MAX: usize = 1000;
const MAX_CONTEXT: usize = 20;
/// How long the lines of an answer may be together.
const MAX_ANSWER: usize = 256 * 1024;

const KNOWN: [&str; 9] =
    ["query", "max_results", "regex", "case", "word", "glob", "path", "context", "offset"];

fn definition() -> Value {
    json!({
        "title": "Search code",
        "description": "Search for code using text matching. Finds every line that contains the query, like ripgrep: \
                      ignored, hidden and binary files are skipped. Best for names, messages and anything else that \
                      occurs in the code literally.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "query": { "type": "string", "description": "The text or pattern to search for" },
                "max_results": {
                    "type": "number", "minimum": 1, "maximum": MAX,
                    "description": format!("Maximum number of results (default: {DEFAULT})"),
                },
                "regex": { "type": "boolean", "description": "Whether the query is a regular expression (default: false, literal text)" },
                "case": {
                    "type": "string", "enum": ["smart", "sensitive", "insensitive"],
                    "description": "Case sensitivity (default: smart, sensitive only if the query has an upper-case letter)",
                },
                "word": { "type": "boolean", "description": "Whether to match whole words only (default: false)" },
                "glob": {
                    "type": ["string", "array"], "items": { "type": "string" },
                    "description": "Only files that match, such as \"*.rs\" or [\"src/**\", \"!*_test.go\"]",
                },
                "path": { "type": "string", "description": "Only this file, or files in this directory" },
                "context": {
                    "type": "integer", "minimum": 0, "maximum": MAX_CONTEXT,
                    "description": "Lines of context before and after each match (default: 0)",
                },
                "offset": { "type": "integer", "minimum": 0, "description": "Number of results to skip (default: 0)" },
            },
            "required": ["query"],
            "additionalProperties": false,
        },
        "outputSchema": list_schema(
            json!({
                "type": "object",
                "properties": {
                    "file_path": { "type": "string" },
                    "line_number": { "type": "integer" },
                    "line_content": { "type": "string" },
                    "line_truncated": { "type": "boolean", "description": "Whether the line was truncated around the match" },
                    "before": { "type": "array", "items": { "type": "string" } },
                    "after": { "type": "array", "items": { "type": "string" } },
                },
                "required": ["file_path", "line_number", "line_content"],
            }),
            paging_fields(),
        ),
    })
}

fn run(arguments: &Arguments, work: &TreeWork) -> Result<ToolAnswer, CodeError> {
    arguments.only(&KNOWN)?;
    let cases = [("smart", Case::Smart), ("sensitive", Case::Sensitive), ("insensitive", Case::Insensitive)];
    let query = TextQuery {
        pattern: arguments.query()?.to_owned(),
        regex: arguments.flag("regex")?,
        case: arguments.choice("case", &cases)?.unwrap_or_default(),
        word: arguments.flag("word")?,
        globs: arguments.texts("glob")?,
        path: arguments.text("path")?.map(str::to_owned),
        context: arguments.count("context", 0, MAX_CONTEXT)?.unwrap_or(0),
        offset: arguments.count("offset", 0, usize::MAX)?.unwrap_or(0),
        limit: arguments.count("max_results", 1, MAX)?.unwrap_or(DEFAULT),
    };
    let mut answer = work.tree().search_text(&query, work)?;
    let mut room = MAX_ANSWER;
    let fitting = answer.hits.iter().take_while(|hit| take(&mut room, hit)).count().max(1);
    answer.hits.truncate(fitting);
    let next = query.offset + answer.hits.len();
    let truncated = next < answer.total || !answer.is_total_exact;
    let mut fields = json!({ "total": answer.total, "truncated": truncated });
    let more = truncated.then(|| {
        fields["next_offset"] = next.into();
        let total = if answer.is_total_exact { "" } else { "at least " };
        format!(
            "{} of {total}{} results; for more, call again with `offset` {next}, or narrow the search with `path`, `glob` or a longer query",
            answer.hits.len(),
            answer.total
        )
    });
    Ok(ToolAnswer::list(&answer.hits, fields, more))
}

fn take(room: &mut usize, hit: &TextHit) -> bool {
    let around: usize = hit.before.iter().chain(&hit.after).map(|line| line.len() + 4).sum();
    let size = hit.file_path.len() + hit.line_content.len() + around + 64;
    let fits = size <= *room;
    *room = room.saturating_sub(size);
    fits
}
