//! What grep would give for the words of a question: the chunks with most of them, ties by how often.

use std::cmp::Reverse;

use toolbay_search::{chunk::Chunk, words};

/// A file in lower case, with its chunks.
#[derive(Debug)]
pub(super) struct File {
    pub(super) path: String,
    lower: String,
    chunks: Vec<Chunk>,
}

impl File {
    pub(super) fn new(path: &str, text: &str, chunks: Vec<Chunk>) -> Self {
        Self { path: path.to_owned(), lower: text.to_ascii_lowercase(), chunks }
    }
}

/// A chunk with a word of the question.
#[derive(Debug)]
pub(super) struct Match<'a> {
    pub(super) file: &'a File,
    pub(super) chunk: &'a Chunk,
    distinct: usize,
    count: usize,
}

/// The words of a question that are worth a grep.
pub(super) fn terms(question: &str) -> Vec<String> {
    let mut terms: Vec<String> = Vec::new();
    words::split(question, |word| {
        if word.len() > 2 && !words::is_stop_word(word) && !terms.iter().any(|known| known == word) {
            terms.push(word.to_owned());
        }
    });
    terms
}

/// The best chunks for a question, in order.
pub(super) fn search<'a>(files: &'a [File], question: &str, most: usize) -> Vec<Match<'a>> {
    let terms = terms(question);
    let mut matches = Vec::new();
    for file in files {
        for chunk in &file.chunks {
            let Some(text) = file.lower.get(chunk.bytes.clone()) else { continue };
            let counts = terms.iter().map(|term| text.matches(term.as_str()).count());
            let (mut distinct, mut count) = (0, 0);
            for one in counts {
                distinct += usize::from(one > 0);
                count += one;
            }
            if distinct > 0 {
                matches.push(Match { file, chunk, distinct, count });
            }
        }
    }
    // A stable sort: what is left equal comes in the order of the tree.
    matches.sort_by_key(|one| Reverse((one.distinct, one.count)));
    matches.truncate(most);
    matches
}

/// Files with words of a question: those with most of them first, then those with most of their lines.
pub(super) fn files<'a>(files: &'a [File], question: &str) -> Vec<&'a str> {
    let terms = terms(question);
    let mut found: Vec<(usize, usize, &str)> = files
        .iter()
        .map(|file| {
            let distinct = terms.iter().filter(|term| file.lower.contains(term.as_str())).count();
            let lines = file
                .lower
                .lines()
                .filter(|line| terms.iter().any(|term| line.contains(term.as_str())))
                .count();
            (distinct, lines, file.path.as_str())
        })
        .filter(|(distinct, ..)| *distinct > 0)
        .collect();
    found.sort_by_key(|(distinct, lines, _)| Reverse((*distinct, *lines)));
    found.into_iter().map(|(_, _, path)| path).collect()
}
