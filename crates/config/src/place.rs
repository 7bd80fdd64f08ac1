//! Where something stands in a file, and what is wrong there.

use std::fmt;

/// A place in a file, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The line.
    pub line: usize,
    /// The character in it.
    pub column: usize,
}

impl Place {
    /// The first character.
    pub const START: Self = Self { line: 1, column: 1 };

    pub(crate) fn of(text: &str, byte: usize) -> Self {
        let before = text.get(..byte).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Self { line: before.matches('\n').count() + 1, column: before[line_start..].chars().count() + 1 }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// A place as parsers give it. Lines are counted when somebody asks: files can be long, and messages are few.
#[derive(Debug, Clone, Copy)]
pub(crate) enum At {
    Byte(usize),
    Known(Place),
}

impl At {
    pub(crate) fn place(self, text: &str) -> Place {
        match self {
            Self::Byte(byte) => Place::of(text, byte),
            Self::Known(place) => place,
        }
    }
}

/// What is wrong with one entry, or with something beside the entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The entry; none if it is about the rest of the file.
    pub server: Option<String>,
    /// What is wrong with it.
    pub message: String,
    /// Where it stands.
    pub place: Place,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.server {
            Some(server) => write!(f, "{}: server `{server}`: {}", self.place, self.message),
            None => write!(f, "{}: {}", self.place, self.message),
        }
    }
}

/// What there is to say about an entry, and about which key of it, if it is about one.
#[derive(Debug, Clone)]
pub(crate) struct Remark {
    pub(crate) message: String,
    pub(crate) at: Option<At>,
}

impl From<String> for Remark {
    fn from(message: String) -> Self {
        Self { message, at: None }
    }
}
