//! `toolbay-lab quality`: how well the search finds what is asked.
//!
//! Two sets, both anyone can rebuild from pinned packages of public registries, none of which the model has seen:
//! first sentences of doc comments, with the function without its comment as the only right answer, and questions as
//! developers ask them, written by hand.

mod bm25;
mod corpus;
mod economy;
mod figures;
mod grep;
mod method;
mod questions;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use anyhow::{Context, Result, bail};

use self::{
    corpus::Corpus,
    figures::Figures,
    method::{METHODS, Searcher},
};
use crate::packages::{Library, Lock, Source};

/// Results that count.
const TOP: usize = 10;

/// Fetches, builds, asks, and prints the tables: of both sets, or of the one that is named.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let mut data = PathBuf::from("target/bench-data/quality");
    let mut only = None;
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--data" => data = arguments.next().context("--data takes a folder")?.into(),
            "comments" | "questions" => only = Some(argument.as_str()),
            _ => bail!("usage: toolbay-lab quality [comments|questions] [--data FOLDER]"),
        }
    }
    let lock = Lock::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("data/quality.lock"))?;
    let sources = Library::open(&data)?.fetch(&lock)?;
    if only != Some("questions") {
        comments(&sources, &data)?;
    }
    if only != Some("comments") {
        by_hand(&sources)?;
    }
    Ok(())
}

fn comments(sources: &[Source], data: &Path) -> Result<()> {
    println!("doc comments as questions, the function without its comment as the only right answer\n");
    let corpora: Vec<Corpus> = sources
        .iter()
        .map(|source| {
            corpus::without_comments(source, &data.join("corpus"))
                .with_context(|| format!("cannot prepare {}", source.package))
        })
        .collect::<Result<_>>()?;
    // An index looks again at files that were written a moment ago, with every question.
    thread::sleep(Duration::from_secs(3));
    let mut by_language: BTreeMap<String, Vec<Table>> = BTreeMap::new();
    for (source, corpus) in sources.iter().zip(&corpora) {
        eprintln!("{}: {} questions", source.package, corpus.questions.len());
        let language = source.package.split('/').next().unwrap_or_default().to_owned();
        by_language.entry(language).or_default().push(ask(corpus)?);
    }
    println!("{} packages, {} languages", sources.len(), by_language.len());
    print_tables(&by_language);
    Ok(())
}

fn by_hand(sources: &[Source]) -> Result<()> {
    println!("\nquestions by hand\n");
    let mut by_tree: BTreeMap<String, Vec<Table>> = BTreeMap::new();
    let mut costs = Vec::new();
    for (package, questions) in questions::all()? {
        let source = sources.iter().find(|source| source.package == package);
        let source = source.with_context(|| format!("`{package}` is not in quality.lock"))?;
        let corpus = corpus::as_it_is(source, &questions)?;
        by_tree.entry(package).or_default().push(ask(&corpus)?);
        costs.extend(economy::measure(&corpus)?);
    }
    print_tables(&by_tree);
    economy::print(&costs);
    Ok(())
}

/// Figures of every method over the same questions.
#[derive(Debug)]
struct Table {
    chunks: usize,
    figures: [Figures; METHODS.len()],
}

fn ask(corpus: &Corpus) -> Result<Table> {
    let searcher = Searcher::new(corpus)?;
    let mut table = Table { chunks: searcher.chunks(), figures: Default::default() };
    for (method, figures) in METHODS.into_iter().zip(&mut table.figures) {
        for question in &corpus.questions {
            let found = searcher.search(method, &question.text, TOP)?;
            figures.add(found.iter().position(|hit| question.is_answered_by(hit)));
        }
    }
    Ok(table)
}

/// NDCG@10 / MRR / hit@10 of every method, a row for each group and one for all.
fn print_tables(groups: &BTreeMap<String, Vec<Table>>) {
    let heads = METHODS.map(|method| format!("{:<21}", method.name())).join(" ");
    println!("{:<36} {:>9} {:>7}  {heads}", "NDCG@10 / MRR / hit@10", "questions", "chunks");
    let mut all: Vec<&Table> = Vec::new();
    for (name, tables) in groups {
        print_row(name, &tables.iter().collect::<Vec<_>>());
        all.extend(tables);
    }
    let total = print_row("all", &all);
    let [grep, bm25, _, hybrid, full] = total.each_ref().map(Figures::ndcg);
    println!(
        "full ranking: {:.2} times grep (goal 2.0), {:.2} times BM25 (goal 1.3), {:.2} times the hybrid (goal 1.15)",
        full / grep,
        full / bm25,
        full / hybrid
    );
}

fn print_row(name: &str, tables: &[&Table]) -> [Figures; METHODS.len()] {
    let mut place = 0;
    let total = METHODS.map(|_| {
        place += 1;
        tables.iter().map(|table| &table.figures[place - 1]).sum::<Figures>()
    });
    let chunks: usize = tables.iter().map(|table| table.chunks).sum();
    let cells = total.each_ref().map(|figures| format!("{:<21}", figures.to_string())).join(" ");
    println!("{name:<36} {:>9} {chunks:>7}  {cells}", total[0].questions);
    total
}
