//! The settings of built-in servers, checked.

use std::{fmt, path::PathBuf, time::Duration};

use http::Uri;
use serde::{Deserialize, Serialize};

use crate::{REDACTED, model::duration};

/// A server that is a part of Toolbay itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "builtin", rename_all = "kebab-case")]
pub enum BuiltIn {
    /// Reads and changes files.
    Filesystem(FileSettings),
    /// Views and edits text files.
    TextEditor(FileSettings),
    /// Searches files for text.
    Grep(GrepSettings),
    /// Runs programs in a sandbox.
    Shell(ShellSettings),
    /// Remembers things between conversations.
    Memory(MemorySettings),
    /// Searches the web.
    BraveSearch(BraveSearchSettings),
    /// Reads web pages.
    Fetch(FetchSettings),
    /// Tells the time.
    Time(TimeSettings),
    /// Search and reading in a tree of files.
    Codebase(CodebaseSettings),
    /// The status of the hub.
    Hub,
}

/// The contract that a server offers its work under.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ToolsetName {
    /// The usual one of the server.
    #[default]
    Default,
    /// `read`, `write`, `edit` and the like.
    Agent,
    /// Edits that name the hash of what they replace.
    Hashes,
    /// A shell that stays.
    Bash,
    /// Programs that go on running between calls.
    Sessions,
    /// `run_command`.
    Commands,
    /// `shell_execute`.
    ShellServer,
    /// The tools of `mcp-ripgrep`.
    Ripgrep,
    /// The memory tool that models are trained on.
    Anthropic,
}

/// The files that a server may use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSettings {
    /// The directories.
    pub directories: Vec<PathBuf>,
    /// The tools that are offered.
    #[serde(default)]
    pub toolset: ToolsetName,
    /// What the roots of a client mean.
    #[serde(default)]
    pub client_roots: RootsSetting,
    /// Whether files whose names indicate secrets are shown.
    #[serde(default)]
    pub secrets: bool,
    /// Whether files that configure programs may only be read.
    #[serde(default = "yes")]
    pub protect: bool,
    /// Whether files are written in place instead of replaced.
    #[serde(default)]
    pub write_in_place: bool,
    /// Whether files can be deleted.
    #[serde(default)]
    pub delete: bool,
    /// Whether tools are offered that the published server does not have.
    #[serde(default)]
    pub extra_tools: bool,
    /// The longest text of a view, in characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_characters: Option<u64>,
}

impl Default for FileSettings {
    /// Without a directory, and with nothing allowed that must be asked for.
    fn default() -> Self {
        Self {
            directories: Vec::new(),
            toolset: ToolsetName::default(),
            client_roots: RootsSetting::default(),
            secrets: false,
            protect: true,
            write_in_place: false,
            delete: false,
            extra_tools: false,
            max_characters: None,
        }
    }
}

/// The files that are searched, and how.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrepSettings {
    /// The directories.
    pub directories: Vec<PathBuf>,
    /// The tools that are offered.
    #[serde(default)]
    pub toolset: ToolsetName,
    /// What the roots of a client mean.
    #[serde(default)]
    pub client_roots: RootsSetting,
    /// Whether files whose names indicate secrets are searched.
    #[serde(default)]
    pub secrets: bool,
    /// How long a search may take.
    #[serde(default, with = "duration", skip_serializing_if = "Option::is_none")]
    pub time_limit: Option<Duration>,
}

/// What the roots of a legacy client mean.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RootsSetting {
    /// Of the configured directories, only what is in them can be used.
    #[default]
    Narrow,
    /// Nothing.
    Ignore,
}

/// Where and how programs run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShellSettings {
    /// The directory in which they run and that they may change.
    pub root: PathBuf,
    /// The tools that are offered.
    #[serde(default)]
    pub toolset: ToolsetName,
    /// What else they may read.
    #[serde(default)]
    pub read: Vec<PathBuf>,
    /// What else they may change.
    #[serde(default)]
    pub write: Vec<PathBuf>,
    /// What they may connect to.
    #[serde(default)]
    pub network: NetworkAccess,
    /// The least confinement in which they run.
    #[serde(default)]
    pub sandbox: SandboxLevel,
    /// Whether files that configure programs may only be read.
    #[serde(default = "yes")]
    pub protect: bool,
    /// The only programs that run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allow_commands: Option<Vec<String>>,
    /// How much they may use.
    #[serde(default)]
    pub limits: ShellLimits,
}

