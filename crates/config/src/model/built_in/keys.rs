//! The keys of each built-in server. Reading, checking, writing, hiding of secrets and the JSON Schema follow from these tables.

use serde_json::{Map, Value, json};

use crate::format::entry::LAUNCH_KEYS;

/// A built-in server and its keys.
#[derive(Debug)]
pub(crate) struct BuiltInKeys {
    /// Its name in `builtin`.
    pub(crate) name: &'static str,
    about: &'static str,
    pub(crate) keys: &'static [Key],
}

/// A key of an entry, or of a table in it.
#[derive(Debug)]
pub(crate) struct Key {
    pub(crate) name: &'static str,
    pub(crate) kind: KeyKind,
    about: &'static str,
    pub(crate) is_required: bool,
}

/// What is written behind a key.
#[derive(Debug, Clone, Copy)]
pub(crate) enum KeyKind {
    /// A text.
    Text,
    /// A text that is not shown.
    Secret,
    /// An `http` or `https` URL.
    Url,
    /// A file or directory.
    Path,
    /// The directory that the server is for: the one of the file, unless another is given.
    Directory,
    /// Directories that the server is for: the one of the file, unless others are given.
    Directories,
    /// Files or directories.
    Paths,
    /// Texts.
    Texts,
    /// Yes or no, and which of them if nothing is said.
    Flag(bool),
    /// A number of things, at least one.
    Count,
    /// A time such as `"30s"`, or a number of seconds.
    Duration,
    /// One of these; the first if nothing is said.
    Choice(&'static [&'static str]),
    /// A table with keys of its own.
    Table(&'static [Key]),
}

const fn key(name: &'static str, kind: KeyKind, about: &'static str) -> Key {
    Key { name, kind, about, is_required: false }
}

const fn required(name: &'static str, kind: KeyKind, about: &'static str) -> Key {
    Key { is_required: true, ..key(name, kind, about) }
}

const DIRECTORIES: Key = key(
    "directories",
    KeyKind::Directories,
    "The directories that can be used, as seen from this file; the one it is in unless said.",
);
const CLIENT_ROOTS: Key = key(
    "client_roots",
    KeyKind::Choice(&["narrow", "ignore"]),
    "What the roots of a client mean: of the directories, only what is in them can be used, or nothing.",
);
const SECRETS: Key = key(
    "secrets",
    KeyKind::Flag(false),
    "Whether files are shown whose names say that they hold secrets, such as .env.",
);
const PROTECT: Key = key(
    "protect",
    KeyKind::Flag(true),
    "Whether files that configure programs can only be read: .git/, .mcp.json, toolbay.toml, .vscode/ and the like.",
);
const WRITE_IN_PLACE: Key = key(
    "write_in_place",
    KeyKind::Flag(false),
    "Whether files are written in place, for hard links and watchers, instead of replaced in one step.",
);

const fn toolset(names: &'static [&'static str]) -> Key {
    key("toolset", KeyKind::Choice(names), "The tools that are offered; docs/built-in-servers.md lists them.")
}

