//! A query, and the tools that fit.

use std::cmp::Ordering;

use crate::{
    english::{KnownWords, Sum},
    index::{Field, ToolIndex},
    names::NameMatch,
    words::{self, cut},
};

/// So much of a query is read, in bytes, and so many words of it.
const LONGEST_QUERY: usize = 8 << 10;
const MOST_TERMS: usize = 128;
/// How much the meaning counts, compared with the words.
const MEANING: f32 = 0.4;
/// If the best tool has less, nothing fits.
const LEAST_SCORE: f32 = 0.04;
/// Nor does a tool fit that has less than this share of the score of the best.
const LEAST_SHARE: f32 = 0.2;
/// The best tool stands out if it leads the sixth by this much. Models are shown about five.
const LEAD: f32 = 0.3;
const LED: usize = 5;
/// A tool whose name begins with the query has at least this score, and one that is only described so at most.
const PREFIX_SCORE: f32 = 0.95;

/// What a search has found.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FoundTools {
    /// The best tools that fit, best first.
    pub hits: Vec<Hit>,
    /// How many tools fit; `hits` may be fewer.
    pub total: usize,
    /// Words of the query that no tool has, or names that are selected and do not exist, as written.
    pub unmatched_terms: Vec<String>,
    /// Whether no tool stands out: what was asked for may be several tools, or none of these.
    pub is_doubtful: bool,
}

/// A tool that fits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    /// Its place among the tools that the index was made of.
    pub tool: usize,
    /// From 0 to 1, where 1 is a tool that the query names.
    pub score: f32,
}

/// Why a tool has its score.
#[derive(Debug, Clone, PartialEq)]
pub struct Explanation {
    /// The score, whether or not the tool would be among the hits.
    pub score: f32,
    /// Whether the query names the tool.
    pub name: Option<NameMatch>,
    /// How much of the best possible score its words have, from 0 to 1.
    pub words: f32,
    /// How alike the query and the tool are in meaning, from 0 to 1.
    pub meaning: f32,
    /// The words of the query, in order.
    pub terms: Vec<TermScore>,
}

/// What the score of a tool is made of.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Parts {
    /// How much of the best possible score its words have, from 0 to 1.
    pub words: f32,
    /// How alike it is in meaning, from 0 to 1.
    pub meaning: f32,
    /// The score, from 0 to 1.
    pub score: f32,
}

/// What a word of the query adds to the score of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct TermScore {
    /// The word in lower case.
    pub term: String,
    /// How much of the best possible score depends on this word: rare words count more. All together are 1.
    pub weight: f32,
    /// What the tool gets of it; 0 where it does not have the word.
    pub score: f32,
    /// Where the tool has the word.
    pub fields: Vec<Field>,
}

/// A word of a query.
struct Term {
    written: String,
    number: Option<u32>,
    ideal: f32,
}

impl ToolIndex {
    /// The tools that fit a query: at most `limit`, and only those of a server if one is named.
    ///
    /// A query is a few words, a sentence or whole task, a name of a tool or its beginning, or `select:NAME,NAME` for exactly these tools.
    pub fn search(&self, query: &str, limit: usize, server: Option<&str>) -> FoundTools {
        let query = cut(query, LONGEST_QUERY);
        let fits_server = |tool: u32| server.is_none_or(|server| self.is_of(tool, server));
        if let Some((mut tools, unknown)) = self.names.selected(query) {
            tools.retain(|tool| fits_server(*tool));
            let total = tools.len();
            let hits = tools.into_iter().take(limit).map(|tool| Hit { tool: tool as usize, score: 1.0 });
            let unmatched_terms = unknown.into_iter().map(str::to_owned).collect();
            return FoundTools { hits: hits.collect(), total, unmatched_terms, is_doubtful: false };
        }

        let terms = self.terms_of(query);
        let scores = self.parts_of(query, &terms);
        let mut hits: Vec<Hit> = scores
            .into_iter()
            .enumerate()
            .filter(|(tool, parts)| parts.score >= LEAST_SCORE && fits_server(*tool as u32))
            .map(|(tool, parts)| Hit { tool, score: parts.score })
            .collect();
        // Equal scores: in the order of the tools.
        hits.sort_unstable_by(|a, b| match b.score.total_cmp(&a.score) {
            Ordering::Equal => a.tool.cmp(&b.tool),
            order => order,
        });
        let best = hits.first().map_or(0.0, |hit| hit.score);
        let lead = best - hits.get(LED).map_or(0.0, |hit| hit.score);
        let is_doubtful = lead < LEAD && best < PREFIX_SCORE;
        hits.retain(|hit| hit.score >= best * LEAST_SHARE);
        let total = hits.len();
        hits.truncate(limit);
        FoundTools { hits, total, unmatched_terms: self.unmatched(&terms, fits_server), is_doubtful }
    }

