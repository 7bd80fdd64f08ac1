//! The words of a text, counted.

use super::Vocabulary;
use crate::words;

/// Counts by number of the word. Made once, used for many texts.
#[derive(Debug, Default)]
pub(super) struct Bag {
    counts: Vec<u16>,
    /// Those that are not zero, in order of appearance.
    found: Vec<u32>,
}

impl Bag {
    /// Adds the words of a text.
    pub(super) fn add(&mut self, vocabulary: &Vocabulary, text: &str) {
        self.counts.resize(vocabulary.len(), 0);
        let Self { counts, found } = self;
        words::split(text, |word| {
            vocabulary.pieces(word, |number| {
                let count = &mut counts[number as usize];
                if *count == 0 {
                    found.push(number);
                }
                *count = count.saturating_add(1);
            });
        });
    }

    /// Gives each word once with how much it counts for being there so often, and forgets it.
    pub(super) fn drain(&mut self, mut each: impl FnMut(u32, f32)) {
        for number in self.found.drain(..) {
            let count = std::mem::take(&mut self.counts[number as usize]);
            // Most words stand there once; a logarithm costs as much as their row.
            each(number, if count == 1 { 1.0 } else { 1.0 + f32::from(count).ln() });
        }
    }
}
