//! Cutting by lines, for everything without a grammar, and line numbers.

use std::ops::Range;

use super::{Chunk, ChunkKind, MAX, TARGET};

/// Chunks of whole lines, ended at blank lines where one is near.
pub(super) fn cut(text: &str) -> Vec<Chunk> {
    let mut lines = Lines::new(text);
    pieces(text, 0..text.len())
        .into_iter()
        .map(|bytes| chunk(&mut lines, bytes, ChunkKind::Text, Vec::new()))
        .collect()
}

pub(super) fn chunk(
    lines: &mut Lines<'_>,
    bytes: Range<usize>,
    kind: ChunkKind,
    names: Vec<String>,
) -> Chunk {
    let (start_line, end_line) = lines.of(&bytes);
    Chunk { bytes, start_line, end_line, kind, names, scopes: Vec::new(), symbol: None }
}

/// A part of a text in pieces of whole lines, none longer than a chunk may be; a line that is longer is cut itself.
pub(super) fn pieces(text: &str, part: Range<usize>) -> Vec<Range<usize>> {
    let mut pieces = Vec::new();
    let mut start = part.start;
    while start < part.end {
        let mut end = piece_end(text, start, part.end);
        if text[end..part.end].trim().is_empty() {
            end = part.end;
        }
        pieces.push(start..end);
        start = end;
    }
    pieces
}

/// Where a piece that begins at `start` ends: after the first blank line past the target, or where the target is
/// reached, or, in a long line, where the limit is.
fn piece_end(text: &str, start: usize, limit: usize) -> usize {
    let mut end = start;
    for line in text[start..limit].split_inclusive('\n') {
        let next = end + line.len();
        if next - start > MAX || (end - start > TARGET / 2 && line.trim().is_empty()) {
            break;
        }
        end = next;
        if end - start >= TARGET {
            break;
        }
    }
    if end == start {
        end = (start + MAX).min(limit);
        // Space, if one is near, else between two letters.
        if let Some(space) =
            text.as_bytes()[start..end].iter().rposition(|byte| matches!(byte, b' ' | b',' | b';' | b'}'))
            && space > TARGET
        {
            end = start + space + 1;
        }
        while !text.is_char_boundary(end) {
            end += 1;
        }
    }
    end
}

/// Line numbers of ascending places in a text, counted once.
#[derive(Debug)]
pub(super) struct Lines<'a> {
    text: &'a str,
    at: usize,
    line: u32,
}

impl<'a> Lines<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0, line: 1 }
    }

    /// First and last line of a part that are not blank. Parts must come in order.
    pub(super) fn of(&mut self, bytes: &Range<usize>) -> (u32, u32) {
        let part = &self.text[bytes.clone()];
        let start = bytes.start + part.len() - part.trim_start().len();
        let end = bytes.start + part.trim_end().len();
        if start >= end {
            let line = self.number(bytes.start);
            return (line, line);
        }
        let first = self.number(start);
        (first, self.number(end))
    }

    fn number(&mut self, at: usize) -> u32 {
        let between = self.text.as_bytes().get(self.at..at).unwrap_or_default();
        let lines = memchr::memchr_iter(b'\n', between).count();
        self.line = self.line.saturating_add(u32::try_from(lines).unwrap_or(u32::MAX));
        self.at = at;
        self.line
    }
}
