//! The server `filesystem`: files of allowed directories.
//!
//! The contract is that of `@modelcontextprotocol/server-filesystem`. What differs is listed in docs/filesystem.md: results have
//! limits, edits that are ambiguous are refused, and whatever an edit does not touch keeps its bytes.

mod change;
mod edit;
mod extra;
mod list;
mod read;
mod search;
mod tree;

use std::{path::PathBuf, sync::Arc};

use serde_json::{Value, json};
use toolbay_files::{Protection, Secrets, WriteMode};
use toolbay_server::{
    Annotations, NoArguments, Tool, ToolContext, ToolOutput, ToolResult, ToolServer, Toolset, in_process,
};

use crate::{
    Connect,
    files::{ClientRoots, FileAccess, Files, agent, for_client},
};

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
    /// What the roots of clients mean for the directories.
    pub client_roots: ClientRoots,
    /// Which tools are offered.
    pub toolset: FilesystemToolset,
    /// Whether the tools `copy_file`, `read_file_lines` and `file_hash`, which the contract does not have, are added to it.
    pub extra_tools: bool,
    /// Whether files can be deleted, with `delete_file`.
    pub delete: bool,
}

/// Which tools are offered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum FilesystemToolset {
    /// The 14 tools of the published server.
    #[default]
    Reference,
    /// `read`, `write`, `edit`, `glob` and `grep`.
    Agent,
}

/// Makes the server connectable. Directories that cannot be opened are returned with the reason.
pub fn filesystem(config: FilesystemConfig) -> (Connect, Vec<(PathBuf, std::io::Error)>) {
    let (extra_tools, delete) = (config.extra_tools, config.delete);
    let (files, skipped) = Files::open(FileAccess {
        directories: config.directories,
        home: config.home,
        secrets: config.secrets,
        protection: config.protection,
        write_mode: config.write_mode,
        client_roots: config.client_roots,
    });
    let tools = match config.toolset {
        FilesystemToolset::Reference => tools(extra_tools, delete),
        FilesystemToolset::Agent => agent::editing_and_searching(),
    };
    let wants_roots = config.client_roots != ClientRoots::Ignore;
    let server = ToolServer::new("secure-filesystem-server", files, tools);
    let server = if wants_roots { server.with_roots() } else { server };
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

fn tools(has_extra: bool, can_delete: bool) -> Toolset<Files> {
    let mut tools = vec![
        Tool::blocking("read_file", for_client(read::read_text_file))
            .title("Read File (Deprecated)")
            .description("Read the complete contents of a file as text. DEPRECATED: Use read_text_file instead.")
            .at_once(read::read_cached)
            .annotations(READS),
        Tool::blocking("read_text_file", for_client(read::read_text_file))
            .title("Read Text File")
            .description(
                "Read a text file. 'head' and 'tail' return only the first or last N lines, 'offset' and 'limit' a range of lines. \
                 Detects the encoding.",
            )
            .at_once(read::read_cached)
            .annotations(READS),
        Tool::blocking("read_media_file", for_client(read::read_media_file))
            .title("Read Media File")
            .description(
                "Read a file as base64 with its MIME type: images and audio as such, other files as an embedded resource.",
            )
            .output_schema(read::media_schema())
            .annotations(READS),
        Tool::blocking("read_multiple_files", for_client(read::read_multiple_files))
            .title("Read Multiple Files")
            .description(
                "Read several text files at once. A file that cannot be read does not stop the others.",
            )
            .annotations(READS),
        Tool::blocking("write_file", for_client(change::write_file))
            .title("Write File")
            .description("Create a file or overwrite an existing one with new content.")
            .annotations(OVERWRITES_AGAIN),
        Tool::blocking("edit_file", for_client(edit::edit_file))
            .title("Edit File")
            .description(
                "Replace text in a file. Each oldText must occur exactly once; if it does not, differences in indentation \
                 are tolerated. Returns a diff.",
            )
            .annotations(OVERWRITES),
        Tool::blocking("create_directory", for_client(change::create_directory))
            .title("Create Directory")
            .description("Create a directory and its parents. Succeeds if it exists.")
            .annotations(CREATES),
        Tool::blocking("list_directory", for_client(list::list_directory))
            .title("List Directory")
            .description("List a directory, with [FILE] and [DIR] prefixes.")
            .annotations(READS),
        Tool::blocking("list_directory_with_sizes", for_client(list::list_directory_with_sizes))
            .title("List Directory with Sizes")
            .description("List a directory with the sizes of its files and a total.")
            .annotations(READS),
        Tool::blocking("directory_tree", for_client(tree::directory_tree))
            .title("Directory Tree")
            .description(
                "Get a directory tree as JSON. Entries have 'name', 'type' (file/directory) and, for directories, 'children'.",
            )
            .annotations(READS),
        Tool::blocking("move_file", for_client(change::move_file))
            .title("Move File")
            .description("Move or rename a file or directory. Fails if the destination exists.")
            .annotations(OVERWRITES),
        Tool::blocking("search_files", for_client(search::search_files))
            .title("Search Files")
            .description(
                "Find files and directories by a glob pattern relative to the path: '*.ext' in the directory itself, \
                 '**/*.ext' in all subdirectories. Returns full paths.",
            )
            .annotations(READS),
        Tool::blocking("get_file_info", for_client(change::get_file_info))
            .title("Get File Info")
            .description("Get size, times, type and permissions of a file or directory.")
            .annotations(READS),
        Tool::blocking("list_allowed_directories", for_client(list_allowed_directories))
            .title("List Allowed Directories")
            .description("List the directories that can be accessed.")
            .annotations(READS),
    ];
    if can_delete {
        tools.push(
            Tool::blocking("delete_file", for_client(change::delete_file))
                .title("Delete File")
                .description("Delete a file.")
                .annotations(OVERWRITES),
        );
    }
    let mut tools: Vec<Tool<Files>> = tools
        .into_iter()
        .map(|tool| if tool.name() == "read_media_file" { tool } else { tool.output_schema(text_schema()) })
        .collect();
    if has_extra {
        tools.extend(extra::tools());
    }
    Toolset::new(tools)
}

fn list_allowed_directories(files: &Files, _: NoArguments, _: &ToolContext) -> ToolResult {
    let paths: Vec<_> = files.allowed.paths().map(|path| path.to_string_lossy()).collect();
    Ok(text(format!("Allowed directories:\n{}", paths.join("\n"))))
}

/// A result whose text is also its structured content, as the contract has it.
fn text(content: impl AsRef<str>) -> ToolOutput {
    ToolOutput::text_and_field("content", content.as_ref())
}

fn text_schema() -> Value {
    json!({ "type": "object", "properties": { "content": { "type": "string" } }, "required": ["content"] })
}
