//! Words that differ only in their ending, made one.

use std::borrow::Cow;

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
        }
    }

    proptest::proptest! {
        #[test]
        fn any_word_has_a_stem(word in "\\PC{0,20}|[a-z]{0,20}") {
            assert_eq!(stem(&word).is_empty(), word.is_empty());
        }
    }
}
