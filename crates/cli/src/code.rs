//! The trees of code that this process searches: one index each, whoever asks.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, Weak},
};

use toolbay_builtin::{
    codebase::{CodeError, Face, Opener, codebase, tree},
    in_process,
};
use toolbay_config::{BuiltIn, Codebase, Embeddings, Reach};
use toolbay_host::{Connector, Source};

use crate::{context::Context, error::CliError};

/// What a tree is known by.
type Key = (PathBuf, Option<(String, String)>);

/// The trees that are in use.
#[derive(Debug)]
pub(crate) struct Trees {
    cache: Option<PathBuf>,
    open: Mutex<HashMap<Key, Weak<Opener>>>,
}

impl Trees {
    pub(crate) fn new(context: &Context) -> Arc<Self> {
        Arc::new(Self { cache: context.env.indexes(), open: Mutex::default() })
    }

    /// The tree of a folder; the same one for everybody.
    pub(crate) fn tree(&self, root: &Path, embeddings: Option<&Embeddings>) -> Arc<Opener> {
        let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        let endpoint = embeddings.map(|it| (it.url.to_string(), it.model.clone()));
        let mut open = self.open.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        open.retain(|_, tree| tree.strong_count() > 0);
        let key = (root, endpoint);
        if let Some(tree) = open.get(&key).and_then(Weak::upgrade) {
            return tree;
        }
        let tree = Arc::new(tree(&key.0, self.cache.clone()));
        open.insert(key, Arc::downgrade(&tree));
        tree
    }

    /// Reaches the built-in servers of a configuration.
    pub(crate) fn connector(self: Arc<Self>) -> Connector {
        Connector::new(move |server| match &server.reach {
            Reach::BuiltIn(BuiltIn::Codebase(config)) => Some(Source::InProcess(self.server(config))),
            Reach::Command(_) | Reach::Url(_) => None,
        })
    }

    fn server(&self, config: &Codebase) -> toolbay_host::InProcess {
        let face = Face { s3_errors: config.s3_errors, ..Face::IN_HUB };
        in_process(codebase(self.tree(&config.root, config.embeddings.as_ref()), face))
    }
}

/// The folder that somebody named, or this one.
pub(crate) fn folder(named: Option<&Path>) -> Result<PathBuf, CliError> {
    let path = named.unwrap_or(Path::new("."));
    let no_folder = |source| CliError::NoFolder { path: path.to_owned(), source };
    let folder = path.canonicalize().map_err(no_folder)?;
    std::fs::read_dir(&folder).map_err(no_folder)?;
    Ok(folder)
}

/// The folder that is offered where nothing is configured: the one we are in. Not the whole disk nor a whole home, which
/// nobody means who says nothing.
pub(crate) fn usual_folder(context: &Context, here: &Path) -> Option<PathBuf> {
    let is_home = context.env.home.as_deref() == Some(here);
    (here.parent().is_some() && !is_home).then(|| here.to_owned())
}

/// An error of a search, for people.
pub(crate) fn failed(error: CodeError) -> CliError {
    match error {
        CodeError::Misfit(why) => CliError::Query { why },
        CodeError::Stopped => CliError::Interrupted,
        CodeError::Failed(why) => CliError::Code { why },
    }
}
