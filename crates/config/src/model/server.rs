//! One configured server.

use std::{collections::BTreeMap, num::NonZeroUsize, path::PathBuf, time::Duration};

use http::{HeaderMap, Uri};
use rustls_pki_types::CertificateDer;
use serde::Deserialize;
use toolbay_protocol::ServerName;

use crate::{BuiltIn, OAuthConfig, SecretField, glob::matches};

/// A server to use, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerConfig {
    /// The key of its entry.
    pub name: ServerName,
    /// The endpoint.
    pub endpoint: ServerEndpoint,
    /// Whether it may run.
    pub permission: Permission,
    /// Settings that differ from the defaults.
    pub tuning: ServerOptions,
    /// Where the endpoint has references in place of secrets, which get their values when the server is started.
    pub secrets: Vec<SecretField>,
}

/// Whether a server may run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Permission {
    /// It may run.
    #[default]
    Enabled,
    /// It is switched off.
    Disabled,
    /// It is from a project and not approved yet.
    Pending,
}

/// How to connect to a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerEndpoint {
    /// We run it.
    Command(Command),
    /// A server at a URL.
    Url(Remote),
    /// A built-in server.
    BuiltIn(BuiltIn),
}

/// A program to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// The program; never split at spaces, never given to a shell.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables of its environment.
    pub env: BTreeMap<String, String>,
    /// Its working directory.
    pub cwd: Option<PathBuf>,
}

/// A server at a URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remote {
    /// The URL: `http` or `https`, `ws` or `wss`, without credentials.
    pub url: Uri,
    /// The transport.
    pub transport: Transport,
    /// Sent with every request; the values are marked as secret.
    pub headers: HeaderMap,
    /// Trusted besides those whom the machine trusts.
    pub ca: Vec<CertificateDer<'static>>,
    /// How it is authorized at, where `headers` do not.
    pub oauth: Box<OAuthConfig>,
}

/// The transport of a server at a URL.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Transport {
    /// Find out.
    #[default]
    Auto,
    /// Streamable HTTP.
    Http,
    /// HTTP+SSE of 2024-11-05.
    Sse,
    /// WebSocket.
    WebSocket,
}

/// Settings of a server that differ from the defaults: the object `toolbay` of its entry.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ServerOptions {
    /// Time from spawning to ready.
    #[serde(with = "crate::model::duration")]
    pub startup_timeout: Option<Duration>,
    /// Timeout of a call without progress.
    #[serde(with = "crate::model::duration")]
    pub idle_timeout: Option<Duration>,
    /// Time of a call in all.
    #[serde(with = "crate::model::duration")]
    pub total_timeout: Option<Duration>,
    /// Timeout of the probe for a modern revision.
    #[serde(with = "crate::model::duration")]
    pub probe_timeout: Option<Duration>,
    /// Time to end after stdin was closed, and again after SIGTERM.
    #[serde(with = "crate::model::duration")]
    pub stop_grace: Option<Duration>,
    /// Whether it is started again after a crash.
    pub restart: Restart,
    /// A fixed delay between restarts, instead of one that grows.
    #[serde(with = "crate::model::duration")]
    pub restart_delay: Option<Duration>,
    /// Time until there is a connection to a server at a URL.
    #[serde(with = "crate::model::duration")]
    pub connect_timeout: Option<Duration>,
    /// Time until it begins to answer.
    #[serde(with = "crate::model::duration")]
    pub first_byte_timeout: Option<Duration>,
    /// Time that its streams of events may be silent.
    #[serde(with = "crate::model::duration")]
    pub stream_idle_timeout: Option<Duration>,
    /// A file with certificates to trust at a URL, besides those of the machine; PEM, as seen from the configuration.
    pub ca: Option<PathBuf>,
    /// Which revisions of the protocol to speak.
    pub revision: RevisionSetting,
    /// How arguments that do not match the tool's schema are handled.
    pub validate: Validate,
    /// What happens when its definitions change; without it, what its scope says.
    pub pins: Option<PinMode>,
    /// How results that do not match the tool's output schema are handled.
    pub validate_output: ValidateOutput,
    /// Calls at the server at once.
    pub max_in_flight: Option<usize>,
    /// Calls that may wait for that.
    pub max_waiting: Option<usize>,
    /// Whether calls of tools that are not annotated as read-only run one at a time.
    pub serialize_writes: bool,
    /// The longest message it may send, in bytes.
    pub max_message: Option<usize>,
    /// How many bytes of text clients get of a result; 0 for all.
    pub max_result: Option<usize>,
    /// URIs that it gets as its roots.
    pub roots: Option<Vec<String>>,
    /// When it is started.
    pub start: Start,
    /// How long one without calls stays up; without it, always.
    #[serde(with = "crate::model::duration")]
    pub idle_stop: Option<Duration>,
    /// How often a connection without traffic is looked after.
    #[serde(with = "crate::model::duration")]
    pub heartbeat: Option<Duration>,
    /// How many processes it may have.
    pub instances: Sharing,
    /// Whether principals other than the owner may use it with the credentials of its entry, or the login of the owner.
    pub allow_shared: bool,
    /// Where its stderr goes.
    pub stderr: Stderr,
    /// Which variables it inherits.
    pub inherit_env: InheritEnv,
    /// Whether secrets may be in its arguments, which other users of the machine can see.
    pub secrets_in_args: bool,
    /// Which of its tools are offered.
    pub tools: ToolFilter,
    /// Settings of single tools, by their own names.
    pub tool: BTreeMap<String, ToolOptions>,
}

