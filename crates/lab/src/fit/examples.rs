//! Questions with their candidates, and which of these are right.

use std::{
    collections::HashMap,
    hash::Hash,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
};

use anyhow::{Result, anyhow};
use toolbay_search::{
    semantic::{ExplainedCandidate, Feature, Index, Query, RankedCandidate, Weights},
    tree::{FileEntry, Tree, TreeOptions, TreeRoot},
};

use super::functions::{Function, Stripped};
use crate::{
    semble::{self, Repository},
    train,
};

/// What a question is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Where something is handled.
    Place,
    /// Which function does something, where no function has a comment.
    Function,
    /// Which function does something, where all is as it was published but for the sentence that is asked.
    Published,
    /// In which function something is done that a comment inside of it says.
    Inside,
}

impl Kind {
    pub(super) const ALL: [Self; 4] = [Self::Place, Self::Function, Self::Published, Self::Inside];
}

/// A question with all that the ranking knows about it.
#[derive(Debug, Clone)]
pub(super) struct Example {
    pub(super) kind: Kind,
    /// The repository.
    pub(super) group: usize,
    /// How many right answers there are.
    pub(super) targets: usize,
    pub(super) candidates: Vec<RankedCandidate<u32, u32>>,
    /// Which targets each candidate is.
    pub(super) hits: Vec<u64>,
}

impl Example {
    /// Asks for a function whose names say nothing that the question says: as people ask who do not know the code.
    pub(super) fn in_other_words(&self) -> bool {
        /// A word that nearly all code has may be shared.
        const SHARED: f32 = 0.12;
        let mut right = self.candidates.iter().zip(&self.hits).filter(|(_, hits)| **hits != 0).peekable();
        self.kind != Kind::Place
            && right.peek().is_some()
            && right.all(|(one, _)| one.features[Feature::Names as usize] < SHARED)
    }

    /// Asks for a function that is cut into several chunks.
    pub(super) fn is_long(&self) -> bool {
        self.kind != Kind::Place && self.hits.iter().filter(|hits| **hits != 0).count() > 1
    }

    /// Only the candidates that weights near to these could ever show, and those that are right.
    pub(super) fn shorten(&mut self, weights: &Weights) {
        const KEPT: usize = 100;
        let mut scores: Vec<f32> =
            self.candidates.iter().map(|one| weights.score(&one.features) + one.bonus).collect();
        let by_score = scores.clone();
        scores.sort_by(|a, b| b.total_cmp(a));
        let least = scores.get(KEPT).copied().unwrap_or(f32::NEG_INFINITY);
        let is_kept = |at: usize| by_score[at] >= least || self.hits[at] != 0;
        let kept: Vec<usize> = (0..self.hits.len()).filter(|at| is_kept(*at)).collect();
        self.candidates = kept.iter().map(|at| self.candidates[*at].clone()).collect();
        self.hits = kept.iter().map(|at| self.hits[*at]).collect();
    }
}

/// Asks everything, of two trees at a time.
pub(super) fn collect(data: &Path, trees: &Path, packages: &Path) -> Result<Vec<Example>> {
    let repositories = semble::repositories(data, trees)?;
    let packages = train::held_out(packages)?;
    let groups = repositories.len() + packages.len();
    let next = AtomicUsize::new(0);
    let work = || {
        let mut examples = Vec::new();
        loop {
            let group = next.fetch_add(1, Ordering::Relaxed);
            if let Some(repository) = repositories.get(group) {
                eprintln!("{} of {groups}: {}", group + 1, repository.name);
                places(group, repository, &mut examples)?;
                functions(group, &repository.entries, &repository.tree, &mut examples)?;
            } else if let Some(source) = packages.get(group - repositories.len()) {
                eprintln!("{} of {groups}: {}", group + 1, source.package);
                let tree = Tree::open(TreeRoot::open(&train::inner(&source.folder))?, TreeOptions::default());
                let entries: Vec<FileEntry> =
                    tree.files()?.iter().filter(|entry| semble::is_code(entry)).cloned().collect();
                functions(group, &entries.into(), &tree, &mut examples)?;
            } else {
                return anyhow::Ok(examples);
            }
        }
    };
    let (first, second) = thread::scope(|threads| {
        let other = threads.spawn(work);
        (work(), other.join().map_err(|_| anyhow!("a thread stopped")))
    });
    let mut examples = first?;
    examples.extend(second??);
    examples.sort_by_key(|example| example.group);
    Ok(examples)
}

fn places(group: usize, repository: &Repository, examples: &mut Vec<Example>) -> Result<()> {
    let index = semble::index(repository)?;
    for task in &repository.tasks {
        let query = Query::new(&task.query, semble::TOP);
        let explained = index.explain(&query, &repository.entries, &repository.tree)?;
        let hit = |one: &ExplainedCandidate| {
            let hit = &one.hit;
            task.hits(&repository.found(&hit.path.to_str_lossy(), hit.start_line, hit.end_line))
        };
        examples.push(example(Kind::Place, group, task.targets.len(), &explained, hit));
    }
    Ok(())
}

fn functions(
    group: usize,
    entries: &Arc<[FileEntry]>,
    tree: &Tree,
    examples: &mut Vec<Example>,
) -> Result<()> {
    for kind in [Kind::Function, Kind::Published, Kind::Inside] {
        let stripped = match kind {
            Kind::Published => Stripped::published(entries, tree),
            Kind::Inside => Stripped::inside(entries, tree),
            Kind::Place | Kind::Function => Stripped::bare(entries, tree),
        };
        let index = Index::in_memory(None);
        index.update(entries, &stripped, &mut |_| (), &AtomicBool::new(false))?;
        for function in &stripped.functions {
            let explained = index.explain(&Query::new(&function.query, semble::TOP), entries, &stripped)?;
            let hit = |one: &ExplainedCandidate| u64::from(is_answer(function, one));
            examples.push(example(kind, group, 1, &explained, hit));
        }
    }
    Ok(())
}

/// Most of the hit is of the function, or most of the function is in the hit.
fn is_answer(function: &Function, one: &ExplainedCandidate) -> bool {
    let hit = &one.hit;
    let (lines, shown) = (&function.lines, hit.start_line..hit.end_line + 1);
    let both = lines.end.min(shown.end).saturating_sub(lines.start.max(shown.start)) as usize;
    hit.path == function.path && (both * 2 > shown.len() || both * 2 > lines.len())
}

fn example(
    kind: Kind,
    group: usize,
    targets: usize,
    explained: &[ExplainedCandidate],
    hit: impl Fn(&ExplainedCandidate) -> u64,
) -> Example {
    let (mut files, mut symbols) = (Numbers::default(), Numbers::default());
    let candidates = explained.iter().map(|one| {
        let RankedCandidate { file, symbol, features, bonus } = one.ranked();
        RankedCandidate {
            file: files.number(file),
            symbol: symbol.map(|symbol| symbols.number(symbol)),
            features,
            bonus,
        }
    });
    let candidates = candidates.collect();
    Example { kind, group, targets, candidates, hits: explained.iter().map(hit).collect() }
}

/// Numbers for things.
struct Numbers<T>(HashMap<T, u32>);

impl<T> Default for Numbers<T> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<T: Hash + Eq> Numbers<T> {
    fn number(&mut self, thing: T) -> u32 {
        let next = self.0.len() as u32;
        *self.0.entry(thing).or_insert(next)
    }
}
