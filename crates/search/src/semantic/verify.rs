//! Confirms results on disk.

use std::collections::HashMap;

use super::{
    rank::features::Candidate,
    segment::{FileRow, text_hash},
    source::TextSource,
    view::View,
};
use crate::chunk::{self, Chunk};

/// A chunk that was found where it should be, or somewhere else in its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Confirmed {
    pub(super) start_line: u32,
    pub(super) end_line: u32,
    pub(super) bytes: std::ops::Range<usize>,
    pub(super) content: String,
}

/// Reads each file once and returns what is there now for each candidate; none for those that are gone.
pub(super) fn confirm(
    view: &View,
    candidates: &[Candidate],
    source: &dyn TextSource,
) -> Vec<Option<Confirmed>> {
    let mut by_file: HashMap<(u32, u32), Vec<usize>> = HashMap::new();
    for (at, candidate) in candidates.iter().enumerate() {
        by_file.entry((candidate.place.part, candidate.row.file)).or_default().push(at);
    }
    let mut confirmed = vec![None; candidates.len()];
    for ((part, file), members) in by_file {
        let row = &view.parts[part as usize].files.rows[file as usize];
        let Some(text) = source.text(&row.path) else { continue };
        let (stamp, Some(text)) = (text.stamp, text.text) else { continue };
        let unchanged = row.stamp.is_still(&stamp);
        let mut cut = None;
        for at in members {
            let candidate = &candidates[at];
            confirmed[at] = if unchanged { in_place(candidate, &text) } else { None }.or_else(|| {
                // Also for a stamp that is too young to be trusted: the text decides.
                let chunks = cut.get_or_insert_with(|| cut_again(row, &text));
                find_again(candidate, &text, chunks)
            });
        }
    }
    confirmed
}

fn in_place(candidate: &Candidate, text: &str) -> Option<Confirmed> {
    let row = &candidate.row;
    let bytes = row.start as usize..row.end as usize;
    let content = text.get(bytes.clone())?;
    (text_hash(content) == row.hash).then(|| Confirmed {
        start_line: row.start_line,
        end_line: row.end_line,
        bytes,
        content: content.to_owned(),
    })
}

fn cut_again(row: &FileRow, text: &str) -> Vec<Chunk> {
    chunk::cut(chunk::language(&row.path.to_str_lossy(), text), text)
}

/// The same text, or what defines the same.
fn find_again(candidate: &Candidate, text: &str, chunks: &[Chunk]) -> Option<Confirmed> {
    let same_text = |chunk: &&Chunk| text_hash(&text[chunk.bytes.clone()]) == candidate.row.hash;
    let labels = &candidate.labels;
    let shared = |chunk: &&Chunk| {
        let names = chunk.names.iter().filter(|name| labels.names.contains(name)).count();
        if chunk.scopes == labels.scopes { names } else { 0 }
    };
    let same_names = || chunks.iter().filter(|chunk| shared(chunk) > 0).max_by_key(shared);
    let chunk = chunks.iter().find(same_text).or_else(same_names)?;
    Some(Confirmed {
        start_line: chunk.start_line,
        end_line: chunk.end_line,
        bytes: chunk.bytes.clone(),
        content: text[chunk.bytes.clone()].to_owned(),
    })
}
