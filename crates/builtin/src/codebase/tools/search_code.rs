//! `search_code`: exact text and regular expressions.

use std::{
    borrow::Cow,
    sync::atomic::{AtomicBool, Ordering},
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use toolbay_search::{
    codebase::Codebase,
    text::{self, Case, Hit, Total},
    tree::Rules,
};
use toolbay_server::{Tool, ToolContext, ToolOutput, limit};

use super::{Strings, list_output, list_schema, paging_fields};
use crate::codebase::{
    CodeError, LazyCodebase,
    tree::{parse_scope, tree_error},
};

const DEFAULT_RESULTS: usize = 50;
/// The longest line that is given whole, in bytes.
const MAX_LINE: usize = 1000;
/// How long the lines of a result may be together, in bytes.
const MAX_TEXT: usize = 256 * 1024;

/// The arguments of `search_code`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchCode {
    /// The text or pattern to search for
    pub query: String,
    /// Maximum number of results (default: 50)
    #[schemars(range(min = 1, max = 1000))]
    pub max_results: Option<usize>,
    /// Whether the query is a regular expression (default: false, literal text)
    #[serde(default)]
    pub regex: bool,
    /// Case sensitivity (default: smart, sensitive only if the query has an upper-case letter)
    #[serde(default, with = "CaseArgument")]
    pub case: Case,
    /// Whether to match whole words only (default: false)
    #[serde(default)]
    pub word: bool,
    /// Only files that match, such as "*.rs" or ["src/**", "!*_test.go"]
    #[serde(default)]
    pub glob: Strings,
    /// Only this file, or files in this directory
    pub path: Option<String>,
    /// Lines of context before and after each match (default: 0)
    #[serde(default)]
    #[schemars(range(max = 20))]
    pub context: u32,
    /// Number of results to skip (default: 0)
    #[serde(default)]
    pub offset: usize,
}

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(remote = "Case", rename_all = "lowercase")]
enum CaseArgument {
    Smart,
    Sensitive,
    Insensitive,
}

/// A matching line in a result.
#[derive(Debug, Serialize)]
pub struct LineMatch<'a> {
    file_path: Cow<'a, str>,
    line_number: u64,
    line_content: &'a str,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    line_truncated: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    before: Vec<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    after: Vec<&'a str>,
}

pub(super) fn tool() -> Tool<LazyCodebase> {
    super::tool("search_code", "Search", search_code)
        .title("Search code")
        .description(
            "Search for code using text matching. Finds every line that contains the query, like ripgrep: \
                      ignored, hidden and binary files are skipped. Best for names, messages and anything else that \
                      occurs in the code literally.",
        )
        .edit_input_schema(|schema| schema["properties"]["max_results"]["type"] = "number".into())
        .output_schema(list_schema(
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
        ))
}

impl SearchCode {
    /// Searches a codebase.
    ///
    /// # Errors
    /// If the pattern, the path or a glob cannot be used, if the tree cannot be read, or if the search was cancelled.
    pub fn search(&self, codebase: &Codebase, cancelled: &AtomicBool) -> Result<text::Results, CodeError> {
        if self.query.is_empty() {
            return Err(CodeError::argument("query", "is empty"));
        }
        let query = text::Query {
            regex: self.regex,
            case: self.case,
            word: self.word,
            rules: Rules { globs: self.glob.0.clone(), ..Rules::default() },
            path: parse_scope(codebase, "path", self.path.as_deref())?,
            context: self.context,
            offset: self.offset,
            limit: self.max_results.unwrap_or(DEFAULT_RESULTS),
            line_limit: MAX_LINE,
            ..text::Query::literal(self.query.as_str())
        };
        let found = codebase.search_text(&query, cancelled).map_err(|error| match error {
            text::SearchError::Pattern(error) => {
                CodeError::argument("query", format!("cannot be used: {error}"))
            }
            text::SearchError::Tree(error) => tree_error("path", &error),
        })?;
        if cancelled.load(Ordering::Relaxed) {
            return Err(CodeError::Cancelled);
        }
        Ok(found)
    }
}

impl<'a> From<&'a Hit> for LineMatch<'a> {
    fn from(hit: &'a Hit) -> Self {
        Self {
            file_path: hit.path.to_str_lossy(),
            line_number: hit.line.number,
            line_content: &hit.line.text,
            line_truncated: hit.line.cut,
            before: hit.before.iter().map(|line| line.text.as_str()).collect(),
            after: hit.after.iter().map(|line| line.text.as_str()).collect(),
        }
    }
}

impl LineMatch<'_> {
    /// Estimates what it takes in a result, in bytes.
    fn size(&self) -> usize {
        let context: usize = self.before.iter().chain(&self.after).map(|line| line.len() + 4).sum();
        self.file_path.len() + self.line_content.len() + context + 64
    }
}

fn search_code(
    codebase: &Codebase,
    arguments: SearchCode,
    context: &ToolContext,
) -> Result<ToolOutput, CodeError> {
    let found = arguments.search(codebase, context.cancelled())?;
    let mut results: Vec<LineMatch<'_>> = found.hits.iter().map(LineMatch::from).collect();
    results.truncate(limit::leading(&results, MAX_TEXT, LineMatch::size));
    let next = arguments.offset + results.len();
    let (total, at_least) = match found.total {
        Total::Exactly(total) => (total, ""),
        Total::AtLeast(total) => (total, "at least "),
    };
    let truncated = (next as u64) < total || !at_least.is_empty();
    let mut fields = json!({ "total": total, "truncated": truncated });
    let more = truncated.then(|| {
        fields["next_offset"] = next.into();
        format!(
            "{} of {at_least}{total} results; for more, call again with `offset` {next}, or narrow the search with `path`, `glob` or a longer query",
            results.len()
        )
    });
    Ok(list_output(&results, fields, more))
}
