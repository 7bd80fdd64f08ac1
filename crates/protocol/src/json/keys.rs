//! Keys that must be unambiguous.

use std::{borrow::Cow, collections::HashSet};

use smallvec::SmallVec;

use crate::{ParseError, Span, json::string::decode_inner};

/// Keys of the envelope that decide what a message is.
pub(crate) const ENVELOPE: [&str; 6] = ["jsonrpc", "id", "method", "params", "result", "error"];
/// Keys of `params` that decide where a call goes or what it may do.
pub(crate) const PARAMS: [&str; 8] =
    ["name", "uri", "arguments", "_meta", "cursor", "ref", "taskId", "requestState"];

/// Watches the keys of one object: none may stand twice, none may differ from a known one in case only.
#[derive(Debug)]
pub(crate) struct KeyChecker<'a> {
    text: &'a [u8],
    known: &'static [&'static str],
    seen_known: u32,
    /// Unknown keys so far. A handful is compared one by one; more go to `many`.
    few: SmallVec<[Span; 8]>,
    /// Whether one of them is written with escapes, so that what is written is not what is meant.
    has_escapes: bool,
    many: Option<HashSet<Cow<'a, str>>>,
}

impl<'a> KeyChecker<'a> {
    pub(crate) fn new(text: &'a [u8], known: &'static [&'static str]) -> Self {
        Self { text, known, seen_known: 0, few: SmallVec::new(), has_escapes: false, many: None }
    }

    /// Takes the next key; returns the known name it is, if it is one.
    #[inline]
    pub(crate) fn check(&mut self, key: Span) -> Result<Option<&'static str>, ParseError> {
        let written = &self.text[key.range()];
        match self.known.iter().position(|known| known.as_bytes() == written) {
            Some(index) => self.check_known(index),
            None => self.check_unknown(key),
        }
    }

    fn check_known(&mut self, index: usize) -> Result<Option<&'static str>, ParseError> {
        if self.seen_known & 1 << index != 0 {
            return Err(self.duplicate(self.known[index]));
        }
        self.seen_known |= 1 << index;
        Ok(Some(self.known[index]))
    }

    /// A key that is not written like a known one, though it may still mean one or look like one.
    fn check_unknown(&mut self, key: Span) -> Result<Option<&'static str>, ParseError> {
        let meaning = self.meaning(key);
        if let Some(index) = self.known.iter().position(|known| folds_to(&meaning, known)) {
            let known = self.known[index];
            if meaning == known {
                return self.check_known(index); // written with escapes
            }
            return Err(ParseError::CaseVariant { object: self.object(), key: meaning.into_owned(), known });
        }
        if self.few.len() < self.few.inline_size() {
            self.has_escapes |= matches!(meaning, Cow::Owned(_));
            let is_same = |other: &Span| match self.has_escapes {
                true => self.meaning(*other) == meaning,
                false => self.text[other.range()] == *meaning.as_bytes(),
            };
            if self.few.iter().any(is_same) {
                return Err(self.duplicate(&meaning));
            }
            self.few.push(key);
            return Ok(None);
        }
        let text = self.text;
        let meaning_of = |other: &Span| decode_inner(&text[other.range()]);
        let many = self.many.get_or_insert_with(|| self.few.iter().map(meaning_of).collect());
        if many.contains(&meaning) {
            return Err(self.duplicate(&meaning));
        }
        many.insert(meaning);
        Ok(None)
    }

    fn meaning(&self, key: Span) -> Cow<'a, str> {
        decode_inner(&self.text[key.range()])
    }

    fn duplicate(&self, key: &str) -> ParseError {
        ParseError::DuplicateKey { object: self.object(), key: key.to_owned() }
    }

    fn object(&self) -> &'static str {
        match self.known.first() {
            Some(&"jsonrpc") => "message",
            Some(_) => "params",
            None => "_meta",
        }
    }
}

/// Whether a lenient reader might take `key` for `known`: equal but for case.
///
/// Four characters outside ASCII fold into it: the long s and the Kelvin sign for readers that follow Unicode (Go),
/// and the Turkish i, dotted and not, for readers that compare character by character (Java).
fn folds_to(key: &str, known: &str) -> bool {
    let fold = |c: char| match c {
        'ſ' => 's',
        '\u{212a}' => 'k',
        'ı' | 'İ' => 'i',
        other => other.to_ascii_lowercase(),
    };
    // Equal folded texts have equal numbers of characters, and `known` is ASCII.
    key.len() >= known.len()
        && key.len() <= known.len() * 3
        && key.chars().map(fold).eq(known.chars().map(fold))
}
