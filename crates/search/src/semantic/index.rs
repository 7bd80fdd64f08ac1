//! The semantic index of a tree.

use super::{
    embed::Embedder,
    pending::{Overlay, overlay},
    query::{ParsedQuery, Query},
    rank::weights::Weights,
    search::{ExplainedCandidate, Hit, Page, SearchContext},
    segment::{Damaged, stored},
    source::{TextSource, Until},
    state::{Comparison, LoadedSegment, SegmentSet},
    view::{View, ViewPart},
};
use crate::{
    chunk::Language,
    store::{Store, StoreError},
    tree::FileEntry,
};
use ignore::overrides::{Override, OverrideBuilder};
use parking_lot::Mutex;
use std::{
    fs::File,
    os::unix::fs::MetadataExt,
    path::Path,
    sync::{Arc, atomic::AtomicBool},
};

/// Chunks, words and vectors of a tree, and the ranking over them.
///
/// Searching never waits for an update. Entries of a changed file are left out; the file itself is read by the search.
#[derive(Debug)]
pub struct Index {
    pub(super) store: Option<Store>,
    pub(super) embedder: Option<Arc<dyn Embedder>>,
    pub(super) state: Mutex<Loaded>,
    /// Held while a segment gets its name and is written.
    pub(super) naming: Mutex<()>,
    seen: Mutex<Option<Seen>>,
    weights: Weights,
}

/// The segments in use, and which list of the store they are.
#[derive(Debug, Default)]
pub(super) struct Loaded {
    pub(super) state: Arc<SegmentSet>,
    pub(super) list: Option<OpenList>,
}

/// The list of a store, kept open. Each list is a new file, and while this one is open, no other gets its inode number. Times
/// would not do: several lists may be written within one tick of the clock.
#[derive(Debug)]
pub(super) struct OpenList {
    inode: u64,
    _file: File,
}

/// What came out of comparing a listing with the segments: searches between two changes need it once.
#[derive(Debug)]
struct Seen {
    entries: Arc<[FileEntry]>,
    state: Arc<SegmentSet>,
    comparison: Arc<Comparison>,
    overlay: Option<Overlay>,
}

/// The results of a semantic search.
#[derive(Debug, Default)]
pub struct Results {
    /// Best first.
    pub hits: Vec<Hit>,
    /// How many there are in all, those before and after these hits included.
    pub total: usize,
    /// Files in the tree.
    pub files: usize,
    /// Files of the tree that are not in the index yet.
    pub pending: usize,
    /// Whether some of those were not searched: results may get better once they are indexed.
    pub partial: bool,
    /// Notices for the user: the endpoint did not respond, the index was damaged.
    pub notices: Vec<String>,
}

/// How much is in the index.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Size {
    /// Files, old versions included.
    pub files: usize,
    /// Chunks of those files.
    pub chunks: usize,
    /// Parts that the index is in.
    pub segments: usize,
}

impl Index {
    /// Opens the index in a store, as far as it can be used. Reads hardly anything.
    pub fn open(store: Store, embedder: Option<Arc<dyn Embedder>>) -> Self {
        let index = Self { store: Some(store), ..Self::in_memory(embedder) };
        index.refresh();
        index
    }

    /// An index in memory only, for where nothing may be written.
    pub fn in_memory(embedder: Option<Arc<dyn Embedder>>) -> Self {
        Self {
            store: None,
            embedder,
            state: Mutex::default(),
            naming: Mutex::default(),
            seen: Mutex::default(),
            weights: Weights::FITTED,
        }
    }

    /// The same with other weights: for those who fit them.
    #[must_use]
    pub fn with_weights(mut self, weights: Weights) -> Self {
        self.weights = weights;
        self
    }

    /// Searches the files in `entries`, which are those of the tree now.
    ///
    /// # Errors
    /// For a glob that cannot be understood. Damage to the index is no error but a notice.
    pub fn search(
        &self,
        query: &Query,
        entries: &Arc<[FileEntry]>,
        source: &dyn TextSource,
    ) -> Result<Results, SemanticError> {
        self.search_until(query, entries, source, &AtomicBool::new(false))
    }

