//! The tools of `mcp-text-editor`: lines that are identified by their hashes.

use std::fs;

use serde_json::{Value, json};
use tempfile::TempDir;
use toolbay_builtin::text_editor::{TextEditorConfig, TextEditorToolset, text_editor};

use crate::client::Client;

/// The hash of an empty text, which stands for an insertion.
const EMPTY: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

struct Editor {
    client: Client,
    directory: TempDir,
}

impl Editor {
    async fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let config = TextEditorConfig {
            directories: vec![directory.path().to_owned()],
            toolset: TextEditorToolset::Hashes,
            ..TextEditorConfig::default()
        };
        Self { client: Client::new(text_editor(config).0).await, directory }
    }

    fn path(&self, name: &str) -> String {
        self.directory.path().join(name).to_str().unwrap().to_owned()
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path(name), content).unwrap();
    }

    fn content(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }

    async fn get(&mut self, name: &str, ranges: Value) -> Result<Value, String> {
        let path = self.path(name);
        let files = json!([{ "file_path": path, "ranges": ranges }]);
        let text = self.client.call("get_text_file_contents", json!({ "files": files })).await?;
        Ok(serde_json::from_str::<Value>(&text).unwrap()[&path].take())
    }

    async fn edit(&mut self, name: &str, hash: &Value, patches: Value) -> Value {
        let path = self.path(name);
        let files = json!([{ "path": path, "file_hash": hash, "patches": patches }]);
        let text = self.client.call("edit_text_file_contents", json!({ "files": files })).await.unwrap();
        serde_json::from_str::<Value>(&text).unwrap()[&path].take()
    }
}

#[tokio::test]
async fn ranges_are_read_as_the_original_reads_them() {
    let mut editor = Editor::new().await;
    editor.write("a", "one\ntwo\nthree");
    let ranges = json!([{ "start": 1 }, { "start": 2, "end": 2 }, { "start": 9, "end": null }, { "start": 3, "end": 2 }]);
    let read = editor.get("a", ranges).await.unwrap();
    // These are answers of the original.
    let whole = "058053d87c818d699cde0f00d670bca0e1c6ad857caa9758ea6a556d7c64fcee";
    let two = "27dd8ed44a83ff94d557f9fd0412ed5a8cbca69ea04922d88c01184a07300a5a";
    let range = |content: &str, start: u64, end: u64, hash: &str| {
        json!({
            "content": content, "start_line": start, "end_line": end,
            "range_hash": hash, "total_lines": 3, "content_size": content.len()
        })
    };
    let expected = json!([
        range("one\ntwo\nthree", 1, 3, whole),
        range("two\n", 2, 2, two),
        range("", 9, 9, EMPTY),
        range("", 3, 2, EMPTY)
    ]);
    assert_eq!(read, json!({ "ranges": expected, "file_hash": whole }));
    let missing = editor.get("none", json!([{ "start": 1 }])).await.unwrap_err();
    assert_eq!(
        missing,
        format!("Error executing command: Error processing request: File not found: {}", editor.path("none"))
    );
    let relative = json!({ "files": [{ "file_path": "a", "ranges": [] }] });
    let error = editor.client.call("get_text_file_contents", relative).await.unwrap_err();
    assert_eq!(error, "Error executing command: Error processing request: File path must be absolute: a");
}

