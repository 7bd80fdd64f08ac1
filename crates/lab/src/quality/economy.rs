//! What an agent reads until it has the answer: with the search, and with grep and whole files.
//!
//! Tokens are counted as bytes / 4. The search is asked for ten chunks at a time, of which the agent reads all, at most three times. With
//! grep, the agent asks which files have the words of the question and how often, reads that list, and then the files, best first,
//! each up to 2,000 lines, until it has read the answer; at most ten files.

use anyhow::Result;

use super::{
    corpus::Corpus,
    grep,
    method::{METHODS, Searcher},
};

const PAGE: usize = 10;
const PAGES: usize = 3;
const FILES: usize = 10;
const LINES: usize = 2000;
/// The list of files is cut here, as `search_code` and agents cut it.
const LISTED: usize = 50;

/// What one question cost; nothing where the answer was not found.
#[derive(Debug)]
pub(super) struct Cost {
    search: (usize, bool),
    grep: (usize, bool),
}

pub(super) fn measure(corpus: &Corpus) -> Result<Vec<Cost>> {
    let searcher = Searcher::new(corpus)?;
    corpus
        .questions
        .iter()
        .map(|question| {
            let best = METHODS[METHODS.len() - 1];
            let hits = searcher.search(best, &question.text, PAGE * PAGES)?;
            let place = hits.iter().position(|hit| question.is_answered_by(hit));
            let read = place.map_or(PAGES, |place| place / PAGE + 1) * PAGE;
            let bytes: usize = hits
                .iter()
                .take(read)
                .map(|hit| {
                    let text = corpus.text(&hit.path).unwrap_or_default();
                    let lines = text.lines().skip(hit.lines.start as usize - 1).take(hit.lines.len());
                    // Path, lines, score, symbol and language of a result in JSON.
                    lines.map(|line| line.len() + 1).sum::<usize>() + hit.path.len() + 120
                })
                .sum();
            let search = (bytes / 4, place.is_some());

            let order = grep::files(searcher.files(), &question.text);
            let listing: usize = order.iter().take(LISTED).map(|path| path.len() + 5).sum();
            let place = order.iter().take(FILES).position(|path| *path == question.path);
            let read: usize = order
                .iter()
                .take(place.map_or(FILES, |place| place + 1))
                .map(|path| {
                    corpus
                        .text(path)
                        .unwrap_or_default()
                        .lines()
                        .take(LINES)
                        .map(|line| line.len() + 1)
                        .sum::<usize>()
                })
                .sum();
            let reached = place.is_some() && question.lines.start as usize <= LINES;
            Ok(Cost { search, grep: ((listing + read) / 4, reached) })
        })
        .collect()
}

pub(super) fn print(costs: &[Cost]) {
    println!("\ntokens (bytes / 4) read until the answer is seen, {} questions\n", costs.len());
    println!("{:<34} {:>8} {:>8} {:>8} {:>8}", "", "found", "median", "mean", "p90");
    row("search_by_embedding", costs.iter().map(|cost| cost.search).collect());
    row("grep, then reading the files", costs.iter().map(|cost| cost.grep).collect());
}

fn row(name: &str, mut costs: Vec<(usize, bool)>) {
    costs.sort_unstable();
    let count = costs.len().max(1);
    let at = |share: usize| costs.get(costs.len() * share / 100).map_or(0, |cost| cost.0);
    let found = costs.iter().filter(|cost| cost.1).count();
    let mean = costs.iter().map(|cost| cost.0).sum::<usize>() / count;
    println!("{name:<34} {:>7}% {:>8} {mean:>8} {:>8}", found * 100 / count, at(50), at(90));
}
