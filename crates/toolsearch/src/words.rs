//! Text as words: identifiers taken apart, plurals and endings removed, stop words known.

use rust_stemmers::{Algorithm, Stemmer};

/// Longer words are cut here: encoded data is full of them, and nobody searches for them.
const LONGEST: usize = 48;

/// Sorted, for the search by halves. Words that say nothing about what a tool does; the second half is how people ask for something.
#[rustfmt::skip]
const STOP_WORDS: &[&str] = &[
    "a", "about", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be", "been", "being", "both", "but", "by", "can",
    "could", "d", "did", "do", "does", "doing", "don", "each", "either", "etc", "every", "for", "from", "had", "has", "have",
    "having", "he", "help", "her", "here", "hey", "hi", "his", "how", "i", "if", "in", "into", "is", "it", "its", "itself", "just",
    "know", "let", "like", "ll", "looking", "m", "may", "me", "might", "must", "my", "need", "of", "on", "or", "our", "please", "re",
    "s", "shall", "she", "should", "so", "some", "such", "t", "tell", "than", "that", "the", "their", "them", "then", "there",
    "these", "they", "this", "those", "to", "too", "us", "use", "used", "using", "ve", "very", "want", "was", "we", "were", "what",
    "when", "where", "which", "while", "who", "whose", "why", "will", "with", "would", "you", "your",
];

/// A word of a text, in lower case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Word<'a> {
    pub text: &'a str,
    /// How many words before it belong to the same identifier and are taken apart from it: 2 for the `github` that follows `git`
    /// and `hub`. 0 for every other word.
    pub joins: usize,
}

/// Gives every word of a text in order, in lower case.
///
/// `parseHTTPHeader2` is `parse`, `http`, `header`, `2`, and then `parsehttpheader2`, which joins four: whether someone writes
/// `GitHub` or `github` must not matter. `read_file` and `read-file` are two words. A run of Chinese, Japanese or Korean is given as pairs
/// of letters, because there are no spaces between its words.
pub fn split(text: &str, mut found: impl FnMut(Word<'_>)) {
    let mut buffer = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(char::is_alphanumeric) {
        rest = &rest[start..];
        let end = rest.find(|c: char| !is_part_of_word(c)).unwrap_or(rest.len());
        let (run, after) = rest.split_at(end);
        rest = after;
        if run.is_ascii() {
            identifier(run, &mut buffer, &mut found);
        } else {
            foreign(run, &mut buffer, &mut found);
        }
    }
}

/// The Snowball English stem of a lower-case word: `retries`, `retried` and `retry` are `retri`.
///
/// Words of fewer than three letters and those with anything but `a` to `z` stay as they are.
pub(crate) fn stem(word: &str) -> std::borrow::Cow<'_, str> {
    if word.len() < 3 || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return word.into();
    }
    Stemmer::create(Algorithm::English).stem(word)
}

/// Whether a lower-case word says nothing about what is wanted.
pub fn is_stop_word(word: &str) -> bool {
    word.len() < 8 && STOP_WORDS.binary_search(&word).is_ok()
}

/// The first bytes of a text, at most so many, cut between two letters.
pub(crate) fn cut(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}

fn is_part_of_word(c: char) -> bool {
    // Accents may be letters of their own that follow the one they belong to.
    c.is_alphanumeric() || matches!(c, '\u{300}'..='\u{36f}')
}

