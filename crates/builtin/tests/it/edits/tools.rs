//! Every tool that edits files, called alike.

use std::path::Path;

use serde_json::{Value, json};
use toolbay_builtin::{
    filesystem::{FilesystemConfig, FilesystemToolset, filesystem},
    text_editor::{TextEditorConfig, TextEditorToolset, text_editor},
};

use super::generated::{Edit, Generated, Insertion};
use crate::client::Client;

/// The tools and their servers.
pub(super) struct Editors {
    tools: Vec<Editor>,
}

struct Editor {
    name: &'static str,
    client: Client,
    replace: Replace,
    /// The tool and the arguments that insert a text, if it can.
    insert: Option<Insert>,
    /// The arguments that undo an edit, if it can.
    undo: Option<fn(&str) -> Value>,
}

type Insert = fn(&str, &Insertion) -> Option<(&'static str, Value)>;

enum Replace {
    /// The arguments that replace one text by another.
    Text(fn(&str, &Edit) -> Value),
    /// Whole lines are replaced, as they were read before.
    Lines,
}

/// What became of an undo.
pub(super) enum Outcome {
    Undone,
    NotOffered,
}

impl Editors {
    pub(super) async fn new(directory: &Path) -> Self {
        let directories = vec![directory.to_owned()];
        let config = FilesystemConfig { directories: directories.clone(), ..FilesystemConfig::default() };
        let agent = FilesystemConfig { toolset: FilesystemToolset::Agent, ..config.clone() };
        let editor = TextEditorConfig { directories, ..TextEditorConfig::default() };
        let hashes = TextEditorConfig { toolset: TextEditorToolset::Hashes, ..editor.clone() };
        Self {
            tools: vec![
                Editor {
                    name: "edit_file",
                    client: Client::new(filesystem(config).0).await,
                    replace: Replace::Text(
                        |path, edit| json!({ "path": path, "edits": [{ "oldText": edit.old, "newText": edit.new }] }),
                    ),
                    insert: Some(|path, insertion| {
                        let arguments = json!({ "path": path, "content": insertion.text, "mode": "append" });
                        insertion.is_at_end.then_some(("write_file", arguments))
                    }),
                    undo: None,
                },
                Editor {
                    name: "edit",
                    client: Client::new(filesystem(agent).0).await,
                    replace: Replace::Text(
                        |path, edit| json!({ "file_path": path, "old_string": edit.old, "new_string": edit.new }),
                    ),
                    insert: None,
                    undo: None,
                },
                Editor {
                    name: "str_replace_based_edit_tool",
                    client: Client::new(text_editor(editor).0).await,
                    replace: Replace::Text(
                        |path, edit| json!({ "command": "str_replace", "path": path, "old_str": edit.old, "new_str": edit.new }),
                    ),
                    insert: Some(|path, insertion| {
                        let arguments = json!({
                            "command": "insert", "path": path,
                            "insert_line": insertion.line, "insert_text": insertion.text
                        });
                        Some(("str_replace_based_edit_tool", arguments))
                    }),
                    undo: Some(|path| json!({ "command": "undo_edit", "path": path })),
                },
                Editor {
                    name: "edit_text_file_contents",
                    client: Client::new(text_editor(hashes).0).await,
                    replace: Replace::Lines,
                    insert: None,
                    undo: None,
                },
            ],
        }
    }

    pub(super) fn count(&self) -> usize {
        self.tools.len()
    }

    pub(super) fn name(&self, tool: usize) -> &'static str {
        self.tools[tool].name
    }

    /// Whether a tool replaces texts, and not lines by their numbers.
    pub(super) fn replaces_text(&self, tool: usize) -> bool {
        matches!(self.tools[tool].replace, Replace::Text(_))
    }

    /// Whether the bytes outside an edit are known: whole lines are replaced with their line endings.
    pub(super) fn can_check(&self, tool: usize, file: &Generated) -> bool {
        self.replaces_text(tool) || file.has_uniform_lines()
    }

    pub(super) async fn replace(
        &mut self,
        tool: usize,
        path: &Path,
        edit: &Edit,
        line: usize,
    ) -> Result<String, String> {
        let Editor { name, client, replace, .. } = &mut self.tools[tool];
        let path = path.to_str().unwrap();
        let arguments = match replace {
            Replace::Text(arguments) => arguments(path, edit),
            Replace::Lines => {
                let end = line + edit.old.matches('\n').count();
                let ranges = json!([{ "start": line, "end": end }]);
                let files = json!([{ "file_path": path, "ranges": ranges }]);
                let read = client.call("get_text_file_contents", json!({ "files": files })).await?;
                let read: Value = serde_json::from_str(&read).unwrap();
                let (file, range) = (&read[path], &read[path]["ranges"][0]);
                let patch = json!({
                    "line_start": line, "line_end": end, "range_hash": range["range_hash"],
                    "contents": range["content"].as_str().unwrap().replacen(&edit.old, &edit.new, 1)
                });
                json!({ "files": [{ "path": path, "file_hash": file["file_hash"], "patches": [patch] }] })
            }
        };
        let text = client.call(name, arguments).await?;
        // This contract has failures that are none to the protocol.
        if text.contains("\"result\": \"error\"") { Err(text) } else { Ok(text) }
    }

    /// Whether the tool inserts at that place.
    pub(super) async fn insert(&mut self, tool: usize, path: &Path, insertion: &Insertion) -> bool {
        let Editor { client, insert, .. } = &mut self.tools[tool];
        let call = insert.and_then(|insert| insert(path.to_str().unwrap(), insertion));
        let Some((tool, arguments)) = call else { return false };
        client.call(tool, arguments).await.unwrap();
        true
    }

    pub(super) async fn undo(&mut self, tool: usize, path: &Path) -> Outcome {
        let Editor { name, client, undo, .. } = &mut self.tools[tool];
        let Some(undo) = undo else { return Outcome::NotOffered };
        client.call(name, undo(path.to_str().unwrap())).await.unwrap();
        Outcome::Undone
    }
}
