//! A tree of files with its searches.
//!
//! A [`Codebase`] joins the tree, the exact search and the search by meaning. All its methods block and may be called by
//! many threads at once. No search waits for an index, because each reads files itself that are not indexed yet.

mod files;
mod indexer;
mod summary;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

pub use files::{EntryKind, FileError, FileText, FolderEntry, MAX_READ};
pub use summary::{IndexError, IndexProgress, IndexStatus, Phase, Summary};

use self::indexer::Indexer;
use crate::chunk::{Chunk, Language, cut, language};
use crate::semantic::{self, Embedder, SemanticError};
use crate::store::{Store, StoreError};
use crate::text;
use crate::tree::{FileEntry, Links, RelPath, Secrets, Tree, TreeError, TreeOptions, TreeRoot};
use parking_lot::Mutex;

/// How a tree is opened.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The directory for indexes; without it they are kept in memory only.
    pub cache: Option<PathBuf>,
    /// Whether to watch the tree: worth it for more than one search.
    pub watch: bool,
    /// The embedder to use instead of the built-in model.
    pub embedder: Option<Arc<dyn Embedder>>,
    /// Whether files whose names indicate secrets are read, searched and indexed.
    pub secrets: Secrets,
}

/// A searchable tree of files.
#[derive(Debug)]
pub struct Codebase {
    tree: Tree,
    store: Option<Store>,
    text: text::Index,
    semantic: semantic::Index,
    /// Notices for the user.
    notices: Mutex<Vec<String>>,
    indexer: Mutex<Option<Indexer>>,
}

/// A file, split into chunks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChunks {
    /// The file.
    pub path: RelPath,
    /// Its language.
    pub language: Language,
    /// All of it.
    pub text: String,
    /// Its chunks, in order; they cover it.
    pub chunks: Vec<Chunk>,
}

/// Why a semantic search failed.
#[derive(Debug, thiserror::Error)]
pub enum SemanticSearchError {
    /// The tree cannot be read any more.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// The query or the index.
    #[error(transparent)]
    Semantic(#[from] SemanticError),
}

impl Codebase {
    /// Opens the tree at `root` with its stored indexes. Reads hardly anything.
    ///
    /// A cache that cannot be used is no error but a [notice](Self::take_notices): searches read the files.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn open(root: &Path, options: Options) -> Result<Arc<Self>, TreeError> {
        let Options { cache, watch, embedder, secrets } = options;
        let tree = Tree::open(TreeRoot::open_with(root, secrets)?, TreeOptions { watch });
        let mut notices = Vec::new();
        let store = cache.and_then(|cache| {
            let opened = Store::open(&cache, tree.root().path());
            opened.map_err(|error| notices.push(format!("{error}: the index is kept in memory only"))).ok()
        });
        Ok(Arc::new(Self {
            text: text::Index::open(store.clone()),
            semantic: match &store {
                Some(store) => semantic::Index::open(store.clone(), embedder),
                None => semantic::Index::in_memory(embedder),
            },
            tree,
            store,
            notices: Mutex::new(notices),
            indexer: Mutex::default(),
        }))
    }

    /// Returns its directory.
    pub fn root(&self) -> &Path {
        self.tree.root().path()
    }

    /// Finds the lines that contain a text or match a pattern, as `rg` does.
    ///
    /// # Errors
    /// If the pattern or a glob cannot be understood, or the tree not be read.
    pub fn search_text(
        &self,
        query: &text::Query,
        stop: &AtomicBool,
    ) -> Result<text::Results, text::SearchError> {
        self.text.search(&self.tree, query, stop)
    }

    /// Finds chunks of files by their meaning.
    ///
    /// # Errors
    /// If a glob cannot be understood, the tree not be read, or if it was stopped.
    pub fn search_semantic(
        &self,
        query: &semantic::Query,
        stop: &AtomicBool,
    ) -> Result<semantic::Results, SemanticSearchError> {
        query.path.as_ref().map_or(Ok(()), |path| self.refuse_secret(path))?;
        Ok(self.semantic.search_until(query, &self.tree.files()?, &self.tree, stop)?)
    }

