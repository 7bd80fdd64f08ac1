//! Questions with their candidates, and which of these are right.

use std::path::Path;

use anyhow::Result;
use toolbay_search::meaning::{Explained, Features, Index, Query};

use super::functions::{Bare, Function};
use crate::semble::{self, Repository};

/// What a question is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Where something is handled.
    Place,
    /// Which function does something.
    Function,
}

/// A question with all that the ranking knows about it.
#[derive(Debug, Clone)]
pub(super) struct Example {
    pub(super) kind: Kind,
    /// The repository.
    pub(super) group: usize,
    /// How many right answers there are.
    pub(super) targets: usize,
    /// File, features and what literal matches add.
    pub(super) candidates: Vec<(u32, Features, f32)>,
    /// Which targets each candidate is.
    pub(super) hits: Vec<u64>,
}

/// Asks everything.
pub(super) fn collect(data: &Path, trees: &Path) -> Result<Vec<Example>> {
    let mut examples = Vec::new();
    for (group, repository) in semble::repositories(data, trees)?.iter().enumerate() {
        let index = semble::index(repository)?;
        for task in &repository.tasks {
            let explained =
                index.explain(&Query::new(&task.query, 10), &repository.entries, &repository.tree)?;
            let hit = |one: &Explained| {
                let hit = &one.hit;
                task.hits(&repository.found(&hit.path.to_str_lossy(), hit.start_line, hit.end_line))
            };
            examples.push(example(Kind::Place, group, task.targets.len(), &explained, hit));
        }
        functions(group, repository, &mut examples)?;
    }
    Ok(examples)
}

fn functions(group: usize, repository: &Repository, examples: &mut Vec<Example>) -> Result<()> {
    let bare = Bare::new(repository);
    let index = Index::in_memory(None);
    index.update(&repository.entries, &bare, &mut |_| (), &std::sync::atomic::AtomicBool::new(false))?;
    for function in bare.functions() {
        let explained = index.explain(&Query::new(&function.query, 10), &repository.entries, &bare)?;
        let hit = |one: &Explained| u64::from(is_answer(function, one));
        examples.push(example(Kind::Function, group, 1, &explained, hit));
    }
    Ok(())
}

/// Most of the hit is of the function, or most of the function is in the hit.
fn is_answer(function: &Function, one: &Explained) -> bool {
    let hit = &one.hit;
    let (lines, shown) = (&function.lines, hit.start_line..hit.end_line + 1);
    let both = lines.end.min(shown.end).saturating_sub(lines.start.max(shown.start)) as usize;
    hit.path == function.path && (both * 2 > shown.len() || both * 2 > lines.len())
}

fn example(
    kind: Kind,
    group: usize,
    targets: usize,
    explained: &[Explained],
    hit: impl Fn(&Explained) -> u64,
) -> Example {
    let mut files = Vec::new();
    let candidates = explained.iter().map(|one| {
        let file = files.iter().position(|path| *path == one.hit.path).unwrap_or_else(|| {
            files.push(one.hit.path.clone());
            files.len() - 1
        });
        (file as u32, one.features, one.bonus)
    });
    let candidates = candidates.collect();
    Example { kind, group, targets, candidates, hits: explained.iter().map(hit).collect() }
}
