//! Markdown by heading: every section a chunk, long ones in pieces that keep their heading as scope.

use std::ops::Range;

use super::lines::{self, Lines};
use super::{Chunk, ChunkKind, MAX, SMALL};

/// Chunks of a Markdown document.
pub(super) fn cut(text: &str) -> Vec<Chunk> {
    let mut lines = Lines::new(text);
    let mut chunks = Vec::new();
    let mut path: Vec<(usize, String)> = Vec::new();
    for Section { bytes, level, title } in sections(text) {
        path.retain(|(outer, _)| level == 0 || *outer < level);
        let scopes: Vec<String> = path.iter().map(|(_, title)| title.clone()).collect();
        let labels = scopes.iter().chain(&title).cloned().collect::<Vec<_>>().join(" › ");
        let symbol = (!labels.is_empty()).then_some(labels);
        let pieces =
            if text[bytes.clone()].trim().len() > MAX { lines::pieces(text, bytes) } else { vec![bytes] };
        for (index, piece) in pieces.into_iter().enumerate() {
            let names = title.iter().filter(|_| index == 0).cloned().collect();
            let mut scopes = scopes.clone();
            scopes.extend(title.iter().filter(|_| index > 0).cloned());
            let chunk = lines::chunk(&mut lines, piece, ChunkKind::Section, names);
            chunks.push(Chunk { scopes, symbol: symbol.clone(), ..chunk });
        }
        path.extend(title.map(|title| (level, title)));
    }
    join_small(text, chunks)
}

/// Short sections share a chunk with the one before, if both lie under the same heading or the first is one.
fn join_small(text: &str, chunks: Vec<Chunk>) -> Vec<Chunk> {
    let mut joined: Vec<Chunk> = Vec::new();
    for chunk in chunks {
        let size = |chunk: &Chunk| text[chunk.bytes.clone()].trim().len();
        match joined.last_mut() {
            Some(last)
                if (size(last) < SMALL / 2 || size(&chunk) < SMALL / 2)
                    && size(last) + size(&chunk) < super::TARGET
                    && chunk.scopes.starts_with(&last.scopes) =>
            {
                last.bytes.end = chunk.bytes.end;
                last.end_line = chunk.end_line.max(last.end_line);
                last.names.extend(chunk.names);
            }
            _ => joined.push(chunk),
        }
    }
    joined
}

/// A heading and the text under it, up to the next heading of any level.
struct Section {
    bytes: Range<usize>,
    level: usize,
    title: Option<String>,
}

fn sections(text: &str) -> Vec<Section> {
    let mut sections = vec![Section { bytes: 0..0, level: 0, title: None }];
    let mut fence: Option<&str> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim();
        let mark = ["```", "~~~"].into_iter().find(|mark| trimmed.starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            _ => {}
        }
        if let (None, Some((level, title))) = (fence, heading(line)) {
            sections.push(Section { bytes: at..at, level, title: Some(title) });
        }
        at += line.len();
        if let Some(section) = sections.last_mut() {
            section.bytes.end = at;
        }
    }
    sections.retain(|section| !section.bytes.is_empty());
    sections
}

/// Level and title of a line like `## Title ##`.
fn heading(line: &str) -> Option<(usize, String)> {
    let level = line.bytes().take_while(|byte| *byte == b'#').count();
    let rest = line.get(level..)?;
    if !(1..=6).contains(&level) || !rest.starts_with([' ', '\t']) {
        return None;
    }
    let title: String = rest.trim().trim_end_matches('#').trim_end().chars().take(120).collect();
    (!title.is_empty()).then_some((level, title))
}
