//! The server `text-editor`.

use std::fs;

use serde_json::{Value, json};
use tempfile::TempDir;
use toolbay_builtin::text_editor::{TextEditorConfig, text_editor};

use crate::client::Client;

const TOOL: &str = "str_replace_based_edit_tool";

struct Editor {
    client: Client,
    directory: TempDir,
}

impl Editor {
    async fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        Self::with(directory, TextEditorConfig::default()).await
    }

    async fn with(directory: TempDir, config: TextEditorConfig) -> Self {
        let config = TextEditorConfig { directories: vec![directory.path().to_owned()], ..config };
        Self { client: Client::new(text_editor(config).0).await, directory }
    }

    fn path(&self, name: &str) -> String {
        self.directory.path().join(name).to_str().unwrap().to_owned()
    }

    /// Runs a command on a file.
    async fn run(&mut self, command: &str, name: &str, more: Value) -> Result<String, String> {
        let mut arguments = json!({ "command": command, "path": self.path(name) });
        for (name, value) in more.as_object().unwrap() {
            arguments[name] = value.clone();
        }
        let path = self.path("");
        let result = self.client.call(TOOL, arguments).await;
        result.map(|text| text.replace(&path, "/")).map_err(|text| text.replace(&path, "/"))
    }

    fn content(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }
}

#[tokio::test]
async fn files_are_created_viewed_edited_and_restored() {
    let mut editor = Editor::new().await;
    let makefile = "all:\n\techo one\r\n\techo two\nend";
    let created = editor.run("create", "Makefile", json!({ "file_text": makefile })).await.unwrap();
    assert_eq!(created, "File created successfully at: /Makefile");
    let again = editor.run("create", "Makefile", json!({ "file_text": "" })).await.unwrap_err();
    assert_eq!(again, "File already exists at: /Makefile. Cannot overwrite files using command `create`.");

    let viewed = editor.run("view", "Makefile", json!({ "view_range": [2, 3] })).await.unwrap();
    assert_eq!(
        viewed,
        "Here's the result of running `cat -n` on /Makefile:\n     2\t\techo one\n     3\t\techo two\n"
    );
    let edited =
        editor.run("str_replace", "Makefile", json!({ "old_str": "two", "new_str": "2" })).await.unwrap();
    assert_eq!(
        edited,
        "The file /Makefile has been edited. Here's the result of running `cat -n` on a snippet of /Makefile:\n     1\tall:\n     \
         2\t\techo one\n     3\t\techo 2\n     4\tend\nReview the changes and make sure they are as expected. Edit the file again \
         if necessary."
    );
    assert_eq!(editor.content("Makefile"), "all:\n\techo one\r\n\techo 2\nend", "tabs and line endings stay");
    let inserted = editor
        .run("insert", "Makefile", json!({ "insert_line": 0, "insert_text": "# first" }))
        .await
        .unwrap();
    assert!(inserted.contains("     1\t# first\n     2\tall:\n"), "{inserted}");
    editor.run("insert", "Makefile", json!({ "insert_line": 5, "new_str": "last" })).await.unwrap();
    assert_eq!(editor.content("Makefile"), "# first\nall:\n\techo one\r\n\techo 2\nend\nlast");

    for _ in 0..3 {
        let undone = editor.run("undo_edit", "Makefile", json!({})).await.unwrap();
        assert_eq!(undone, "Last edit to /Makefile undone successfully.");
    }
    assert_eq!(editor.content("Makefile"), makefile);
    fs::write(editor.path("Makefile"), "other").unwrap();
    let refused = editor.run("undo_edit", "Makefile", json!({})).await.unwrap_err();
    assert!(refused.contains("was changed by another program"), "{refused}");
    assert_eq!(editor.content("Makefile"), "other");
}

