//! Texts to vectors.

use std::{borrow::Cow, cell::RefCell, sync::LazyLock};

use super::{DIM, FileError, Vector, Vocabulary, file};
use crate::words;

/// The table made by `cargo xtask model`.
static BUILT_IN: &[u8] = include_bytes!("table.bin");

/// How many parts of a path describe a file: its own name and two folders.
const PATH_PARTS: usize = 3;

/// Where a word stands. It weighs differently in each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextField {
    /// A query.
    Query,
    /// Code, comments included.
    Text,
    /// What the code defines.
    Names,
    /// Where it is.
    Path,
}

impl TextField {
    /// All, in the order of the file.
    pub const ALL: [Self; 4] = [Self::Query, Self::Text, Self::Names, Self::Path];
}

/// Words, what they weigh and where they point.
#[derive(Debug)]
pub struct Model {
    vocabulary: Vocabulary,
    /// By [`TextField`], then by word; the scale of the row is in it.
    weights: [Vec<f32>; 4],
    /// A row of [`DIM`] bytes for each word.
    rows: Cow<'static, [u8]>,
}

thread_local! {
    static BAG: RefCell<Bag> = RefCell::default();
}

impl Model {
    /// The model in the program. The first call takes about a millisecond, and nothing before it any time.
    pub fn built_in() -> &'static Self {
        static MODEL: LazyLock<Model> = LazyLock::new(|| {
            Model::parse(Cow::Borrowed(BUILT_IN)).expect("the table in the program was tested with it")
        });
        &MODEL
    }

    /// Reads a model file.
    pub fn parse(file: Cow<'static, [u8]>) -> Result<Self, FileError> {
        let parts = file::parse(&file)?;
        let (vocabulary, weights, start) = (parts.vocabulary, parts.weights, parts.rows.start);
        let rows = match file {
            Cow::Borrowed(bytes) => Cow::Borrowed(&bytes[start..]),
            Cow::Owned(mut bytes) => Cow::Owned(bytes.split_off(start)),
        };
        Ok(Self { vocabulary, weights, rows })
    }

    /// Returns the vector of a query.
    pub fn query(&self, text: &str) -> Vector {
        let mut sum = [0.0; DIM];
        self.add(TextField::Query, [text], &mut sum);
        Vector::from_sum(&sum)
    }

    /// Returns the vector of a piece of code, from its path, the names it defines and its text. Each may be empty.
    pub fn code(&self, path: &str, names: &[String], text: &str) -> Vector {
        let mut sum = [0.0; DIM];
        self.add(TextField::Text, [text], &mut sum);
        self.add(TextField::Names, names.iter().map(String::as_str), &mut sum);
        self.add(TextField::Path, path_parts(path), &mut sum);
        Vector::from_sum(&sum)
    }

    /// Which words there are.
    pub fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    fn add<'a>(&self, field: TextField, texts: impl IntoIterator<Item = &'a str>, sum: &mut [f32; DIM]) {
        let weights = &self.weights[field as usize];
        BAG.with_borrow_mut(|bag| {
            for text in texts {
                bag.add(&self.vocabulary, text);
            }
            bag.drain(|number, times| {
                let at = number as usize;
                let factor = weights[at] * times;
                let row = &self.rows[at * DIM..][..DIM];
                for (sum, value) in sum.iter_mut().zip(row) {
                    *sum += factor * f32::from(value.cast_signed());
                }
            });
        });
    }
}

/// Returns the parts of a path that describe a file: its name without the extension, then the last folders.
pub fn path_parts(path: &str) -> impl Iterator<Item = &str> {
    let mut parts = path.rsplit('/').take(PATH_PARTS);
    let file = parts.next().map(|file| match file.rfind('.') {
        Some(dot) if dot > 0 => &file[..dot],
        _ => file,
    });
    file.into_iter().chain(parts)
}

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
