//! The embedding model inside the program: a static table of word vectors.
//!
//! A text is a bag of words; its vector is the weighted sum of the rows of its words, brought to length one. What a word
//! weighs is learned, and differs between queries, code, names and paths. There is no network to run: a vector costs little more
//! than to split the text. `docs/model.md` describes how the table was made and how well it does.

mod embed;
mod file;
mod vector;
mod vocabulary;

pub use self::{
    embed::{Model, TextField, path_parts},
    file::{Draft, FileError},
    vector::{DIM, Probe, Vector},
    vocabulary::Vocabulary,
};
