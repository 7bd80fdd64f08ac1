//! A search in a view.

use std::collections::HashSet;

use super::{
    embed::{self, Embedder},
    query::{ParsedQuery, Query},
    rank::{
        features::{Candidate, Judge},
        weights::{Feature, Features, RankedCandidate, Weights, list},
    },
    retrieve::{
        candidates,
        dense::{Dense, Plane},
        lexical::Lexical,
    },
    segment::Damaged,
    source::TextSource,
    term::Terms,
    vector::{self, Probe},
    verify::{Confirmed, confirm},
    view::View,
};
use crate::tree::RelPath;

/// How many candidates are read before they are put in order, at least.
const READ: usize = 80;
/// The bonus of a chunk that contains the whole query, or what is in quotes, literally: it comes first.
const LITERAL: f32 = 100.0;
/// The bonus of the words of a query that is a name, when the chunks to read are chosen.
const NAME: f32 = 20.0;

/// A chunk that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// Its file.
    pub path: RelPath,
    /// Its first line, counted from 1.
    pub start_line: u32,
    /// Its last line.
    pub end_line: u32,
    /// Where it is in the text of the file.
    pub bytes: std::ops::Range<usize>,
    /// What stands there.
    pub content: String,
    /// How well it fits, from 0 to 1. Comparable within one search.
    pub score: f32,
    /// What it is a part of: `impl Foo › fn bar`.
    pub symbol: Option<String>,
    /// The language of the file.
    pub language: String,
}

/// A candidate with what is known about it: for those who fit weights.
#[derive(Debug, Clone)]
pub struct ExplainedCandidate {
    /// The result that it would be.
    pub hit: Hit,
    /// What is known about it.
    pub features: Features,
    /// Its bonus beyond the weighted sum, for containing the query literally.
    pub bonus: f32,
}

impl ExplainedCandidate {
    /// What its place in the order depends on.
    pub fn ranked(&self) -> RankedCandidate<&RelPath, &str> {
        RankedCandidate {
            file: &self.hit.path,
            symbol: self.hit.symbol.as_deref(),
            features: self.features,
            bonus: self.bonus,
        }
    }
}

/// What a search looks with.
pub(super) struct SearchContext<'a> {
    pub(super) view: &'a View,
    pub(super) source: &'a dyn TextSource,
    pub(super) embedder: Option<&'a dyn Embedder>,
    pub(super) weights: &'a Weights,
}

/// Hits of one page, and how many there are in all.
#[derive(Debug, Default)]
pub(super) struct Page {
    pub(super) hits: Vec<Hit>,
    pub(super) total: usize,
    /// Why the endpoint was not used or failed.
    pub(super) notice: Option<String>,
}

impl SearchContext<'_> {
    pub(super) fn search(&self, query: &Query, parsed: &ParsedQuery) -> Result<Page, Damaged> {
        let (dense, notice) = self.dense(&query.text);
        let wanted = query.offset.saturating_add(query.limit);
        let (explained, total) = self.explain(query, parsed, &dense, wanted.max(READ))?;
        let candidates: Vec<_> = explained.iter().map(ExplainedCandidate::ranked).collect();
        let order = list(self.weights, &candidates, wanted);
        let hits = order.into_iter().skip(query.offset).map(|(at, score)| {
            let mut hit = explained[at].hit.clone();
            hit.score = to_unit(score);
            hit
        });
        Ok(Page { hits: hits.collect(), total, notice })
    }

    /// Candidates that are on disk, with all that is known about them; and how many there were.
    pub(super) fn explain(
        &self,
        query: &Query,
        parsed: &ParsedQuery,
        dense: &Dense,
        most: usize,
    ) -> Result<(Vec<ExplainedCandidate>, usize), Damaged> {
        let lexical = Lexical::new(self.view, &parsed.terms)?;
        let names = Probe::new(&embed::built_in_query(&query.text));
        let judge = Judge { view: self.view, parsed, lexical: &lexical, dense, names: &names };
        let places = candidates::collect(self.view, parsed, &lexical, dense)?;
        let mut candidates = judge.judge(&places)?;
        let total = candidates.len();
        // A chunk that has the rare name of the query must be among those that are read.
        let favour = if parsed.is_symbol { NAME } else { 0.0 };
        let promise =
            |features: &Features| self.weights.score(features) + favour * features[Feature::Words as usize];
        candidates.sort_by(|a, b| promise(&b.features).total_cmp(&promise(&a.features)));
        candidates.truncate(most);
        let confirmed = confirm(self.view, &candidates, self.source);
        let mut seen = HashSet::new();
        let mut terms = Terms::default();
        let mut explained = Vec::with_capacity(candidates.len());
        for (mut candidate, confirmed) in candidates.into_iter().zip(confirmed) {
            let Some(confirmed) = confirmed else { continue };
            // Two versions of one chunk may have become the same.
            if !seen.insert((candidate.place.part, candidate.row.file, confirmed.bytes.start)) {
                continue;
            }
            judge.read(&mut candidate, &confirmed.content, &mut terms);
            let literal = parsed.literals().any(|literal| confirmed.content.contains(literal));
            let features = candidate.features;
            explained.push(ExplainedCandidate {
                hit: self.hit(candidate, confirmed),
                features,
                bonus: if literal { LITERAL } else { 0.0 },
            });
        }
        Ok((explained, total))
    }

    /// Returns the vector of a query: by the endpoint if it responds and all parts have its vectors.
    pub(super) fn dense(&self, text: &str) -> (Dense, Option<String>) {
        let built_in = || Dense { plane: Plane::BuiltIn, probe: Probe::new(&embed::built_in_query(text)) };
        let Some(embedder) = self.embedder else { return (built_in(), None) };
        let others = || self.view.parts.iter().map(|part| part.segment.meta().other.as_ref());
        let made_by_it = others().all(|other| other.is_some_and(|other| other.name == embedder.name()));
        if !made_by_it || self.view.parts.is_empty() {
            let notice = format!(
                "some files have no vectors of `{}` yet; the built-in model was used",
                embedder.name()
            );
            return (built_in(), Some(notice));
        }
        match embedder.query(text) {
            Ok(vector) => {
                let row = vector::row(&vector);
                if others().flatten().all(|other| other.row == row.len()) {
                    (Dense { plane: Plane::Other, probe: Probe::new(&row) }, None)
                } else {
                    let notice = format!(
                        "`{}` returns vectors of another length than before; the built-in model was used",
                        embedder.name()
                    );
                    (built_in(), Some(notice))
                }
            }
            Err(error) => (built_in(), Some(format!("{error}; the built-in model was used"))),
        }
    }

    fn hit(&self, candidate: Candidate, confirmed: Confirmed) -> Hit {
        let file = &self.view.part(candidate.place).files.rows[candidate.row.file as usize];
        Hit {
            path: file.path.clone(),
            start_line: confirmed.start_line,
            end_line: confirmed.end_line,
            bytes: confirmed.bytes,
            content: confirmed.content,
            score: 0.0,
            symbol: candidate.labels.symbol,
            language: file.language.name().to_owned(),
        }
    }
}

/// Sums of weights as something between 0 and 1: about one half for what hardly matches the query.
fn to_unit(score: f32) -> f32 {
    1.0 / (1.0 + (-(score - 9.0) / 3.0).exp())
}