/// All built-in servers.
pub(crate) const BUILT_IN: &[BuiltInKeys] = &[
    BuiltInKeys {
        name: "filesystem",
        about: "reads and changes files",
        keys: &[
            DIRECTORIES,
            toolset(&["default", "agent"]),
            CLIENT_ROOTS,
            SECRETS,
            PROTECT,
            WRITE_IN_PLACE,
            key("delete", KeyKind::Flag(false), "Whether files can be deleted."),
            key(
                "extra_tools",
                KeyKind::Flag(false),
                "Whether copy_file, read_file_lines and file_hash are offered, which the published server does not have.",
            ),
        ],
    },
    BuiltInKeys {
        name: "text-editor",
        about: "views and edits text files",
        keys: &[
            DIRECTORIES,
            toolset(&["default", "agent", "hashes"]),
            CLIENT_ROOTS,
            SECRETS,
            PROTECT,
            WRITE_IN_PLACE,
            key("max_characters", KeyKind::Count, "The longest text of a view; 16000 unless said."),
        ],
    },
    BuiltInKeys {
        name: "grep",
        about: "searches files for text",
        keys: &[
            DIRECTORIES,
            toolset(&["default", "ripgrep"]),
            CLIENT_ROOTS,
            SECRETS,
            key("time_limit", KeyKind::Duration, "How long a search may take; 45s unless said."),
        ],
    },
    BuiltInKeys {
        name: "shell",
        about: "runs programs in a sandbox",
        keys: &[
            key(
                "root",
                KeyKind::Directory,
                "The directory, as seen from this file; the one it is in unless said.",
            ),
            toolset(&["default", "bash", "sessions", "commands", "shell-server"]),
            key("read", KeyKind::Paths, "Files and directories that programs may also read."),
            key("write", KeyKind::Paths, "Files and directories that programs may also change."),
            key("network", KeyKind::Choice(&["none", "allow"]), "Whether programs may use the network."),
            key(
                "sandbox",
                KeyKind::Choice(&["full", "partial", "none"]),
                "The least confinement in which programs run; `none` is without any.",
            ),
            PROTECT,
            key(
                "allow_commands",
                KeyKind::Texts,
                "The only programs that can be run directly; not a boundary.",
            ),
            key(
                "limits",
                KeyKind::Table(&[
                    key("processes", KeyKind::Count, "Processes and threads at once."),
                    key("memory_mb", KeyKind::Count, "Memory of all processes together, in megabytes."),
                    key("cpu_seconds", KeyKind::Count, "CPU time of each process, in seconds."),
                    key("file_mb", KeyKind::Count, "Size of each file, in megabytes."),
                ]),
                "How much programs may use.",
            ),
        ],
    },
    BuiltInKeys {
        name: "memory",
        about: "remembers things between conversations",
        keys: &[
            key(
                "memory_file",
                KeyKind::Path,
                "The file with the memories, or their directory with the toolset anthropic; one for each project, in the data directory, unless said.",
            ),
            toolset(&["default", "anthropic"]),
            key("max_entities", KeyKind::Count, "The most entities that are kept."),
            key("max_mb", KeyKind::Count, "The largest size of the file, in megabytes."),
        ],
    },
    BuiltInKeys {
        name: "brave-search",
        about: "searches the web",
        keys: &[
            key("api_key", KeyKind::Secret, "The key of the service; ${NAME} keeps it out of the file."),
            key("api_key_file", KeyKind::Path, "A file with the key of the service."),
            key("base_url", KeyKind::Url, "Another address of the service."),
            key("enabled_tools", KeyKind::Texts, "The only tools that are offered."),
            key("disabled_tools", KeyKind::Texts, "Tools that are not offered."),
            key("cache_time", KeyKind::Duration, "How long responses are used again; 5m unless said."),
            key("request_timeout", KeyKind::Duration, "How long a response may take; 20s unless said."),
            key(
                "max_wait",
                KeyKind::Duration,
                "How long a call may wait for the rate limit; 30s unless said.",
            ),
        ],
    },
    BuiltInKeys {
        name: "fetch",
        about: "reads web pages",
        keys: &[
            key("user_agent", KeyKind::Text, "The name that sites see."),
            key(
                "ignore_robots_txt",
                KeyKind::Flag(false),
                "Whether pages are read that sites ask programs not to read.",
            ),
            key("proxy_url", KeyKind::Url, "A proxy for all requests."),
            key(
                "private_addresses",
                KeyKind::Flag(false),
                "Whether addresses of this machine and of private networks can be read.",
            ),
        ],
    },
    BuiltInKeys {
        name: "time",
        about: "tells the time in any time zone",
        keys: &[key(
            "local_timezone",
            KeyKind::Text,
            "The time zone of the user, such as Europe/Paris; that of the system unless said.",
        )],
    },
    BuiltInKeys {
        name: "codebase",
        about: "is search and reading in a tree of files",
        keys: &[
            key(
                "root",
                KeyKind::Directory,
                "The directory, as seen from this file; the one it is in unless said.",
            ),
            key(
                "embeddings",
                KeyKind::Table(&[
                    required("url", KeyKind::Url, "Such as http://localhost:11434/v1/embeddings."),
                    required("model", KeyKind::Text, "The model that it is asked for."),
                    key(
                        "api_key",
                        KeyKind::Secret,
                        "A secret to show there; ${NAME} keeps it out of the file.",
                    ),
                ]),
                "An OpenAI-compatible endpoint that embeds texts of a codebase instead of the built-in model; the code is sent there.",
            ),
            key(
                "compat",
                KeyKind::Table(&[key(
                    "s3_errors",
                    KeyKind::Flag(false),
                    "Whether failures of tools are JSON-RPC errors instead of results with isError.",
                )]),
                "How tools of a codebase answer.",
            ),
            SECRETS,
        ],
    },
    BuiltInKeys { name: "hub", about: "reports the status of the hub", keys: &[] },
];

/// The keys of a built-in server.
pub(crate) fn keys_of(name: &str) -> Option<&'static BuiltInKeys> {
    BUILT_IN.iter().find(|it| it.name == name)
}

/// The names of the toolsets of a built-in server, the usual one first; none if there is no such server.
pub fn toolsets(server: &str) -> &'static [&'static str] {
    let Some(server) = keys_of(server) else { return &[] };
    match server.keys.iter().find(|key| key.name == "toolset").map(|key| key.kind) {
        Some(KeyKind::Choice(names)) => names,
        _ => &["default"],
    }
}

