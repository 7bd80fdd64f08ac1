//! The server `text-editor`: views and edits of text files, as models were trained to make them.
//!
//! The contract is that of the tool `str_replace_based_edit_tool`. Unlike the reference, tabs, encodings and line endings of a
//! file stay as they are, and `undo_edit` is there in every version.

mod commands;
mod hashes;
mod history;

use std::{path::PathBuf, sync::Arc};

use parking_lot::Mutex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolbay_files::{Protection, Secrets, WriteMode};
use toolbay_server::{
    Annotations, Server, Tool, ToolContext, ToolError, ToolOutput, ToolResult, ToolServer, Toolset,
    in_process,
};

use crate::{
    Connect,
    files::{ClientRoots, FileAccess, Files, agent},
};
use commands::Commands;
use history::History;

/// The longest text of a view, in characters, unless it is configured.
const MAX_CHARACTERS: usize = 16_000;

/// How the server is set up.
#[derive(Debug, Clone, Default)]
pub struct TextEditorConfig {
    /// The directories whose files may be read and changed.
    pub directories: Vec<PathBuf>,
    /// What `~` stands for in paths.
    pub home: Option<PathBuf>,
    /// Whether files whose names indicate secrets are hidden.
    pub secrets: Secrets,
    /// Whether files that configure programs may be changed.
    pub protection: Protection,
    /// How files are replaced.
    pub write_mode: WriteMode,
    /// What the roots of clients mean for the directories.
    pub client_roots: ClientRoots,
    /// Which tools are offered.
    pub toolset: TextEditorToolset,
    /// The longest text of a view, in characters, if not 16,000.
    pub max_characters: Option<usize>,
}

/// Which tools are offered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TextEditorToolset {
    /// `str_replace_based_edit_tool`.
    #[default]
    StrReplace,
    /// `read`, `write` and `edit`.
    Agent,
    /// `get_text_file_contents` and `edit_text_file_contents`, with hashes of lines.
    Hashes,
}

/// Makes the server connectable. Directories that cannot be opened are returned with the reason.
///
/// Each connection has a history of its own, so that no client undoes the edits of another.
pub fn text_editor(config: TextEditorConfig) -> (Connect, Vec<(PathBuf, std::io::Error)>) {
    let (files, skipped) = Files::open(FileAccess {
        directories: config.directories,
        home: config.home,
        secrets: config.secrets,
        protection: config.protection,
        write_mode: config.write_mode,
        client_roots: config.client_roots,
    });
    let (toolset, max_characters) = (config.toolset, config.max_characters.unwrap_or(MAX_CHARACTERS));
    let server = move || -> Arc<dyn Server> {
        let files = files.clone();
        match toolset {
            TextEditorToolset::StrReplace => {
                let editor = Editor { files, history: Mutex::default(), max_characters };
                serve(config.client_roots, editor, tools())
            }
            TextEditorToolset::Agent => serve(config.client_roots, files, agent::editing()),
            TextEditorToolset::Hashes => serve(config.client_roots, files, hashes::tools()),
        }
    };
    (Arc::new(move |tasks| in_process(server())(tasks)), skipped)
}

fn serve<S: std::fmt::Debug + Send + Sync + 'static>(
    roots: ClientRoots,
    state: S,
    tools: Toolset<S>,
) -> Arc<dyn Server> {
    let server = ToolServer::new("text-editor", state, tools);
    Arc::new(if roots == ClientRoots::Ignore { server } else { server.with_roots() })
}

fn tools() -> Toolset<Editor> {
    Toolset::new([Tool::blocking("str_replace_based_edit_tool", edit)
        .title("Text editor")
        .description(
            "View, create and edit text files. `view` shows a file with line numbers, or a directory; `str_replace` replaces \
             text that must occur exactly once; `insert` inserts text after a line; `undo_edit` undoes the last edit of a file.",
        )
        .output::<EditorResult>()
        .annotations(Annotations {
            read_only: Some(false),
            destructive: Some(true),
            idempotent: Some(false),
            open_world: Some(false),
        })])
}

#[derive(Debug)]
struct Editor {
    files: Files,
    history: Mutex<History>,
    max_characters: usize,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum EditorCommand {
    View,
    Create,
    StrReplace,
    Insert,
    UndoEdit,
}

#[derive(Deserialize, JsonSchema)]
struct EditorArguments {
    command: EditorCommand,
    /// Path of a file or directory
    path: String,
    /// For `view`: the first and the last line, from 1; -1 is the end of the file
    #[schemars(length(min = 2, max = 2))]
    view_range: Option<Vec<i64>>,
    /// For `create`: the content of the file
    file_text: Option<String>,
    /// For `str_replace`: the text to replace, which must occur exactly once
    old_str: Option<String>,
    /// For `str_replace`: the new text; the old one is deleted without it
    new_str: Option<String>,
    /// For `insert`: the line after which to insert; 0 is the start of the file
    insert_line: Option<u64>,
    /// For `insert`: the text to insert
    insert_text: Option<String>,
    /// SHA-256 of the file as it was read; the edit fails if the file has changed since
    expected_hash: Option<String>,
}

/// What a command returns.
#[derive(Default, Serialize, JsonSchema)]
struct EditorResult {
    content: String,
    /// SHA-256 of the file
    #[serde(skip_serializing_if = "Option::is_none")]
    hash: Option<String>,
    /// Number of lines of the file
    #[serde(skip_serializing_if = "Option::is_none")]
    lines: Option<usize>,
}

impl From<EditorResult> for ToolOutput {
    fn from(result: EditorResult) -> Self {
        Self::text(result.content.clone()).with_structured(&result)
    }
}

fn edit(editor: &Editor, arguments: EditorArguments, context: &ToolContext) -> ToolResult {
    let files = editor.files.of_client(context)?;
    let path = &arguments.path;
    let commands =
        Commands { files: &files, history: &editor.history, max_characters: editor.max_characters, path };
    let expected = arguments.expected_hash.as_deref();
    let result = match arguments.command {
        EditorCommand::View => commands.view(arguments.view_range.as_deref()),
        EditorCommand::Create => commands.create(&required(arguments.file_text, "file_text", "create")?),
        EditorCommand::StrReplace => {
            let old = required(arguments.old_str, "old_str", "str_replace")?;
            commands.replace(&old, &arguments.new_str.unwrap_or_default(), expected)
        }
        EditorCommand::Insert => {
            let line = required(arguments.insert_line, "insert_line", "insert")?;
            // `str_replace_editor`, the tool of older versions, has the text in `new_str`.
            let text = required(arguments.insert_text.or(arguments.new_str), "insert_text", "insert")?;
            commands.insert(line, &text, expected)
        }
        EditorCommand::UndoEdit => commands.undo(),
    };
    result.map(ToolOutput::from)
}

fn required<T>(value: Option<T>, name: &str, command: &str) -> Result<T, ToolError> {
    value.ok_or_else(|| ToolError::failed(format!("Parameter `{name}` is required for command: {command}")))
}
