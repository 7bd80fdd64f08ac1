//! Roots of clients and the directories of servers for files.

use std::{fs, path::Path};

use serde_json::{Value, json};
use tokio_util::task::TaskTracker;
use toolbay_builtin::{
    ClientRoots,
    filesystem::{FilesystemConfig, filesystem},
};
use toolbay_testkit::MemoryClient;

struct World {
    directory: tempfile::TempDir,
    tasks: TaskTracker,
}

impl World {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        for path in ["project/src", "project/docs", "other"] {
            fs::create_dir_all(directory.path().join(path)).unwrap();
            fs::write(directory.path().join(path).join("file"), path).unwrap();
        }
        Self { directory, tasks: TaskTracker::new() }
    }

    fn path(&self, path: &str) -> String {
        self.directory.path().join(path).to_str().unwrap().to_owned()
    }

    /// A session of a client that has these roots, with a server that has these directories.
    async fn session(&self, directories: &[&str], roots: &[&str], meaning: ClientRoots) -> MemoryClient {
        let config = FilesystemConfig {
            directories: directories.iter().map(|path| self.directory.path().join(path)).collect(),
            client_roots: meaning,
            ..FilesystemConfig::default()
        };
        let mut client = MemoryClient::new(filesystem(config).0(&self.tasks));
        let capabilities = json!({ "roots": { "listChanged": true } });
        let params = json!({ "protocolVersion": "2025-06-18", "capabilities": capabilities });
        client.request("initialize", params).await;
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
        if meaning != ClientRoots::Ignore {
            self.answer_roots(&mut client, roots).await;
        }
        client
    }

    async fn answer_roots(&self, client: &mut MemoryClient, roots: &[&str]) {
        let asked = client.next().await;
        assert_eq!(asked["method"], "roots/list", "{asked}");
        let roots: Vec<Value> =
            roots.iter().map(|path| json!({ "uri": format!("file://{}", self.path(path)) })).collect();
        client.send(&json!({ "jsonrpc": "2.0", "id": asked["id"], "result": { "roots": roots } })).await;
    }

    async fn read(&self, client: &mut MemoryClient, path: &str) -> Result<String, String> {
        let path = if Path::new(path).is_absolute() { path.to_owned() } else { self.path(path) };
        let result = client.call("read_text_file", json!({ "path": path })).await;
        let text = result["content"][0]["text"].as_str().unwrap().to_owned();
        if result["isError"] == true { Err(text) } else { Ok(text) }
    }
}

#[tokio::test]
async fn roots_narrow_the_directories_of_their_session() {
    let world = World::new();
    let mut narrowed = world.session(&["project"], &["project/src", "other"], ClientRoots::Narrow).await;
    assert_eq!(world.read(&mut narrowed, "project/src/file").await.unwrap(), "project/src");
    for outside in ["project/docs/file", "other/file"] {
        let error = world.read(&mut narrowed, outside).await.unwrap_err();
        assert!(error.starts_with("Access denied - path outside allowed directories"), "{error}");
    }
    let listed = narrowed.call("list_allowed_directories", json!({})).await;
    assert_eq!(listed["content"][0]["text"], format!("Allowed directories:\n{}", world.path("project/src")));

    // When they change, so does what can be used.
    narrowed.send(&json!({ "jsonrpc": "2.0", "method": "notifications/roots/list_changed" })).await;
    world.answer_roots(&mut narrowed, &["project/docs"]).await;
    assert!(world.read(&mut narrowed, "project/src/file").await.is_err());
    assert_eq!(world.read(&mut narrowed, "project/docs/file").await.unwrap(), "project/docs");
}

#[tokio::test]
async fn roots_never_add_unless_no_directory_is_given() {
    let world = World::new();
    let mut elsewhere = world.session(&["project"], &["other"], ClientRoots::Provide).await;
    let error = world.read(&mut elsewhere, "other/file").await.unwrap_err();
    assert!(error.contains("none of the roots of the client") && error.contains("client_roots"), "{error}");

    let mut provided = world.session(&[], &["other"], ClientRoots::Provide).await;
    assert_eq!(world.read(&mut provided, "other/file").await.unwrap(), "other");
    assert!(world.read(&mut provided, "project/src/file").await.is_err());

    let mut nothing = world.session(&[], &["other"], ClientRoots::Narrow).await;
    let error = world.read(&mut nothing, "other/file").await.unwrap_err();
    assert!(error.contains("there are no allowed directories"), "{error}");

    let mut ignored = world.session(&["project"], &[], ClientRoots::Ignore).await;
    assert_eq!(world.read(&mut ignored, "project/docs/file").await.unwrap(), "project/docs");
}
