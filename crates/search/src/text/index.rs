//! [`Index`]: searches a tree, with what is stored and without.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::plan::{Plan, plan};
use super::scan::{ScanSource, scan};
use super::view::{Join, View};
use super::{PatternError, Query, Results, query};
use crate::store::{Store, StoreError};
use crate::tree::{FileEntry, Links, RelPath, Rules, Tree, TreeError};
use parking_lot::Mutex;

/// The text index of a tree. Without a store, or with an empty one, every search is a plain one.
#[derive(Debug, Default)]
pub struct Index {
    pub(super) store: Option<Store>,
    state: Mutex<IndexState>,
}

/// How many joins are kept.
const JOINS: usize = 2;

#[derive(Debug, Default)]
struct IndexState {
    view: Arc<View>,
    /// The last ones made, of the listings with and without a glob: the next query most likely needs one of them.
    joins: Vec<Arc<Join>>,
    notice: Option<String>,
}

/// Why a text search failed.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// The pattern.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    /// The tree, or a path or glob in the query.
    #[error(transparent)]
    Tree(#[from] TreeError),
}

impl Index {
    /// The index in `store`, or one that is always empty.
    pub fn open(store: Option<Store>) -> Self {
        let index = Self { store, state: Mutex::default() };
        index.view();
        index
    }

    /// Takes the notice for the user, if there is one: for example that the stored index was damaged and is rebuilt.
    pub fn take_notice(&self) -> Option<String> {
        self.state.lock().notice.take()
    }

    /// Whether nothing is indexed yet.
    pub fn is_empty(&self) -> bool {
        self.view().segments.is_empty()
    }

    /// Finds what `rg` finds with the options of the query.
    ///
    /// # Errors
    /// If the pattern or a glob cannot be understood, or the tree or the path not be read.
    pub fn search(&self, tree: &Tree, query: &Query, stop: &AtomicBool) -> Result<Results, SearchError> {
        let matcher = query::matcher(query)?;
        let Listing { files, source } = listing(tree, query)?;
        let plan = plan(query);
        let join = self.join(files);
        let everything = || (0..join.files.len() as u32).collect();
        let candidates = match source {
            // The index says nothing about what ripgrep finds in a file that it was pointed to, if that is binary.
            ScanSource::Named => everything(),
            ScanSource::Tree | ScanSource::Walk => self.candidates(&join, &plan).unwrap_or_else(|error| {
                self.distrust(&error);
                everything()
            }),
        };
        let wanted = |path: &&RelPath| match (&query.path, source) {
            (Some(folder), ScanSource::Tree) => path.is_in(folder),
            _ => true,
        };
        let paths: Vec<&RelPath> =
            candidates.iter().map(|at| &join.files[*at as usize].path).filter(wanted).collect();
        let found = scan(tree.root(), &matcher, query, &paths, source, stop);
        Ok(Results {
            hits: found.hits,
            total: found.total,
            files: found.files,
            candidates: paths.len(),
            listed: join.files.len(),
        })
    }

    /// Places of the files in which a match can be, sorted.
    fn candidates(&self, join: &Join, plan: &Plan) -> Result<Vec<u32>, StoreError> {
        let mut places = join.loose.clone();
        for (at, segment) in join.view.segments.iter().enumerate() {
            join.places(at, segment.find(plan)?.as_deref(), &mut places);
        }
        places.sort_unstable();
        places.dedup();
        Ok(places)
    }

    /// The stored index as of now.
    pub(super) fn view(&self) -> Arc<View> {
        let mut state = self.state.lock();
        if let Some(store) = &self.store
            && state.view.is_outdated(store)
        {
            match View::load(store, &state.view) {
                Ok(view) => state.view = Arc::new(view),
                Err(error) => {
                    drop(state);
                    self.distrust(&error);
                    return Arc::default();
                }
            }
        }
        Arc::clone(&state.view)
    }

    pub(super) fn join(&self, files: Arc<[FileEntry]>) -> Arc<Join> {
        let view = self.view();
        let same = |join: &&Arc<Join>| Arc::ptr_eq(&join.files, &files) && Arc::ptr_eq(&join.view, &view);
        if let Some(join) = self.state.lock().joins.iter().find(same) {
            return Arc::clone(join);
        }
        let join = Arc::new(Join::new(files, view));
        let mut state = self.state.lock();
        if state.joins.len() == JOINS {
            state.joins.remove(0);
        }
        state.joins.push(Arc::clone(&join));
        join
    }

    /// What is stored cannot be used: it is taken away if we may, so that the next update makes it anew.
    pub(super) fn distrust(&self, error: &StoreError) {
        let mut state = self.state.lock();
        state.view = Arc::default();
        state.joins.clear();
        state.notice = Some(format!("{error}: rebuilding the text index; searches read the files meanwhile"));
        drop(state);
        if let Some(store) = &self.store
            && let Ok(Some(lock)) = store.lock()
        {
            // If that fails too, the next look at the store reports it again.
            let _ = View::store(store, &lock, &[]);
        }
    }
}

struct Listing {
    files: Arc<[FileEntry]>,
    source: ScanSource,
}

/// The files to choose from.
fn listing(tree: &Tree, query: &Query) -> Result<Listing, TreeError> {
    let root = RelPath::root();
    let folder = query.path.as_ref().unwrap_or(&root);
    if query.rules == Rules::default() {
        let files = tree.files()?;
        let first = files.partition_point(|entry| entry.path < *folder);
        let is_listed = |entry: &FileEntry| entry.path.is_in(folder) && entry.path != *folder;
        if folder.is_root() || files.get(first).is_some_and(is_listed) {
            return Ok(Listing { files, source: ScanSource::Tree });
        }
    }
    let walk = |folder| -> Result<_, TreeError> {
        Ok(Listing { files: tree.files_by(folder, &query.rules)?, source: ScanSource::Walk })
    };
    if folder.is_root() {
        return walk(folder);
    }
    // A path that is named is searched although it is ignored, and a folder although it is reached by a link.
    match tree.root().open_file(folder, Links::Follow) {
        Ok((_, stamp)) => {
            let files = Arc::from([FileEntry { path: folder.clone(), stamp }]);
            Ok(Listing { files, source: ScanSource::Named })
        }
        Err(TreeError::NotAFile { .. }) => walk(&tree.root().real(folder)?),
        Err(error) => Err(error),
    }
}
