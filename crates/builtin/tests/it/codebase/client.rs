//! Directories with files, and clients of servers over them.

use std::{fs, path::Path, sync::Arc};

use serde_json::Value;
use tempfile::TempDir;
use tokio_util::task::TaskTracker;
use toolbay_builtin::codebase::{CodebaseIdentity, LazyCodebase, codebase};
use toolbay_search::codebase::Options;
use toolbay_server::in_process;
use toolbay_testkit::MemoryClient;
use toolbay_transport::Connection;

/// A new directory with these files.
pub(super) fn directory(files: &[(&str, String)]) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = directory.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    directory
}

/// The codebase of a directory, without an index on disk.
pub(super) fn lazy(directory: &Path) -> LazyCodebase {
    LazyCodebase::at(directory, Options::default())
}

/// A client of a codebase server over these files, after the handshake. The directory lasts as long as the client.
pub(super) async fn client_of(files: &[(&str, String)]) -> (MemoryClient, TempDir) {
    let directory = directory(files);
    (legacy_client(lazy(directory.path()), CodebaseIdentity::IN_HUB).await, directory)
}

/// A client after the handshake.
pub(super) async fn legacy_client(tree: LazyCodebase, identity: CodebaseIdentity) -> MemoryClient {
    MemoryClient::legacy(connect(tree, identity, &TaskTracker::new()), "2025-06-18").await
}

/// A connection to a new server.
pub(super) fn connect(tree: LazyCodebase, identity: CodebaseIdentity, tasks: &TaskTracker) -> Connection {
    in_process(codebase(Arc::new(tree), identity))(tasks)
}

/// Returns the list in the first block of a result.
pub(super) fn list(result: &Value) -> Vec<Value> {
    let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{result}"));
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}
