//! Many texts as counted words.

use std::ops::Range;

use toolbay_search::model::{TextField, Vocabulary};
use toolbay_search::words;

/// A word in a field: `word * 4 + field`.
pub(super) type Slot = u32;

pub(super) fn slot(word: u32, field: TextField) -> Slot {
    word * 4 + field as u32
}

/// Texts, each a run of slots with what the word counts for being there so often.
#[derive(Debug, Default)]
pub(super) struct Bags {
    ends: Vec<usize>,
    pub(super) slots: Vec<Slot>,
    pub(super) times: Vec<f32>,
}

impl Bags {
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn range(&self, at: usize) -> Range<usize> {
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        start..self.ends[at]
    }

    pub(super) fn entries(&self, at: usize) -> impl Iterator<Item = (Slot, f32)> + '_ {
        self.range(at).map(|at| (self.slots[at], self.times[at]))
    }

    pub(super) fn clear(&mut self) {
        self.ends.clear();
        self.slots.clear();
        self.times.clear();
    }

    pub(super) fn push(&mut self, entries: impl Iterator<Item = (Slot, f32)>) {
        for (slot, times) in entries {
            self.slots.push(slot);
            self.times.push(times);
        }
        self.ends.push(self.slots.len());
    }

    /// Adds a text made of fields.
    pub(super) fn push_text(&mut self, words: &Vocabulary, fields: &[(TextField, Vec<&str>)]) {
        let mut found = Vec::new();
        for (field, texts) in fields {
            for text in texts {
                words::split(text, |word| words.pieces(word, |number| found.push(slot(number, *field))));
            }
        }
        found.sort_unstable();
        let runs = found.chunk_by(|a, b| a == b);
        self.push(runs.map(|run| (run[0], 1.0 + (run.len() as f32).ln())));
    }
}
