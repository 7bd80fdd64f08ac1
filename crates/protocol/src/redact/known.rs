//! Secrets whose values are known.

use std::{
    borrow::Cow,
    collections::VecDeque,
    fmt,
    sync::{Arc, PoisonError, RwLock},
};

use super::without;

/// How many values are remembered; of more, the oldest are forgotten.
const MAX_VALUES: usize = 4096;
/// A shorter text cannot be told from others that are no secret.
const MIN_LENGTH: usize = 4;

/// What is at the end of a text that was cut, perhaps in the middle of a secret.
const CUT: char = '…';

/// The values of secrets that servers were started with, to take them out of texts.
///
/// What a server writes, or an error says about its URL, may contain them in places where nothing suggests a secret. Clones
/// are the same list.
#[derive(Clone, Default)]
pub struct KnownSecrets(Arc<RwLock<VecDeque<Arc<str>>>>);

impl KnownSecrets {
    /// Adds a value. Each line of it counts, because texts are shown by lines, and so does its form in JSON.
    pub fn add(&self, value: &str) {
        let in_json = crate::encode_string(value);
        // Without the quotes around it, and with those in it.
        let in_json = in_json.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or_default();
        let mut values = self.0.write().unwrap_or_else(PoisonError::into_inner);
        for text in value.lines().chain([in_json]) {
            if text.len() < MIN_LENGTH || values.iter().any(|known| **known == *text) {
                continue;
            }
            if values.len() == MAX_VALUES {
                values.pop_front();
            }
            values.push_back(text.into());
        }
    }

    /// Returns a text without the values.
    pub fn hide<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let values = self.0.read().unwrap_or_else(PoisonError::into_inner);
        if values.is_empty() {
            return Cow::Borrowed(text);
        }
        let ranges = values.iter().flat_map(|value| {
            memchr::memmem::find_iter(text.as_bytes(), value.as_bytes()).map(|at| at..at + value.len())
        });
        let cut = text.strip_suffix(CUT).into_iter().flat_map(|kept| {
            let beginning = |value: &Arc<str>| {
                (1..value.len())
                    .rev()
                    .find(|end| value.is_char_boundary(*end) && kept.ends_with(&value[..*end]))
            };
            values.iter().filter_map(beginning).map(|length| kept.len() - length..kept.len())
        });
        without(text, ranges.chain(cut).collect())
    }
}

impl fmt::Debug for KnownSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KnownSecrets")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values_are_hidden_wherever_they_are() {
        let known = KnownSecrets::default();
        assert!(matches!(known.hide("hunter2"), Cow::Borrowed("hunter2")));
        for value in ["hunter2", "hunter2-long", "first line\nsecond \"line\"", "abc"] {
            known.add(value);
        }
        for (text, shown) in [
            ("it is hunter2, is it?", "it is ***, is it?"),
            ("xhunter2-longx hunter2", "x***x ***"),
            ("second \"line\" of it", "*** of it"),
            (r#"{"key":"first line\nsecond \"line\""}"#, r#"{"key":"***"}"#),
            ("abc is too short", "abc is too short"),
            ("it was hunter…", "it was ***…"),
            ("it was hunter", "it was hunter"),
        ] {
            assert_eq!(known.hide(text), shown);
        }
        assert_eq!(format!("{known:?}"), "KnownSecrets");
    }
}