    /// All files that are searched, sorted by path, as of now.
    ///
    /// # Errors
    /// If the tree cannot be read.
    pub fn files(&self) -> Result<Arc<[FileEntry]>, TreeError> {
        self.tree.files()
    }

    /// Lists a folder: folders first, then by name. Hidden and ignored entries are included only with `all`.
    ///
    /// # Errors
    /// If there is no such folder in the tree, or the system refuses.
    pub fn list(&self, folder: &RelPath, all: bool) -> Result<Vec<FolderEntry>, TreeError> {
        files::list(self.tree.root(), folder, all)
    }

    /// A file as text.
    ///
    /// # Errors
    /// If there is no such file in the tree, if it is too large, or no text.
    pub fn read(&self, path: &RelPath) -> Result<FileText, FileError> {
        files::read(&self.tree, path)
    }

    /// Splits a file into chunks.
    ///
    /// # Errors
    /// As [`Codebase::read`].
    pub fn chunks(&self, path: &RelPath) -> Result<FileChunks, FileError> {
        let FileText { path, text } = self.read(path)?;
        let language = language(&path.to_str_lossy(), &text);
        Ok(FileChunks { chunks: cut(language, &text), path, language, text })
    }

    /// Brings both indexes up to date; what is done can be searched as it goes. Stopping, or being killed, loses little.
    ///
    /// # Errors
    /// If the tree cannot be read or the store not be written. What was indexed before stays.
    pub fn index(
        &self,
        progress: &(dyn Fn(IndexProgress) + Sync),
        stop: &AtomicBool,
    ) -> Result<Summary, IndexError> {
        let began = Instant::now();
        let text = self.text.update(&self.tree, &|at| progress(at.into()), stop)?;
        let files = self.tree.files()?;
        let meaning = self.semantic.update(&files, &self.tree, &mut |at| progress(at.into()), stop)?;
        self.note(meaning.notice.clone());
        Ok(Summary::new(&files, &text, &meaning, self.semantic.size(), self.disk_size(), began.elapsed()))
    }

    /// Keeps both indexes up to date from now on, on a thread of its own, as long as the tree is in use.
    pub fn keep_indexed(self: &Arc<Self>) {
        let mut indexer = self.indexer.lock();
        indexer.get_or_insert_with(|| Indexer::start(self));
    }

    /// Returns the state of the indexes.
    ///
    /// # Errors
    /// If the tree cannot be read.
    pub fn status(&self) -> Result<IndexStatus, TreeError> {
        let size = self.semantic.size();
        Ok(IndexStatus {
            root: self.root().to_owned(),
            store: self.store.as_ref().map(|store| store.folder().to_owned()),
            files: self.tree.files()?.len(),
            indexed: size.files,
            chunks: size.chunks,
            bytes: self.disk_size(),
        })
    }

    /// Takes the notices for the user: an index was damaged and is rebuilt, the cache cannot be used. Each is returned once.
    pub fn take_notices(&self) -> Vec<String> {
        self.note(self.text.take_notice());
        std::mem::take(&mut *self.notices.lock())
    }

    /// Removes what is kept of the tree at `root` below `cache`.
    ///
    /// # Errors
    /// If it is there and cannot be removed.
    pub fn clear(root: &Path, cache: &Path) -> Result<(), StoreError> {
        // A folder that is gone has no canonical path.
        let real = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        Store::at(cache, &real).clear()
    }

    /// Refuses a path that names a secret; the search reports other errors of a path.
    fn refuse_secret(&self, path: &RelPath) -> Result<(), TreeError> {
        let root = self.tree.root();
        let refused = match root.open_file(path, Links::Follow) {
            Err(TreeError::NotAFile { .. }) => root.open_folder(path, Links::Follow).map(drop),
            opened => opened.map(drop),
        };
        match refused {
            Err(error @ TreeError::Secret { .. }) => Err(error),
            _ => Ok(()),
        }
    }

    fn disk_size(&self) -> u64 {
        self.store.as_ref().map_or(0, Store::size)
    }

    fn note(&self, notice: Option<String>) {
        /// The last few are enough.
        const MOST: usize = 16;
        let mut notices = self.notices.lock();
        if let Some(notice) = notice
            && notices.len() < MOST
            && !notices.contains(&notice)
        {
            notices.push(notice);
        }
    }
}
