//! The tools of mcp-ripgrep, which passes their arguments to `rg`. Texts are what it returns.

use std::fmt::Write as _;

use ignore::types::TypesBuilder;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolbay_files::AccessError;
use toolbay_server::{
    Annotations, NoArguments, Tool, ToolContext, ToolError, ToolOutput, ToolResult, Toolset,
};

use super::{
    GrepServer,
    files::{FileFilter, GrepError, Search},
    for_client,
    page::{Format, PageLimits, push_path},
    query::GrepQuery,
    survey::{Counting, Survey},
};

/// The most bytes of a result. The original has no limit.
const MAX_PAGE: usize = 100 * 1024;
/// The most bytes of a line.
const MAX_LINE: usize = 2_000;
/// More never fit into a page.
const MAX_ENTRIES: usize = 50_000;

pub(super) fn toolset() -> Toolset<GrepServer> {
    let tools = [
        Tool::blocking("search", for_client(search))
            .title("Search")
            .description("Search files for patterns using ripgrep (rg)"),
        Tool::blocking("advanced-search", for_client(advanced_search))
            .title("Advanced search")
            .description("Advanced search with ripgrep with more options"),
        Tool::blocking("count-matches", for_client(count_matches))
            .title("Count matches")
            .description("Count matches in files using ripgrep"),
        Tool::blocking("list-files", for_client(list_files))
            .title("List files")
            .description("List files that would be searched by ripgrep without actually searching them"),
        Tool::blocking("list-file-types", list_file_types)
            .title("List file types")
            .description("List all supported file types in ripgrep"),
    ];
    Toolset::new(tools.map(|tool| tool.output::<Output>().annotations(Annotations::READ_ONLY)))
}