#[tokio::test]
async fn mistakes_are_explained() {
    let mut editor = Editor::new().await;
    fs::write(editor.path("a"), "one\nnumber two\none\n").unwrap();
    fs::create_dir(editor.path("d")).unwrap();
    for (command, name, more, expected) in [
        ("view", "none", json!({}), "The path /none does not exist. Please provide a valid path."),
        (
            "view",
            "d",
            json!({ "view_range": [1, 2] }),
            "The `view_range` parameter is not allowed when `path` points to a directory.",
        ),
        (
            "view",
            "a",
            json!({ "view_range": [9, 10] }),
            "Invalid `view_range`: [9, 10]. Its first element `9` should be within the range of lines of the file: [1, 4]",
        ),
        (
            "view",
            "a",
            json!({ "view_range": [1, 9] }),
            "Invalid `view_range`: [1, 9]. Its second element `9` should be smaller than the number of lines in the file: `4`",
        ),
        (
            "str_replace",
            "a",
            json!({ "old_str": "one" }),
            "No replacement was performed. Multiple occurrences of old_str `one` in lines [1, 3]. Please ensure it is unique",
        ),
        (
            "str_replace",
            "a",
            json!({ "old_str": "zzz" }),
            "No replacement was performed, old_str `zzz` did not appear verbatim in /a.",
        ),
        ("str_replace", "a", json!({}), "Parameter `old_str` is required for command: str_replace"),
        (
            "str_replace",
            "d",
            json!({ "old_str": "x" }),
            "The path /d is a directory and only the `view` command can be used on directories",
        ),
        (
            "insert",
            "a",
            json!({ "insert_line": 9, "insert_text": "x" }),
            "Invalid `insert_line` parameter: 9. It should be within the range of lines of the file: [0, 4]",
        ),
        ("undo_edit", "a", json!({}), "No edit history found for /a."),
    ] {
        assert_eq!(editor.run(command, name, more).await.unwrap_err(), expected);
    }
    let near = editor.run("str_replace", "a", json!({ "old_str": "number tow" })).await.unwrap_err();
    assert!(near.contains("the nearest text is at line 2"), "{near}");
    assert_eq!(editor.content("a"), "one\nnumber two\none\n");
}

#[tokio::test]
async fn directories_are_shown_two_levels_deep() {
    let mut editor = Editor::new().await;
    for path in ["p/a/b/c", "p/.hidden/x"] {
        fs::create_dir_all(editor.path(path)).unwrap();
    }
    let shown = editor.run("view", "p", json!({})).await.unwrap();
    assert_eq!(
        shown,
        "Here's the files and directories up to 2 levels deep in /p, excluding hidden items:\n/p\n/p/a\n/p/a/b\n"
    );
}

#[tokio::test]
async fn twenty_edits_are_undone_and_no_more() {
    let mut editor = Editor::new().await;
    fs::write(editor.path("a"), "0").unwrap();
    for number in 0..25 {
        let edit = json!({ "old_str": number.to_string(), "new_str": (number + 1).to_string() });
        editor.run("str_replace", "a", edit).await.unwrap();
    }
    for _ in 0..20 {
        editor.run("undo_edit", "a", json!({})).await.unwrap();
    }
    assert_eq!(editor.content("a"), "5");
    let refused = editor.run("undo_edit", "a", json!({})).await.unwrap_err();
    assert_eq!(refused, "No edit history found for /a.");
    // A file that an edit created is removed.
    editor.run("create", "b", json!({ "file_text": "x" })).await.unwrap();
    editor.run("undo_edit", "b", json!({})).await.unwrap();
    assert!(!editor.directory.path().join("b").exists());
}

#[tokio::test]
async fn no_session_undoes_the_edits_of_another() {
    let directory = tempfile::tempdir().unwrap();
    let config =
        TextEditorConfig { directories: vec![directory.path().to_owned()], ..TextEditorConfig::default() };
    let (connect, _) = text_editor(config);
    let (mut one, mut other) = (Client::new(connect.clone()).await, Client::new(connect).await);
    one.call(TOOL, json!({ "command": "create", "path": "a", "file_text": "x" })).await.unwrap();
    let undo = json!({ "command": "undo_edit", "path": "a" });
    assert_eq!(other.call(TOOL, undo.clone()).await.unwrap_err(), "No edit history found for a.");
    one.call(TOOL, undo).await.unwrap();
}

#[tokio::test]
async fn hashes_are_returned_and_checked() {
    let mut editor = Editor::new().await;
    fs::write(editor.path("a"), "one\n").unwrap();
    let path = editor.path("a");
    let view = json!({ "name": TOOL, "arguments": { "command": "view", "path": path } });
    let viewed = editor.client.request("tools/call", view).await["result"]["structuredContent"].take();
    assert_eq!(viewed["lines"], 2);
    assert_eq!(viewed["content"].as_str().unwrap().lines().nth(1), Some("     1\tone"));
    let edit = json!({ "old_str": "one", "new_str": "two", "expected_hash": viewed["hash"] });
    editor.run("str_replace", "a", edit.clone()).await.unwrap();
    fs::write(editor.path("a"), "one\none more\n").unwrap();
    let stale = editor.run("str_replace", "a", edit).await.unwrap_err();
    assert!(stale.contains("the file has changed"), "{stale}");
}

#[tokio::test]
async fn views_end_at_the_configured_length() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("a"), "äöü\n".repeat(100)).unwrap();
    let config = TextEditorConfig { max_characters: Some(10), ..TextEditorConfig::default() };
    let mut editor = Editor::with(directory, config).await;
    let viewed = editor.run("view", "a", json!({})).await.unwrap();
    assert!(viewed.contains("     3\täö\n<response clipped><NOTE>"), "{viewed}");
}
