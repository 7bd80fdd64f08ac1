//! `toolbay-lab semble DATA TREES RUN [RANKING]`: a public benchmark of code search, run over our index.
//!
//! DATA holds `tasks.jsonl` and `repositories.json`, TREES a folder for each repository. Writes RUN, a list of
//! `{repo, query, results}` with results as `[path, first line, last line]`, best first, and prints the NDCG@10.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::{Arc, atomic::AtomicBool},
    time::Instant,
};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use toolbay_search::{
    semantic::{Index, Query},
    tree::{FileEntry, Tree, TreeOptions, TreeRoot},
};

use crate::ranking::Ranking;

/// What the benchmark calls code. Its figures are made with these files alone.
const CODE: &[&str] = &[
    "py", "js", "jsx", "ts", "tsx", "mjs", "cjs", "go", "rs", "java", "kt", "kts", "rb", "php", "c", "h",
    "cpp", "hpp", "cs", "swift", "scala", "sc", "dart", "lua", "sql", "sh", "bash", "zsh", "ex", "exs", "hs",
    "zig",
];

/// Results that count.
pub(crate) const TOP: usize = 10;

/// A question and where the answer is.
#[derive(Debug, Clone)]
pub(crate) struct Task {
    pub(crate) query: String,
    pub(crate) category: String,
    /// Paths from the root of the repository, with lines if only these count.
    pub(crate) targets: Vec<(String, Option<(u64, u64)>)>,
}

/// A repository with the questions about it.
#[derive(Debug)]
pub(crate) struct Repository {
    pub(crate) name: String,
    /// The folder that is indexed, from the root of the repository.
    pub(crate) root: String,
    pub(crate) tree: Tree,
    pub(crate) entries: Arc<[FileEntry]>,
    pub(crate) tasks: Vec<Task>,
}

pub(crate) fn run(args: &[String]) -> Result<()> {
    let [data, trees, out, rest @ ..] = args else {
        bail!("usage: toolbay-lab semble DATA TREES RUN [RANKING]")
    };
    let ranking = Ranking::parse(rest.first().map_or("full", String::as_str))?;
    let mut results = Vec::new();
    let mut means = Vec::new();
    let mut categories: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    let (mut indexing, mut searching, mut chunks) = (0.0, 0.0, 0);
    for repository in repositories(Path::new(data), Path::new(trees))? {
        let start = Instant::now();
        let index = index(&repository)?;
        indexing += start.elapsed().as_secs_f64();
        chunks += index.size().chunks;
        let mut figures = Vec::new();
        for task in &repository.tasks {
            let query = Query::new(&task.query, TOP);
            let start = Instant::now();
            let hits = ranking.search(&index, &query, &repository.entries, &repository.tree)?;
            searching += start.elapsed().as_secs_f64();
            let found: Vec<Found> = hits
                .iter()
                .map(|hit| repository.found(&hit.path.to_str_lossy(), hit.start_line, hit.end_line))
                .collect();
            let figure = ndcg(task, &found);
            figures.push(figure);
            categories.entry(task.category.clone()).or_default().push(figure);
            let found: Vec<Value> =
                found.iter().map(|found| json!([found.path, found.first, found.last])).collect();
            results.push(json!({"repo": repository.name, "query": task.query, "results": found}));
        }
        println!("{:22} {:4} {:.4}", repository.name, figures.len(), mean(&figures));
        means.push(mean(&figures));
    }
    for (category, figures) in &categories {
        println!("{category:22} {:4} {:.4}", figures.len(), mean(figures));
    }
    println!("NDCG@10, mean of the repositories: {:.4}", mean(&means));
    println!("{} questions in {searching:.1} s, {chunks} chunks indexed in {indexing:.1} s", results.len());
    fs::write(out, serde_json::to_string(&results)?).with_context(|| format!("cannot write {out}"))
}

