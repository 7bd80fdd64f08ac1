//! The table as one file, used as it is: nothing is unpacked before a word is looked up.
//!
//! ```text
//! "toolbayE"      magic
//! u32 u32 u32     numbers in a row, words, bytes of all words together (little endian, as everything)
//! [u32]           where each word ends
//! [u8]            the words, sorted
//! [f32]           the scale of each row
//! [u4]            the rows: the low halves of a row's bytes are the first half of its numbers, the high ones the second, so that
//!                 many can be read at once; a number `n` is `(n - 7.5) * scale`
//! ```

use super::DIM;
use crate::words;

const MAGIC: &[u8; 8] = b"toolbayE";
/// So many words with the same beginning are looked at for one that differs in its ending.
const MOST_RELATED: usize = 40;

/// Why a file is no table for this program.
#[derive(Debug, PartialEq, Eq)]
pub enum FileError {
    /// Something else.
    Magic,
    /// Made for another length of rows.
    Dimensions(u32),
    /// The parts do not add up.
    Length,
}

impl std::fmt::Display for FileError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Magic => write!(f, "not a table: it must begin with `toolbayE`"),
            Self::Dimensions(found) => write!(f, "rows have {found} numbers, this program wants {DIM}"),
            Self::Length => write!(f, "the table is damaged: it is too short or too long"),
        }
    }
}

impl std::error::Error for FileError {}

/// A table before it is written.
#[derive(Debug, Default)]
pub struct Draft {
    /// Sorted, each once, in lower case.
    pub words: Vec<String>,
    /// A row of [`DIM`] numbers for each word.
    pub rows: Vec<f32>,
}

impl Draft {
    /// The file. Each row is rounded to 16 values, at the scale that changes it least.
    pub fn write(&self) -> Vec<u8> {
        let text = self.words.concat();
        let mut file = MAGIC.to_vec();
        for number in [DIM, self.words.len(), text.len()] {
            file.extend((number as u32).to_le_bytes());
        }
        let mut end = 0;
        for word in &self.words {
            end += word.len() as u32;
            file.extend(end.to_le_bytes());
        }
        file.extend(text.bytes());
        let scales: Vec<f32> = self.rows.chunks(DIM).map(best_scale).collect();
        file.extend(scales.iter().flat_map(|scale| scale.to_le_bytes()));
        for (row, scale) in self.rows.chunks(DIM).zip(&scales) {
            let (low, high) = row.split_at(DIM / 2);
            file.extend(
                low.iter().zip(high).map(|(low, high)| round(*low, *scale) | round(*high, *scale) << 4),
            );
        }
        file
    }
}

/// The nearest of the 16 values.
fn round(value: f32, scale: f32) -> u8 {
    (value / scale + 7.5).round().clamp(0.0, 15.0) as u8
}

/// Large values are cut off where that makes the many small ones more exact.
fn best_scale(row: &[f32]) -> f32 {
    let largest = row.iter().fold(f32::MIN_POSITIVE, |most, value| most.max(value.abs()));
    let error = |scale: f32| -> f32 {
        row.iter().map(|value| ((f32::from(round(*value, scale)) - 7.5) * scale - value).powi(2)).sum()
    };
    let scales = (10..=40).map(|step| largest / 7.5 * step as f32 / 40.0);
    scales.min_by(|a, b| error(*a).total_cmp(&error(*b))).unwrap_or(largest)
}

/// A file taken apart; everything stays where it is.
#[derive(Debug, Clone, Copy)]
pub struct Table<'a> {
    ends: &'a [[u8; 4]],
    text: &'a [u8],
    scales: &'a [[u8; 4]],
    rows: &'a [u8],
}

impl<'a> Table<'a> {
    /// Reads a file.
    pub fn parse(file: &'a [u8]) -> Result<Self, FileError> {
        let rest = file.strip_prefix(MAGIC).ok_or(FileError::Magic)?;
        let (head, rest) = rest.split_at_checked(12).ok_or(FileError::Length)?;
        let number = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        if number(0) as usize != DIM {
            return Err(FileError::Dimensions(number(0)));
        }
        let (words, letters) = (number(4) as usize, number(8) as usize);
        let bytes = words.checked_mul(4).ok_or(FileError::Length)?;
        let (ends, rest) = rest.split_at_checked(bytes).ok_or(FileError::Length)?;
        let (text, rest) = rest.split_at_checked(letters).ok_or(FileError::Length)?;
        let (scales, rows) = rest.split_at_checked(bytes).ok_or(FileError::Length)?;
        if words.checked_mul(DIM / 2) != Some(rows.len()) {
            return Err(FileError::Length);
        }
        Ok(Self { ends: ends.as_chunks().0, text, scales: scales.as_chunks().0, rows })
    }

