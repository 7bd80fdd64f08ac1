//! The trees of code that this process searches: one index each, shared by all clients.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    sync::{Arc, Weak},
};

use http::{HeaderMap, HeaderValue, header};
use parking_lot::Mutex;
use tokio_util::task::TaskTracker;
use toolbay_builtin::codebase::{CodeError, CodebaseIdentity, EmbeddingEndpoint, LazyCodebase, codebase};
use toolbay_config::{CodebaseSettings, Embeddings};
use toolbay_host::InProcess;
use toolbay_search::{codebase::Options, semantic::Embedder, tree::Secrets};
use toolbay_server::in_process;
use toolbay_transport::http::client::{ConnectOptions, Proxies, Target};

use crate::app::{context::Context, default_servers::NO_FOLDER, env::Env, error::CliError};

/// The longest answer of an endpoint, in bytes.
const MAX_ANSWER: usize = 64 << 20;

/// How many requests an embedding endpoint gets at once.
const MAX_ASKED: usize = 4;

/// The trees that are in use.
#[derive(Debug)]
pub(crate) struct OpenTrees {
    cache: Option<PathBuf>,
    /// Whether they are searched more than once.
    watch: bool,
    /// Proxies for connections to endpoints.
    proxies: Proxies,
    tasks: TaskTracker,
    open: Mutex<Vec<OpenTree>>,
}

/// A tree that is in use, or was.
#[derive(Debug)]
struct OpenTree {
    root: PathBuf,
    embeddings: Option<Embeddings>,
    secrets: Secrets,
    tree: Weak<LazyCodebase>,
}

impl OpenTrees {
    /// Trees of a server, which are kept indexed.
    pub(crate) fn new(context: &Context) -> Arc<Self> {
        Arc::new(Self { watch: true, ..Self::once(context) })
    }

    /// Trees of a command, which are searched once.
    pub(crate) fn once(context: &Context) -> Self {
        Self {
            cache: context.env.indexes(),
            watch: false,
            proxies: proxies(&context.env),
            tasks: TaskTracker::new(),
            open: Mutex::default(),
        }
    }

    /// Trees that are looked at and left as they were: nothing of them is stored.
    pub(crate) fn unstored(context: &Context) -> Arc<Self> {
        Arc::new(Self { cache: None, ..Self::once(context) })
    }

    /// The proxies for connections.
    pub(crate) fn proxies(&self) -> &Proxies {
        &self.proxies
    }

    /// The tree of a folder; the same one for everybody.
    pub(crate) fn tree(
        &self,
        root: &Path,
        secrets: Secrets,
        embeddings: Option<&Embeddings>,
    ) -> Arc<LazyCodebase> {
        let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        let mut open = self.open.lock();
        open.retain(|known| known.tree.strong_count() > 0);
        let same = |known: &&OpenTree| {
            known.root == root && known.secrets == secrets && known.embeddings.as_ref() == embeddings
        };
        if let Some(tree) = open.iter().find(same).and_then(|known| known.tree.upgrade()) {
            return tree;
        }
        let embedder = embeddings.map(|endpoint| self.endpoint(endpoint));
        let options = Options { cache: self.cache.clone(), watch: self.watch, embedder, secrets };
        let tree = Arc::new(LazyCodebase::at(&root, options));
        open.push(OpenTree { root, embeddings: embeddings.cloned(), secrets, tree: Arc::downgrade(&tree) });
        tree
    }

    /// The server of a codebase.
    pub(crate) fn server(&self, config: &CodebaseSettings) -> InProcess {
        let identity = CodebaseIdentity { s3_errors: config.compat.s3_errors, ..CodebaseIdentity::IN_HUB };
        let tree = self.tree(&config.root, show_secrets(config.secrets), config.embeddings.as_ref());
        in_process(codebase(tree, identity))
    }

    fn endpoint(&self, embeddings: &Embeddings) -> Arc<dyn Embedder> {
        let mut headers = HeaderMap::new();
        let key =
            embeddings.api_key.as_ref().map(|key| HeaderValue::from_str(&format!("Bearer {}", key.expose())));
        if let Some(Ok(mut key)) = key {
            key.set_sensitive(true);
            headers.insert(header::AUTHORIZATION, key);
        }
        let target = Target {
            url: embeddings.url.clone(),
            headers,
            max_message: MAX_ANSWER,
            max_running: MAX_ASKED,
            route: ConnectOptions { proxies: self.proxies.clone(), ..ConnectOptions::default() },
            authorizer: None,
        };
        Arc::new(EmbeddingEndpoint::new(target, &embeddings.model, &self.tasks))
    }
}

/// A codebase server for clients outside of any project: it lists its tools, and calls explain why they cannot be used.
pub(crate) fn no_folder() -> InProcess {
    let nothing = LazyCodebase::new(|| Err(CodeError::Failed(NO_FOLDER.to_owned())));
    in_process(codebase(Arc::new(nothing), CodebaseIdentity::IN_HUB))
}

fn proxies(env: &Env) -> Proxies {
    Proxies::from_variables(|name| env.variables.get(OsStr::new(name)).map(|value| value.as_os_str()))
}

/// Converts a flag to the setting for secrets.
pub(crate) fn show_secrets(are_shown: bool) -> Secrets {
    if are_shown { Secrets::Shown } else { Secrets::Hidden }
}

/// The folder that was given, or the current one.
pub(crate) fn folder(named: Option<&Path>) -> Result<PathBuf, CliError> {
    let path = named.unwrap_or(Path::new("."));
    let no_folder = |source| CliError::NoFolder { path: path.to_owned(), source };
    let folder = path.canonicalize().map_err(no_folder)?;
    std::fs::read_dir(&folder).map_err(no_folder)?;
    Ok(folder)
}

/// The message of a failed search.
pub(crate) fn failed(error: CodeError) -> CliError {
    match error {
        CodeError::InvalidArgument { argument, reason } => {
            CliError::Query { why: format!("the {argument} {reason}") }
        }
        CodeError::Cancelled => CliError::Interrupted,
        CodeError::Secret(path) => CliError::Code {
            why: format!(
                "`{path}` is hidden because its name indicates secrets; pass --secrets to include it"
            ),
        },
        CodeError::Failed(why) => CliError::Code { why },
    }
}
