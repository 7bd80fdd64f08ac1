//! The directory that is searched, opened when it is first used.

use std::{fmt, path::Path, sync::Arc};

use parking_lot::Mutex;
use toolbay_protocol::printable::error_chain;
use toolbay_search::{
    codebase::{Codebase, FileError, Options},
    tree::{RelPath, TreeError},
};

/// A codebase that is opened when it is first used, and then shared.
pub struct LazyCodebase {
    open: Box<dyn Fn() -> Result<Arc<Codebase>, CodeError> + Send + Sync>,
    opened: Mutex<Option<Arc<Codebase>>>,
}

/// Why a request about a codebase fails.
#[derive(Debug, Clone, thiserror::Error)]
pub enum CodeError {
    /// An argument cannot be used. The caller can correct it.
    #[error("/{argument} {reason}")]
    InvalidArgument {
        /// Its name.
        argument: String,
        /// What is wrong with it, after its name.
        reason: String,
    },
    /// The name of the file indicates that it holds secrets.
    #[error("`{0}` is hidden because its name indicates secrets; set `secrets = true` to include it")]
    Secret(String),
    /// The arguments are valid, and it failed.
    #[error("{0}")]
    Failed(String),
    /// The call was cancelled.
    #[error("the call was canceled")]
    Cancelled,
}

impl LazyCodebase {
    /// Opens with `open`. When that fails, the next use tries again.
    pub fn new(open: impl Fn() -> Result<Arc<Codebase>, CodeError> + Send + Sync + 'static) -> Self {
        Self { open: Box::new(open), opened: Mutex::default() }
    }

    /// The codebase in the directory `root`. One that is watched is kept indexed while it is in use.
    pub fn at(root: &Path, options: Options) -> Self {
        let root = root.to_owned();
        Self::new(move || {
            let opened = Codebase::open(&root, options.clone());
            let codebase = opened.map_err(|error| tree_error("path", &error))?;
            if options.watch {
                codebase.keep_indexed();
            }
            Ok(codebase)
        })
    }

    /// Returns the codebase. Blocks while it is opened.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn get(&self) -> Result<Arc<Codebase>, CodeError> {
        let mut opened = self.opened.lock();
        if let Some(codebase) = &*opened {
            return Ok(codebase.clone());
        }
        let codebase = (self.open)()?;
        *opened = Some(codebase.clone());
        Ok(codebase)
    }
}

impl fmt::Debug for LazyCodebase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LazyCodebase").finish_non_exhaustive()
    }
}

impl CodeError {
    pub(super) fn argument(name: &str, reason: impl Into<String>) -> Self {
        Self::InvalidArgument { argument: name.to_owned(), reason: reason.into() }
    }
}

/// Reads a path that is relative to the root, or absolute and inside of it.
pub(super) fn parse_path(codebase: &Codebase, argument: &str, text: &str) -> Result<RelPath, CodeError> {
    let inside = Path::new(text).strip_prefix(codebase.root()).ok().and_then(Path::to_str);
    RelPath::parse(inside.unwrap_or(text))
        .map_err(|error| CodeError::argument(argument, format!("cannot be used: {error}")))
}

/// As [`parse_path`]; the root is no restriction.
pub(super) fn parse_scope(
    codebase: &Codebase,
    argument: &str,
    text: Option<&str>,
) -> Result<Option<RelPath>, CodeError> {
    let path = text.map(|text| parse_path(codebase, argument, text)).transpose()?;
    Ok(path.filter(|path| !path.is_root()))
}

/// The error of a request whose `argument` names a place in the tree.
pub(super) fn tree_error(argument: &str, error: &TreeError) -> CodeError {
    match error {
        TreeError::Glob { .. } => {
            CodeError::argument("glob", format!("cannot be used: {}", error_chain(error)))
        }
        TreeError::Missing { .. } | TreeError::Outside { .. } => {
            CodeError::argument(argument, format!("cannot be used: {}", error_chain(error)))
        }
        _ => error.into(),
    }
}

impl From<&TreeError> for CodeError {
    fn from(error: &TreeError) -> Self {
        match error {
            TreeError::Secret { path } => Self::Secret(path.to_string()),
            _ => Self::Failed(error_chain(error)),
        }
    }
}

impl From<TreeError> for CodeError {
    fn from(error: TreeError) -> Self {
        (&error).into()
    }
}

impl From<FileError> for CodeError {
    fn from(error: FileError) -> Self {
        match &error {
            FileError::Tree(error) => error.into(),
            FileError::Binary { .. } => Self::Failed(error.to_string()),
        }
    }
}
