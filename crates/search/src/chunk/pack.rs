//! The places where a text may be cut, made chunks of a good size.

use std::ops::Range;

use super::grammar::Members;
use super::lines::{self, Lines};
use super::outline::{Cut, Outline};
use super::{Chunk, ChunkKind, MAX, SMALL, TARGET};

/// A chunk's names are at most so many: a generated list of constants needs no more.
const MOST_NAMES: usize = 40;

/// Chunks along the outline of a text.
pub(super) fn pack(text: &str, outline: &Outline) -> Vec<Chunk> {
    let mut pack = Pack { text, outline, lines: Lines::new(text), chunks: Vec::new(), open: Open::at(0) };
    let first = outline.cuts.first().map_or(text.len(), |cut| cut.at);
    pack.add(0..first, Cut { at: 0, item: None, owner: None });
    for (index, cut) in outline.cuts.iter().enumerate() {
        let end = outline.cuts.get(index + 1).map_or(text.len(), |next| next.at);
        pack.add(cut.at..end, *cut);
    }
    pack.close();
    pack.chunks
}

struct Pack<'a> {
    text: &'a str,
    outline: &'a Outline,
    lines: Lines<'a>,
    chunks: Vec<Chunk>,
    open: Open,
}

/// The chunk that is being filled.
struct Open {
    bytes: Range<usize>,
    /// Without space around it.
    size: usize,
    /// Each definition that begins in it, and how much of it is in it.
    items: Vec<(usize, usize)>,
    owner: Option<usize>,
}

impl Open {
    fn at(start: usize) -> Self {
        Self { bytes: start..start, size: 0, items: Vec::new(), owner: None }
    }
}

impl Pack<'_> {
    fn add(&mut self, bytes: Range<usize>, cut: Cut) {
        let size = self.text[bytes.clone()].trim().len();
        if size > MAX {
            let mut part = cut;
            for piece in lines::pieces(self.text, bytes) {
                let size = self.text[piece.clone()].trim().len();
                self.add_piece(piece, size, part);
                // What follows the first piece is inside of the definition.
                part.owner = part.item.or(part.owner);
                part.item = None;
            }
        } else {
            self.add_piece(bytes, size, cut);
        }
    }

    fn add_piece(&mut self, bytes: Range<usize>, size: usize, cut: Cut) {
        if size > 0 && self.open.size > 0 && !self.fits(size, cut) {
            self.close();
        }
        if self.open.size == 0 {
            self.open.owner = cut.owner;
        }
        if let Some(item) = cut.item {
            self.open.items.push((item, size));
        }
        self.open.bytes.end = bytes.end;
        self.open.size += size;
    }

    /// Whether the next piece may join the open chunk.
    fn fits(&self, size: usize, cut: Cut) -> bool {
        let open = &self.open;
        let total = open.bytes.len() + size;
        let item = cut.item.map(|item| &self.outline.items[item]);
        if item.is_some_and(|item| item.members == Members::Closed && item.whole.len() > MAX) {
            // The first piece of a long definition, which goes on alone.
            return open.size < SMALL && total <= TARGET && self.holds_only_heads();
        }
        let continues = cut.item.is_none() && cut.owner.is_some() && cut.owner == self.last_item();
        let tiny = open.size < SMALL / 2 || size < SMALL / 2;
        if tiny && total <= MAX && (continues || self.holds_only_heads()) {
            return true;
        }
        if total > TARGET {
            return false;
        }
        let one_is_small = open.size < SMALL || size < SMALL;
        if open.size >= SMALL {
            let begins_members = item.is_some_and(|item| item.members == Members::Open);
            let leaves_scope = !self.is_within(cut.owner, self.scope());
            if begins_members || leaves_scope {
                return false;
            }
        }
        continues || open.items.is_empty() || one_is_small
    }

    /// Whether the open chunk has no definition but those whose members follow: `impl Foo {`.
    fn holds_only_heads(&self) -> bool {
        self.open.items.iter().all(|(item, _)| self.outline.items[*item].members == Members::Open)
    }

    /// What the open chunk is inside of.
    fn scope(&self) -> Option<usize> {
        match self.open.items.first() {
            Some((item, _)) => self.outline.items[*item].parent,
            None => self.open.owner,
        }
    }

    fn last_item(&self) -> Option<usize> {
        self.open.items.last().map(|(item, _)| *item).or(self.open.owner)
    }

    fn is_within(&self, mut inner: Option<usize>, outer: Option<usize>) -> bool {
        let Some(outer) = outer else { return true };
        while let Some(item) = inner {
            if item == outer {
                return true;
            }
            inner = self.outline.items[item].parent;
        }
        false
    }

    fn close(&mut self) {
        let next = Open::at(self.open.bytes.end);
        let open = std::mem::replace(&mut self.open, next);
        if open.bytes.is_empty() {
            return;
        }
        if open.size == 0
            && let Some(last) = self.chunks.last_mut()
        {
            last.bytes.end = open.bytes.end; // Blank lines at the end of the text.
            return;
        }
        let items = &self.outline.items;
        let main = open.items.iter().max_by_key(|(_, size)| *size).map(|(item, _)| *item);
        let names =
            open.items.iter().map(|(item, _)| &items[*item]).filter(|item| item.kind != ChunkKind::Impl);
        let mut names: Vec<String> = names.take(MOST_NAMES).map(|item| item.name.clone()).collect();
        names.dedup(); // Equations of one function.
        let mut scopes = Vec::new();
        let mut labels = Vec::new();
        let mut at = match main {
            Some(item) => Some(item),
            None => open.owner,
        };
        let kind = at.map_or(ChunkKind::Code, |item| match (main, items[item].members) {
            (None, Members::Open) => ChunkKind::Code,
            _ => items[item].kind,
        });
        while let Some(item) = at {
            let definition = &items[item];
            labels.push(match definition.keyword {
                "" => definition.name.clone(),
                keyword => format!("{keyword} {}", definition.name),
            });
            if Some(item) != main {
                scopes.push(definition.name.clone());
            }
            if let Some(qualifier) = &definition.qualifier {
                scopes.push(qualifier.clone());
                labels.push(qualifier.clone());
            }
            at = definition.parent;
        }
        scopes.reverse();
        labels.reverse();
        let (start_line, end_line) = self.lines.of(&open.bytes);
        let symbol = (!labels.is_empty()).then(|| labels.join(" › "));
        self.chunks.push(Chunk { bytes: open.bytes, start_line, end_line, kind, names, scopes, symbol });
    }
}
