//! The tool `grep`, with the parameters that models know.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolbay_server::{Annotations, Tool, ToolContext, ToolError, ToolOutput, ToolResult, Toolset};

use super::{
    GrepServer,
    files::{FileFilter, GrepError, Search},
    for_client,
    page::{Format, PageLimits},
    query::GrepQuery,
    survey::{Counting, Survey},
};

/// The most bytes of a page.
const MAX_PAGE: usize = 50 * 1024;
/// The most bytes of a line that are shown.
const MAX_LINE: usize = 500;
/// The entries of a page, unless the caller asks for another number.
const HEAD_LIMIT: usize = 250;
/// More never fit into a page.
const MAX_ENTRIES: usize = 20_000;

pub(super) fn toolset() -> Toolset<GrepServer> {
    Toolset::new([Tool::blocking("grep", for_client(grep))
        .title("Search in files")
        .description(
            "Search file contents with a regular expression (ripgrep syntax). Respects .gitignore. Results are sorted by path; \
             the last line says how many there are in all.",
        )
        .output::<Found>()
        .annotations(Annotations::READ_ONLY)])
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// Regular expression
    #[schemars(length(min = 1, max = 10_000))]
    pattern: String,
    /// File or directory to search (default: everything)
    path: Option<String>,
    /// Only files that match, such as "*.js" or "**/*.{ts,tsx}"; "!" in front excludes
    glob: Option<String>,
    /// Only files of a type, such as "rust", "py" or "js"
    r#type: Option<String>,
    /// Paths, matching lines, or matching lines per file (default: files_with_matches)
    #[serde(default)]
    output_mode: OutputMode,
    /// Ignore case
    #[serde(rename = "-i", default)]
    ignore_case: bool,
    /// Show line numbers (default: true)
    #[serde(rename = "-n")]
    line_numbers: Option<bool>,
    /// Lines to show after each match
    #[serde(rename = "-A")]
    #[schemars(range(max = 1_000))]
    after: Option<usize>,
    /// Lines to show before each match
    #[serde(rename = "-B")]
    #[schemars(range(max = 1_000))]
    before: Option<usize>,
    /// Lines to show before and after each match
    #[serde(rename = "-C")]
    #[schemars(range(max = 1_000))]
    around: Option<usize>,
    /// Maximum number of entries (default: 250; 0: as many as fit into 50 KB)
    head_limit: Option<usize>,
    /// Number of entries to skip
    #[serde(default)]
    #[schemars(range(max = 1_000_000))]
    offset: usize,
    /// Let the pattern match across lines
    #[serde(default)]
    multiline: bool,
    /// Also search hidden files
    #[serde(default)]
    hidden: bool,
    /// Also search files that .gitignore excludes
    #[serde(default)]
    no_ignore: bool,
}

#[derive(Clone, Copy, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum OutputMode {
    Content,
    #[default]
    FilesWithMatches,
    Count,
}

#[derive(Serialize, JsonSchema)]
struct Found {
    /// What was found, as text
    content: String,
    /// Entries in content
    shown: usize,
    /// Matching lines in all, unless only files were looked for
    #[serde(skip_serializing_if = "Option::is_none")]
    matches: Option<u64>,
    /// Files with matches in all
    files: u64,
    /// The offset of the next page
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<usize>,
    /// Whether every file was searched
    complete: bool,
}

