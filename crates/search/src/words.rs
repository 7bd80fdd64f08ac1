//! Text as words: identifiers split, stemmed, stop words known.

mod split;

use rust_stemmers::{Algorithm, Stemmer};
use std::{borrow::Cow, cell::RefCell, collections::HashMap};

pub use split::{WordPiece, each, split};

/// The Snowball English stem of a lower-case word: `retries`, `retried` and `retry` are `retri`.
///
/// Words of fewer than three letters and those with anything but `a` to `z` stay as they are.
pub fn stem(word: &str) -> Cow<'_, str> {
    if word.len() < 3 || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return Cow::Borrowed(word);
    }
    Stemmer::create(Algorithm::English).stem(word)
}

/// Most words that a thread remembers.
const REMEMBERED: usize = 4096;

thread_local! {
    static KNOWN: RefCell<HashMap<Box<str>, Box<str>>> = RefCell::default();
}

/// The same for words that come again and again: the thread remembers the last few thousand.
pub fn stem_again(word: &str, found: impl FnOnce(&str)) {
    KNOWN.with_borrow_mut(|known| {
        if let Some(stem) = known.get(word) {
            return found(stem);
        }
        if known.len() >= REMEMBERED {
            known.clear();
        }
        let stem = stem(word);
        found(&stem);
        known.insert(word.into(), stem.into());
    });
}

/// Sorted, for the search by halves.
#[rustfmt::skip]
const STOP_WORDS: &[&str] = &[
    "a", "about", "after", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be", "because", "been", "before", "being",
    "both", "but", "by", "can", "could", "d", "did", "do", "does", "doing", "don", "each", "either", "etc", "every", "for", "from",
    "had", "has", "have", "having", "he", "her", "here", "his", "how", "i", "if", "in", "into", "is", "it", "its", "itself", "just",
    "ll", "may", "me", "might", "must", "my", "of", "on", "or", "our", "re", "s", "shall", "she", "should", "so", "some", "such",
    "t", "than", "that", "the", "their", "them", "then", "there", "these", "they", "this", "those", "to", "too", "us", "ve", "very",
    "was", "we", "were", "what", "when", "where", "which", "while", "who", "whose", "why", "will", "with", "would", "you", "your",
];

/// How long the words are that begin with a byte, a bit for each length: it decides for most words of a text.
const LENGTHS: [u8; 256] = {
    let mut table = [0; 256];
    let mut at = 0;
    while at < STOP_WORDS.len() {
        let word = STOP_WORDS[at].as_bytes();
        table[word[0] as usize] |= 1 << word.len();
        at += 1;
    }
    table
};

/// Whether a lower-case word is too common in English to be searched for.
pub fn is_stop_word(word: &str) -> bool {
    let bytes = word.as_bytes();
    let lengths = bytes.first().map_or(0, |first| LENGTHS[*first as usize]);
    bytes.len() < 8 && lengths & (1 << bytes.len()) != 0 && STOP_WORDS.binary_search(&word).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endings_go() {
        for (word, expected) in [
            ("retries", "retri"),
            ("retry", "retri"),
            ("connected", "connect"),
            ("io", "io"),
            ("größe", "größe"),
        ] {
            assert_eq!(stem(word), expected);
            for _ in 0..2 {
                stem_again(word, |stem| assert_eq!(stem, expected));
            }
        }
    }

    #[test]
    fn the_list_is_sorted() {
        assert!(STOP_WORDS.is_sorted());
        assert!(STOP_WORDS.iter().all(|word| is_stop_word(word)));
        assert!(is_stop_word("where") && is_stop_word("your") && is_stop_word("a"));
        assert!(!is_stop_word("retry") && !is_stop_word("not") && !is_stop_word(""));
    }

    proptest::proptest! {
        #[test]
        fn any_word_has_a_stem(word in "\\PC{0,20}|[a-z]{0,20}") {
            assert_eq!(stem(&word).is_empty(), word.is_empty());
            assert_eq!(stem(&word).as_bytes().first(), word.as_bytes().first(), "features rely on it");
        }
    }
}
