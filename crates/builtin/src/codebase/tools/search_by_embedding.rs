//! `search_by_embedding`: code by what it does.

use std::{borrow::Cow, sync::atomic::AtomicBool};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use toolbay_protocol::printable::error_chain;
use toolbay_search::{
    chunk::Language,
    codebase::{Codebase, SemanticSearchError},
    semantic::{self, Hit, SemanticError},
};
use toolbay_server::{Tool, ToolContext, ToolOutput, limit};

use super::{Strings, chunk_schema, list_output, list_schema, paging_fields};
use crate::codebase::{
    CodeError, LazyCodebase,
    tree::{parse_scope, tree_error},
};

const DEFAULT_RESULTS: usize = 10;

/// The arguments of `search_by_embedding`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchByEmbedding {
    /// What to search for, in natural language
    pub query: String,
    /// Maximum number of results (default: 10)
    #[schemars(range(min = 1, max = 100))]
    pub max_results: Option<usize>,
    /// Only this file, or files in this directory
    pub path: Option<String>,
    /// Only files that match, such as "*.rs" or ["src/**", "!*_test.go"]
    #[serde(default)]
    pub glob: Strings,
    /// Only this language, such as "rust" or "python"
    pub language: Option<String>,
    /// Approximate maximum number of tokens in the result; the best results come first (default: no limit)
    #[schemars(range(min = 100))]
    pub max_tokens: Option<usize>,
    /// Number of results to skip (default: 0)
    #[serde(default)]
    pub offset: usize,
}

/// A chunk in a result.
#[derive(Debug, Serialize)]
pub struct SemanticMatch<'a> {
    file_path: Cow<'a, str>,
    start_line: u32,
    end_line: u32,
    content: &'a str,
    score: f64,
    symbol: Option<&'a str>,
    language: &'a str,
}

/// How much of the codebase was searched.
#[derive(Debug, Serialize)]
pub struct IndexState {
    /// Whether all files were.
    pub complete: bool,
    /// How many files are in the index as they are now.
    pub indexed_files: usize,
    /// How many files there are.
    pub files: usize,
}

pub(super) fn tool() -> Tool<LazyCodebase> {
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
    let score = json!({ "type": "number", "description": "Higher is better; comparable within one result" });
    super::tool("search_by_embedding", "Search", search_by_embedding)
        .title("Search by meaning")
        .description(
            "Search for code by what it does, in natural language: \"where are retries limited\", \"parse the \
                        configuration file\". Finds functions, types and sections of documents by their meaning and their \
                        names, best first, with similarity scores. Literal names and messages in the query count, too.",
        )
        .edit_input_schema(|schema| schema["properties"]["max_results"]["type"] = "number".into())
        .output_schema(list_schema(chunk_schema(json!({ "score": score })), fields))
}

impl SearchByEmbedding {
    /// Searches a codebase.
    ///
    /// # Errors
    /// If the query has no words, if the path, a glob or the language cannot be used, if the tree cannot be read, or if the
    /// search was cancelled.
    pub fn search(
        &self,
        codebase: &Codebase,
        cancelled: &AtomicBool,
    ) -> Result<semantic::Results, CodeError> {
        if self.query.is_empty() {
            return Err(CodeError::argument("query", "is empty"));
        }
        if !self.query.contains(char::is_alphanumeric) {
            return Err(CodeError::argument("query", "has no words to search for"));
        }
        let language = self.language.as_deref().map(known_language).transpose()?;
        let limit = self.max_results.unwrap_or(DEFAULT_RESULTS);
        let query = semantic::Query {
            offset: self.offset,
            path: parse_scope(codebase, "path", self.path.as_deref())?,
            globs: self.glob.0.clone(),
            language: language.map(|language| language.name().to_owned()),
            ..semantic::Query::new(self.query.as_str(), limit)
        };
        codebase.search_semantic(&query, cancelled).map_err(|error| match &error {
            SemanticSearchError::Tree(error) => tree_error("path", error),
            SemanticSearchError::Semantic(SemanticError::Glob { .. }) => {
                CodeError::argument("glob", error_chain(&error))
            }
            SemanticSearchError::Semantic(SemanticError::Stopped) => CodeError::Cancelled,
            SemanticSearchError::Semantic(_) => CodeError::Failed(error_chain(&error)),
        })
    }
}

fn known_language(name: &str) -> Result<Language, CodeError> {
    Language::from_name(name).ok_or_else(|| {
        let known: Vec<&str> = Language::all().map(Language::name).collect();
        CodeError::argument("language", format!("is unknown; expected one of: {}", known.join(", ")))
    })
}

