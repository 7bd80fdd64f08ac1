//! Simple rankings, to measure the ranking of the search against.

use std::{collections::BTreeMap, sync::Arc};

use anyhow::{Result, bail};
use toolbay_search::{
    semantic::{ExplainedCandidate, Feature, Hit, Index, Query},
    tree::{FileEntry, Tree},
};

/// How many of the best by words and by vectors the hybrid mixes.
const MIXED: usize = 100;

/// By what results are ranked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ranking {
    /// Words alone.
    Bm25,
    /// Vectors alone.
    Vectors,
    /// Words and vectors, each scaled to 0..1 over its best hundred, added.
    Hybrid,
    /// As the search ranks.
    Full,
}

impl Ranking {
    pub(crate) fn parse(name: &str) -> Result<Self> {
        Ok(match name {
            "bm25" => Self::Bm25,
            "vectors" => Self::Vectors,
            "hybrid" => Self::Hybrid,
            "full" => Self::Full,
            other => bail!("no ranking `{other}`: bm25, vectors, hybrid or full"),
        })
    }

    /// Returns the best results of a query.
    pub(crate) fn search(
        self,
        index: &Index,
        query: &Query,
        entries: &Arc<[FileEntry]>,
        tree: &Tree,
    ) -> Result<Vec<Hit>> {
        if self == Self::Full {
            return Ok(index.search(query, entries, tree)?.hits);
        }
        // Among the candidates are more of the best by words and by vectors than anyone asks for.
        let candidates = index.explain(query, entries, tree)?;
        let order = match self {
            Self::Bm25 => best(&candidates, Feature::Words),
            Self::Vectors => best(&candidates, Feature::Cosine),
            Self::Hybrid | Self::Full => {
                mix([Feature::Words, Feature::Cosine].map(|feature| best(&candidates, feature)))
            }
        };
        Ok(order.into_iter().take(query.limit).map(|(_, at)| candidates[at].hit.clone()).collect())
    }
}

/// Returns the candidates that have a feature, best first, each with its value.
fn best(candidates: &[ExplainedCandidate], feature: Feature) -> Vec<(f32, usize)> {
    let values = candidates.iter().map(|candidate| candidate.features[feature as usize]);
    let mut order: Vec<(f32, usize)> = values.zip(0..).filter(|(value, _)| *value > 0.0).collect();
    order.sort_by(|a, b| b.0.total_cmp(&a.0));
    order
}

/// Scales both lists to 0..1 and adds them.
fn mix(lists: [Vec<(f32, usize)>; 2]) -> Vec<(f32, usize)> {
    let mut mixed: BTreeMap<usize, f32> = BTreeMap::new();
    for list in lists {
        let list = &list[..list.len().min(MIXED)];
        let most = list.first().map_or(0.0, |(score, _)| *score);
        let least = list.last().map_or(0.0, |(score, _)| *score);
        let range = most - least;
        for (score, at) in list {
            *mixed.entry(*at).or_default() += if range > 0.0 { (score - least) / range } else { 1.0 };
        }
    }
    let mut mixed: Vec<(f32, usize)> = mixed.into_iter().map(|(at, score)| (score, at)).collect();
    mixed.sort_by(|a, b| b.0.total_cmp(&a.0));
    mixed
}