    /// Why a tool, one of those that the index was made of, has its score for a query.
    pub fn explain(&self, query: &str, tool: usize) -> Explanation {
        let query = cut(query, LONGEST_QUERY);
        let terms = self.terms_of(query);
        let ideal = ideal_sum(&terms);
        let terms_of_tool: Vec<TermScore> = terms
            .iter()
            .map(|term| {
                let postings = term.number.map_or(&[][..], |number| self.postings(number));
                let posting = postings.iter().find(|posting| posting.tool as usize == tool);
                TermScore {
                    term: term.written.clone(),
                    weight: term.ideal / ideal,
                    score: posting.map_or(0.0, |posting| posting.score / ideal),
                    fields: posting.map_or_else(Vec::new, |posting| posting.fields().collect()),
                }
            })
            .collect();
        let named = self.names.named(query).into_iter().find(|(named, _)| *named as usize == tool);
        let Parts { words, meaning, score } =
            self.parts_of(query, &terms).get(tool).copied().unwrap_or_default();
        Explanation { score, name: named.map(|(_, how)| how), words, meaning, terms: terms_of_tool }
    }

    /// What the score of every tool is made of, for measurements.
    pub fn parts(&self, query: &str) -> Vec<Parts> {
        let query = cut(query, LONGEST_QUERY);
        self.parts_of(query, &self.terms_of(query))
    }

    fn parts_of(&self, query: &str, terms: &[Term]) -> Vec<Parts> {
        let mut all = vec![Parts::default(); self.len()];
        for term in terms.iter().filter_map(|term| term.number) {
            self.postings(term).iter().for_each(|posting| all[posting.tool as usize].words += posting.score);
        }
        let ideal = ideal_sum(terms);
        let meaning = self.table.filter(|_| !terms.is_empty()).map(|table| {
            let mut sum = Sum::default();
            sum.add(table, &mut KnownWords::default(), query, 1.0);
            sum.vector()
        });
        for (parts, vector) in all.iter_mut().zip(&self.vectors) {
            parts.words /= ideal;
            parts.meaning = meaning.as_ref().map_or(0.0, |meaning| meaning.cosine(vector).clamp(0.0, 1.0));
            parts.score = ((parts.words + MEANING * parts.meaning) / (1.0 + MEANING)).min(PREFIX_SCORE);
        }
        for (tool, how) in self.names.named(query) {
            let score = &mut all[tool as usize].score;
            *score = match how {
                NameMatch::Exact => 1.0,
                NameMatch::Prefix => PREFIX_SCORE + *score * (1.0 - PREFIX_SCORE),
            };
        }
        all
    }

    /// The words of a query, each once, without those that say nothing.
    fn terms_of(&self, query: &str) -> Vec<Term> {
        let mut found: Vec<(String, usize)> = Vec::new();
        words::split(query, |word| {
            if found.len() >= MOST_TERMS {
                return;
            }
            // Either an identifier as one word, where tools have it, or its parts.
            if word.joins == 0 {
                found.push((word.text.to_owned(), 0));
            } else if self.term(word.text).is_some() {
                found.truncate(found.len().saturating_sub(word.joins));
                found.push((word.text.to_owned(), word.joins));
            }
        });
        let mut terms: Vec<Term> = Vec::new();
        for (written, _) in found {
            if words::is_stop_word(&written) {
                continue;
            }
            let number = self.term(&written);
            let is_known = |known: &Term| match number {
                Some(number) => known.number == Some(number),
                None => known.written == written,
            };
            if !terms.iter().any(is_known) {
                terms.push(Term { ideal: self.ideal(number), written, number });
            }
        }
        terms
    }

    fn unmatched(&self, terms: &[Term], fits_server: impl Fn(u32) -> bool) -> Vec<String> {
        let has = |number: u32| self.postings(number).iter().any(|posting| fits_server(posting.tool));
        let unmatched = terms.iter().filter(|term| !term.number.is_some_and(has));
        unmatched.map(|term| term.written.clone()).collect()
    }
}

fn ideal_sum(terms: &[Term]) -> f32 {
    terms.iter().map(|term| term.ideal).sum::<f32>().max(f32::MIN_POSITIVE)
}

#[cfg(test)]
mod tests;