fn grep(server: &GrepServer, arguments: Arguments, context: &ToolContext) -> ToolResult {
    let query = GrepQuery {
        pattern: arguments.pattern,
        ignore_case: arguments.ignore_case,
        multiline: arguments.multiline,
        before: arguments.before.or(arguments.around).unwrap_or_default(),
        after: arguments.after.or(arguments.around).unwrap_or_default(),
        ..GrepQuery::default()
    };
    let filter = FileFilter {
        globs: arguments.glob.as_deref().map(split_globs).unwrap_or_default(),
        file_type: arguments.r#type,
        hidden: arguments.hidden,
        no_ignore: arguments.no_ignore,
        follow: false,
    };
    let path = arguments.path.as_deref().filter(|path| !path.is_empty());
    let search = Search::new(&server.allowed, path, filter, context, server.time_limit).map_err(invalid)?;
    let entries = match arguments.head_limit {
        None => HEAD_LIMIT,
        Some(0) => MAX_ENTRIES,
        Some(limit) => limit.min(MAX_ENTRIES),
    };
    let offset = arguments.offset;
    let (counting, total): (_, fn(&Survey) -> u64) = match arguments.output_mode {
        OutputMode::Content => (Counting::Lines, |survey| survey.matches),
        OutputMode::FilesWithMatches => (Counting::FilesWithMatches, |survey| survey.files),
        OutputMode::Count => (Counting::LinesPerFile, |survey| survey.files),
    };
    let survey = search.survey(&query, counting, offset + entries).map_err(invalid)?;
    let (text, shown) = match arguments.output_mode {
        OutputMode::Content => {
            let limits = PageLimits { offset, matches: entries, bytes: MAX_PAGE, line: MAX_LINE };
            let line_numbers = arguments.line_numbers.unwrap_or(true);
            let format = Format { paths: true, line_numbers, colors: false };
            let page = search.page(&query, &survey, limits, format).map_err(invalid)?;
            (page.text, page.shown)
        }
        OutputMode::FilesWithMatches => list(&search, &survey, offset, entries, |path, _| path.into_owned()),
        OutputMode::Count => list(&search, &survey, offset, entries, |path, count| format!("{path}:{count}")),
    };
    let next = offset + shown;
    let next_offset = (shown > 0 && (next as u64) < total(&survey)).then_some(next);
    let footer = footer(arguments.output_mode, &survey, shown, offset, next_offset);
    let found = Found {
        content: format!("{text}{footer}"),
        shown,
        matches: (arguments.output_mode != OutputMode::FilesWithMatches).then_some(survey.matches),
        files: survey.files,
        next_offset,
        complete: survey.is_complete && survey.failed.is_none(),
    };
    Ok(ToolOutput::text(found.content.as_str()).with_structured(&found))
}

/// One line for each file.
fn list(
    search: &Search<'_>,
    survey: &Survey,
    offset: usize,
    entries: usize,
    line: impl Fn(Cow<'_, str>, u64) -> String,
) -> (String, usize) {
    let (mut text, mut shown) = (String::new(), 0);
    for (file, count) in survey.first.iter().skip(offset).take(entries) {
        if text.len() >= MAX_PAGE {
            break;
        }
        text.push_str(&line(search.shown(file).to_string_lossy(), *count));
        text.push('\n');
        shown += 1;
    }
    (text, shown)
}

/// What is shown of what there is, so that a caller knows whether that is all.
fn footer(mode: OutputMode, survey: &Survey, shown: usize, offset: usize, next: Option<usize>) -> String {
    let Survey { files, matches, .. } = survey;
    let mut footer = match mode {
        OutputMode::Content => format!("[shown {shown} of {matches} matches in {files} files"),
        OutputMode::FilesWithMatches => format!("[shown {shown} of {files} files with matches"),
        OutputMode::Count => format!("[shown {shown} of {files} files with {matches} matches"),
    };
    if offset > 0 {
        footer.push_str(&format!(", from offset={offset}"));
    }
    if let Some(next) = next {
        footer.push_str(&format!("; continue with offset={next}"));
    }
    if !survey.is_complete {
        footer.push_str("; time was up before all files were searched: use a narrower path, glob or type");
    }
    if let Some((failed, reason)) = &survey.failed {
        footer.push_str(&format!("; {failed} could not be searched, first: {reason}"));
    }
    footer.push(']');
    footer
}

/// Several globs may be given as one text, separated by spaces or commas, as models do.
fn split_globs(globs: &str) -> Vec<String> {
    let mut depth = 0_usize;
    let separator = |character: char| {
        match character {
            '{' | '[' => depth += 1,
            '}' | ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && (character == ',' || character.is_whitespace())
    };
    globs.split(separator).filter(|glob| !glob.is_empty()).map(str::to_owned).collect()
}

fn invalid(error: GrepError) -> ToolError {
    match error {
        GrepError::Pattern(error) => {
            ToolError::argument("pattern", format!("is not a valid regular expression: {error}"))
        }
        GrepError::Glob(error) => ToolError::argument("glob", format!("is not valid: {error}")),
        GrepError::Type(error) => ToolError::argument("type", format!("is not known: {error}")),
        error => ToolError::failed(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::split_globs;

    #[test]
    fn globs_are_separated_outside_of_braces() {
        assert_eq!(split_globs("*.rs"), ["*.rs"]);
        assert_eq!(split_globs("*.{ts,tsx}, !dist/** a"), ["*.{ts,tsx}", "!dist/**", "a"]);
        assert_eq!(split_globs(" "), [""; 0]);
    }
}
