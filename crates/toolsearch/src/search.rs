//! A query, and the tools that fit.

use std::cmp::Ordering;

use crate::{
    index::{Field, ToolIndex},
    names::NameMatch,
    words::{self, cut},
};

/// So much of a query is read, in bytes, and so many words of it.
const LONGEST_QUERY: usize = 8 << 10;
const MOST_TERMS: usize = 128;
/// Below this, a tool does not fit.
const LEAST_SCORE: f32 = 0.05;
/// A tool whose name begins with the query has at least this score, and one that is only described so at most.
const PREFIX_SCORE: f32 = 0.95;

/// What a search has found.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Found {
    /// The best tools that fit, best first.
    pub hits: Vec<Hit>,
    /// How many tools fit; `hits` may be fewer.
    pub total: usize,
    /// Words of the query that no tool has, or names that are selected and do not exist, as written.
    pub unmatched_terms: Vec<String>,
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
    /// The words of the query, in order.
    pub terms: Vec<TermScore>,
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
    pub fn search(&self, query: &str, limit: usize, server: Option<&str>) -> Found {
        let query = cut(query, LONGEST_QUERY);
        let fits_server = |tool: u32| server.is_none_or(|server| self.is_of(tool, server));
        if let Some((mut tools, unknown)) = self.names.selected(query) {
            tools.retain(|tool| fits_server(*tool));
            let total = tools.len();
            let hits = tools.into_iter().take(limit).map(|tool| Hit { tool: tool as usize, score: 1.0 });
            let unmatched_terms = unknown.into_iter().map(str::to_owned).collect();
            return Found { hits: hits.collect(), total, unmatched_terms };
        }

        let terms = self.terms_of(query);
        let scores = self.scores(query, &terms);
        let mut hits: Vec<Hit> = scores
            .into_iter()
            .enumerate()
            .filter(|(tool, score)| *score >= LEAST_SCORE && fits_server(*tool as u32))
            .map(|(tool, score)| Hit { tool, score })
            .collect();
        let total = hits.len();
        // Equal scores: in the order of the tools.
        let best_first = |a: &Hit, b: &Hit| match b.score.total_cmp(&a.score) {
            Ordering::Equal => a.tool.cmp(&b.tool),
            order => order,
        };
        if limit > 0 && limit < hits.len() {
            hits.select_nth_unstable_by(limit - 1, best_first);
        }
        hits.truncate(limit);
        hits.sort_unstable_by(best_first);
        Found { hits, total, unmatched_terms: self.unmatched(&terms, fits_server) }
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
        Explanation {
            score: self.scores(query, &terms).get(tool).copied().unwrap_or(0.0),
            name: named.map(|(_, how)| how),
            words: terms_of_tool.iter().map(|term| term.score).sum(),
            terms: terms_of_tool,
        }
    }

    /// The score of every tool.
    fn scores(&self, query: &str, terms: &[Term]) -> Vec<f32> {
        let mut scores = vec![0.0_f32; self.len()];
        for term in terms.iter().filter_map(|term| term.number) {
            self.postings(term).iter().for_each(|posting| scores[posting.tool as usize] += posting.score);
        }
        let ideal = ideal_sum(terms);
        scores.iter_mut().for_each(|score| *score = (*score / ideal).min(PREFIX_SCORE));
        for (tool, how) in self.names.named(query) {
            let score = &mut scores[tool as usize];
            *score = match how {
                NameMatch::Exact => 1.0,
                NameMatch::Prefix => PREFIX_SCORE + *score * (1.0 - PREFIX_SCORE),
            };
        }
        scores
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
