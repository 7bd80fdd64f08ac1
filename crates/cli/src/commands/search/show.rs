//! What a search found, for people and for programs.

use std::fmt::Write;

use serde_json::json;
use toolbay_builtin::codebase::{IndexState, LineMatch, SemanticMatch};
use toolbay_search::{
    semantic,
    text::{self, Total},
};

use super::{SearchResults, line::shown as shown_line, words::Words};
use crate::{
    app::error::CliError,
    args::SearchArgs,
    term::{output::Output, style::clean_line, text::width},
};

/// The columns that a line has at least, however narrow the terminal is.
const LEAST: usize = 20;
/// How many lines of a chunk are shown unless all are wanted.
const LINES: usize = 12;

pub(super) fn show(out: &Output, args: &SearchArgs, found: &SearchResults) -> Result<(), CliError> {
    match found {
        SearchResults::Text(answer) => show_lines(out, args, answer)?,
        SearchResults::Semantic(answer) => show_chunks(out, args, answer)?,
    }
    let is_empty = match found {
        SearchResults::Text(answer) => answer.hits.is_empty(),
        SearchResults::Semantic(answer) => answer.hits.is_empty(),
    };
    if is_empty {
        out.note("nothing found");
        return Err(CliError::NothingFound);
    }
    Ok(())
}

fn show_lines(out: &Output, args: &SearchArgs, answer: &text::Answer) -> Result<(), CliError> {
    let next = args.offset + answer.hits.len();
    let total = answer.total.count();
    let is_exact = matches!(answer.total, Total::Exactly(_));
    let truncated = (next as u64) < total || !is_exact;
    if out.json {
        let results: Vec<LineMatch<'_>> = answer.hits.iter().map(LineMatch::from).collect();
        let fields = json!({ "results": results, "total": total, "truncated": truncated });
        return Ok(out.json_object(&fields)?);
    }
    let mut all = String::new();
    for (index, hit) in answer.hits.iter().enumerate() {
        if args.context > 0 && index > 0 {
            let _ = writeln!(all, "{}", out.paint.dim("--"));
        }
        line_of_text(&mut all, hit, out);
    }
    out.data(&all)?;
    if truncated {
        let at_least = if is_exact { "" } else { "at least " };
        let shown = answer.hits.len();
        out.note(&format!("{shown} of {at_least}{total} lines; for more: --offset {next}"));
    }
    Ok(())
}

fn line_of_text(all: &mut String, hit: &text::Hit, out: &Output) {
    let (paint, path) = (out.paint, clean_line(&hit.path.to_str_lossy()));
    let mut write = |mark: char, number: u64, line: &str, matches: &[std::ops::Range<usize>]| {
        let used = width(&path) + number.to_string().len() + 2;
        let room = out.columns.map(|columns| columns.saturating_sub(used).max(LEAST));
        let number =
            if mark == ':' { paint.green(&number.to_string()) } else { paint.dim(&number.to_string()) };
        let _ = writeln!(
            all,
            "{}{mark}{number}{mark}{}",
            paint.file(&path),
            shown_line(line, matches, room, paint)
        );
    };
    for line in &hit.before {
        write('-', line.number, &line.text, &[]);
    }
    write(':', hit.line.number, &hit.line.text, &hit.matches);
    for line in &hit.after {
        write('-', line.number, &line.text, &[]);
    }
}

fn show_chunks(out: &Output, args: &SearchArgs, answer: &semantic::Answer) -> Result<(), CliError> {
    let index = IndexState::from(answer);
    if out.json {
        let results: Vec<SemanticMatch<'_>> = answer.hits.iter().map(SemanticMatch::from).collect();
        let fields = json!({
            "results": results,
            "total": answer.total,
            "truncated": args.offset + results.len() < answer.total,
            "index": index,
        });
        return Ok(out.json_object(&fields)?);
    }
    let words = Words::of(args.question.as_deref().unwrap_or_default());
    let mut all = String::new();
    for (index, hit) in answer.hits.iter().enumerate() {
        if index > 0 {
            all.push('\n');
        }
        chunk(&mut all, hit, &words, args.full, out);
    }
    out.data(&all)?;
    if !index.complete {
        let missing = index.files.saturating_sub(index.indexed_files);
        out.note(&format!(
            "{missing} of {} files are not in the index yet; they were searched directly",
            index.files
        ));
    }
    Ok(())
}

fn chunk(all: &mut String, hit: &semantic::Hit, words: &Words, full: bool, out: &Output) {
    let paint = out.paint;
    let path = paint.file(&clean_line(&hit.path.to_str_lossy()));
    let lines_of_file = paint.green(&format!("{}-{}", hit.start_line, hit.end_line));
    let symbol = hit.symbol.as_deref().map(clean_line).unwrap_or_default();
    let score = paint.dim(&format!("{:.2}", hit.score));
    let _ = writeln!(all, "{path}:{lines_of_file}  {}  {score}", paint.bold(&symbol));
    let digits = hit.end_line.to_string().len();
    let lines = hit.content.trim_end().lines().count();
    let shown = if full || lines <= LINES + 1 { lines } else { LINES };
    for (number, line) in (hit.start_line..).zip(hit.content.lines()).take(shown) {
        let room = out.columns.map(|columns| columns.saturating_sub(digits + 1).max(LEAST));
        let number = paint.green(&format!("{number:>digits$}"));
        let found = if paint.0 { words.found_in(line) } else { Vec::new() };
        let _ = writeln!(all, "{number} {}", shown_line(line, &found, room, paint));
    }
    if shown < lines {
        let _ = writeln!(all, "{}", paint.dim(&format!("{:>digits$} {} more lines", "…", lines - shown)));
    }
}
