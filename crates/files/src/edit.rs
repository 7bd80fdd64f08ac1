//! Finding the text that an edit replaces.

use std::{fmt, ops::Range, time::Duration};

use similar::{ChangeTag, DiffTag, TextDiff};

/// How many lines of occurrences an error names.
const MAX_LINES: usize = 20;
/// How many places of a text are compared in full with the text that was not found.
const CANDIDATES: usize = 4;
/// The longest text for which the nearest place is looked for: beyond it the comparison takes too long.
const MAX_SOUGHT: usize = 16 * 1024;
/// A place that has less in common with the text that was not found is not worth showing.
const MIN_SIMILARITY: f32 = 0.5;
/// How long one comparison may take. After it, what is left counts as different.
const COMPARISON_TIMEOUT: Duration = Duration::from_millis(3);
/// How many differences within lines are named.
const MAX_DIFFERENCES: usize = 8;

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
    /// Differences within lines, escaped, so that white space shows: `"\t" instead of "    "`.
    pub differences: Vec<String>,
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
    let window = sought.split_inclusive('\n').count().min(lines.len()).max(1);
    let there = |start: usize| lines[start..(start + window).min(lines.len())].concat();
    let mut best: Option<(f32, usize)> = None;
    for start in candidates(&lines, sought, window) {
        let similarity = TextDiff::configure()
            .timeout(COMPARISON_TIMEOUT)
            .diff_chars(sought, there(start).as_str())
            .ratio();
        if best.is_none_or(|(most, _)| similarity > most) {
            best = Some((similarity, start));
        }
    }
    let (similarity, start) = best.filter(|(similarity, _)| *similarity >= MIN_SIMILARITY)?;
    let there = there(start);
    let differences = differences(sought, &there);
    Some(NearestMatch { line: start + 1, similarity, diff: line_diff(sought, &there), differences })
}

/// The starts of the windows that share the most short pieces of text with what is sought, best first.
///
/// Comparing every window in full would take minutes for a large file. The pieces of each line are counted once, and the
/// count of a window follows from that of the window before it.
fn candidates(lines: &[&str], sought: &str, window: usize) -> Vec<usize> {
    let known = Pieces::of(sought);
    let shared: Vec<usize> = lines.iter().map(|line| known.shared_with(line)).collect();
    let mut score: usize = shared.iter().take(window).sum();
    let mut scored = vec![(score, 0)];
    for start in 1..=lines.len().saturating_sub(window) {
        score = score - shared[start - 1] + shared[start + window - 1];
        scored.push((score, start));
    }
    scored.retain(|(score, _)| *score > 0);
    let order = |(score, start): &(usize, usize)| (std::cmp::Reverse(*score), *start);
    if scored.len() > CANDIDATES {
        scored.select_nth_unstable_by_key(CANDIDATES, order);
        scored.truncate(CANDIDATES);
    }
    scored.sort_by_key(order);
    scored.into_iter().map(|(_, start)| start).collect()
}

/// A set of pieces of three bytes. Two pieces may count as one: it only chooses what is compared in full.
struct Pieces {
    bits: Vec<u64>,
}

impl Pieces {
    const BITS: u32 = 16;

    fn of(text: &str) -> Self {
        let mut bits = vec![0; 1 << (Self::BITS - 6)];
        for piece in text.lines().flat_map(|line| line.trim().as_bytes().windows(3)) {
            let at = Self::position(piece);
            bits[at / 64] |= 1 << (at % 64);
        }
        Self { bits }
    }

    /// How many pieces of a line are in the set.
    fn shared_with(&self, line: &str) -> usize {
        let is_known = |piece: &&[u8]| {
            let at = Self::position(piece);
            self.bits[at / 64] >> (at % 64) & 1 == 1
        };
        line.trim().as_bytes().windows(3).filter(is_known).count()
    }

    fn position(piece: &[u8]) -> usize {
        let number = u32::from_le_bytes([piece[0], piece[1], piece[2], 0]);
        (number.wrapping_mul(0x9e37_79b1) >> (u32::BITS - Self::BITS)) as usize
    }
}

/// The first differences between two texts, in the characters that are sought and those that are there.
fn differences(sought: &str, there: &str) -> Vec<String> {
    let diff = TextDiff::configure().timeout(COMPARISON_TIMEOUT).diff_chars(sought, there);
    let text = |slices: &[&str]| slices.concat();
    diff.ops()
        .iter()
        .filter(|op| op.tag() != DiffTag::Equal)
        .map(|op| (text(&diff.old_slices()[op.old_range()]), text(&diff.new_slices()[op.new_range()])))
        .take(MAX_DIFFERENCES)
        .map(|pair| match (pair.0.as_str(), pair.1.as_str()) {
            ("", new) => format!("{new:?} is missing"),
            (old, "") => format!("{old:?} is not there"),
            (old, new) => format!("{new:?} instead of {old:?}"),
        })
        .collect()
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
/// The reference server for files does this. Unlike it, more than one such place is an error. The nearest text is not looked
/// for: [`find`] did that.
///
/// # Errors
/// If there is no such place, or more than one.
pub fn find_trimmed(text: &str, old: &str) -> Result<Range<usize>, MatchError> {
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
        [] => Err(MatchError::NotFound { nearest: None }),
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
            Self::NotFound { nearest: Some(nearest) } => {
                write!(f, "the text to replace does not occur in the file; {nearest}")
            }
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

impl fmt::Display for NearestMatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, similarity, diff, differences } = self;
        // Never 100 %, since it is not the same.
        let percent = (similarity * 100.0).floor().min(99.0);
        write!(f, "the nearest text is at line {line} ({percent:.0} % equal):\n{diff}")?;
        if !differences.is_empty() {
            write!(f, "there: {}", differences.join(", "))?;
        }
        Ok(())
    }
}

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
        let error = find_one(&text, "    let value_4321: u32 = compute(4321);\n").unwrap_err();
        let MatchError::NotFound { nearest: Some(nearest) } = error else { panic!("{error}") };
        assert_eq!(nearest.line, 4322);
        assert_eq!(
            nearest.diff,
            "-    let value_4321: u32 = compute(4321);\n+    let value_4321: u64 = compute(4321);\n"
        );
        assert_eq!(nearest.differences, [r#""64" instead of "32""#]);
        assert_eq!(super::nearest("completely\ndifferent\n", "0123456789"), None);
        assert_eq!(super::nearest("", "abc"), None);
        let tabs = super::nearest("if x {\n\treturn;\n}\n", "if x {\n    return;\n}\n").unwrap().to_string();
        assert!(tabs.contains("at line 1 (") && tabs.ends_with(r#"there: "\t" instead of "    ""#), "{tabs}");
    }

    #[test]
    fn the_nearest_text_of_a_large_file_is_found_in_time() {
        // 1 MB, and an edit of 40 lines, each of which is slightly wrong.
        let line = |n: usize| format!("    let value_{n} = compute({n}, \"{}\");\n", n * 7919 % 1000);
        let text: String = (0..24_000).map(line).collect();
        let sought: String = (12_000..12_040).map(|n| line(n).replace("compute", "computed")).collect();
        let begun = std::time::Instant::now();
        let nearest = super::nearest(&text, &sought).unwrap();
        let elapsed = begun.elapsed();
        println!("nearest text in {} bytes: {elapsed:?}", text.len());
        assert_eq!(nearest.line, 12_001);
        // Only optimized code is fast; `cargo test --release` checks it.
        assert!(cfg!(debug_assertions) || elapsed.as_millis() < 20, "{elapsed:?}");
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
