//! The list of built-in servers: names, tools, toolsets, and what they take the place of.

use serde_json::{Value, json};

use crate::{
    app::{context::Context, error::CliError},
    term::table::{self, Cell, Look},
};

/// A built-in server, for people.
pub(crate) struct ListedServer {
    pub(crate) name: &'static str,
    /// The packages that it takes the place of.
    pub(crate) replaces: &'static [&'static str],
    /// The tools of each toolset, the usual one first.
    pub(crate) toolsets: &'static [(&'static str, &'static [&'static str])],
}

/// All that are served alone.
pub(crate) const LISTED: &[ListedServer] = &[
    ListedServer {
        name: "filesystem",
        replaces: &["@modelcontextprotocol/server-filesystem"],
        toolsets: &[
            (
                "default",
                &[
                    "read_file",
                    "read_text_file",
                    "read_media_file",
                    "read_multiple_files",
                    "write_file",
                    "edit_file",
                    "create_directory",
                    "list_directory",
                    "list_directory_with_sizes",
                    "directory_tree",
                    "move_file",
                    "search_files",
                    "get_file_info",
                    "list_allowed_directories",
                ],
            ),
            ("agent", &["read", "write", "edit", "glob", "grep"]),
        ],
    },
    ListedServer {
        name: "text-editor",
        replaces: &["mcp-text-editor"],
        toolsets: &[
            ("default", &["str_replace_based_edit_tool"]),
            ("agent", &["read", "write", "edit"]),
            ("hashes", &["get_text_file_contents", "edit_text_file_contents"]),
        ],
    },
    ListedServer {
        name: "grep",
        replaces: &["mcp-ripgrep"],
        toolsets: &[
            ("default", &["grep"]),
            ("ripgrep", &["search", "advanced-search", "count-matches", "list-files", "list-file-types"]),
        ],
    },
    ListedServer {
        name: "shell",
        replaces: &["mcp-server-commands", "mcp-shell-server"],
        toolsets: &[
            ("default", &["exec"]),
            ("bash", &["bash"]),
            ("sessions", &["exec_command", "write_stdin"]),
            ("commands", &["run_command"]),
            ("shell-server", &["shell_execute"]),
        ],
    },
    ListedServer {
        name: "memory",
        replaces: &["@modelcontextprotocol/server-memory"],
        toolsets: &[
            (
                "default",
                &[
                    "create_entities",
                    "create_relations",
                    "add_observations",
                    "delete_entities",
                    "delete_observations",
                    "delete_relations",
                    "read_graph",
                    "search_nodes",
                    "open_nodes",
                ],
            ),
            ("anthropic", &["memory"]),
        ],
    },
    ListedServer {
        name: "brave-search",
        replaces: &["@brave/brave-search-mcp-server", "@modelcontextprotocol/server-brave-search"],
        toolsets: &[(
            "default",
            &[
                "brave_web_search",
                "brave_local_search",
                "brave_video_search",
                "brave_image_search",
                "brave_news_search",
                "brave_summarizer",
                "brave_llm_context",
                "brave_place_search",
            ],
        )],
    },
    ListedServer { name: "fetch", replaces: &["mcp-server-fetch"], toolsets: &[("default", &["fetch"])] },
    ListedServer {
        name: "time",
        replaces: &["mcp-server-time"],
        toolsets: &[("default", &["get_current_time", "convert_time"])],
    },
    ListedServer {
        name: "codebase",
        replaces: &[],
        toolsets: &[(
            "default",
            &[
                "search_code",
                "search_by_embedding",
                "list_directory",
                "read_file",
                "chunk_file",
                "chunk_files",
            ],
        )],
    },
];

/// `toolbay builtin`: prints the list.
pub(super) fn print(context: &Context) -> Result<(), CliError> {
    if context.out.json {
        let servers: Vec<Value> = LISTED.iter().map(json).collect();
        return Ok(context.out.json_object(&json!({ "servers": servers }))?);
    }
    let mut rows =
        vec![["NAME", "TOOLSET", "TOOLS", "REPLACES"].map(|text| Cell::new(text, Look::Dim)).to_vec()];
    for server in LISTED {
        for (index, (toolset, tools)) in server.toolsets.iter().enumerate() {
            let (name, replaces) = match index {
                0 => (server.name, server.replaces.join(", ")),
                _ => ("", String::new()),
            };
            rows.push(vec![
                Cell::new(name, Look::Bold),
                (*toolset).into(),
                shortened(tools).into(),
                replaces.into(),
            ]);
        }
    }
    table::print(context, &rows, "")
}

fn json(server: &ListedServer) -> Value {
    let toolsets = server.toolsets.iter().map(|(name, tools)| json!({ "name": name, "tools": tools }));
    json!({
        "name": server.name,
        "replaces": server.replaces,
        "toolsets": toolsets.collect::<Vec<Value>>(),
    })
}

/// How many tools are named in a row.
const MAX_NAMES: usize = 5;

fn shortened(tools: &[&str]) -> String {
    match tools.len().checked_sub(MAX_NAMES) {
        None | Some(0) => tools.join(", "),
        Some(more) => format!("{} and {more} more", tools[..MAX_NAMES].join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_toolset_that_can_be_configured_is_listed() {
        for server in LISTED {
            let listed: Vec<&str> = server.toolsets.iter().map(|(name, _)| *name).collect();
            assert_eq!(listed, toolbay_config::toolsets(server.name), "{}", server.name);
        }
    }
}
