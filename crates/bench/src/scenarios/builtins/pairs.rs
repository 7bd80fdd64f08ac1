//! Published servers, and the built-in ones that take their place.

/// How both are started. In arguments, `{project}` is the project's directory, `{memory}` one in memory.
pub(super) struct Pair {
    pub(super) name: &'static str,
    /// The published package.
    pub(super) original: &'static str,
    /// Its program, below the directory of the peers.
    pub(super) program: &'static str,
    /// The script that this program runs, if any.
    pub(super) script: Option<&'static str>,
    /// What follows `toolbay builtin`.
    pub(super) ours: &'static [&'static str],
    /// Arguments of both.
    pub(super) arguments: &'static [&'static str],
}

const NODE: &str = "bin/node";

pub(super) const PAIRS: &[Pair] = &[
    Pair {
        name: "filesystem",
        original: "@modelcontextprotocol/server-filesystem",
        program: NODE,
        script: Some("npm/node_modules/@modelcontextprotocol/server-filesystem/dist/index.js"),
        ours: &["filesystem"],
        arguments: &["{project}", "{memory}"],
    },
    Pair {
        name: "memory",
        original: "@modelcontextprotocol/server-memory",
        program: NODE,
        script: Some("npm/node_modules/@modelcontextprotocol/server-memory/dist/index.js"),
        ours: &["memory"],
        arguments: &[],
    },
    Pair {
        name: "text-editor",
        original: "mcp-text-editor",
        program: "python-originals/bin/mcp-text-editor",
        script: None,
        ours: &["text-editor", "--toolset", "hashes"],
        arguments: &[],
    },
    Pair {
        name: "ripgrep",
        original: "mcp-ripgrep",
        program: NODE,
        script: Some("npm/node_modules/mcp-ripgrep/dist/index.js"),
        ours: &["grep", "--toolset", "ripgrep"],
        arguments: &[],
    },
    Pair {
        name: "commands",
        original: "mcp-server-commands",
        program: NODE,
        script: Some("npm/node_modules/mcp-server-commands/build/index.js"),
        ours: &["shell", "--toolset", "commands"],
        arguments: &[],
    },
    Pair {
        name: "shell-server",
        original: "mcp-shell-server",
        program: "python-originals/bin/mcp-shell-server",
        script: None,
        ours: &["shell", "--toolset", "shell-server"],
        arguments: &[],
    },
    Pair {
        name: "brave-search",
        original: "@brave/brave-search-mcp-server",
        program: NODE,
        script: Some("npm/node_modules/@brave/brave-search-mcp-server/dist/index.js"),
        ours: &["brave-search"],
        arguments: &[],
    },
    Pair {
        name: "fetch",
        original: "mcp-server-fetch",
        program: "python-originals/bin/mcp-server-fetch",
        script: None,
        ours: &["fetch"],
        arguments: &[],
    },
    Pair {
        name: "time",
        original: "mcp-server-time",
        program: "python/bin/mcp-server-time",
        script: None,
        ours: &["time"],
        arguments: &["--local-timezone", "UTC"],
    },
];

/// Ours with the default tools, which have no original.
pub(super) const GREP: Pair = Pair {
    name: "grep",
    original: "rg",
    program: "",
    script: None,
    ours: &["grep"],
    arguments: &["{project}"],
};
