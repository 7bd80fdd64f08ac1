//! Semantic queries and their words.

use super::term::{self, Terms};
use crate::{tree::RelPath, words};

/// A query in natural language, with names and messages as they stand in the code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// What is looked for.
    pub text: String,
    /// Results to leave out at the front: those of earlier pages.
    pub offset: usize,
    /// How many results to give at most.
    pub limit: usize,
    /// Only in this folder, or only this file.
    pub path: Option<RelPath>,
    /// Only files that these globs take, as ripgrep reads them: `*.rs`, `!tests/**`.
    pub globs: Vec<String>,
    /// Only files of this language, by any name that it goes by.
    pub language: Option<String>,
}

impl Query {
    /// A query of the whole tree.
    pub fn new(text: impl Into<String>, limit: usize) -> Self {
        let text = text.into();
        Self { text, offset: 0, limit, path: None, globs: Vec::new(), language: None }
    }
}

/// A word of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) stem: String,
    pub(super) term: u64,
}

/// A name in a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Symbol {
    pub(super) name: String,
    /// As it is looked up, see [`term::joined`].
    pub(super) joined: String,
}

/// A parsed query.
#[derive(Debug, Default)]
pub(super) struct ParsedQuery {
    /// Each once, without stop words.
    pub(super) words: Vec<Word>,
    /// The terms of all words, in order.
    pub(super) sequence: Vec<u64>,
    /// What is looked up: words and whole identifiers.
    pub(super) terms: Vec<u64>,
    pub(super) symbols: Vec<Symbol>,
    /// The whole query is the first of `symbols`.
    pub(super) is_symbol: bool,
    /// What stands in the code exactly so, if it does: what is in quotes, or all of it.
    literals: Vec<String>,
}

/// Queries are cut here: more words than any query has.
const MOST_WORDS: usize = 64;

impl ParsedQuery {
    pub(super) fn new(text: &str) -> Self {
        let mut parsed = Self::default();
        let mut terms = Terms::default();
        parsed.words(text, |word| !words::is_stop_word(word));
        if parsed.words.is_empty() {
            // «what is this»: better than nothing.
            parsed.words(text, |_| true);
        }
        parsed.terms = parsed.words.iter().map(|word| word.term).collect();
        terms.each(text, |term| {
            if !parsed.terms.contains(&term) && parsed.terms.len() < MOST_WORDS {
                parsed.terms.push(term);
            }
        });
        parsed.find_symbols(text);
        parsed.find_literals(text);
        parsed
    }

    /// Whether the stem of a word can be in the query.
    pub(super) fn may_mean(&self, word: &str) -> bool {
        self.words.iter().any(|parsed| parsed.stem.as_bytes().first() == word.as_bytes().first())
    }

    /// Texts whose chunks come first: messages, and a name of several words that is the whole query.
    pub(super) fn literals(&self) -> impl Iterator<Item = &str> {
        let name = self.symbols.first().filter(|symbol| self.is_symbol && is_like_a_name(&symbol.name));
        self.literals.iter().map(String::as_str).chain(name.map(|symbol| symbol.name.as_str()))
    }

    fn words(&mut self, text: &str, wanted: impl Fn(&str) -> bool) {
        words::split(text, |word| {
            if self.sequence.len() < MOST_WORDS && wanted(word) {
                let stem = words::stem(word);
                let term = term::of_stem(&stem);
                self.sequence.push(term);
                if !self.words.iter().any(|known| known.term == term) {
                    self.words.push(Word { stem: stem.into_owned(), term });
                }
            }
        });
    }

    fn find_symbols(&mut self, text: &str) {
        let text = text.trim();
        let whole = text.trim_end_matches("()").trim_matches('`');
        let joins = [".", "::", "#", "->", "/"];
        let is_path = !whole.is_empty()
            && !whole.contains(char::is_whitespace)
            && whole.chars().all(|letter| letter.is_alphanumeric() || "_.:#->/$".contains(letter));
        if is_path {
            let last = joins.iter().fold(whole, |rest, join| rest.rsplit(join).next().unwrap_or(rest));
            self.is_symbol = self.add_symbol(last);
        }
        let mut quoted = false;
        for piece in text.split('`') {
            for run in piece.split(|letter: char| !letter.is_alphanumeric() && letter != '_' && letter != '$')
            {
                if (quoted && !run.is_empty()) || is_like_a_name(run) {
                    self.add_symbol(run);
                }
            }
            quoted = !quoted;
        }
    }

    fn add_symbol(&mut self, name: &str) -> bool {
        const MOST: usize = 8;
        let joined = term::joined(name);
        if joined.is_empty() || self.symbols.len() >= MOST {
            return false;
        }
        if !self.symbols.iter().any(|symbol| symbol.joined == joined) {
            self.symbols.push(Symbol { name: name.to_owned(), joined });
        }
        true
    }

    fn find_literals(&mut self, text: &str) {
        const SHORTEST: usize = 6;
        let text = text.trim();
        let mut parts = text.split('"');
        parts.next();
        while let (Some(inside), Some(_)) = (parts.next(), parts.next()) {
            if inside.trim().len() >= SHORTEST {
                self.literals.push(inside.trim().to_owned());
            }
        }
        if text.len() >= SHORTEST && text.contains(char::is_whitespace) && !text.contains('"') {
            self.literals.push(text.to_owned());
        }
    }
}

/// `read_file`, `readFile` and `HttpClient`, but neither `Read` nor `HTTP`.
fn is_like_a_name(run: &str) -> bool {
    let bytes = run.as_bytes();
    let inner = run.trim_matches('_');
    inner.contains('_')
        || bytes.windows(2).any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn symbols(text: &str) -> Vec<String> {
        ParsedQuery::new(text).symbols.into_iter().map(|symbol| symbol.name).collect()
    }

    #[test]
    fn words_are_stems_without_stop_words() {
        let parsed = ParsedQuery::new("where are the retries limited, and who retries?");
        let stems: Vec<&str> = parsed.words.iter().map(|word| word.stem.as_str()).collect();
        assert_eq!(stems, ["retri", "limit"]);
        assert_eq!(parsed.sequence.len(), 3);
        assert!(!ParsedQuery::new("what is this").words.is_empty());
    }

    #[test]
    fn names_are_distinguished_from_words() {
        assert_eq!(symbols("how does readFile call open_file in HTTP"), ["readFile", "open_file"]);
        assert_eq!(symbols("what does `open` do"), ["open"]);
        assert_eq!(symbols("absl::string_view"), ["string_view"]);
        assert!(
            ParsedQuery::new("Router.handle()").is_symbol && !ParsedQuery::new("router handle").is_symbol
        );
    }

    #[test]
    fn messages_are_literals() {
        assert_eq!(
            ParsedQuery::new("who says \"connection refused by\" here").literals,
            ["connection refused by"]
        );
        assert_eq!(ParsedQuery::new("cannot open file").literals, ["cannot open file"]);
        assert!(ParsedQuery::new("retry").literals.is_empty());
    }
}