#[derive(Serialize, JsonSchema)]
struct Output {
    content: String,
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct SearchArguments {
    /// The search pattern (regex by default)
    pattern: String,
    /// Directory or file to search
    path: String,
    /// Use case sensitive search (default: true)
    case_sensitive: Option<bool>,
    /// Filter by glob
    file_pattern: Option<String>,
    /// Limit the number of matching lines of each file
    max_results: Option<i64>,
    /// Show N lines before and after each match
    context: Option<i64>,
    /// Use colors in output (default: false)
    use_colors: Option<bool>,
    /// Number of matches to skip (default: 0)
    #[schemars(range(max = 1_000_000))]
    offset: Option<usize>,
}

fn search(server: &GrepServer, arguments: SearchArguments, context: &ToolContext) -> ToolResult {
    let advanced = AdvancedArguments { search: arguments, ..AdvancedArguments::default() };
    advanced_search(server, advanced, context)
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct AdvancedArguments {
    #[serde(flatten)]
    search: SearchArguments,
    /// Treat pattern as a literal string, not a regex
    fixed_strings: Option<bool>,
    /// Filter by file type (e.g., js, py)
    file_type: Option<String>,
    /// Show lines that don't match the pattern
    invert_match: Option<bool>,
    /// Only show matches surrounded by word boundaries
    word_match: Option<bool>,
    /// Search in hidden files and directories
    include_hidden: Option<bool>,
    /// Follow symbolic links
    follow_symlinks: Option<bool>,
    /// Only show filenames of matches, not content
    show_filenames_only: Option<bool>,
    /// Show line numbers (default: true)
    show_line_numbers: Option<bool>,
}

fn advanced_search(server: &GrepServer, arguments: AdvancedArguments, context: &ToolContext) -> ToolResult {
    let is_set = |option: Option<bool>| option == Some(true);
    let basic = &arguments.search;
    check_pattern(&basic.pattern)?;
    let lines = |count: Option<i64>| count.and_then(|count| usize::try_from(count).ok()).unwrap_or_default();
    let query = GrepQuery {
        pattern: basic.pattern.clone(),
        fixed_strings: is_set(arguments.fixed_strings),
        ignore_case: basic.case_sensitive == Some(false),
        word: is_set(arguments.word_match),
        invert: is_set(arguments.invert_match),
        multiline: false,
        before: lines(basic.context),
        after: lines(basic.context),
        max_count: basic.max_results.and_then(|count| u64::try_from(count).ok()).filter(|count| *count > 0),
    };
    let filter = FileFilter {
        globs: basic.file_pattern.iter().filter(|glob| !glob.is_empty()).cloned().collect(),
        file_type: arguments.file_type.clone().filter(|file_type| !file_type.is_empty()),
        hidden: is_set(arguments.include_hidden),
        no_ignore: false,
        follow: is_set(arguments.follow_symlinks),
    };
    let search = begin(server, &basic.path, filter, context)?;
    let (offset, colors) = (basic.offset.unwrap_or_default(), is_set(basic.use_colors));
    let counting = match is_set(arguments.show_filenames_only) {
        true => Counting::FilesWithMatches,
        false => Counting::Lines,
    };
    let survey =
        search.survey(&query, counting, offset + MAX_ENTRIES).map_err(|error| failed(&basic.path, error))?;
    if counting == Counting::FilesWithMatches {
        return listed(&search, &survey, offset, colors, "No matches found", |_| None);
    }
    let limits = PageLimits { offset, matches: MAX_ENTRIES, bytes: MAX_PAGE, line: MAX_LINE };
    let format = Format {
        paths: !search.is_one_file(),
        line_numbers: arguments.show_line_numbers != Some(false),
        colors,
    };
    let page = search.page(&query, &survey, limits, format).map_err(|error| failed(&basic.path, error))?;
    Ok(output(page.text, "No matches found", &survey, offset + page.shown, survey.matches))
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct CountMatches {
    /// The search pattern (regex by default)
    pattern: String,
    /// Directory or file to search
    path: String,
    /// Use case sensitive search (default: true)
    case_sensitive: Option<bool>,
    /// Filter by glob
    file_pattern: Option<String>,
    /// Count matching lines instead of total matches (default: true)
    count_lines: Option<bool>,
    /// Use colors in output (default: false)
    use_colors: Option<bool>,
    /// Number of files to skip (default: 0)
    #[schemars(range(max = 1_000_000))]
    offset: Option<usize>,
}

fn count_matches(server: &GrepServer, arguments: CountMatches, context: &ToolContext) -> ToolResult {
    check_pattern(&arguments.pattern)?;
    let query = GrepQuery {
        pattern: arguments.pattern,
        ignore_case: arguments.case_sensitive == Some(false),
        ..GrepQuery::default()
    };
    let globs = arguments.file_pattern.into_iter().filter(|glob| !glob.is_empty()).collect();
    let search = begin(server, &arguments.path, FileFilter { globs, ..FileFilter::default() }, context)?;
    let counting = match arguments.count_lines {
        Some(false) => Counting::MatchesPerFile,
        _ => Counting::LinesPerFile,
    };
    let offset = arguments.offset.unwrap_or_default();
    let survey = search
        .survey(&query, counting, offset + MAX_ENTRIES)
        .map_err(|error| failed(&arguments.path, error))?;
    let colors = arguments.use_colors == Some(true);
    listed(&search, &survey, offset, colors, "No matches found", Some)
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ListFiles {
    /// Directory or file to search
    path: String,
    /// Filter by glob
    file_pattern: Option<String>,
    /// Filter by file type (e.g., js, py)
    file_type: Option<String>,
    /// Include hidden files and directories
    include_hidden: Option<bool>,
    /// Number of files to skip (default: 0)
    #[schemars(range(max = 1_000_000))]
    offset: Option<usize>,
}

fn list_files(server: &GrepServer, arguments: ListFiles, context: &ToolContext) -> ToolResult {
    let filter = FileFilter {
        globs: arguments.file_pattern.into_iter().filter(|glob| !glob.is_empty()).collect(),
        file_type: arguments.file_type.filter(|file_type| !file_type.is_empty()),
        hidden: arguments.include_hidden == Some(true),
        ..FileFilter::default()
    };
    let search = begin(server, &arguments.path, filter, context)?;
    let offset = arguments.offset.unwrap_or_default();
    let survey = search
        .survey(&GrepQuery::default(), Counting::Files, offset + MAX_ENTRIES)
        .map_err(|error| failed(&arguments.path, error))?;
    listed(&search, &survey, offset, false, "No files found", |_| None)
}

fn list_file_types(_: &GrepServer, _: NoArguments, _: &ToolContext) -> ToolResult {
    let mut text = String::new();
    for definition in TypesBuilder::new().add_defaults().definitions() {
        let _ = writeln!(text, "{}: {}", definition.name(), definition.globs().join(", "));
    }
    Ok(ToolOutput::text(text.as_str()).with_structured(&Output { content: text }))
}

fn begin<'a>(
    server: &'a GrepServer,
    path: &str,
    filter: FileFilter,
    context: &'a ToolContext,
) -> Result<Search<'a>, ToolError> {
    Search::new(&server.allowed, Some(path), filter, context, server.time_limit)
        .map_err(|error| failed(path, error))
}

fn check_pattern(pattern: &str) -> Result<(), ToolError> {
    if pattern.is_empty() { Err(ToolError::failed("Error: Pattern is required")) } else { Ok(()) }
}

/// One line for each file, with a number behind it where `number` returns one.
fn listed(
    search: &Search<'_>,
    survey: &Survey,
    offset: usize,
    colors: bool,
    nothing: &str,
    number: impl Fn(u64) -> Option<u64>,
) -> ToolResult {
    let (mut text, mut next) = (String::new(), offset);
    for (file, count) in survey.first.iter().skip(offset) {
        if text.len() >= MAX_PAGE {
            break;
        }
        match number(*count) {
            // As with `rg`, one file alone has no name.
            Some(number) if search.is_one_file() => text.push_str(&number.to_string()),
            number => {
                push_path(&mut text, &search.shown(file).to_string_lossy(), colors);
                if let Some(number) = number {
                    let _ = write!(text, ":{number}");
                }
            }
        }
        text.push('\n');
        next += 1;
    }
    Ok(output(text, nothing, survey, next, survey.files))
}

/// A text, and what is missing from it.
fn output(mut text: String, nothing: &str, survey: &Survey, next: usize, total: u64) -> ToolOutput {
    if text.is_empty() {
        text.push_str(nothing);
    }
    if (next as u64) < total {
        let _ =
            write!(text, "[up to {next} of {total} in {} files; continue with offset={next}]", survey.files);
    }
    if !survey.is_complete {
        text.push_str("\n[time was up before all files were searched; use a narrower path]");
    }
    if let Some((failed, reason)) = &survey.failed {
        let _ = write!(text, "\n[{failed} could not be searched, first: {reason}]");
    }
    ToolOutput::text(text.as_str()).with_structured(&Output { content: text })
}

/// An error as the original reports what `rg` says.
fn failed(path: &str, error: GrepError) -> ToolError {
    let reason = match error {
        GrepError::Access(AccessError::Missing { .. }) => {
            format!("{path}: IO error for operation on {path}: No such file or directory (os error 2)")
        }
        GrepError::Access(error) => return ToolError::failed(format!("Error: {error}")),
        error => error.to_string(),
    };
    ToolError::failed(format!("Error: Command failed with exit code 2\nrg: {reason}\n"))
}