impl Default for ShellSettings {
    /// Without a directory, and with nothing allowed that must be asked for.
    fn default() -> Self {
        Self {
            root: PathBuf::new(),
            toolset: ToolsetName::default(),
            read: Vec::new(),
            write: Vec::new(),
            network: NetworkAccess::default(),
            sandbox: SandboxLevel::default(),
            protect: true,
            allow_commands: None,
            limits: ShellLimits::default(),
        }
    }
}

/// What programs may connect to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NetworkAccess {
    /// Nothing but themselves.
    #[default]
    None,
    /// Everything.
    Allow,
}

/// How well programs are confined.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SandboxLevel {
    /// Rules for files and system calls, and namespaces.
    #[default]
    Full,
    /// Rules for files and system calls.
    Partial,
    /// Nothing.
    None,
}

/// How much programs may use; the usual where nothing is said.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShellLimits {
    /// Processes and threads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processes: Option<u64>,
    /// Megabytes of memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_mb: Option<u64>,
    /// Seconds of CPU time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_seconds: Option<u64>,
    /// Megabytes of each file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_mb: Option<u64>,
}

/// Where memories are kept.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemorySettings {
    /// The file; the one of the project if it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_file: Option<PathBuf>,
    /// The tools that are offered.
    #[serde(default)]
    pub toolset: ToolsetName,
    /// The most entities.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_entities: Option<u64>,
    /// The largest file, in megabytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_mb: Option<u64>,
}

/// How the web is searched.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BraveSearchSettings {
    /// The key of the service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_key: Option<Secret>,
    /// A file with the key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_key_file: Option<PathBuf>,
    /// The service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// The only tools that are offered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled_tools: Option<Vec<String>>,
    /// Tools that are not offered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disabled_tools: Vec<String>,
    /// How long responses are used again.
    #[serde(default, with = "duration", skip_serializing_if = "Option::is_none")]
    pub cache_time: Option<Duration>,
    /// How long a response may take.
    #[serde(default, with = "duration", skip_serializing_if = "Option::is_none")]
    pub request_timeout: Option<Duration>,
    /// How long a call may wait for the rate limit.
    #[serde(default, with = "duration", skip_serializing_if = "Option::is_none")]
    pub max_wait: Option<Duration>,
}

/// How web pages are read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FetchSettings {
    /// The name that sites see.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_agent: Option<String>,
    /// Whether pages are read that sites ask programs not to read.
    #[serde(default)]
    pub ignore_robots_txt: bool,
    /// A proxy for all requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proxy_url: Option<String>,
    /// Whether addresses of this machine and of private networks can be read.
    #[serde(default)]
    pub private_addresses: bool,
}

/// Where the user is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimeSettings {
    /// The time zone; that of the system if it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub local_timezone: Option<String>,
}

/// A tree of files to search in.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodebaseSettings {
    /// The folder; nothing outside of it is ever shown.
    pub root: PathBuf,
    /// The embedding endpoint to use instead of the built-in model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub embeddings: Option<Embeddings>,
    /// How tools answer.
    #[serde(default)]
    pub compat: Compat,
    /// Whether files whose names indicate secrets are shown.
    #[serde(default)]
    pub secrets: bool,
}

/// How the tools of a codebase answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compat {
    /// Whether failures of tools are JSON-RPC errors, as in the document that the server follows, and not results that a
    /// model can correct itself by.
    #[serde(default)]
    pub s3_errors: bool,
}

/// An OpenAI-compatible endpoint for embeddings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Embeddings {
    /// The URL; parts of the code are sent there.
    #[serde(with = "uri")]
    pub url: Uri,
    /// The name of the model in requests.
    pub model: String,
    /// A secret to show there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_key: Option<Secret>,
}

/// A text that is never shown.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// A secret with this text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(REDACTED)
    }
}

fn yes() -> bool {
    true
}

mod uri {
    use http::Uri;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(uri: &Uri, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(uri)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Uri, D::Error> {
        String::deserialize(from)?.parse().map_err(D::Error::custom)
    }
}
