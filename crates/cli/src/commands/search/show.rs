//! Results of a search as text and as JSON.

use std::{fmt::Write, ops::Range};

use serde_json::json;
use toolbay_builtin::codebase::{IndexState, LineMatch, SemanticMatch};
use toolbay_search::{
    semantic,
    text::{self, Total},
};

use super::SearchResults;
use crate::{
    app::error::CliError,
    args::SearchArgs,
    term::{
        output::Output,
        style::{Palette, clean, clean_line, head, tail, width},
    },
};

/// The columns that a line has at least, however narrow the terminal is.
const LEAST: usize = 20;
/// How many lines of a chunk are shown unless all are wanted.
const LINES: usize = 12;

pub(super) fn show(out: &Output, args: &SearchArgs, found: &SearchResults) -> Result<(), CliError> {
    match found {
        SearchResults::Text(found) => show_lines(out, args, found)?,
        SearchResults::Semantic(found) => show_chunks(out, args, found)?,
    }
    let is_empty = match found {
        SearchResults::Text(found) => found.hits.is_empty(),
        SearchResults::Semantic(found) => found.hits.is_empty(),
    };
    if is_empty {
        out.note("nothing found");
        return Err(CliError::NothingFound);
    }
    Ok(())
}

fn show_lines(out: &Output, args: &SearchArgs, found: &text::Results) -> Result<(), CliError> {
    let next = args.offset + found.hits.len();
    let total = found.total.count();
    let is_exact = matches!(found.total, Total::Exactly(_));
    let truncated = (next as u64) < total || !is_exact;
    if out.json {
        let results: Vec<LineMatch<'_>> = found.hits.iter().map(LineMatch::from).collect();
        let fields = json!({ "results": results, "total": total, "truncated": truncated });
        return Ok(out.json_object(&fields)?);
    }
    let mut all = String::new();
    for (index, hit) in found.hits.iter().enumerate() {
        if args.context > 0 && index > 0 {
            let _ = writeln!(all, "{}", out.paint.dim("--"));
        }
        line_of_text(&mut all, hit, out);
    }
    out.data(&all)?;
    if truncated {
        let at_least = if is_exact { "" } else { "at least " };
        let shown = found.hits.len();
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

fn show_chunks(out: &Output, args: &SearchArgs, found: &semantic::Results) -> Result<(), CliError> {
    let index = IndexState::from(found);
    if out.json {
        let results: Vec<SemanticMatch<'_>> = found.hits.iter().map(SemanticMatch::from).collect();
        let fields = json!({
            "results": results,
            "total": found.total,
            "truncated": args.offset + results.len() < found.total,
            "index": index,
        });
        return Ok(out.json_object(&fields)?);
    }
    let words = Words::of(args.question.as_deref().unwrap_or_default());
    let mut all = String::new();
    for (index, hit) in found.hits.iter().enumerate() {
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

/// A part of a line: a match, or the text between two.
struct LinePart {
    text: String,
    is_match: bool,
}

/// A line with its matches highlighted. Of one that is wider than `room`, the part around the first match is shown.
fn shown_line(line: &str, matches: &[Range<usize>], room: Option<usize>, paint: Palette) -> String {
    let parts = parts(line, matches);
    let whole: usize = parts.iter().map(|part| width(&part.text)).sum();
    let parts = match room {
        Some(room) if whole > room => around_match(parts, room),
        _ => parts,
    };
    let painted = |part: &LinePart| if part.is_match { paint.found(&part.text) } else { part.text.clone() };
    parts.iter().map(painted).collect()
}

/// A line in parts, safe for a terminal; matches that do not fit the text are left out.
fn parts(line: &str, matches: &[Range<usize>]) -> Vec<LinePart> {
    let part = |text: &str, is_match| LinePart { text: clean(text).replace('\t', "    "), is_match };
    let (mut parts, mut end) = (Vec::new(), 0);
    for found in matches {
        if let (Some(before), Some(text)) = (line.get(end..found.start), line.get(found.clone())) {
            parts.push(part(before, false));
            parts.push(part(text, true));
            end = found.end;
        }
    }
    parts.push(part(&line[end..], false));
    parts
}

/// Cuts a line around its first match so that it fits.
fn around_match(parts: Vec<LinePart>, room: usize) -> Vec<LinePart> {
    let mark = || LinePart { text: "…".to_owned(), is_match: false };
    let first = parts.iter().find(|part| part.is_match).map_or(0, |part| width(&part.text));
    let (mut shown, mut left) = (Vec::new(), room);
    for (index, part) in parts.into_iter().enumerate() {
        // The text before the match leaves room for the match, and at least a quarter for what follows.
        let most = room.saturating_sub(first + room / 4);
        if index == 0 && !part.is_match && width(&part.text) > most {
            let text = tail(&part.text, most.saturating_sub(1)).to_owned();
            left = left.saturating_sub(width(&text) + 1);
            shown.extend([mark(), LinePart { text, ..part }]);
        } else if width(&part.text) <= left {
            left -= width(&part.text);
            shown.push(part);
        } else {
            shown.push(LinePart { text: head(&part.text, left.saturating_sub(1)).to_owned(), ..part });
            shown.extend((left > 0).then(mark));
            break;
        }
    }
    shown
}

/// Words that are too common to be highlighted.
const COMMON: [&str; 24] = [
    "and", "are", "but", "can", "does", "for", "from", "has", "have", "how", "into", "its", "not", "that",
    "the", "then", "this", "what", "when", "where", "which", "who", "why", "with",
];
/// Shorter words are everywhere.
const SHORTEST: usize = 3;

/// The words of a query that are highlighted.
#[derive(Debug)]
pub(super) struct Words(Vec<String>);

impl Words {
    pub(super) fn of(question: &str) -> Self {
        let words = question.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase);
        Self(words.filter(|word| word.len() >= SHORTEST && !COMMON.contains(&word.as_str())).collect())
    }

    /// Finds them in a line, ignoring case, at the beginning of a word or of a part of a name: `retry` is found
    /// in `RetryLimit`, `max_retry` and `retrying`, and not in `entry`. In order and without overlaps.
    pub(super) fn found_in(&self, line: &str) -> Vec<Range<usize>> {
        let mut found: Vec<Range<usize>> = Vec::new();
        let mut before = ' ';
        for (start, c) in line.char_indices() {
            let is_start = c.is_alphanumeric()
                && (!before.is_alphanumeric() || (c.is_uppercase() && !before.is_uppercase()));
            before = c;
            if !is_start || found.last().is_some_and(|last| start < last.end) {
                continue;
            }
            let lengths = self.0.iter().filter_map(|word| length_of(word, &line[start..]));
            found.extend(lengths.max().map(|length| start..start + length));
        }
        found
    }
}

/// The length in bytes of this word at the start of a text, ignoring case.
fn length_of(word: &str, text: &str) -> Option<usize> {
    let mut left = word.chars();
    let mut wanted = left.next();
    for (at, c) in text.char_indices() {
        if wanted.is_none() {
            return Some(at);
        }
        for lower in c.to_lowercase() {
            if wanted != Some(lower) {
                return None;
            }
            wanted = left.next();
        }
    }
    wanted.is_none().then_some(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_are_highlighted_and_stay_in_sight() {
        let plain =
            |line: &str, matches: &[Range<usize>], room| shown_line(line, matches, room, Palette(false));
        assert_eq!(
            shown_line("let total = 1;", &[Range { start: 4, end: 9 }], None, Palette(true)),
            "let \u{1b}[1m\u{1b}[31mtotal\u{1b}[0m = 1;"
        );
        assert_eq!(plain("a\tb", &[], None), "a    b");
        let long = format!("{}needle{}", "x".repeat(100), "y".repeat(100));
        for room in [10, 20, 40, 80] {
            let line = plain(&long, &[Range { start: 100, end: 106 }], Some(room));
            assert!(
                line.contains("needle") && line.starts_with('…') && line.ends_with('…'),
                "{room}: {line}"
            );
            assert!(width(&line) <= room, "{room}: {line}");
        }
        assert_eq!(plain("short needle", &[Range { start: 6, end: 12 }], Some(40)), "short needle");
        assert_eq!(plain("ä", &[1..2, 0..9], Some(10)), "ä");
    }

    fn found(question: &str, line: &str) -> Vec<String> {
        Words::of(question).found_in(line).into_iter().map(|range| line[range].to_owned()).collect()
    }

    #[test]
    fn words_are_found_at_word_and_camel_case_boundaries() {
        let line = "let retry_limit = MaxRetry::retrying(entry, RETRY);";
        assert_eq!(found("how many retry", line), ["retry", "Retry", "retry", "RETRY"]);
        assert_eq!(found("retry retrying", "retrying"), ["retrying"], "the longest");
        assert_eq!(found("what is it for", "what is it for"), [""; 0]);
        assert_eq!(found("Größe ändern", "fn größe() // Ändern"), ["größe", "Ändern"]);
        assert_eq!(found("limit", "the lim"), [""; 0]);
        assert_eq!(found("", "anything"), [""; 0]);
    }
}
