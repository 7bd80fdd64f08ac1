//! Finding the text that an edit replaces.

use std::{fmt, ops::Range};

use similar::{ChangeTag, TextDiff};

/// How many lines of occurrences an error names.
const MAX_LINES: usize = 20;
/// How many places of a text are compared in full with the text that was not found.
const CANDIDATES: usize = 4;
/// The longest text for which the nearest place is looked for: beyond it the comparison takes too long.
const MAX_SOUGHT: usize = 16 * 1024;
/// A place that has less in common with the text that was not found is not worth showing.
const MIN_SIMILARITY: f32 = 0.5;

/// Why the text of an edit is not replaced.
#[derive(Debug, Clone, PartialEq)]
pub enum MatchError {
    /// The text to replace is empty.
    Empty,
    /// It does not occur.
    NotFound {
        /// The place that resembles it most.
        nearest: Option<NearestMatch>,
    },
    /// It occurs more often than expected.
    Ambiguous {
        /// How often.
        count: usize,
        /// The first lines on which it begins, from 1.
        lines: Vec<usize>,
    },
}

/// The place of a text that resembles one that was not found.
#[derive(Debug, Clone, PartialEq)]
pub struct NearestMatch {
    /// Its first line, from 1.
    pub line: usize,
    /// 0 to 1.
    pub similarity: f32,
    /// What was sought against what is there, as lines with `-`, `+` or a space before them.
    pub diff: String,
}

/// Finds the one occurrence of `old`.
///
/// # Errors
/// If there is none, or more than one.
pub fn find_one(text: &str, old: &str) -> Result<Range<usize>, MatchError> {
    match find(text, old, Some(1))?.as_slice() {
        [only] => Ok(only.clone()),
        _ => Err(MatchError::NotFound { nearest: None }),
    }
}

/// Finds all occurrences of `old`, none of which overlap: exactly `expected`, if that is given.
///
/// # Errors
/// If there is none, or another number than expected.
pub fn find(text: &str, old: &str, expected: Option<usize>) -> Result<Vec<Range<usize>>, MatchError> {
    if old.is_empty() {
        return Err(MatchError::Empty);
    }
    let found: Vec<Range<usize>> = memchr::memmem::find_iter(text.as_bytes(), old.as_bytes())
        .map(|start| start..start + old.len())
        .collect();
    match found.len() {
        0 => Err(MatchError::NotFound { nearest: nearest(text, old) }),
        count if expected.is_some_and(|expected| expected != count) => Err(MatchError::Ambiguous {
            count,
            lines: line_numbers(text, found.iter().map(|range| range.start)),
        }),
        _ => Ok(found),
    }
}

/// The numbers of the lines, from 1, in which the first of some ascending offsets are.
pub fn line_numbers(text: &str, offsets: impl Iterator<Item = usize>) -> Vec<usize> {
    let (mut line, mut from) = (1, 0);
    let number = |at: usize| {
        line += memchr::memchr_iter(b'\n', &text.as_bytes()[from..at]).count();
        from = at;
        line
    };
    let mut lines: Vec<usize> = offsets.take(MAX_LINES).map(number).collect();
    lines.dedup();
    lines
}

/// Finds the lines of `text` that resemble `sought` most.
///
/// A model that misremembers a line is shown what is there, which saves it a read of the file. Nothing is ever replaced
/// that merely resembles.
pub fn nearest(text: &str, sought: &str) -> Option<NearestMatch> {
    if sought.len() > MAX_SOUGHT || sought.trim().is_empty() {
        return None;
    }
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let wanted: Vec<&str> = sought.split_inclusive('\n').collect();
    let window = wanted.len().min(lines.len()).max(1);
    let mut best: Option<(f32, usize)> = None;
    for start in candidates(&lines, &wanted, window) {
        let there: String = lines[start..(start + window).min(lines.len())].concat();
        let similarity = TextDiff::from_chars(sought, there.as_str()).ratio();
        if best.is_none_or(|(most, _)| similarity > most) {
            best = Some((similarity, start));
        }
    }
    let (similarity, start) = best.filter(|(similarity, _)| *similarity >= MIN_SIMILARITY)?;
    let there: String = lines[start..(start + window).min(lines.len())].concat();
    Some(NearestMatch { line: start + 1, similarity, diff: line_diff(sought, &there) })
}

/// The starts of the windows that share the most short pieces of text with what is sought, best first.
///
/// Comparing every window in full would take minutes for a large file. The pieces of each line are counted once, and the
/// count of a window follows from that of the window before it.
fn candidates(lines: &[&str], wanted: &[&str], window: usize) -> Vec<usize> {
    let pieces = |line: &str| -> Vec<u32> {
        let bytes = line.trim().as_bytes();
        bytes.windows(3).map(|piece| u32::from_le_bytes([piece[0], piece[1], piece[2], 0])).collect()
    };
    let known: std::collections::HashSet<u32> = wanted.iter().flat_map(|line| pieces(line)).collect();
    let shared: Vec<usize> =
        lines.iter().map(|line| pieces(line).iter().filter(|piece| known.contains(piece)).count()).collect();
    let mut score: usize = shared.iter().take(window).sum();
    let mut scored = vec![(score, 0)];
    for start in 1..=lines.len().saturating_sub(window) {
        score = score - shared[start - 1] + shared[start + window - 1];
        scored.push((score, start));
    }
    scored.retain(|(score, _)| *score > 0);
    scored.sort_by_key(|(score, start)| (std::cmp::Reverse(*score), *start));
    scored.truncate(CANDIDATES);
    scored.into_iter().map(|(_, start)| start).collect()
}

