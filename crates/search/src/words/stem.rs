//! Words that differ only in their ending, made one.

use std::{borrow::Cow, cell::RefCell, collections::HashMap};

use rust_stemmers::{Algorithm, Stemmer};

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

    proptest::proptest! {
        #[test]
        fn any_word_has_a_stem(word in "\\PC{0,20}|[a-z]{0,20}") {
            assert_eq!(stem(&word).is_empty(), word.is_empty());
            assert_eq!(stem(&word).as_bytes().first(), word.as_bytes().first(), "features rely on it");
        }
    }
}
