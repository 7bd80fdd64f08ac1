//! Spans inside a message, and the fields of one object.

use std::ops::Range;

use smallvec::SmallVec;

use crate::json::string::key_is;

/// A stretch of a message's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Index of the first byte.
    pub start: u32,
    /// Index just past the last byte.
    pub end: u32,
}

impl Span {
    pub(crate) fn new(start: usize, end: usize) -> Self {
        // Transports cap messages far below 4 GiB; `Message::parse` refuses longer text.
        Self { start: start as u32, end: end as u32 }
    }

    /// The span as a range for slicing.
    pub fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    /// An empty span at this span's start.
    pub fn before(self) -> Self {
        Self { start: self.start, end: self.start }
    }
}

/// One `"key": value` of an object.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// The key between its quotes, as written.
    pub key: Span,
    /// The whole value.
    pub value: Span,
}

/// The fields of one object of a message, in the order they were written.
#[derive(Debug, Clone)]
pub struct Fields {
    /// The whole object, braces included.
    pub span: Span,
    /// Its fields.
    pub entries: SmallVec<[Field; 4]>,
    /// Whether a key is written with escapes, so that what is written is not what is meant.
    pub(crate) has_escapes: bool,
}

impl Fields {
    /// The value of the field `name`, or nothing.
    ///
    /// Keys written with escapes are compared by what they mean.
    pub fn get(&self, text: &[u8], name: &str) -> Option<Span> {
        self.find(text, name).map(|index| self.entries[index].value)
    }

    /// The index of the field `name`, or nothing.
    pub fn find(&self, text: &[u8], name: &str) -> Option<usize> {
        self.entries.iter().position(|field| self.is(field, text, name))
    }

    /// Whether one of the fields is called `name`.
    pub fn is(&self, field: &Field, text: &[u8], name: &str) -> bool {
        let written = &text[field.key.range()];
        if self.has_escapes { key_is(written, name) } else { written == name.as_bytes() }
    }

    /// The spans to cut so that the named fields go away and the commas still fit.
    pub fn cuts(&self, text: &[u8], names: &[&str]) -> SmallVec<[Span; 2]> {
        let start = |index: usize| self.entries[index].key.start - 1;
        let end = |index: usize| self.entries[index].value.end;
        let goes = |index: usize| names.iter().any(|name| self.is(&self.entries[index], text, name));
        let mut cuts = SmallVec::new();
        let mut index = 0;
        while index < self.entries.len() {
            let first = index;
            while index < self.entries.len() && goes(index) {
                index += 1;
            }
            if index > first {
                cuts.push(if index < self.entries.len() {
                    Span { start: start(first), end: start(index) }
                } else if first > 0 {
                    Span { start: end(first - 1), end: end(index - 1) }
                } else {
                    Span { start: start(first), end: end(index - 1) }
                });
            }
            index += 1;
        }
        cuts
    }
}
