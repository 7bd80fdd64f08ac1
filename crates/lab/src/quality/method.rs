//! The ways to search that are compared.

use std::{
    collections::HashSet,
    fmt,
    ops::Range,
    sync::{Arc, atomic::AtomicBool},
    thread,
    time::Duration,
};

use anyhow::Result;
use toolbay_search::{
    chunk::{self, Chunk},
    semantic::{Index, Query},
    tree::{FileEntry, Tree, TreeOptions, TreeRoot},
};

use crate::ranking::Ranking;

use super::{
    bm25::Bm25,
    corpus::Corpus,
    grep::{self, File},
};

/// A way to search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    /// Words of the question as grep finds them.
    Grep,
    /// Words by their weight, as in [`super::bm25`].
    Bm25,
    /// The vectors of the built-in model alone.
    Model,
    /// Words and vectors, in the plainest way.
    Hybrid,
    /// What `search_by_embedding` answers.
    Full,
}

pub(super) const METHODS: [Method; 5] =
    [Method::Grep, Method::Bm25, Method::Model, Method::Hybrid, Method::Full];

impl Method {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Grep => "grep",
            Self::Bm25 => "BM25",
            Self::Model => "model alone",
            Self::Hybrid => "hybrid",
            Self::Full => "full ranking",
        }
    }
}

/// A piece of a file that was found.
#[derive(Debug, Clone)]
pub(super) struct Hit {
    pub(super) path: String,
    pub(super) lines: Range<u32>,
}

/// One tree, made ready for every method.
pub(super) struct Searcher {
    files: Vec<File>,
    bm25: Bm25,
    index: Index,
    tree: Tree,
    entries: Arc<[FileEntry]>,
}

impl fmt::Debug for Searcher {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("Searcher").field("files", &self.files.len()).finish_non_exhaustive()
    }
}

impl Searcher {
    pub(super) fn new(corpus: &Corpus) -> Result<Self> {
        let mut files = Vec::new();
        let mut bm25 = Bm25::default();
        for (path, text) in &corpus.files {
            let chunks = chunk::cut(chunk::language(path, text), text);
            for chunk in &chunks {
                bm25.add(path, text, chunk);
            }
            files.push(File::new(path, text, chunks));
        }
        let tree = Tree::open(TreeRoot::open(&corpus.root)?, TreeOptions::default());
        // The same files for all methods.
        let known: HashSet<&str> = corpus.files.iter().map(|(path, _)| path.as_str()).collect();
        let entries: Arc<[FileEntry]> = tree
            .files()?
            .iter()
            .filter(|entry| known.contains(&*entry.path.to_str_lossy()))
            .cloned()
            .collect();
        let index = Index::in_memory(None);
        // What was written a moment ago is indexed once it has rested.
        while index.update(&entries, &tree, &mut |_| (), &AtomicBool::new(false))?.young > 0 {
            thread::sleep(Duration::from_millis(500));
        }
        Ok(Self { files, bm25, index, tree, entries })
    }

    pub(super) fn files(&self) -> &[File] {
        &self.files
    }

    /// How many chunks there are to find.
    pub(super) fn chunks(&self) -> usize {
        self.index.size().chunks
    }

    pub(super) fn search(&self, method: Method, question: &str, most: usize) -> Result<Vec<Hit>> {
        let ranking = match method {
            Method::Grep => {
                let found = grep::search(&self.files, question, most).into_iter();
                return Ok(found
                    .map(|found| Hit { path: found.file.path.clone(), lines: lines(found.chunk) })
                    .collect());
            }
            Method::Bm25 => return Ok(self.bm25.search(question, most)),
            Method::Model => Ranking::Vectors,
            Method::Hybrid => Ranking::Hybrid,
            Method::Full => Ranking::Full,
        };
        let hits = ranking.search(&self.index, &Query::new(question, most), &self.entries, &self.tree)?;
        Ok(hits
            .into_iter()
            .map(|hit| Hit {
                path: hit.path.to_str_lossy().into_owned(),
                lines: hit.start_line..hit.end_line + 1,
            })
            .collect())
    }
}

pub(super) fn lines(chunk: &Chunk) -> Range<u32> {
    chunk.start_line..chunk.end_line.saturating_add(1)
}