    /// How many words there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is no word at all.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The word of a number below [`Table::len`].
    pub fn word(&self, number: u32) -> &'a str {
        let end = |at: usize| self.ends.get(at).map_or(0, |end| u32::from_le_bytes(*end) as usize);
        let start = (number as usize).checked_sub(1).map_or(0, end);
        let bytes = self.text.get(start..end(number as usize)).unwrap_or_default();
        std::str::from_utf8(bytes).unwrap_or_default()
    }

    /// The number of a word as it is written.
    pub fn exact(&self, word: &str) -> Option<u32> {
        let at = self.first_from(word);
        (at < self.len() as u32 && self.word(at) == word).then_some(at)
    }

    /// The number of the shortest word with the same stem.
    pub(super) fn related(&self, word: &str) -> Option<u32> {
        let stem = words::stem(word);
        if stem.len() < 3 || !stem.is_ascii() {
            return None;
        }
        // `retri` is the stem of `retry`: the last letter may be another.
        let beginning = &stem[..stem.len() - 1];
        let first = self.first_from(beginning);
        let alike = (first..self.len() as u32).take_while(|number| self.word(*number).starts_with(beginning));
        alike
            .take(MOST_RELATED)
            .filter(|number| words::stem(self.word(*number)) == stem)
            .min_by_key(|number| self.word(*number).len())
    }

    /// Adds `weight` times the row of a word.
    pub(super) fn add_row(&self, number: u32, weight: f32, to: &mut [f32; DIM]) {
        let at = number as usize;
        let (Some(scale), Some(row)) = (self.scales.get(at), self.rows.get(at * DIM / 2..(at + 1) * DIM / 2))
        else {
            return;
        };
        let factor = weight * f32::from_le_bytes(*scale);
        let (low, high) = to.split_at_mut(DIM / 2);
        for ((low, high), byte) in low.iter_mut().zip(high).zip(row) {
            *low += factor * (f32::from(byte & 15) - 7.5);
            *high += factor * (f32::from(byte >> 4) - 7.5);
        }
    }

    /// The number of the first word that is not before `word`.
    fn first_from(&self, word: &str) -> u32 {
        let (mut low, mut high) = (0, self.len() as u32);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.word(middle) < word { low = middle + 1 } else { high = middle }
        }
        low
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn draft() -> Draft {
        let rows = (0..3 * DIM).map(|at| ((at * 37 % 101) as f32 / 50.0 - 1.0).powi(3)).collect();
        Draft { words: ["github", "größe", "retry"].map(str::to_owned).into(), rows }
    }

    #[test]
    fn what_was_written_is_read() {
        let file = draft().write();
        let table = Table::parse(&file).unwrap();
        assert_eq!(
            ["github", "größe", "retry", "a", "z"].map(|word| table.exact(word)),
            [Some(0), Some(1), Some(2), None, None]
        );
        assert_eq!((table.word(1), table.word(9)), ("größe", ""));
    }

    #[test]
    fn words_are_known_with_other_endings_and_as_identifiers() {
        let file = draft().write();
        let table = Table::parse(&file).unwrap();
        let mut found = Vec::new();
        table.numbers("Retries the GitHub Größe, 42 gith", |number| found.push(number));
        assert_eq!(found, [2, 0, 1]);
        // `ReTries` is two words that the table does not have, and no ending makes it `retry`; `retries` after it is.
        found.clear();
        table.numbers("ReTries retries ReTries", |number| found.push(number));
        assert_eq!(found, [2]);
    }

    #[test]
    fn rows_are_close_to_what_they_were() {
        let draft = draft();
        let file = draft.write();
        let table = Table::parse(&file).unwrap();
        let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
        for (number, row) in (0..).zip(draft.rows.chunks(DIM)) {
            let mut read = [0.0; DIM];
            table.add_row(number, 2.0, &mut read);
            let cosine = dot(row, &read) / (dot(row, row) * dot(&read, &read)).sqrt();
            assert!(cosine > 0.99, "{cosine}");
            assert!((dot(&read, &read) / dot(row, row) - 4.0).abs() < 0.2);
        }
    }

    #[test]
    fn what_is_no_table_is_refused_with_a_reason() {
        let mut file = draft().write();
        assert_eq!(Table::parse(b"something").err(), Some(FileError::Magic));
        assert_eq!(Table::parse(&file[..file.len() - 1]).err(), Some(FileError::Length));
        file[8] = 7;
        assert_eq!(Table::parse(&file).err(), Some(FileError::Dimensions(263)));
    }

    #[test]
    fn the_table_in_the_program_is_sorted_and_whole() {
        let table = Table::built_in();
        assert!(table.len() > 20_000);
        assert!((1..table.len() as u32).all(|number| table.word(number - 1) < table.word(number)));
        assert!(table.exact("weather").is_some());
    }

    proptest! {
        #[test]
        fn no_damage_makes_it_panic(at in 0_usize..80, byte in any::<u8>(), cut in 0_usize..500) {
            let mut file = draft().write();
            file.truncate(file.len() - cut.min(file.len()));
            if let Some(place) = file.get_mut(at) {
                *place = byte;
            }
            if let Ok(table) = Table::parse(&file) {
                let mut sum = [0.0; DIM];
                table.numbers("retries GitHub größe", |number| table.add_row(number, 1.0, &mut sum));
            }
        }
    }
}
