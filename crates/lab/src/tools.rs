//! `cargo xtask bench tools`: how well tools are found by what they are wanted for, and how fast.

mod figures;
mod sets;
mod speed;

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use toolbay_toolsearch::{Parts, ToolIndex, ToolText, english::Table};

use self::figures::Figures;
pub(crate) use self::sets::{Queries, Set, sets};

const USAGE: &str = "\
usage: cargo xtask bench tools --data FOLDER [--table FILE] [--weights]

  --data FOLDER   benchmarks as JSON: `tools` with server, name, description and inputSchema, and lists of queries with the
                  places of their tools as `relevant`. They are not part of this repository.
  --table FILE    another table of English than that in the program
  --weights       how much the meaning counts, tried from 0 to 1.5";

/// Measures every set of a folder.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let (mut data, mut table, mut is_weights) = (None, Table::built_in(), false);
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--data" => data = Some(PathBuf::from(rest.next().context(USAGE)?)),
            "--table" => {
                let file = std::fs::read(rest.next().context(USAGE)?)?;
                table = Box::leak(Box::new(Table::parse(Box::leak(file.into_boxed_slice()))?));
            }
            "--weights" => is_weights = true,
            _ => bail!("{USAGE}"),
        }
    }
    let data = data.context(USAGE)?;
    let sets = sets(&data)?;
    if is_weights {
        sets.iter().for_each(|set| weights(set, table));
        return Ok(());
    }
    for set in &sets {
        println!("{}: {} tools", set.name, set.tools.len());
        println!(
            "  {:<12} {:<12} {:>7} {:>6} {:>6} {:>6} {:>8}",
            "queries", "ranking", "count", "R@1", "R@5", "R@10", "nDCG@10"
        );
        for queries in &set.queries {
            measure(set, queries, table);
        }
    }
    sets.iter().for_each(|set| unanswerable(set, table));
    speed::measure(&sets);
    Ok(())
}

/// A ranking: what it orders tools by.
type Score = fn(&Parts) -> f32;

/// By words of names and descriptions, by words of all fields, by meaning, and as the search does it.
fn measure(set: &Set, queries: &Queries, table: &'static Table<'static>) {
    // BM25: all in one field.
    let plain = set.tools.iter().map(|tool| ToolText {
        description: format!("{} {}", tool.bare_name, tool.description),
        ..ToolText::default()
    });
    let plain = ToolIndex::with_table(plain, table);
    let index = ToolIndex::with_table(set.tools.clone(), table);
    let rankings: [(&str, &ToolIndex, Option<Score>); 4] = [
        ("BM25", &plain, Some(|parts| parts.words)),
        ("BM25F", &index, Some(|parts| parts.words)),
        ("model", &index, Some(|parts| parts.meaning)),
        ("combination", &index, None),
    ];
    for (name, index, score) in rankings {
        let mut figures = Figures::default();
        for query in &queries.queries {
            let ranked = match score {
                Some(score) => {
                    figures::order(&index.parts(&query.text).iter().map(score).collect::<Vec<_>>())
                }
                None => index.search(&query.text, 10, None).hits.iter().map(|hit| hit.tool).collect(),
            };
            figures.add(&ranked, &query.relevant);
        }
        let [first, five, ten, ndcg] = figures.means();
        println!(
            "  {:<12} {name:<12} {:>7} {first:>6.3} {five:>6.3} {ten:>6.3} {ndcg:>8.3}",
            queries.name,
            queries.queries.len()
        );
    }
}

/// Recall at 5 and 10 for other weights of the meaning.
fn weights(set: &Set, table: &'static Table<'static>) {
    let index = ToolIndex::with_table(set.tools.clone(), table);
    for queries in &set.queries {
        print!("{:<24}", format!("{} {}", set.name, queries.name));
        for weight in [0.0, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0, 1e6] {
            let mut figures = Figures::default();
            for query in &queries.queries {
                let parts = index.parts(&query.text);
                let scores: Vec<f32> =
                    parts.iter().map(|parts| parts.words + weight * parts.meaning).collect();
                figures.add(&figures::order(&scores), &query.relevant);
            }
            let [_, five, ten, _] = figures.means();
            print!(" {weight}: {five:.3} {ten:.3} |");
        }
        println!();
    }
}

/// How often the search finds nothing, or says that it is not sure, where there is nothing to find; and what that costs where there is.
fn unanswerable(set: &Set, table: &'static Table<'static>) {
    let index = ToolIndex::with_table(set.tools.clone(), table);
    for queries in &set.queries {
        let (mut all, mut found) = (Figures::default(), Figures::default());
        let (mut nothing, mut unsure, mut wrongly_nothing, mut wrongly_unsure) = (0, 0, 0, 0);
        for query in &queries.queries {
            let scores: Vec<f32> = index.parts(&query.text).iter().map(|parts| parts.score).collect();
            all.add(&figures::order(&scores), &query.relevant);
            let answer = index.search(&query.text, 10, None);
            found.add(&answer.hits.iter().map(|hit| hit.tool).collect::<Vec<_>>(), &query.relevant);
            wrongly_nothing += usize::from(answer.hits.is_empty());
            wrongly_unsure += usize::from(!answer.hits.is_empty() && answer.is_doubtful);

            let rest = set.tools.iter().enumerate().filter(|(tool, _)| !query.relevant.contains(tool));
            let without = ToolIndex::with_table(rest.map(|(_, tool)| tool.clone()), table);
            let answer = without.search(&query.text, 10, None);
            nothing += usize::from(answer.hits.is_empty());
            unsure += usize::from(!answer.hits.is_empty() && answer.is_doubtful);
        }
        let count = queries.queries.len().max(1) as f64;
        let share = |number: usize| 100.0 * number as f64 / count;
        println!(
            "{} {} without their tools: {:.1} % nothing, {:.1} % flagged as doubtful; with them: {:.1} % nothing, {:.1} % flagged, R@5 {:.3} instead of {:.3}",
            set.name,
            queries.name,
            share(nothing),
            share(unsure),
            share(wrongly_nothing),
            share(wrongly_unsure),
            found.means()[1],
            all.means()[1],
        );
    }
}