/// When a server is started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Start {
    /// With the host.
    #[default]
    Eager,
    /// With its first call.
    OnDemand,
}

/// Whether a server is started again after it failed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Restart {
    /// Again and again, until it fails too often.
    #[default]
    Automatic,
    /// Only on request.
    Never,
}

/// How many processes, or sessions, a server may have: `"shared"`, `"per-session"` or `{"pool": 4}`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sharing {
    /// One process for all clients.
    #[default]
    Shared,
    /// One process for each client.
    PerSession,
    /// A pool of processes for all clients; for servers without state between calls.
    Pool(NonZeroUsize),
}

/// Where a server's stderr goes: `"capture"`, `"inherit"`, `"null"` or `{"file": "path"}`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stderr {
    /// Its end is kept for `toolbay logs` and for errors.
    #[default]
    Capture,
    /// To our own stderr.
    Inherit,
    /// Discarded.
    Null,
    /// Appended to a file.
    File(PathBuf),
}

/// Which variables a server inherits: `"usual"`, `"all"`, `"none"`, or a list of names to add to the usual ones, in which
/// `*` at an end matches any characters.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum InheritEnv {
    /// The variables that programs need to run, and no secrets.
    #[default]
    Usual,
    /// Everything.
    All,
    /// Only the variables that its entry declares.
    None,
    /// The usual, and these.
    #[serde(untagged)]
    Also(Vec<String>),
}

/// Which tools of a server are offered. Patterns match the server's own names; `*` matches any characters, `?` one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ToolFilter {
    /// Only these; without it, all.
    pub allow: Option<Vec<String>>,
    /// But not these.
    pub deny: Vec<String>,
}

impl ToolFilter {
    /// Whether a tool is offered.
    pub fn passes(&self, tool: &str) -> bool {
        let named_in = |patterns: &[String]| patterns.iter().any(|pattern| matches(pattern, tool));
        self.allow.as_deref().is_none_or(named_in) && !named_in(&self.deny)
    }
}

/// Settings of a single tool.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ToolOptions {
    /// Timeout of a call without progress.
    #[serde(with = "crate::model::duration")]
    pub idle_timeout: Option<Duration>,
    /// Time of a call in all.
    #[serde(with = "crate::model::duration")]
    pub total_timeout: Option<Duration>,
    /// How many bytes of text clients get of a result; 0 for all.
    pub max_result: Option<usize>,
}

/// Which revisions are tried with a server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RevisionSetting {
    /// Find out.
    #[default]
    Auto,
    /// With a handshake: 2025-11-25 and older.
    Legacy,
    /// Stateless: 2026-07-28.
    Modern,
}

/// How arguments that do not match the tool's schema are handled.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Validate {
    /// The call gets an error with the mismatch at once.
    #[default]
    Enforce,
    /// The mismatch is logged.
    Warn,
    /// Arguments are not checked.
    Off,
}

/// What happens when the definitions of a server are not those that were pinned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PinMode {
    /// Nothing is pinned.
    Off,
    /// It is reported.
    Warn,
    /// What changed or is new is not offered until it is approved.
    Quarantine,
}

/// How results that do not match the tool's output schema are handled.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ValidateOutput {
    /// The client gets an error with the mismatch in place of the result.
    Enforce,
    /// The mismatch is logged.
    Warn,
    /// Results are not checked.
    #[default]
    Off,
}