    /// As [`Index::search`], until `stop` is set.
    ///
    /// # Errors
    /// As [`Index::search`], and [`SemanticError::Stopped`].
    pub fn search_until(
        &self,
        query: &Query,
        entries: &Arc<[FileEntry]>,
        source: &dyn TextSource,
        stop: &AtomicBool,
    ) -> Result<Results, SemanticError> {
        let source = &Until { source, stop };
        let globs = globs(&query.globs)?;
        let parsed = ParsedQuery::new(&query.text);
        let mut notices = Vec::new();
        loop {
            let found = self.view(entries, &parsed, source).and_then(|looked| {
                if source.is_over() {
                    return Ok((Page::default(), looked));
                }
                let view = narrow(&looked.view, query, globs.as_ref());
                let page = self.context(&view, source).search(query, &parsed)?;
                Ok((page, looked))
            });
            if source.is_over() {
                return Err(SemanticError::Stopped);
            }
            match found {
                Ok((Page { hits, total, notice }, looked)) => {
                    notices.extend(notice);
                    return Ok(Results {
                        hits,
                        total,
                        files: entries.len(),
                        pending: looked.pending,
                        partial: looked.partial,
                        notices,
                    });
                }
                Err(damaged) if self.drop_damaged() => {
                    notices.push(format!("{damaged}; it is ignored and will be rebuilt"))
                }
                // Nothing left that could be dropped: this is not about the index on disk.
                Err(damaged) => return Err(damaged.into()),
            }
        }
    }

    /// Returns all candidates of a query with their features.
    ///
    /// # Errors
    /// If the index is damaged.
    pub fn explain(
        &self,
        query: &Query,
        entries: &Arc<[FileEntry]>,
        source: &dyn TextSource,
    ) -> Result<Vec<ExplainedCandidate>, SemanticError> {
        let parsed = ParsedQuery::new(&query.text);
        let source = &Until { source, stop: &AtomicBool::new(false) };
        let view = self.view(entries, &parsed, source)?.view;
        let context = self.context(&view, source);
        let (dense, _) = context.dense(&query.text);
        Ok(context.explain(query, &parsed, &dense, usize::MAX)?.0)
    }

    /// How much there is.
    pub fn size(&self) -> Size {
        let state = self.current();
        let metas = || state.kept.iter().map(|kept| kept.segment.meta());
        Size {
            files: metas().map(|meta| meta.files as usize).sum(),
            chunks: metas().map(|meta| meta.chunks as usize).sum(),
            segments: state.kept.len(),
        }
    }

    fn context<'a>(&'a self, view: &'a View, source: &'a dyn TextSource) -> SearchContext<'a> {
        SearchContext { view, source, embedder: self.embedder.as_deref(), weights: &self.weights }
    }

    /// What there is to look at: what the segments know, and what is pending.
    fn view(
        &self,
        entries: &Arc<[FileEntry]>,
        parsed: &ParsedQuery,
        source: &Until<'_>,
    ) -> Result<Looked, Damaged> {
        self.refresh();
        let state = self.current();
        let (comparison, known) = {
            let mut seen = self.seen.lock();
            match &*seen {
                Some(seen) if Arc::ptr_eq(&seen.entries, entries) && Arc::ptr_eq(&seen.state, &state) => {
                    (seen.comparison.clone(), seen.overlay.clone())
                }
                _ => {
                    let comparison = Arc::new(state.compare(entries)?);
                    let entries = entries.clone();
                    *seen = Some(Seen { entries, state, comparison: comparison.clone(), overlay: None });
                    (comparison, None)
                }
            }
        };
        let mut view = comparison.view.clone();
        view.parts.retain(|part| part.counts.contains(&true));
        let pending = comparison.pending.len();
        let mut partial = false;
        if pending > 0 {
            let overlay = match known {
                Some(overlay) => overlay,
                None => self.look_at_pending(entries, &comparison, parsed, source)?,
            };
            partial = !overlay.complete;
            view.parts.push(ViewPart::whole(overlay.segment)?);
        }
        Ok(Looked { view, pending, partial })
    }

    fn look_at_pending(
        &self,
        entries: &Arc<[FileEntry]>,
        comparison: &Comparison,
        parsed: &ParsedQuery,
        source: &Until<'_>,
    ) -> Result<Overlay, Damaged> {
        let overlay = overlay(&comparison.pending, parsed, source)?;
        // Kept for the next query only if it has all files and none of them is too young to be trusted.
        if overlay.complete && !source.is_over() && overlay.is_trusted()? {
            let mut seen = self.seen.lock();
            if let Some(seen) = seen.as_mut().filter(|seen| Arc::ptr_eq(&seen.entries, entries)) {
                seen.overlay = Some(overlay.clone());
            }
        }
        Ok(overlay)
    }

    pub(super) fn current(&self) -> Arc<SegmentSet> {
        self.state.lock().state.clone()
    }

    /// Takes the segments that the store lists now, if that is another list than before. What cannot be opened is left out.
    pub(super) fn refresh(&self) {
        let Some(store) = &self.store else { return };
        let current = std::fs::metadata(store.folder().join(stored::LIST_NAME)).ok().map(|data| data.ino());
        let mut loaded = self.state.lock();
        if loaded.list.as_ref().map(|list| list.inode) == current {
            return;
        }
        let list = Self::open_list(store); // before it is read: the next one is then not taken for this one
        let names = stored::read_list(store).unwrap_or_default();
        let kept = names.into_iter().filter_map(|name| {
            let open = loaded.state.kept.iter().find(|kept| kept.name.as_ref() == Some(&name));
            let segment = match open {
                Some(kept) => kept.segment.clone(),
                None => Arc::new(stored::open(store, &name).ok()?),
            };
            Some(LoadedSegment { name: Some(name), segment })
        });
        let kept = kept.collect();
        *loaded = Loaded { state: Arc::new(SegmentSet::new(kept)), list };
    }

    pub(super) fn open_list(store: &Store) -> Option<OpenList> {
        let file = File::open(store.folder().join(stored::LIST_NAME)).ok()?;
        Some(OpenList { inode: file.metadata().ok()?.ino(), _file: file })
    }

    /// Forgets segments that cannot be read. Whether there were any.
    fn drop_damaged(&self) -> bool {
        let mut loaded = self.state.lock();
        let (sound, damaged): (Vec<LoadedSegment>, Vec<LoadedSegment>) =
            loaded.state.kept.iter().cloned().partition(|kept| kept.segment.check().is_ok());
        if damaged.is_empty() {
            return false;
        }
        loaded.state = Arc::new(SegmentSet::new(sound));
        true
    }
}

