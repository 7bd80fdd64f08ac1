//! A repository without the doc comments of its functions, which become questions.

use std::{collections::HashMap, ops::Range};

use toolbay_search::{
    meaning::{Source, Text},
    pairs,
    tree::RelPath,
};

use crate::semble::Repository;

/// Questions about one repository, so that none outweighs the others.
const MOST: usize = 30;

/// A function and what its comment said.
#[derive(Debug, Clone)]
pub(super) struct Function {
    pub(super) query: String,
    pub(super) path: RelPath,
    pub(super) lines: Range<u32>,
}

/// The files without comments.
#[derive(Debug)]
pub(super) struct Bare {
    texts: HashMap<RelPath, Text>,
    functions: Vec<Function>,
}

impl Bare {
    pub(super) fn new(repository: &Repository) -> Self {
        let mut bare = Self { texts: HashMap::new(), functions: Vec::new() };
        for entry in repository.entries.iter() {
            let Some(Text { stamp, text: Some(text) }) = repository.tree.text(&entry.path) else { continue };
            let text = bare.strip(&entry.path, &text);
            bare.texts.insert(entry.path.clone(), Text { stamp, text: Some(text) });
        }
        bare
    }

    /// Some of the questions, always the same, none that is asked twice.
    pub(super) fn functions(&self) -> Vec<&Function> {
        let mut times: HashMap<String, usize> = HashMap::new();
        for function in &self.functions {
            *times.entry(function.query.to_lowercase()).or_default() += 1;
        }
        let once = |function: &&Function| times.get(&function.query.to_lowercase()) == Some(&1);
        let functions: Vec<&Function> = self.functions.iter().filter(once).collect();
        let step = functions.len().div_ceil(MOST).max(1);
        functions.into_iter().step_by(step).collect()
    }

    fn strip(&mut self, path: &RelPath, text: &str) -> String {
        let name = path.to_str_lossy();
        let mut pairs = pairs::extract(&name, text);
        pairs.retain(|pair| pair.source == pairs::Source::Function);
        pairs.sort_by_key(|pair| pair.comment.start);
        let mut stripped = String::with_capacity(text.len());
        let mut at = 0;
        for pair in &pairs {
            if pair.comment.start >= at {
                stripped.push_str(&text[at..pair.comment.start]);
                at = pair.comment.end;
            }
        }
        stripped.push_str(&text[at..]);
        let is_aside = name.to_lowercase().split(['/', '_', '.', '-']).any(|part| {
            ["test", "tests", "testing", "spec", "example", "examples", "docs", "doc"].contains(&part)
        });
        if !is_aside {
            let line = |place: usize| {
                let gone = pairs.iter().take_while(|pair| pair.comment.start < place);
                let gone: usize = gone.map(|pair| pair.comment.end.min(place) - pair.comment.start).sum();
                let before = stripped.get(..place - gone).unwrap_or(&stripped);
                before.matches('\n').count() as u32 + 1
            };
            self.functions.extend(pairs.iter().map(|pair| {
                let begin =
                    if pair.comment.start <= pair.bytes.start { pair.comment.end } else { pair.bytes.start };
                let lines = line(begin.max(pair.bytes.start))..line(pair.bytes.end) + 1;
                Function { query: pair.query.clone(), path: path.clone(), lines }
            }));
        }
        stripped
    }
}

impl Source for Bare {
    fn text(&self, path: &RelPath) -> Option<Text> {
        self.texts.get(path).cloned()
    }
}
