//! Locations in files, and problems there.

use std::fmt;

use strsim::osa_distance;

/// A place in a file, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Location {
    /// The line.
    pub line: usize,
    /// The character in it.
    pub column: usize,
}

impl Location {
    /// The first character.
    pub const START: Self = Self { line: 1, column: 1 };

    pub(crate) fn of(text: &str, byte: usize) -> Self {
        Self::START.after(text.get(..byte).unwrap_or(text))
    }

    /// The place behind a text that begins here.
    fn after(self, text: &str) -> Self {
        let column = |text: &str| text.chars().count();
        match text.rfind('\n') {
            Some(newline) => Self {
                line: self.line + text.matches('\n').count(),
                column: column(&text[newline + 1..]) + 1,
            },
            None => Self { column: self.column + column(text), ..self },
        }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// A place as parsers give it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Position {
    Byte(usize),
    Known(Location),
}

impl Position {
    /// Computes the location of one byte; for many, use [`LineIndex`].
    pub(crate) fn place(self, text: &str) -> Location {
        match self {
            Self::Byte(byte) => Location::of(text, byte),
            Self::Known(place) => place,
        }
    }
}

/// The places in a text. Lines and columns are counted once: a file can be long, and have much that has a place.
pub(crate) struct LineIndex<'a> {
    text: &'a str,
    /// The byte and place of the first character in each block.
    blocks: Vec<(usize, Location)>,
}

impl<'a> LineIndex<'a> {
    /// Bytes that are counted again for each place.
    const BLOCK: usize = 1024;

    pub(crate) fn of(text: &'a str) -> Self {
        let mut blocks = vec![(0, Location::START)];
        let (mut byte, mut place) = (0, Location::START);
        while text.len() - byte > Self::BLOCK {
            let next = text.ceil_char_boundary(byte + Self::BLOCK);
            place = place.after(&text[byte..next]);
            byte = next;
            blocks.push((byte, place));
        }
        Self { text, blocks }
    }

    pub(crate) fn place(&self, at: Position) -> Location {
        let byte = match at {
            Position::Byte(byte) => self.text.floor_char_boundary(byte),
            Position::Known(place) => return place,
        };
        let index = self.blocks.partition_point(|(start, _)| *start <= byte) - 1;
        let (start, place) = self.blocks[index];
        place.after(&self.text[start..byte])
    }
}

/// A problem of one entry, or of something beside the entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The entry; none if it is about the rest of the file.
    pub server: Option<String>,
    /// What is wrong with it.
    pub message: String,
    /// Its location.
    pub location: Location,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.server {
            Some(server) => write!(f, "{}: server `{server}`: {}", self.location, self.message),
            None => write!(f, "{}: {}", self.location, self.message),
        }
    }
}

/// A message about an entry, and the key that it is about, if any.
#[derive(Debug, Clone)]
pub(crate) struct Remark {
    pub(crate) message: String,
    pub(crate) at: Option<Position>,
}

impl From<String> for Remark {
    fn from(message: String) -> Self {
        Self { message, at: None }
    }
}

/// The one of `known` that is closest to `key`, if it is close.
pub(crate) fn nearest<'a>(key: &str, known: &[&'a str]) -> Option<&'a str> {
    let plain = |text: &str| text.to_lowercase().replace(['-', '_'], "");
    let key = plain(key);
    let allowed = (key.chars().count() / 3).max(1);
    let near = known.iter().map(|other| (osa_distance(&key, &plain(other)), *other));
    near.filter(|(distance, _)| *distance <= allowed).min().map(|(_, other)| other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_the_same_however_they_are_counted() {
        let text = format!("a\nä{}\n\n{}ü\nend", "x".repeat(3000), "é\n".repeat(1500));
        let places = LineIndex::of(&text);
        for (byte, _) in text.char_indices() {
            assert_eq!(places.place(Position::Byte(byte)), Location::of(&text, byte), "{byte}");
        }
        assert_eq!(places.place(Position::Byte(text.len() + 9)), Location::of(&text, text.len()));
        assert_eq!(LineIndex::of("").place(Position::Byte(0)), Location::START);
    }

    #[test]
    fn close_keys_are_found_and_far_ones_are_not() {
        let known = ["command", "startup_timeout", "url", "env"];
        for (key, meant) in [
            ("comand", Some("command")),
            ("startupTimeout", Some("startup_timeout")),
            ("startup_timout", Some("startup_timeout")),
            ("uri", Some("url")),
            ("colour", None),
        ] {
            assert_eq!(nearest(key, &known), meant, "{key}");
        }
    }
}
