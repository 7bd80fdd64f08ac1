//! Words as numbers: what postings are filed under.

use std::collections::HashMap;

use crate::words::{self, WordPiece};

/// The meaning of a term for the chunks or files it is filed for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Space {
    /// They have a word with this stem.
    Word,
    /// They have this identifier of several words.
    Whole,
    /// They define this name.
    Defines,
    /// The file uses this identifier of one word. Counted only.
    Uses,
    /// The file imports something of this name. Counted only.
    Imports,
}

/// The number of a term: a hash that is the same in every process and version of the format.
///
/// Three million terms of a very large tree have one collision in four million trees.
pub(super) fn hash(space: Space, word: &str) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64 ^ (space as u64 + 1);
    for byte in word.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    // The upper bits decide about the place in the dictionary, so every byte must reach them.
    hash ^= hash >> 32;
    hash = hash.wrapping_mul(0xd6e8_feb8_6659_fd93);
    hash ^ (hash >> 32)
}

/// Stands for words that are never searched for.
pub(super) const NONE: u64 = 0;

/// Most words that are remembered with their stem.
const REMEMBERED: usize = 1 << 17;

/// Terms of texts. Keeps the words it has seen, because stemming costs more than all the rest.
#[derive(Debug, Default)]
pub(super) struct Terms {
    /// None for stop words.
    known: HashMap<Box<str>, Option<u64>>,
}

impl Terms {
    /// Yields the terms of a text, in order: stems of words that are no stop words, and whole identifiers.
    pub(super) fn each(&mut self, text: &str, mut found: impl FnMut(u64)) {
        words::each(text, |word, piece| match piece {
            WordPiece::Whole => found(hash(Space::Whole, word)),
            WordPiece::Part => {
                if let Some(term) = self.word(word) {
                    found(term);
                }
            }
        });
    }

    /// The term of one word in lower case, unless it is a stop word.
    pub(super) fn word(&mut self, word: &str) -> Option<u64> {
        if let Some(term) = self.known.get(word) {
            return *term;
        }
        let term = (!words::is_stop_word(word)).then(|| of_stem(&words::stem(word)));
        if self.known.len() >= REMEMBERED {
            self.known.clear();
        }
        self.known.insert(word.into(), term);
        term
    }
}

/// The term of all words with this stem.
pub(super) fn of_stem(stem: &str) -> u64 {
    hash(Space::Word, stem)
}

/// A name as it is looked up: in lower case, without what joins its words.
pub(super) fn joined(name: &str) -> String {
    let mut joined = String::with_capacity(name.len());
    words::split(name, |word| joined.push_str(word));
    joined
}

/// How many files use a name is filed under this.
pub(super) fn uses(name: &str) -> u64 {
    let mut parts = 0;
    words::split(name, |_| parts += 1);
    if parts > 1 { hash(Space::Whole, &joined(name)) } else { hash(Space::Uses, name) }
}

/// Gives the identifiers of a text that are one word, as they are written.
pub(super) fn each_simple_identifier(text: &str, mut found: impl FnMut(&str)) {
    for run in text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_') {
        let bytes = run.as_bytes();
        let simple = bytes.len() > 2
            && bytes.len() < 64
            && bytes[0].is_ascii_alphabetic()
            && bytes[1..].iter().all(u8::is_ascii_lowercase);
        if simple {
            found(run);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_mean_the_same_are_one_term() {
        let mut terms = Terms::default();
        let mut found = Vec::new();
        terms.each("retries of the retryLimit", |term| found.push(term));
        let mut again = Vec::new();
        terms.each("retried RETRY_LIMIT", |term| again.push(term));
        assert_eq!(found[0], again[0]);
        assert_eq!(found[1..], again[1..]);
        assert_eq!(found.len(), 4);
    }

    #[test]
    fn spaces_do_not_mix() {
        assert_ne!(hash(Space::Word, "read"), hash(Space::Defines, "read"));
        assert_eq!(uses("readFile"), uses("read_file"));
        assert_ne!(uses("read"), uses("Read"));
    }
}