/// The key with the directories that a built-in server is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DirectoryKey {
    /// It takes one.
    One(&'static str),
    /// It takes several.
    Several(&'static str),
}

impl DirectoryKey {
    /// The key of a built-in server; none if it is not for directories, or unknown.
    pub fn of(server: &str) -> Option<Self> {
        keys_of(server)?.keys.iter().find_map(|key| match key.kind {
            KeyKind::Directory => Some(Self::One(key.name)),
            KeyKind::Directories => Some(Self::Several(key.name)),
            _ => None,
        })
    }
}

/// The names of the keys of a built-in server; none if there is no such server.
pub fn built_in_keys(server: &str) -> Option<Vec<&'static str>> {
    Some(keys_of(server)?.keys.iter().map(|key| key.name).collect())
}

/// The keys that only entries of built-in servers have.
pub(crate) fn all_keys() -> Vec<&'static str> {
    let mut all: Vec<&str> = BUILT_IN.iter().flat_map(|it| it.keys).map(|key| key.name).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Adds the keys to the JSON Schema of an entry.
pub(crate) fn add_to_schema(entry: &mut Map<String, Value>) {
    let is_general = |key: &&String| !LAUNCH_KEYS.contains(&key.as_str());
    let general: Vec<String> = properties(entry).keys().filter(is_general).cloned().collect();
    let names: Vec<&str> = BUILT_IN.iter().map(|it| it.name).collect();
    let servers: Vec<String> = BUILT_IN.iter().map(|it| format!("{} {}", it.name, it.about)).collect();
    let about = format!("A server that is a part of Toolbay: {}.", servers.join(", "));
    properties(entry).insert("builtin".to_owned(), json!({ "description": about, "enum": names }));
    for name in all_keys() {
        let mut kinds: Vec<Value> = Vec::new();
        for key in BUILT_IN.iter().flat_map(|it| it.keys).filter(|key| key.name == name) {
            let schema = schema(key);
            if !kinds.contains(&schema) {
                kinds.push(schema);
            }
        }
        let schema = if kinds.len() == 1 { kinds.remove(0) } else { json!({ "anyOf": kinds }) };
        properties(entry).insert(name.to_owned(), schema);
    }
    let rules = BUILT_IN.iter().map(|it| {
        let is_server = json!({ "properties": { "builtin": { "const": it.name } }, "required": ["builtin"] });
        let own = it.keys.iter().map(|key| (key.name.to_owned(), schema(key)));
        let names: Vec<&str> = general
            .iter()
            .map(String::as_str)
            .chain(["builtin"])
            .chain(it.keys.iter().map(|key| key.name))
            .collect();
        json!({
            "if": is_server,
            "then": { "properties": Map::from_iter(own), "propertyNames": { "enum": names } },
        })
    });
    let elsewhere: Vec<Value> = all_keys().into_iter().map(|name| json!({ "required": [name] })).collect();
    let only_built_in =
        json!({ "if": { "not": { "required": ["builtin"] } }, "then": { "not": { "anyOf": elsewhere } } });
    entry.insert("allOf".to_owned(), rules.chain([only_built_in]).collect());
}

fn properties(entry: &mut Map<String, Value>) -> &mut Map<String, Value> {
    let properties = entry.entry("properties").or_insert_with(|| json!({}));
    properties.as_object_mut().expect("properties of the schema are an object: a test reads it")
}

fn schema(key: &Key) -> Value {
    let mut schema = match key.kind {
        KeyKind::Text | KeyKind::Secret | KeyKind::Url | KeyKind::Path | KeyKind::Directory => {
            json!({ "type": "string" })
        }
        KeyKind::Directories => json!({ "type": "array", "items": { "type": "string" }, "minItems": 1 }),
        KeyKind::Paths | KeyKind::Texts => {
            json!({ "type": "array", "items": { "type": "string" } })
        }
        KeyKind::Flag(default) => json!({ "type": "boolean", "default": default }),
        KeyKind::Count => json!({ "type": "integer", "minimum": 1 }),
        KeyKind::Duration => json!({ "$ref": "#/definitions/duration" }),
        KeyKind::Choice(choices) => json!({ "enum": choices, "default": choices[0] }),
        KeyKind::Table(keys) => {
            let properties = keys.iter().map(|key| (key.name.to_owned(), schema(key)));
            let required: Vec<&str> = keys.iter().filter(|key| key.is_required).map(|key| key.name).collect();
            let mut table = json!({
                "type": "object",
                "additionalProperties": false,
                "properties": Map::from_iter(properties),
            });
            if !required.is_empty() {
                table["required"] = json!(required);
            }
            table
        }
    };
    schema["description"] = key.about.into();
    schema
}
