//! The words of a question, as they stand in the code that answers it.

use std::ops::Range;

/// Words that say nothing about code.
const COMMON: [&str; 24] = [
    "and", "are", "but", "can", "does", "for", "from", "has", "have", "how", "into", "its", "not", "that",
    "the", "then", "this", "what", "when", "where", "which", "who", "why", "with",
];
/// Shorter words stand everywhere.
const SHORTEST: usize = 3;

/// The words of a question that are worth a highlight.
#[derive(Debug)]
pub(super) struct Words(Vec<String>);

impl Words {
    pub(super) fn of(question: &str) -> Self {
        let words = question.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase);
        Self(words.filter(|word| word.len() >= SHORTEST && !COMMON.contains(&word.as_str())).collect())
    }

    /// Where a line has one of them, whatever their case, at the beginning of a word or of a part of a name: `retry` is found
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

/// How many bytes of a text are this word, if it begins with it in whatever case.
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

    fn found(question: &str, line: &str) -> Vec<String> {
        Words::of(question).found_in(line).into_iter().map(|range| line[range].to_owned()).collect()
    }

    #[test]
    fn words_are_found_where_words_and_parts_of_names_begin() {
        let line = "let retry_limit = MaxRetry::retrying(entry, RETRY);";
        assert_eq!(found("how many retry", line), ["retry", "Retry", "retry", "RETRY"]);
        assert_eq!(found("retry retrying", "retrying"), ["retrying"], "the longest");
        assert_eq!(found("what is it for", "what is it for"), [""; 0]);
        assert_eq!(found("Größe ändern", "fn größe() // Ändern"), ["größe", "Ändern"]);
        assert_eq!(found("limit", "the lim"), [""; 0]);
        assert_eq!(found("", "anything"), [""; 0]);
    }
}
