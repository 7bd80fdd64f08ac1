//! The table of English inside the program: texts about the same thing have vectors that point the same way.
//!
//! A text is a bag of words; its vector is the sum of the rows of its words, brought to length one. How much a word counts is the length of
//! its row, which was learned with it. There is no network to run, and nothing is loaded: the rows are read where the program has them.
//! `docs/tool-search.md` describes how the table was made and how well it does.

mod file;

use std::{collections::HashMap, sync::LazyLock};

pub use self::file::{Draft, FileError, Table};
use crate::words::{self, Word};

/// Numbers in a row.
pub const DIM: usize = 256;

/// The table made by `cargo xtask model english`.
static BUILT_IN: &[u8] = include_bytes!("english/table.bin");

impl Table<'static> {
    /// The table in the program.
    pub fn built_in() -> &'static Self {
        static TABLE: LazyLock<Table<'static>> =
            LazyLock::new(|| Table::parse(BUILT_IN).expect("the table in the program was tested with it"));
        &TABLE
    }
}

impl Table<'_> {
    /// Gives the number of every word of a text that the table knows, in order. Numerals and words that say nothing are left out.
    pub fn numbers(&self, text: &str, found: impl FnMut(u32)) {
        self.numbers_with(&mut KnownWords::default(), text, found);
    }

    /// The same, with what was looked up before.
    pub(crate) fn numbers_with(&self, known: &mut KnownWords, text: &str, mut found: impl FnMut(u32)) {
        let mut parts: Vec<Option<u32>> = Vec::new();
        words::split(text, |Word { text, joins }| {
            // Only words by themselves may be replaced by related ones, so the two kinds must not share what is remembered.
            let number = if joins > 0 { self.exact(text) } else { self.remembered(known, text) };
            if joins == 0 {
                parts.push(number);
            } else if number.is_some() {
                // `GitHub` is `github`, and neither `git` nor `hub`.
                parts.truncate(parts.len().saturating_sub(joins));
                parts.push(number);
            }
        });
        parts.into_iter().flatten().for_each(&mut found);
    }

    fn remembered(&self, known: &mut KnownWords, word: &str) -> Option<u32> {
        if let Some(number) = known.0.get(word) {
            return *number;
        }
        let number = self.look_up(word);
        known.0.insert(word.into(), number);
        number
    }

    /// The number of a word, or of one that differs in its ending only.
    fn look_up(&self, word: &str) -> Option<u32> {
        let is_numeral = word.bytes().all(|byte| byte.is_ascii_digit());
        if is_numeral || words::is_stop_word(word) {
            return None;
        }
        self.exact(word).or_else(|| self.related(word))
    }
}

/// Words that were looked up, while many texts are read.
#[derive(Debug, Default)]
pub(crate) struct KnownWords(HashMap<Box<str>, Option<u32>>);

/// The sum of rows of a text.
#[derive(Debug, Clone)]
pub(crate) struct Sum([f32; DIM]);

impl Default for Sum {
    fn default() -> Self {
        Self([0.0; DIM])
    }
}

impl Sum {
    /// Adds the words of a text, each as often as it stands there, but the more often the less.
    pub(crate) fn add(&mut self, table: &Table<'_>, known: &mut KnownWords, text: &str, weight: f32) {
        let mut numbers = Vec::new();
        table.numbers_with(known, text, |number| numbers.push(number));
        numbers.sort_unstable();
        for run in numbers.chunk_by(|a, b| a == b) {
            table.add_row(run[0], weight * (1.0 + (run.len() as f32).ln()), &mut self.0);
        }
    }

    /// The vector of the text.
    pub(crate) fn vector(&self) -> Vector {
        let largest = self.0.iter().fold(0.0_f32, |most, value| most.max(value.abs()));
        let mut values = [0_i8; DIM];
        if largest > 0.0 {
            values
                .iter_mut()
                .zip(&self.0)
                .for_each(|(rounded, value)| *rounded = (value / largest * 127.0).round() as i8);
        }
        let length = values.iter().map(|value| f32::from(*value).powi(2)).sum::<f32>().sqrt();
        Vector { values, scale: if length > 0.0 { 1.0 / length } else { 0.0 } }
    }
}

/// A direction, in bytes: a quarter of the memory, and the same order of results.
#[derive(Debug, Clone)]
pub(crate) struct Vector {
    values: [i8; DIM],
    /// What brings it to length one; 0 for a text without known words.
    scale: f32,
}

impl Vector {
    /// How alike two texts are: the cosine, from -1 to 1.
    pub(crate) fn cosine(&self, other: &Self) -> f32 {
        let mut sum = 0_i32;
        for (a, b) in self.values.iter().zip(&other.values) {
            sum += i32::from(*a) * i32::from(*b);
        }
        sum as f32 * self.scale * other.scale
    }
}