/// The lines of two texts, `-` before those of the first only, `+` before those of the second only.
fn line_diff(old: &str, new: &str) -> String {
    let mut out = String::new();
    for change in TextDiff::from_lines(old, new).iter_all_changes() {
        out.push(match change.tag() {
            ChangeTag::Delete => '-',
            ChangeTag::Insert => '+',
            ChangeTag::Equal => ' ',
        });
        out.push_str(change.value());
        if !change.value().ends_with('\n') {
            out.push('\n');
        }
    }
    out
}

/// Finds `old` when the white space at the ends of its lines is wrong: the one place whose lines are the same without it.
///
/// The reference server for files does this. Unlike it, more than one such place is an error.
///
/// # Errors
/// If there is no such place, or more than one.
pub fn find_trimmed(text: &str, old: &str) -> Result<Range<usize>, MatchError> {
    let not_found = || MatchError::NotFound { nearest: nearest(text, old) };
    let wanted: Vec<&str> = old.strip_suffix('\n').unwrap_or(old).split('\n').map(str::trim).collect();
    if wanted.iter().all(|line| line.is_empty()) {
        return Err(MatchError::Empty);
    }
    let mut starts = Vec::new();
    let mut lines = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        starts.push(at);
        lines.push(line.trim());
        at += line.len();
    }
    starts.push(at);
    let places: Vec<usize> = (0..(lines.len() + 1).saturating_sub(wanted.len()))
        .filter(|start| lines[*start..*start + wanted.len()] == wanted[..])
        .collect();
    match places[..] {
        [] => Err(not_found()),
        [place] => {
            let end = starts[place + wanted.len()];
            let ends_line = text[..end].ends_with('\n') && !old.ends_with('\n');
            Ok(starts[place]..end - usize::from(ends_line))
        }
        _ => Err(MatchError::Ambiguous {
            count: places.len(),
            lines: places.iter().take(MAX_LINES).map(|place| place + 1).collect(),
        }),
    }
}

impl fmt::Display for MatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("the text to replace is empty"),
            Self::NotFound { nearest: None } => f.write_str("the text to replace does not occur in the file"),
            Self::NotFound { nearest: Some(nearest) } => write!(
                f,
                "the text to replace does not occur in the file; the nearest text is at line {} ({:.0} % equal):\n{}",
                nearest.line,
                nearest.similarity * 100.0,
                nearest.diff
            ),
            Self::Ambiguous { count, lines } => {
                write!(f, "the text to replace occurs {count} times, in lines ")?;
                for (index, line) in lines.iter().enumerate() {
                    write!(f, "{}{line}", if index == 0 { "" } else { ", " })?;
                }
                f.write_str("; add surrounding lines to make it unique")
            }
        }
    }
}

impl std::error::Error for MatchError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_occurrence_is_an_answer() {
        assert_eq!(find_one("a b c", "b"), Ok(2..3));
        assert_eq!(find("a b a", "a", None).unwrap().len(), 2);
        let error = find_one("x\na\nb\na\n", "a").unwrap_err();
        assert_eq!(error, MatchError::Ambiguous { count: 2, lines: vec![2, 4] });
        assert!(error.to_string().contains("occurs 2 times, in lines 2, 4;"), "{error}");
        assert_eq!(find_one("a", ""), Err(MatchError::Empty));
    }

    #[test]
    fn what_resembles_is_shown() {
        let text: String = (0..5_000).map(|n| format!("    let value_{n} = compute({n});\n")).collect();
        let text = text.replace("value_4321 =", "value_4321: u64 =");
        let begun = std::time::Instant::now();
        let error = find_one(&text, "    let value_4321: u32 = compute(4321);\n").unwrap_err();
        assert!(begun.elapsed().as_millis() < 500, "{:?}", begun.elapsed());
        let MatchError::NotFound { nearest: Some(nearest) } = error else { panic!("{error}") };
        assert_eq!(nearest.line, 4322);
        assert_eq!(
            nearest.diff,
            "-    let value_4321: u32 = compute(4321);\n+    let value_4321: u64 = compute(4321);\n"
        );
        assert_eq!(super::nearest("completely\ndifferent\n", "0123456789"), None);
        assert_eq!(super::nearest("", "abc"), None);
    }

    #[test]
    fn white_space_at_the_ends_of_lines_may_differ() {
        let text = "fn a() {\n    one();  \n\ttwo();\n}\n";
        assert_eq!(&text[find_trimmed(text, "one();\ntwo();").unwrap()], "    one();  \n\ttwo();");
        assert_eq!(&text[find_trimmed(text, "one();\ntwo();\n").unwrap()], "    one();  \n\ttwo();\n");
        assert!(matches!(find_trimmed("a\n a\n", "a"), Err(MatchError::Ambiguous { count: 2, .. })));
        assert!(matches!(find_trimmed("a\n", "b"), Err(MatchError::NotFound { .. })));
    }
}
