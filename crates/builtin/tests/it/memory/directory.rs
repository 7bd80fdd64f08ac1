//! Memory as text files.

use std::{fs, os::unix::fs::symlink};

use serde_json::{Value, json};
use tempfile::TempDir;
use toolbay_builtin::memory::{MemoryConfig, MemoryToolset, memory};

use crate::client::Client;

struct Memories {
    client: Client,
    directory: TempDir,
}

impl Memories {
    async fn new(max_bytes: u64) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let config = MemoryConfig {
            toolset: MemoryToolset::Anthropic,
            path: directory.path().join("memories"),
            max_bytes,
            ..MemoryConfig::default()
        };
        Self { client: Client::new(memory(config)).await, directory }
    }

    async fn run(&mut self, command: &str, path: &str, more: Value) -> Result<String, String> {
        let mut arguments = json!({ "command": command, "path": path });
        for (name, value) in more.as_object().unwrap() {
            arguments[name] = value.clone();
        }
        self.client.call("memory", arguments).await
    }

    async fn rename(&mut self, old: &str, new: &str) -> Result<String, String> {
        let arguments = json!({ "command": "rename", "old_path": old, "new_path": new });
        self.client.call("memory", arguments).await
    }

    fn content(&self, name: &str) -> String {
        fs::read_to_string(self.directory.path().join("memories").join(name)).unwrap()
    }
}

#[tokio::test]
async fn commands_answer_as_the_reference_does() {
    let mut memories = Memories::new(1 << 20).await;
    let none = json!({});
    let created =
        memories.run("create", "/memories/a/notes.md", json!({ "file_text": "one\ntwo\nthree" })).await;
    assert_eq!(created.unwrap(), "File created successfully at: /memories/a/notes.md");
    let again = memories.run("create", "/memories/a/notes.md", json!({ "file_text": "" })).await;
    assert_eq!(again.unwrap_err(), "File /memories/a/notes.md already exists");
    let viewed = memories.run("view", "/memories/a/notes.md", none.clone()).await.unwrap();
    let expected = "Here's the content of /memories/a/notes.md with line numbers:\n     1\tone\n     2\ttwo\n     3\tthree";
    assert_eq!(viewed, expected);
    let viewed =
        memories.run("view", "/memories/a/notes.md", json!({ "view_range": [2, -1] })).await.unwrap();
    assert!(viewed.ends_with(":\n     2\ttwo\n     3\tthree"), "{viewed}");

    let replaced = json!({ "old_str": "two", "new_str": "2" });
    let replaced = memories.run("str_replace", "/memories/a/notes.md", replaced).await.unwrap();
    let expected = "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n     1\tone\n     \
                    2\t2\n     3\tthree";
    assert_eq!(replaced, expected);
    let inserted = json!({ "insert_line": 3, "insert_text": "four\n" });
    let inserted = memories.run("insert", "/memories/a/notes.md", inserted).await.unwrap();
    assert_eq!(inserted, "The file /memories/a/notes.md has been edited.");
    let inserted = json!({ "insert_line": 0, "insert_text": "zero" });
    memories.run("insert", "/memories/a/notes.md", inserted).await.unwrap();
    assert_eq!(memories.content("a/notes.md"), "zero\none\n2\nthree\nfour\n");

    memories.run("create", "/memories/.hidden", json!({ "file_text": "x" })).await.unwrap();
    memories.run("create", "/memories/b.md", json!({ "file_text": "x".repeat(1536) })).await.unwrap();
    let listed = memories.run("view", "/memories", none.clone()).await.unwrap();
    let lines: Vec<&str> = listed.lines().collect();
    let header =
        "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items:";
    assert_eq!(lines[0], header);
    let paths: Vec<&str> = lines[1..].iter().map(|line| line.split_once('\t').unwrap().1).collect();
    assert_eq!(paths, ["/memories", "/memories/a/", "/memories/a/notes.md", "/memories/b.md"]);
    assert!(listed.ends_with("\n22B\t/memories/a/notes.md\n1.5K\t/memories/b.md"), "{listed}");

    let renamed = memories.rename("/memories/b.md", "/memories/c/d/b.md").await;
    assert_eq!(renamed.unwrap(), "Successfully renamed /memories/b.md to /memories/c/d/b.md");
    let taken = memories.rename("/memories/c", "/memories/a").await;
    assert_eq!(taken.unwrap_err(), "The destination /memories/a already exists");
    for path in ["/memories/c", "/memories/a/notes.md"] {
        let deleted = memories.run("delete", path, none.clone()).await;
        assert_eq!(deleted.unwrap(), format!("Successfully deleted {path}"));
    }
}