/// The repositories of the benchmark that there are trees of.
pub(crate) fn repositories(data: &Path, trees: &Path) -> Result<Vec<Repository>> {
    let read = |name: &str| {
        let path: PathBuf = data.join(name);
        fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))
    };
    let mut tasks: BTreeMap<String, Vec<Task>> = BTreeMap::new();
    for line in read("tasks.jsonl")?.lines() {
        let task: Value = serde_json::from_str(line)?;
        let repo = text(&task, "repo")?;
        tasks.entry(repo.to_owned()).or_default().push(parse_task(&task)?);
    }
    let list: Vec<Value> = serde_json::from_str(&read("repositories.json")?)?;
    let mut repositories = Vec::new();
    for entry in list {
        let name = text(&entry, "repo")?.to_owned();
        let root = entry["root"].as_str().unwrap_or_default().to_owned();
        let tree = Tree::open(TreeRoot::open(&trees.join(&name).join(&root))?, TreeOptions::default());
        let entries: Vec<FileEntry> = tree.files()?.iter().filter(|entry| is_code(entry)).cloned().collect();
        let tasks = tasks.remove(&name).unwrap_or_default();
        repositories.push(Repository { name, root, tree, entries: entries.into(), tasks });
    }
    Ok(repositories)
}

pub(crate) fn is_code(entry: &FileEntry) -> bool {
    let path = entry.path.to_str_lossy();
    path.rsplit_once('.').is_some_and(|(_, extension)| CODE.contains(&extension))
}

/// Indexes a repository in memory.
pub(crate) fn index(repository: &Repository) -> Result<Index> {
    let index = Index::in_memory(None);
    index.update(&repository.entries, &repository.tree, &mut |_| (), &AtomicBool::new(false))?;
    Ok(index)
}

fn parse_task(task: &Value) -> Result<Task> {
    let targets = task["targets"].as_array().context("a task has no `targets`")?;
    let spans = task["spans"].as_array();
    let targets = targets.iter().enumerate().map(|(at, target)| {
        let span = spans
            .and_then(|spans| spans.get(at))
            .and_then(|span| Some((span[0].as_u64()?, span[1].as_u64()?)));
        (target.as_str().unwrap_or_default().to_owned(), span)
    });
    Ok(Task {
        query: text(task, "query")?.to_owned(),
        category: text(task, "category")?.to_owned(),
        targets: targets.collect(),
    })
}

fn text<'a>(value: &'a Value, key: &str) -> Result<&'a str> {
    value[key].as_str().with_context(|| format!("`{key}` is missing in {value}"))
}

/// A result, as the benchmark wants it.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    pub(crate) path: String,
    pub(crate) first: u64,
    pub(crate) last: u64,
}

impl Repository {
    pub(crate) fn found(&self, path: &str, first: u32, last: u32) -> Found {
        let path = if self.root.is_empty() { path.to_owned() } else { format!("{}/{path}", self.root) };
        Found { path, first: first.into(), last: last.into() }
    }
}

impl Task {
    /// Which targets a result is.
    pub(crate) fn hits(&self, found: &Found) -> u64 {
        let is = |(path, span): &(String, Option<(u64, u64)>)| {
            let same = *path == found.path
                || path.ends_with(&format!("/{}", found.path))
                || found.path.ends_with(&format!("/{path}"));
            same && span.is_none_or(|(first, last)| found.last >= first && found.first <= last)
        };
        self.targets.iter().take(64).enumerate().map(|(at, target)| u64::from(is(target)) << at).sum()
    }
}

fn ndcg(task: &Task, found: &[Found]) -> f64 {
    let hits: Vec<u64> = found.iter().map(|found| task.hits(found)).collect();
    ndcg_of(&hits, task.targets.len())
}

/// NDCG@10 as the benchmark counts: a rank scores once, where a target is seen for the first time.
pub(crate) fn ndcg_of(hits: &[u64], targets: usize) -> f64 {
    let gain = |rank: usize| 1.0 / (rank as f64 + 2.0).log2();
    let mut seen = 0;
    let mut sum = 0.0;
    for (rank, hit) in hits.iter().take(TOP).enumerate() {
        if hit & !seen != 0 {
            sum += gain(rank);
        }
        seen |= hit;
    }
    let best: f64 = (0..targets.min(TOP)).map(gain).sum();
    if best > 0.0 { sum / best } else { 0.0 }
}

pub(crate) fn mean(figures: &[f64]) -> f64 {
    figures.iter().sum::<f64>() / figures.len().max(1) as f64
}