#[tokio::test]
async fn lines_are_replaced_inserted_and_appended() {
    let mut editor = Editor::new().await;
    editor.write("a", "one\ntwo\nthree");
    let read = editor.get("a", json!([{ "start": 2, "end": 2 }])).await.unwrap();
    let hash = &read["ranges"][0]["range_hash"];
    let patches = json!([
        { "line_start": 1, "line_end": 1, "contents": "first", "range_hash": EMPTY },
        { "line_start": 2, "line_end": 2, "contents": "2", "range_hash": hash },
        // As the description of the original has it, and refuses it.
        { "line_start": 4, "line_end": 3, "contents": "four" },
    ]);
    let done = editor.edit("a", &read["file_hash"], patches).await;
    assert_eq!(done["result"], "ok", "{done}");
    assert_eq!(
        editor.content("a"),
        b"first\none\n2\nthree\nfour\n",
        "the last line is not glued to the new one"
    );
    let again = editor.get("a", json!([])).await.unwrap();
    assert_eq!(again["file_hash"], done["file_hash"]);

    let created = editor.edit("new/deep", &json!(""), json!([{ "contents": "hello" }])).await;
    assert_eq!(created["file_hash"], "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03");
    assert_eq!(editor.content("new/deep"), b"hello\n");
}

#[tokio::test]
async fn line_endings_and_encodings_stay() {
    let mut editor = Editor::new().await;
    for (before, after) in [
        (&b"a\r\nb\r\nc\r\n"[..], &b"a\r\nB\r\nc\r\n"[..]),
        (b"gr\xfcn\nb\nc\n", b"gr\xfcn\nB\nc\n"),
        (b"\xef\xbb\xbfa\nb\nc", b"\xef\xbb\xbfa\nB\nc"),
        (b"\xff\xfea\0\n\0b\0\n\0", b"\xff\xfea\0\n\0B\0\n\0"),
    ] {
        editor.write("file", before);
        let read = editor.get("file", json!([{ "start": 2, "end": 2 }])).await.unwrap();
        assert_eq!(read["ranges"][0]["content"], "b\n", "{before:?}");
        let hash = read["ranges"][0]["range_hash"].clone();
        let patch = json!([{ "line_start": 2, "line_end": 2, "contents": "B", "range_hash": hash }]);
        let done = editor.edit("file", &read["file_hash"], patch).await;
        assert_eq!(done["result"], "ok", "{done}");
        assert_eq!(editor.content("file"), after);
    }
}

#[tokio::test]
async fn what_changed_since_is_not_replaced() {
    let mut editor = Editor::new().await;
    let content = "one\ntwo\nthree";
    editor.write("a", content);
    let hash = editor.get("a", json!([])).await.unwrap()["file_hash"].clone();
    let error =
        |reason: &str| json!({ "result": "error", "reason": reason, "file_hash": null, "content": content });
    let patch = |start: u64, end: u64, hash: &str| json!({ "line_start": start, "line_end": end, "contents": "x", "range_hash": hash });
    for (hash, patches, expected) in [
        (json!("bad"), json!([patch(1, 1, "x")]), error("Hash mismatch - file has been modified")),
        (
            hash.clone(),
            json!([{ "line_start": 2, "contents": "x" }]),
            error("range_hash is required for file modifications"),
        ),
        (
            hash.clone(),
            json!([patch(3, 2, "x")]),
            error("End line must be greater than or equal to start line"),
        ),
        (hash.clone(), json!([patch(1, 2, "x"), patch(2, 2, "x")]), error("Overlapping patches detected")),
        (
            hash.clone(),
            json!([patch(2, 2, "zz")]),
            error(
                "Content hash mismatch - file has been modified since last read. Please use get_text_file_contents tool with lines \
                 2-2 to get current content and hashes, then retry with the updated hashes. If you want to append content, set \
                 line_start to 4.",
            ),
        ),
        (
            json!(""),
            json!([patch(1, 1, "x")]),
            json!({ "result": "error", "reason": "Unexpected error - Cannot treat existing file as new", "file_hash": null, "content": null }),
        ),
        (
            hash.clone(),
            json!([]),
            json!({ "result": "error", "reason": "Empty patches list", "file_hash": hash }),
        ),
    ] {
        assert_eq!(editor.edit("a", &hash, patches).await, expected);
        assert_eq!(editor.content("a"), content.as_bytes());
    }
    let missing = editor.edit("none", &json!("abc"), json!([{ "contents": "x" }])).await;
    assert_eq!(missing["reason"], "File not found and non-empty hash provided");
}