impl<'a> From<&'a Hit> for SemanticMatch<'a> {
    fn from(hit: &'a Hit) -> Self {
        Self {
            file_path: hit.path.to_str_lossy(),
            start_line: hit.start_line,
            end_line: hit.end_line,
            content: hit.content.trim_end(),
            // More digits mean nothing.
            score: (f64::from(hit.score) * 1000.0).round() / 1000.0,
            symbol: hit.symbol.as_deref(),
            language: &hit.language,
        }
    }
}

impl SemanticMatch<'_> {
    fn tokens(&self) -> usize {
        limit::tokens(self.content) + limit::tokens(&self.file_path) + 40
    }
}

impl From<&semantic::Results> for IndexState {
    fn from(found: &semantic::Results) -> Self {
        Self {
            complete: !found.partial,
            indexed_files: found.files.saturating_sub(found.pending),
            files: found.files,
        }
    }
}

fn search_by_embedding(
    codebase: &Codebase,
    arguments: SearchByEmbedding,
    context: &ToolContext,
) -> Result<ToolOutput, CodeError> {
    let found = arguments.search(codebase, context.cancelled())?;
    Ok(output(&arguments, &found))
}

fn output(arguments: &SearchByEmbedding, found: &semantic::Results) -> ToolOutput {
    let mut results: Vec<SemanticMatch<'_>> = found.hits.iter().map(SemanticMatch::from).collect();
    if let Some(budget) = arguments.max_tokens {
        results.truncate(limit::leading(&results, budget, SemanticMatch::tokens));
    }
    let next = arguments.offset + results.len();
    let truncated = next < found.total;
    let index = IndexState::from(found);
    let mut fields = json!({ "total": found.total, "truncated": truncated, "index": index });
    let mut more = Vec::new();
    if truncated {
        fields["next_offset"] = next.into();
    }
    // The list hardly ever ends by itself, so the text says that it was cut only if the caller's budget did it.
    let limit = arguments.max_results.unwrap_or(DEFAULT_RESULTS);
    if truncated && results.len() < limit && arguments.max_tokens.is_some() {
        more.push(format!("for more results, call again with `offset` {next} or a higher `max_tokens`"));
    }
    more.extend(found.notices.iter().cloned());
    if !index.complete {
        more.push(format!(
            "{} of {} files are indexed so far; search again in a moment for the rest, or use `search_code`",
            index.indexed_files, index.files
        ));
    }
    list_output(&results, fields, (!more.is_empty()).then(|| more.join("; ")))
}

#[cfg(test)]
mod tests {
    use toolbay_search::tree::RelPath;

    use super::*;

    fn found(hits: usize) -> semantic::Results {
        let hit = |index: u32| Hit {
            path: RelPath::parse("src/lib.rs").unwrap(),
            start_line: index + 1,
            end_line: index + 9,
            bytes: 0..400,
            content: "x".repeat(400),
            score: 0.123_456,
            symbol: Some("impl A › fn b".to_owned()),
            language: "rust".to_owned(),
        };
        let hits: Vec<Hit> = (0..hits as u32).map(hit).collect();
        semantic::Results { hits, total: 120, files: 5, pending: 2, ..semantic::Results::default() }
    }

    fn result(arguments: &SearchByEmbedding, found: &semantic::Results) -> serde_json::Value {
        serde_json::from_str(&output(arguments, found).to_json()).unwrap()
    }

    #[test]
    fn results_tell_the_total_and_the_next_page() {
        let result = result(&SearchByEmbedding::default(), &found(10));
        let structured = &result["structuredContent"];
        assert_eq!((&structured["total"], &structured["next_offset"]), (&json!(120), &json!(10)));
        assert_eq!(structured["index"], json!({ "complete": true, "indexed_files": 3, "files": 5 }));
        assert_eq!(structured["results"][0]["score"], 0.123);
        assert_eq!(result["content"].as_array().unwrap().len(), 1, "{result}");
    }

    #[test]
    fn the_token_budget_is_kept() {
        for (max_tokens, expected) in [(500, 3), (100, 1)] {
            let arguments =
                SearchByEmbedding { max_tokens: Some(max_tokens), ..SearchByEmbedding::default() };
            let result = result(&arguments, &found(10));
            assert_eq!(result["structuredContent"]["results"].as_array().unwrap().len(), expected);
            let more = result["content"][1]["text"].as_str().unwrap();
            assert!(more.contains(&format!("`offset` {expected}")), "{more}");
        }
    }

    #[test]
    fn an_unfinished_index_is_reported() {
        let result = result(&SearchByEmbedding::default(), &semantic::Results { partial: true, ..found(1) });
        let more = result["content"][1]["text"].as_str().unwrap();
        assert!(more.starts_with("3 of 5 files are indexed"), "{more}");
    }
}
