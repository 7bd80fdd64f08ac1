//! Edits of a message that leave every other byte alone.

use std::ops::Range;

use bytes::Bytes;
use smallvec::SmallVec;

use crate::{Fields, Rope, Span};

/// A set of edits of one text.
///
/// Edits may be added in any order but must not overlap; insertions at the same place keep the order in which they
/// were added.
#[derive(Debug)]
pub struct Splice<'a> {
    text: &'a Bytes,
    edits: SmallVec<[Edit; 4]>,
    new: NewText,
}

/// What the edits bring, one behind the other. It is mostly short (ids, names, a few fields), so it is kept where it is.
pub(crate) type NewText = SmallVec<[u8; 128]>;

#[derive(Debug)]
struct Edit {
    span: Span,
    /// Where the new text stands in [`Splice::new`].
    new: Range<usize>,
}

impl<'a> Splice<'a> {
    /// Starts with no edits.
    pub fn new(text: &'a Bytes) -> Self {
        Self { text, edits: SmallVec::new(), new: SmallVec::new() }
    }

    /// Puts `new`, which is JSON text or part of it, in the place of `span`.
    ///
    /// Line breaks in `new` become blanks, so that an edit cannot break a message into two.
    pub fn replace(&mut self, span: Span, new: impl AsRef<[u8]>) -> &mut Self {
        self.edit(span, |text| text.extend_from_slice(new.as_ref()))
    }

    /// Puts an object in the place of `span`. Values are JSON text, keys need no escaping.
    pub fn replace_object<K: AsRef<[u8]>, V: AsRef<[u8]>>(
        &mut self,
        span: Span,
        fields: impl IntoIterator<Item = (K, V)>,
    ) -> &mut Self {
        self.edit(span, |text| push_object(text, fields))
    }

    /// Inserts fields at the front of an object. `value` is JSON text, `key` needs no escaping.
    ///
    /// Add at most one insertion per object: the comma is decided by what stands there now.
    pub fn insert_fields(&mut self, object: &Fields, fields: &[(&str, &str)]) -> &mut Self {
        self.insert(object, |text| {
            text.reserve(length_of(fields));
            push_fields(text, fields.iter().copied());
        })
    }

    /// Inserts a field that is itself an object at the front of an object, as [`Splice::insert_fields`].
    pub(crate) fn insert_object(&mut self, object: &Fields, key: &str, fields: &[(&str, &str)]) -> &mut Self {
        self.insert(object, |text| {
            text.reserve(length_of(&[(key, "{},")]) + length_of(fields));
            push_key(text, key.as_bytes());
            push_object(text, fields.iter().copied());
        })
    }

    fn insert(&mut self, object: &Fields, write: impl FnOnce(&mut NewText)) -> &mut Self {
        let at = object.span.start + 1;
        self.edit(Span { start: at, end: at }, |text| {
            write(text);
            if !object.entries.is_empty() {
                text.push(b',');
            }
        })
    }

    /// Puts what `write` appends in the place of `span`.
    pub(crate) fn edit(&mut self, span: Span, write: impl FnOnce(&mut NewText)) -> &mut Self {
        let start = self.new.len();
        write(&mut self.new);
        blank_line_breaks(&mut self.new[start..]);
        self.edits.push(Edit { span, new: start..self.new.len() });
        self
    }

    /// The edited text.
    pub fn finish(mut self) -> Rope {
        self.edits.sort_by_key(|edit| (edit.span.start, edit.span.end)); // an insertion goes before what it precedes
        let cut: usize = self.edits.iter().map(|edit| edit.span.range().len()).sum();
        let length = self.text.len() + self.new.len() - cut;
        if length < Rope::FLAT { self.flat(length).into() } else { self.in_pieces() }
    }

    /// Small texts are copied in one go: that is cheaper than carrying their pieces.
    fn flat(self, length: usize) -> Bytes {
        let mut flat = Vec::with_capacity(length);
        let mut at = 0;
        for Edit { span, new } in self.edits {
            debug_assert!(at <= span.range().start, "edits overlap");
            flat.extend_from_slice(&self.text[at..span.range().start]);
            flat.extend_from_slice(&self.new[new]);
            at = span.range().end;
        }
        flat.extend_from_slice(&self.text[at..]);
        flat.into()
    }

    /// Large texts keep what is not edited where it is.
    fn in_pieces(self) -> Rope {
        let all_new = Bytes::from(self.new.into_vec());
        let mut pieces: SmallVec<[Bytes; 8]> = SmallVec::new();
        let mut at = 0;
        for Edit { span, new } in self.edits {
            debug_assert!(at <= span.range().start, "edits overlap");
            pieces.push(self.text.slice(at..span.range().start));
            pieces.push(all_new.slice(new));
            at = span.range().end;
        }
        pieces.push(self.text.slice(at..));
        Rope::from_pieces(pieces)
    }
}

/// Nearly no new text has a line break, and looking for one is far cheaper than writing every byte anew.
fn blank_line_breaks(mut text: &mut [u8]) {
    while let Some(at) = memchr::memchr2(b'\n', b'\r', text) {
        text[at] = b' ';
        text = &mut text[at + 1..];
    }
}

/// Appends an object.
pub(crate) fn push_object<K: AsRef<[u8]>, V: AsRef<[u8]>>(
    text: &mut NewText,
    fields: impl IntoIterator<Item = (K, V)>,
) {
    text.push(b'{');
    push_fields(text, fields);
    text.push(b'}');
}

/// How much room fields take, at most: what a client says of itself need not grow into its place step by step.
fn length_of(fields: &[(&str, &str)]) -> usize {
    fields.iter().map(|(key, value)| "\"\":,".len() + key.len() + value.len()).sum()
}

fn push_fields<K: AsRef<[u8]>, V: AsRef<[u8]>>(text: &mut NewText, fields: impl IntoIterator<Item = (K, V)>) {
    let mut is_first = true;
    for (key, value) in fields {
        if !std::mem::take(&mut is_first) {
            text.push(b',');
        }
        push_key(text, key.as_ref());
        text.extend_from_slice(value.as_ref());
    }
}

fn push_key(text: &mut NewText, key: &[u8]) {
    text.push(b'"');
    text.extend_from_slice(key);
    text.extend_from_slice(b"\":");
}
