//! Patterns of names, in which `*` matches any characters and `?` matches one.

use std::{fmt, str::FromStr};

/// Longer patterns are mistakes.
const MAX_LENGTH: usize = 256;

/// A pattern that fits whole texts. Case counts, as it does for names in MCP.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Pattern {
    text: Box<str>,
    form: Form,
}

/// What is compared, so that most patterns are one comparison.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Form {
    Any,
    Exact,
    /// The length of what comes before the only `*`, which is last.
    Prefix(usize),
    /// What stands between stars. The first and the last are tied to the ends of the text.
    Pieces(Box<[Box<str>]>),
}

/// Why a text is no pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPattern {
    /// It is empty.
    #[error("a pattern must not be empty; `*` matches everything")]
    Empty,
    /// It is too long.
    #[error("a pattern may have at most {MAX_LENGTH} bytes")]
    TooLong,
}

impl Pattern {
    /// The pattern as it is written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether it fits a text.
    ///
    /// Takes time in proportion to the text, and to the longest piece with a `?` if there is one.
    pub fn matches(&self, text: &str) -> bool {
        match &self.form {
            Form::Any => true,
            Form::Exact => *self.text == *text,
            Form::Prefix(length) => text.as_bytes().starts_with(&self.text.as_bytes()[..*length]),
            Form::Pieces(pieces) => pieces_match(pieces, text),
        }
    }
}

impl FromStr for Pattern {
    type Err = InvalidPattern;

    fn from_str(text: &str) -> Result<Self, InvalidPattern> {
        if text.is_empty() {
            return Err(InvalidPattern::Empty);
        }
        if text.len() > MAX_LENGTH {
            return Err(InvalidPattern::TooLong);
        }
        let form = match text.find(['*', '?']) {
            None => Form::Exact,
            Some(0) if text == "*" => Form::Any,
            Some(at) if at + 1 == text.len() && text.ends_with('*') => Form::Prefix(at),
            Some(_) => Form::Pieces(text.split('*').map(Box::from).collect()),
        };
        Ok(Self { text: text.into(), form })
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn pieces_match(pieces: &[Box<str>], text: &str) -> bool {
    let [first, middle @ .., last] = pieces else {
        // Only `?`, and no star.
        return pieces.first().is_some_and(|only| piece_at(only, text) == Some(text.len()));
    };
    let Some(mut rest) = piece_at(first, text).map(|end| &text[end..]) else { return false };
    for piece in middle {
        match find_piece(piece, rest) {
            Some(end) => rest = &rest[end..],
            None => return false,
        }
    }
    ends_with_piece(last, rest)
}

/// Where a piece ends that fits the beginning of a text.
fn piece_at(piece: &str, text: &str) -> Option<usize> {
    if !piece.contains('?') {
        return text.starts_with(piece).then_some(piece.len());
    }
    let mut characters = text.char_indices();
    for wanted in piece.chars() {
        let (_, found) = characters.next()?;
        if wanted != '?' && wanted != found {
            return None;
        }
    }
    Some(characters.offset())
}

/// Where the first occurrence of a piece ends.
fn find_piece(piece: &str, text: &str) -> Option<usize> {
    if !piece.contains('?') {
        return text.find(piece).map(|start| start + piece.len());
    }
    let starts = text.char_indices().map(|(start, _)| start).chain([text.len()]);
    { starts }.find_map(|start| piece_at(piece, &text[start..]).map(|end| start + end))
}

fn ends_with_piece(piece: &str, text: &str) -> bool {
    if !piece.contains('?') {
        return text.ends_with(piece);
    }
    let mut characters = text.chars().rev();
    piece.chars().rev().all(|wanted| match characters.next() {
        Some(found) => wanted == '?' || wanted == found,
        None => false,
    })
}

/// A pattern of tools: of the names that their servers give them or, if it contains `__`, of the names with the prefix of the
/// server, as clients see them. So no server can name a tool like one of another server.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ToolPattern {
    pattern: Pattern,
    is_qualified: bool,
}

impl ToolPattern {
    /// The pattern as it is written.
    pub fn as_str(&self) -> &str {
        self.pattern.as_str()
    }

    pub(crate) fn matches(&self, tool: &crate::ToolIdentity<'_>) -> bool {
        match self.is_qualified {
            // The name that clients see is cut where it would be too long.
            true => self.pattern.matches(tool.qualified) || self.pattern.matches(tool.exposed),
            false => self.pattern.matches(tool.name),
        }
    }
}

impl FromStr for ToolPattern {
    type Err = InvalidPattern;

    fn from_str(text: &str) -> Result<Self, InvalidPattern> {
        Ok(Self { pattern: text.parse()?, is_qualified: text.contains("__") })
    }
}

impl fmt::Display for ToolPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.pattern.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_fits_whole_texts() {
        for (pattern, fits, others) in [
            ("read_file", &["read_file"][..], &["read_files", "a_read_file", "", "Read_file"][..]),
            ("read_*", &["read_", "read_file"], &["read", "unread_x"]),
            ("*_file", &["_file", "read_file", "a_file_file"], &["_file_", "file"]),
            ("*a*b*", &["ab", "xaxbx", "aab"], &["ba", "a", "b"]),
            ("a*b*c", &["abc", "a-b-b-c"], &["a-c-b", "ab", "ac"]),
            ("a*a", &["aa", "aba"], &["a"]),
            ("?", &["x", "ü"], &["", "xx"]),
            ("?*?", &["xy", "xüz"], &["", "x"]),
            ("*?x", &["ax", "üx"], &["x", "xa"]),
            ("**", &["", "a"], &[]),
            ("*", &["", "anything"], &[]),
        ] {
            let parsed: Pattern = pattern.parse().unwrap();
            fits.iter().for_each(|text| assert!(parsed.matches(text), "{pattern} {text}"));
            others.iter().for_each(|text| assert!(!parsed.matches(text), "{pattern} {text}"));
        }
        assert_eq!("".parse::<Pattern>(), Err(InvalidPattern::Empty));
        assert_eq!("x".repeat(257).parse::<Pattern>(), Err(InvalidPattern::TooLong));
    }

    #[test]
    fn a_long_text_takes_no_time() {
        let pattern: Pattern = "*a".repeat(100).parse().unwrap();
        assert!(!pattern.matches(&"a".repeat(99)));
        assert!(!pattern.matches(&format!("{}b", "a".repeat(1_000_000))));
    }
}
