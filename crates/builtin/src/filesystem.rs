//! The server `filesystem`: files of allowed directories.
//!
//! The contract is that of `@modelcontextprotocol/server-filesystem`. What differs is listed in docs/filesystem.md: results have
//! limits, edits that are ambiguous are refused, and whatever an edit does not touch keeps its bytes.

mod change;
mod edit;
mod list;
mod read;

use std::{path::PathBuf, sync::Arc};

use serde::Serialize;
use serde_json::{Value, json};
use tokio_util::task::TaskTracker;
use toolbay_files::{AllowedDirectories, Protection, Secrets, WriteMode};
use toolbay_server::{
    Annotations, NoArguments, Tool, ToolContext, ToolOutput, ToolResult, ToolServer, Toolset, in_process,
};
use toolbay_transport::Connection;

use crate::files::Files;

/// How the server is set up.
#[derive(Debug, Clone, Default)]
pub struct FilesystemConfig {
    /// The directories whose files may be read and changed.
    pub directories: Vec<PathBuf>,
    /// What `~` stands for in paths.
    pub home: Option<PathBuf>,
    /// Whether files whose names say that they hold secrets are hidden.
    pub secrets: Secrets,
    /// Whether files that configure programs may be changed.
    pub protection: Protection,
    /// How files are replaced.
    pub write_mode: WriteMode,
    /// Whether files can be deleted.
    pub delete: bool,
}

/// Makes the server connectable. Directories that cannot be opened are returned with the reason.
pub fn filesystem(
    config: FilesystemConfig,
) -> (Arc<dyn Fn(&TaskTracker) -> Connection + Send + Sync>, Vec<(PathBuf, std::io::Error)>) {
    let (allowed, skipped) = AllowedDirectories::open(config.directories);
    let allowed = allowed.home(config.home).secrets(config.secrets).protection(config.protection);
    let files = Files { allowed, write_mode: config.write_mode };
    let server = ToolServer::new("secure-filesystem-server", files, tools(config.delete));
    (in_process(Arc::new(server)), skipped)
}

const READS: Annotations = Annotations::READ_ONLY;
const OVERWRITES: Annotations = Annotations {
    read_only: Some(false),
    destructive: Some(true),
    idempotent: Some(false),
    open_world: Some(false),
};
const OVERWRITES_AGAIN: Annotations = Annotations { idempotent: Some(true), ..OVERWRITES };
const CREATES: Annotations = Annotations { destructive: Some(false), ..OVERWRITES_AGAIN };

fn tools(can_delete: bool) -> Toolset<Files> {
    let mut tools = vec![
        Tool::blocking("read_file", read::read_text_file)
            .title("Read File (Deprecated)")
            .description("Read the complete contents of a file as text. DEPRECATED: Use read_text_file instead.")
            .annotations(READS),
        Tool::blocking("read_text_file", read::read_text_file)
            .title("Read Text File")
            .description(
                "Read a text file. 'head' and 'tail' return only the first or last N lines, 'offset' and 'limit' a range of lines. \
                 Detects the encoding.",
            )
            .annotations(READS),
        Tool::blocking("read_media_file", read::read_media_file)
            .title("Read Media File")
            .description(
                "Read a file as base64 with its MIME type: images and audio as such, other files as an embedded resource.",
            )
            .output_schema(read::media_schema())
            .annotations(READS),
        Tool::blocking("read_multiple_files", read::read_multiple_files)
            .title("Read Multiple Files")
            .description(
                "Read several text files at once. A file that cannot be read does not stop the others.",
            )
            .annotations(READS),
        Tool::blocking("write_file", change::write_file)
            .title("Write File")
            .description("Create a file or overwrite an existing one with new content.")
            .annotations(OVERWRITES_AGAIN),
        Tool::blocking("edit_file", edit::edit_file)
            .title("Edit File")
            .description(
                "Replace text in a file. Each oldText must occur exactly once; if it does not, differences in indentation \
                 are tolerated. Returns a diff.",
            )
            .annotations(OVERWRITES),
        Tool::blocking("create_directory", change::create_directory)
            .title("Create Directory")
            .description("Create a directory and its parents. Succeeds if it exists.")
            .annotations(CREATES),
        Tool::blocking("list_directory", list::list_directory)
            .title("List Directory")
            .description("List a directory, with [FILE] and [DIR] prefixes.")
            .annotations(READS),
        Tool::blocking("list_directory_with_sizes", list::list_directory_with_sizes)
            .title("List Directory with Sizes")
            .description("List a directory with the sizes of its files and a total.")
            .annotations(READS),
        Tool::blocking("directory_tree", list::directory_tree)
            .title("Directory Tree")
            .description(
                "Get a directory tree as JSON. Entries have 'name', 'type' (file/directory) and, for directories, 'children'.",
            )
            .annotations(READS),
        Tool::blocking("move_file", change::move_file)
            .title("Move File")
            .description("Move or rename a file or directory. Fails if the destination exists.")
            .annotations(OVERWRITES),
        Tool::blocking("search_files", list::search_files)
            .title("Search Files")
            .description(
                "Find files and directories by a glob pattern relative to the path: '*.ext' in the directory itself, \
                 '**/*.ext' in all subdirectories. Returns full paths.",
            )
            .annotations(READS),
        Tool::blocking("get_file_info", change::get_file_info)
            .title("Get File Info")
            .description("Get size, times, type and permissions of a file or directory.")
            .annotations(READS),
        Tool::blocking("list_allowed_directories", list_allowed_directories)
            .title("List Allowed Directories")
            .description("List the directories that can be accessed.")
            .annotations(READS),
    ];
    if can_delete {
        tools.push(
            Tool::blocking("delete_file", change::delete_file)
                .title("Delete File")
                .description("Delete a file.")
                .annotations(OVERWRITES),
        );
    }
    let has_text = |tool: &Tool<Files>| tool.name() != "read_media_file";
    Toolset::new(
        tools.into_iter().map(|tool| if has_text(&tool) { tool.output_schema(text_schema()) } else { tool }),
    )
}

fn list_allowed_directories(files: &Files, _: NoArguments, _: &ToolContext) -> ToolResult {
    let paths: Vec<_> = files.allowed.paths().map(|path| path.to_string_lossy()).collect();
    Ok(text(format!("Allowed directories:\n{}", paths.join("\n"))))
}

/// A result whose text is also its structured content, as the contract has it.
fn text(content: impl Into<String>) -> ToolOutput {
    #[derive(Serialize)]
    struct Content<'a> {
        content: &'a str,
    }
    let content = content.into();
    let structured = json!(Content { content: &content });
    ToolOutput::text(content).with_structured(&structured)
}

fn text_schema() -> Value {
    json!({ "type": "object", "properties": { "content": { "type": "string" } }, "required": ["content"] })
}
