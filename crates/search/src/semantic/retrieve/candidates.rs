//! Which chunks are looked at closely.

use std::collections::HashSet;

use crate::semantic::{
    query::ParsedQuery,
    retrieve::{dense::Dense, lexical::Lexical},
    segment::Damaged,
    term::{self, Space},
    view::{Place, View},
};

/// The best by words, the nearest vectors.
const CHUNKS: usize = 120;
/// Of those that have most words of the query: a message is found whatever else its words are in.
const MATCHED: usize = 40;
/// The best files of each kind send their best chunk.
const FILES: usize = 20;
/// Chunks that define a name of the query.
const DEFINERS: usize = 80;

/// Collects them, each once.
pub(in crate::semantic) fn collect(
    view: &View,
    parsed: &ParsedQuery,
    lexical: &Lexical,
    dense: &Dense,
) -> Result<Vec<Place>, Damaged> {
    let mut seen = HashSet::new();
    let mut places = lexical.top_chunks(view, CHUNKS, MATCHED);
    places.extend(dense.top_chunks(view, CHUNKS)?.into_iter().map(|(_, place)| place));
    for file in lexical.top_files(view, FILES) {
        places.extend(best_of(view, file, |place| Ok(lexical.chunk(place)))?);
    }
    for file in dense.top_files(view, FILES)? {
        places.extend(best_of(view, file, |place| dense.chunk(view, place))?);
    }
    for symbol in &parsed.symbols {
        places.extend(definers(view, &symbol.joined)?);
    }
    places.retain(|place| seen.insert(*place));
    Ok(places)
}

fn best_of(
    view: &View,
    (part, file): (u32, u32),
    score: impl Fn(Place) -> Result<f32, Damaged>,
) -> Result<Option<Place>, Damaged> {
    /// Files with more chunks are data.
    const MOST: usize = 4096;
    let mut best: Option<(f32, Place)> = None;
    for chunk in view.parts[part as usize].files.chunks_of(file).take(MOST) {
        let place = Place { part, chunk };
        let score = score(place)?;
        if best.is_none_or(|(most, _)| score > most) {
            best = Some((score, place));
        }
    }
    Ok(best.map(|(_, place)| place))
}

fn definers(view: &View, joined: &str) -> Result<Vec<Place>, Damaged> {
    let term = term::hash(Space::Defines, joined);
    let mut places = Vec::new();
    for (part, inside) in (0..).zip(&view.parts) {
        let postings = inside.segment.postings(term)?;
        let chunks = postings.chunks.iter().map(|(chunk, _)| *chunk).filter(|chunk| inside.has(*chunk));
        places.extend(chunks.map(|chunk| Place { part, chunk }).take(DEFINERS));
    }
    places.truncate(DEFINERS);
    Ok(places)
}
