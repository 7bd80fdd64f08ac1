//! `search_by_embedding`: code by what it is about.

use serde_json::{Value, json};

use super::{Tool, chunk_schema, list_schema, paging_fields};
use crate::codebase::{
    CodeError, MeaningHit, MeaningQuery, TreeWork,
    arguments::Arguments,
    output::{ToolAnswer, tokens},
};

pub(super) const TOOL: Tool = Tool {
    name: "search_by_embedding",
    verb: "Search",
    definition,
    run: |arguments, work| run(arguments, work).into(),
};

const DEFAULT: usize = 10;
const MAX: usize = 100;
const MIN_TOKENS: usize = 100;

const KNOWN: [&str; 7] = ["query", "max_results", "path", "glob", "language", "max_tokens", "offset"];

fn definition() -> Value {
    let mut fields = paging_fields();
    fields["index"] = json!({
        "type": "object",
        "description": "How much of the tree was searched",
        "properties": {
            "complete": { "type": "boolean" },
            "indexed_files": { "type": "integer" },
            "files": { "type": "integer" },
        },
    });
    json!({
        "title": "Search by meaning",
        "description": "Search for code by what it does, in natural language: \"where are retries limited\", \"parse the \
                        configuration file\". Finds functions, types and sections of documents by their meaning and their \
                        names, best first, with similarity scores. Literal names and messages in the query count, too.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "query": { "type": "string", "description": "What to search for, in natural language" },
                "max_results": {
                    "type": "number", "minimum": 1, "maximum": MAX,
                    "description": format!("Maximum number of results (default: {DEFAULT})"),
                },
                "path": { "type": "string", "description": "Only this file, or files in this directory" },
                "glob": {
                    "type": ["string", "array"], "items": { "type": "string" },
                    "description": "Only files that match, such as \"*.rs\" or [\"src/**\", \"!*_test.go\"]",
                },
                "language": { "type": "string", "description": "Only this language, such as \"rust\" or \"python\"" },
                "max_tokens": {
                    "type": "integer", "minimum": MIN_TOKENS,
                    "description": "Approximate maximum number of tokens in the result; the best results come first (default: no limit)",
                },
                "offset": { "type": "integer", "minimum": 0, "description": "Number of results to skip (default: 0)" },
            },
            "required": ["query"],
            "additionalProperties": false,
        },
        "outputSchema": list_schema(
            chunk_schema(json!({ "score": { "type": "number", "description": "Higher is better; comparable within one result" } })),
            fields,
        ),
    })
}

fn run(arguments: &Arguments, work: &TreeWork) -> Result<ToolAnswer, CodeError> {
    arguments.only(&KNOWN)?;
    let query = MeaningQuery {
        query: arguments.query()?.to_owned(),
        globs: arguments.texts("glob")?,
        path: arguments.text("path")?.map(str::to_owned),
        language: arguments.text("language")?.map(str::to_owned),
        offset: arguments.count("offset", 0, usize::MAX)?.unwrap_or(0),
        limit: arguments.count("max_results", 1, MAX)?.unwrap_or(DEFAULT),
    };
    let budget = arguments.count("max_tokens", MIN_TOKENS, usize::MAX)?;
    let mut answer = work.tree().search_meaning(&query, work)?;
    if let Some(budget) = budget {
        answer.hits.truncate(within(budget, &answer.hits));
    }
    let next = query.offset + answer.hits.len();
    let truncated = next < answer.total;
    let mut fields = json!({ "total": answer.total, "truncated": truncated, "index": answer.index });
    let mut more = Vec::new();
    if truncated {
        fields["next_offset"] = next.into();
    }
    // The list never ends by itself, so that it was cut is worth a word only if the caller's budget did it.
    if truncated && answer.hits.len() < query.limit && budget.is_some() {
        more.push(format!("for more results, call again with `offset` {next} or a higher `max_tokens`"));
    }
    more.extend(answer.notices);
    if !answer.index.complete {
        more.push(format!(
            "{} of {} files are indexed so far; search again in a moment for the rest, or use `search_code`",
            answer.index.indexed_files, answer.index.files
        ));
    }
    Ok(ToolAnswer::list(&answer.hits, fields, (!more.is_empty()).then(|| more.join("; "))))
}

/// How many of the best hits fit; one always does.
fn within(budget: usize, hits: &[MeaningHit]) -> usize {
    let mut spent = 0;
    let fits = |hit: &&MeaningHit| {
        spent += tokens(&hit.content) + tokens(&hit.file_path) + 40;
        spent <= budget
    };
    hits.iter().take_while(fits).count().max(1)
}