#[tokio::test]
async fn mistakes_are_explained() {
    let mut memories = Memories::new(1 << 20).await;
    memories.run("create", "/memories/a", json!({ "file_text": "x\ny\nx\n" })).await.unwrap();
    memories.run("create", "/memories/d/b", json!({ "file_text": "" })).await.unwrap();
    for (command, path, more, expected) in [
        ("view", "/etc/passwd", json!({}), "Path must start with /memories, got: /etc/passwd"),
        ("view", "/memoriesx", json!({}), "Path must start with /memories, got: /memoriesx"),
        ("view", "/memories/../x", json!({}), "Path /memories/../x would escape /memories directory"),
        (
            "view",
            "/memories/none",
            json!({}),
            "The path /memories/none does not exist. Please provide a valid path.",
        ),
        (
            "str_replace",
            "/memories/a",
            json!({ "old_str": "z", "new_str": "" }),
            "No replacement was performed, old_str `z` did not appear verbatim in /memories/a.",
        ),
        (
            "str_replace",
            "/memories/a",
            json!({ "old_str": "x", "new_str": "" }),
            "No replacement was performed. Multiple occurrences of old_str `x` in lines: 1, 3. Please ensure it is unique",
        ),
        (
            "str_replace",
            "/memories/d",
            json!({ "old_str": "x", "new_str": "" }),
            "The path /memories/d is not a file.",
        ),
        (
            "insert",
            "/memories/a",
            json!({ "insert_line": 4, "insert_text": "" }),
            "Invalid `insert_line` parameter: 4. It should be within the range [0, 3].",
        ),
        ("delete", "/memories", json!({}), "Cannot delete the /memories directory itself"),
        ("delete", "/memories/none", json!({}), "The path /memories/none does not exist"),
        (
            "create",
            "/memories/c",
            json!({}),
            "invalid arguments for `memory`: /file_text is required for this command",
        ),
        (
            "create",
            "/memories/c",
            json!({ "file_text": "x".repeat(2 << 20) }),
            "the memory is full: at most 10000 files and 1048576 bytes; delete what is no longer needed",
        ),
    ] {
        assert_eq!(memories.run(command, path, more).await, Err(expected.to_owned()), "{command} {path}");
    }
    let moved = memories.rename("/memories/none", "/memories/x").await;
    assert_eq!(moved.unwrap_err(), "The path /memories/none does not exist");
    let moved = memories.rename("/memories", "/memories/x").await;
    assert_eq!(moved.unwrap_err(), "Cannot rename the /memories directory itself");
}

#[tokio::test]
async fn links_lead_nowhere_else() {
    let mut memories = Memories::new(1 << 20).await;
    memories.run("create", "/memories/a", json!({ "file_text": "x" })).await.unwrap();
    let outside = memories.directory.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("secret"), "s3cret").unwrap();
    symlink(&outside, memories.directory.path().join("memories/link")).unwrap();
    let none = json!({});
    let seen = memories.run("view", "/memories/link/secret", none.clone()).await.unwrap_err();
    assert_eq!(seen, "Path /memories/link/secret would escape /memories directory");
    let listed = memories.run("view", "/memories", none.clone()).await.unwrap();
    assert!(!listed.contains("link"), "{listed}");
    let created = memories.run("create", "/memories/link/new", json!({ "file_text": "x" })).await;
    created.unwrap_err();
    memories.run("delete", "/memories/link/secret", none).await.unwrap_err();
    memories.rename("/memories/a", "/memories/link/a").await.unwrap_err();
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
}