/// A run of ASCII letters and digits.
fn identifier(run: &str, buffer: &mut String, found: &mut impl FnMut(Word<'_>)) {
    let bytes = run.as_bytes();
    let (mut at, mut parts) = (0, 0);
    while at < bytes.len() {
        let end = part_end(bytes, at);
        buffer.clear();
        buffer.push_str(cut(&run[at..end], LONGEST));
        buffer.make_ascii_lowercase();
        found(Word { text: buffer, joins: 0 });
        (at, parts) = (end, parts + 1);
    }
    if parts > 1 && run.len() <= LONGEST {
        buffer.clear();
        buffer.push_str(run);
        buffer.make_ascii_lowercase();
        found(Word { text: buffer, joins: parts });
    }
}

/// Where the part of an identifier ends that begins at `start`.
fn part_end(bytes: &[u8], start: usize) -> usize {
    let count = |from: usize, is: fn(&u8) -> bool| bytes[from..].iter().take_while(|byte| is(byte)).count();
    if bytes[start].is_ascii_digit() {
        return start + count(start, u8::is_ascii_digit);
    }
    let capitals = start + count(start, u8::is_ascii_uppercase);
    let small = capitals + count(capitals, u8::is_ascii_lowercase);
    // `HTTPHeader`: the last of several capitals begins the next word, unless it is only a plural as in `URLs`.
    let is_plural = small == capitals + 1 && bytes[capitals] == b's';
    if capitals > start + 1 && small > capitals && !is_plural { capitals - 1 } else { small }
}

/// A run with other letters than those of ASCII: as it is, in lower case, but without spaces between words.
fn foreign(run: &str, buffer: &mut String, found: &mut impl FnMut(Word<'_>)) {
    let mut rest = run;
    while let Some(first) = rest.chars().next() {
        let has_spaces = !is_without_spaces(first);
        let end = rest.find(|c| is_without_spaces(c) == has_spaces).unwrap_or(rest.len());
        let (part, after) = rest.split_at(end);
        rest = after;
        if has_spaces {
            buffer.clear();
            buffer.extend(cut(part, LONGEST).chars().flat_map(char::to_lowercase));
            found(Word { text: buffer, joins: 0 });
            continue;
        }
        let mut letters = part.char_indices().map(|(at, _)| at).chain([part.len()]);
        let (mut start, mut middle) = (letters.next().unwrap_or(0), letters.next().unwrap_or(part.len()));
        let mut is_alone = true;
        for end in letters {
            found(Word { text: &part[start..end], joins: 0 });
            (start, middle, is_alone) = (middle, end, false);
        }
        if is_alone {
            found(Word { text: &part[start..middle], joins: 0 });
        }
    }
}

/// Letters of writing systems that put no spaces between words.
fn is_without_spaces(c: char) -> bool {
    matches!(c, '\u{0e00}'..='\u{0eff}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn words(text: &str) -> Vec<(String, usize)> {
        let mut found = Vec::new();
        split(text, |word| found.push((word.text.to_owned(), word.joins)));
        found
    }

    fn parts(text: &str) -> String {
        let parts = words(text).into_iter().filter(|(_, joins)| *joins == 0).map(|(text, _)| text);
        parts.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn identifiers_are_taken_apart() {
        for (text, expected) in [
            ("read_file", "read file"),
            ("readFile", "read file"),
            ("READ-FILE.now", "read file now"),
            ("parseHTTPHeader2", "parse http header 2"),
            ("lists URLs and PDFs", "lists urls and pdfs"),
            ("mcp__github__get_me", "mcp github get me"),
            ("utf8 v2.1", "utf 8 v 2 1"),
            ("", ""),
            ("_-_ …", ""),
        ] {
            assert_eq!(parts(text), expected, "{text}");
        }
    }

    #[test]
    fn an_identifier_is_also_one_word() {
        let expected = [("git", 0), ("hub", 0), ("github", 2), ("api", 0)];
        assert_eq!(words("GitHub API"), expected.map(|(text, joins)| (text.to_owned(), joins)));
    }

    #[test]
    fn letters_of_the_world_are_words() {
        assert_eq!(parts("Größe ändern"), "größe ändern");
        assert_eq!(parts("查询天气"), "查询 询天 天气");
        assert_eq!(parts("天"), "天");
        assert_eq!(parts("PDF文件convert"), "pdf 文件 convert");
        assert_eq!(parts("погода в Москве"), "погода в москве");
        assert_eq!(parts("cafe\u{301}"), "cafe\u{301}");
        assert_eq!(parts("🚀 rocket👍"), "rocket");
    }

    #[test]
    fn the_list_of_stop_words_is_sorted() {
        assert!(STOP_WORDS.is_sorted());
        assert!(STOP_WORDS.iter().all(|word| word.len() < 8 && is_stop_word(word)));
        assert!(!is_stop_word("weather") && !is_stop_word(""));
    }

    #[test]
    fn texts_are_cut_between_letters() {
        assert_eq!((cut("größe", 3), cut("größe", 4), cut("ab", 9)), ("gr", "grö", "ab"));
    }

    proptest! {
        #[test]
        fn every_word_is_lower_case_short_and_not_empty(text in "\\PC{0,200}") {
            split(&text, |word| {
                assert!(!word.text.is_empty());
                assert!(word.text.chars().count() <= LONGEST * 3, "{}", word.text);
                assert!(!word.text.bytes().any(|byte| byte.is_ascii_uppercase()));
                assert!(!stem(word.text).is_empty());
            });
        }

        #[test]
        fn case_styles_give_the_same_words(words in prop::collection::vec("[a-z]{2,8}", 1..5)) {
            let camel: String = words.iter().map(|word| word[..1].to_uppercase() + &word[1..]).collect();
            for text in [words.join("_"), words.join("-"), words.join(" "), camel] {
                assert_eq!(parts(&text), words.join(" "));
            }
        }
    }
}
