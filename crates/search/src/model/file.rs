//! The model as one file.
//!
//! ```text
//! "toolbay\x01"   magic and version
//! u32 u32 u32     dimensions, words, bytes of all words together (little endian, as everything)
//! [u8]            length of each word
//! [u8]            the words
//! [f32] × 4       weights of the words: query, text, names, path; the scale of the row multiplied in
//! [i8]            the rows
//! ```

use std::ops::Range;

use super::{DIM, TextField, Vocabulary};

const MAGIC: &[u8; 8] = b"toolbay\x01";

/// Why a file is no model for this program.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum FileError {
    /// Something else, or of another version.
    #[error("not a model of this version: it must begin with {MAGIC:?}")]
    Magic,
    /// Made for another size of vectors.
    #[error("the model has {0} dimensions, this program wants {DIM}")]
    Dimensions(u32),
    /// The parts do not add up.
    #[error("the model is damaged: {0}")]
    Damaged(&'static str),
}

/// A model before it is written. `rows` may be of any length, so that several can be tried.
#[derive(Debug)]
pub struct Draft {
    /// In order of their numbers, none longer than 255 bytes.
    pub words: Vec<String>,
    /// By [`TextField`], then by word.
    pub weights: [Vec<f32>; 4],
    /// All rows, one after the other.
    pub rows: Vec<f32>,
}

impl Draft {
    /// The file. Rows are rounded to one byte per number, with a scale of their own that goes into the weights.
    pub fn write(&self) -> Vec<u8> {
        let dimensions = self.rows.len().checked_div(self.words.len()).unwrap_or(DIM);
        let text: String = self.words.concat();
        let mut file = MAGIC.to_vec();
        for number in [dimensions, self.words.len(), text.len()] {
            file.extend((number as u32).to_le_bytes());
        }
        file.extend(self.words.iter().map(|word| word.len() as u8));
        file.extend(text.bytes());
        let scales: Vec<f32> = self.rows.chunks(dimensions).map(scale).collect();
        for weights in &self.weights {
            file.extend(
                weights.iter().zip(&scales).flat_map(|(weight, scale)| (weight * scale).to_le_bytes()),
            );
        }
        for (row, scale) in self.rows.chunks(dimensions).zip(&scales) {
            file.extend(row.iter().map(|value| ((value / scale).round() as i8).cast_unsigned()));
        }
        file
    }
}

/// The largest value of a row becomes 127.
fn scale(row: &[f32]) -> f32 {
    row.iter().fold(f32::MIN_POSITIVE, |most, value| most.max(value.abs())) / 127.0
}

/// A file taken apart; the rows stay where they are.
pub(super) struct Parts {
    pub(super) vocabulary: Vocabulary,
    pub(super) weights: [Vec<f32>; 4],
    pub(super) rows: Range<usize>,
}

pub(super) fn parse(file: &[u8]) -> Result<Parts, FileError> {
    let mut rest = file.strip_prefix(MAGIC).ok_or(FileError::Magic)?;
    let mut number = || -> Result<u32, FileError> {
        let (bytes, after) =
            rest.split_first_chunk::<4>().ok_or(FileError::Damaged("it ends in its head"))?;
        rest = after;
        Ok(u32::from_le_bytes(*bytes))
    };
    let (dimensions, words, letters) = (number()?, number()? as usize, number()? as usize);
    if dimensions as usize != DIM {
        return Err(FileError::Dimensions(dimensions));
    }
    let mut part = |length: usize| -> Result<&[u8], FileError> {
        let (bytes, after) = rest.split_at_checked(length).ok_or(FileError::Damaged("it ends too early"))?;
        rest = after;
        Ok(bytes)
    };
    let lengths = part(words)?;
    let text = std::str::from_utf8(part(letters)?).map_err(|_| FileError::Damaged("a word is no text"))?;
    let vocabulary = Vocabulary::new(cut(text, lengths)?.into_iter());
    let mut weights = TextField::ALL.map(|_| Vec::new());
    for weights in &mut weights {
        let bytes = part(words.checked_mul(4).ok_or(FileError::Damaged("it has too many words"))?)?;
        weights.extend(bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)));
    }
    if words.checked_mul(DIM) != Some(rest.len()) {
        return Err(FileError::Damaged("there are not as many rows as words"));
    }
    Ok(Parts { vocabulary, weights, rows: file.len() - rest.len()..file.len() })
}

fn cut<'a>(text: &'a str, lengths: &[u8]) -> Result<Vec<&'a str>, FileError> {
    let mut words = Vec::with_capacity(lengths.len());
    let mut rest = text;
    for length in lengths {
        let cut = rest.split_at_checked(usize::from(*length));
        let (word, after) = cut.ok_or(FileError::Damaged("a word ends in the middle of a letter"))?;
        words.push(word);
        rest = after;
    }
    if rest.is_empty() { Ok(words) } else { Err(FileError::Damaged("letters are left over")) }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use proptest::prelude::*;

    use super::{super::Model, *};

    fn draft() -> Draft {
        let mut rows = vec![0.0; 3 * DIM];
        (rows[0], rows[DIM + 1], rows[2 * DIM]) = (2.0, 5.0, 1.0);
        Draft {
            words: ["read", "größe", "get"].map(str::to_owned).into(),
            weights: [(); 4].map(|()| vec![1.0; 3]),
            rows,
        }
    }

    #[test]
    fn what_was_written_is_read() {
        let model = Model::parse(Cow::Owned(draft().write())).unwrap();
        assert_eq!(model.vocabulary().word(1), "größe");
        // `read` and `get` point one way in this table, `größe` another.
        assert!((model.query("get").dot(&model.code("", &[], "read")) - 1.0).abs() < 1e-3);
        assert_eq!(model.query("größe").dot(&model.code("", &["getRead".to_owned()], "")), 0.0);
        assert_eq!(model.query("größe").dot(&model.code("src/größe.rs", &[], "")), 1.0);
    }

    #[test]
    fn what_is_no_model_is_refused_with_a_reason() {
        let file = draft().write();
        assert_eq!(parse(b"toolbay\x02").err(), Some(FileError::Magic));
        assert_eq!(
            parse(&file[..file.len() - 1]).err(),
            Some(FileError::Damaged("there are not as many rows as words"))
        );
        let narrow = Draft { rows: vec![1.0; 3 * 8], ..draft() };
        assert_eq!(parse(&narrow.write()).err(), Some(FileError::Dimensions(8)));
    }

    proptest! {
        #[test]
        fn no_damage_makes_it_panic(at in 0_usize..200, byte in any::<u8>(), cut in 0_usize..2_000) {
            let mut file = draft().write();
            file.truncate(file.len() - cut.min(file.len()));
            if let Some(place) = file.get_mut(at) {
                *place = byte;
            }
            if let Ok(model) = Model::parse(Cow::Owned(file)) {
                model.query("read the größe getting 1");
            }
        }
    }
}
