//! Edits of a message that leave every other byte alone.

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
    edits: SmallVec<[(Span, Patch); 4]>,
}

/// New text is short (ids, names, a few fields), so it is kept where it is.
type Patch = SmallVec<[u8; 48]>;

impl<'a> Splice<'a> {
    /// Starts with no edits.
    pub fn new(text: &'a Bytes) -> Self {
        Self { text, edits: SmallVec::new() }
    }

    /// Puts `new`, which is JSON text or part of it, in the place of `span`.
    ///
    /// Line breaks in `new` become blanks, so that an edit cannot break a message into two.
    pub fn replace(&mut self, span: Span, new: impl AsRef<[u8]>) -> &mut Self {
        let mut patch = Patch::from_slice(new.as_ref());
        for byte in &mut patch {
            if matches!(byte, b'\n' | b'\r') {
                *byte = b' ';
            }
        }
        self.edits.push((span, patch));
        self
    }

    /// Inserts fields at the front of an object. `value` is JSON text, `key` needs no escaping.
    ///
    /// Add at most one insertion per object: the comma is decided by what stands there now.
    pub fn insert_fields(&mut self, object: &Fields, fields: &[(&str, &str)]) -> &mut Self {
        let mut text = String::new();
        for (index, (key, value)) in fields.iter().enumerate() {
            if index > 0 {
                text.push(',');
            }
            text.push('"');
            text.push_str(key);
            text.push_str("\":");
            text.push_str(value);
        }
        if !object.entries.is_empty() {
            text.push(',');
        }
        let at = object.span.start + 1;
        self.replace(Span { start: at, end: at }, text)
    }

    /// The edited text.
    pub fn finish(mut self) -> Rope {
        self.edits.sort_by_key(|(span, _)| (span.start, span.end)); // an insertion goes before what it precedes
        let cut: usize = self.edits.iter().map(|(span, _)| span.range().len()).sum();
        let added: usize = self.edits.iter().map(|(_, new)| new.len()).sum();
        let length = self.text.len() + added - cut;
        if length < Rope::FLAT { self.flat(length).into() } else { self.in_pieces() }
    }

    /// Small texts are copied in one go: that is cheaper than carrying their pieces.
    fn flat(self, length: usize) -> Bytes {
        let mut flat = Vec::with_capacity(length);
        let mut at = 0;
        for (span, new) in &self.edits {
            debug_assert!(at <= span.range().start, "edits overlap");
            flat.extend_from_slice(&self.text[at..span.range().start]);
            flat.extend_from_slice(new);
            at = span.range().end;
        }
        flat.extend_from_slice(&self.text[at..]);
        flat.into()
    }

    /// Large texts keep what is not edited where it is.
    fn in_pieces(self) -> Rope {
        let mut pieces: SmallVec<[Bytes; 8]> = SmallVec::new();
        let mut at = 0;
        for (span, new) in &self.edits {
            debug_assert!(at <= span.range().start, "edits overlap");
            pieces.push(self.text.slice(at..span.range().start));
            pieces.push(Bytes::copy_from_slice(new));
            at = span.range().end;
        }
        pieces.push(self.text.slice(at..));
        Rope::from_pieces(pieces)
    }
}