/// What a search looks at, and what it knows to be missing.
#[derive(Debug)]
struct Looked {
    view: View,
    pending: usize,
    partial: bool,
}

fn globs(globs: &[String]) -> Result<Option<Override>, SemanticError> {
    if globs.is_empty() {
        return Ok(None);
    }
    let mut builder = OverrideBuilder::new("");
    for glob in globs {
        let refused =
            |error: ignore::Error| SemanticError::Glob { glob: glob.clone(), reason: error.to_string() };
        builder.add(glob).map_err(refused)?;
    }
    let refused =
        |error: ignore::Error| SemanticError::Glob { glob: globs.join(", "), reason: error.to_string() };
    builder.build().map(Some).map_err(refused)
}

/// Leaves out files that the query excludes.
fn narrow(view: &View, query: &Query, globs: Option<&Override>) -> View {
    let mut view = view.clone();
    if query.path.is_none() && query.language.is_none() && globs.is_none() {
        return view;
    }
    let language = query.language.as_deref().map(Language::from_name);
    for part in &mut view.parts {
        let wanted = part.files.rows.iter().zip(part.counts.iter()).map(|(row, counts)| {
            *counts
                && query.path.as_ref().is_none_or(|path| row.path.is_in(path))
                && language.is_none_or(|language| language == Some(row.language))
                && globs.is_none_or(|globs| takes(globs, row.path.as_path()))
        });
        part.counts = wanted.collect();
    }
    view
}

/// Whether globs take a file: neither it nor a folder that it is in is left out.
fn takes(globs: &Override, path: &Path) -> bool {
    let mut folders = path.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty());
    !globs.matched(path, false).is_ignore() && !folders.any(|folder| globs.matched(folder, true).is_ignore())
}

/// Why the index could not be updated or searched. Searches go on with what there is.
#[derive(Debug, thiserror::Error)]
pub enum SemanticError {
    /// The folder of the index cannot be written or read.
    #[error("cannot write the index to disk")]
    Store(#[from] StoreError),
    /// Some of it is not what was written. It has been left out and is made anew by the next update.
    #[error("a part of the index was corrupt and is ignored; it will be rebuilt")]
    Damaged(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The search was stopped.
    #[error("the search was stopped")]
    Stopped,
    /// A glob that cannot be understood.
    #[error("invalid glob `{glob}`: {reason}")]
    Glob {
        /// As it was given.
        glob: String,
        /// What is wrong with it.
        reason: String,
    },
}

impl From<Damaged> for SemanticError {
    fn from(damaged: Damaged) -> Self {
        Self::Damaged(Box::new(damaged))
    }
}
