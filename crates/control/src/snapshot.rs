//! The status of a hub and its servers.

use std::{
    path::PathBuf,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::time::Instant;
use toolbay_host::{
    CatalogKind, ConfigProblem, Failure, Host, LogLine, LogSource, Quarantined, SecretPlace, ServerStatus,
};
use toolbay_protocol::estimated_tokens;

/// A hub at one moment.
#[derive(Debug, Serialize, Deserialize)]
pub struct HubStatus {
    /// The version of Toolbay.
    pub version: String,
    /// The process of the hub.
    pub pid: u32,
    /// Its configuration, if it has one.
    pub config: Option<PathBuf>,
    /// Where clients reach it, if it listens.
    pub url: Option<String>,
    /// The folder that it serves, where nothing is configured.
    #[serde(default)]
    pub folder: Option<PathBuf>,
    /// Its servers, in the order of the configuration, then the entries that cannot be used ([`ServerState::Broken`]).
    pub servers: Vec<ServerSnapshot>,
    /// How many tools all of them offer under the hub's names.
    pub tools: usize,
    /// How many tokens of a model their definitions take, estimated.
    #[serde(default)]
    pub tool_tokens: usize,
    /// As `tools`.
    pub resources: usize,
    /// As `tools`.
    pub resource_templates: usize,
    /// As `tools`.
    pub prompts: usize,
    /// Which tools clients are listed; unknown where there is no hub of its own.
    #[serde(default)]
    pub exposure: Option<ExposureSnapshot>,
    /// The number of the last event: what [`EVENTS`](crate::method::EVENTS) begins after it.
    pub revision: u64,
    /// Why its configuration cannot be used as it stands now; what was there before is in effect.
    #[serde(default)]
    pub config_problems: Vec<ConfigProblem>,
    /// Variables that the configuration refers to, that are set for a client, and that are not set for the hub.
    #[serde(default)]
    pub unset_variables: Vec<String>,
    /// Tools, resources and prompts that are not offered because their definition is not valid.
    pub quarantined: Vec<QuarantinedEntry>,
    /// Notes on catalogs: what was left out or is not checked, and why.
    #[serde(default)]
    pub notes: Vec<Note>,
    /// What callers can ask for.
    #[serde(default)]
    pub profiles: Vec<ProfileSnapshot>,
}

/// A profile of a hub.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ProfileSnapshot {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// Where clients reach it, if the hub listens.
    pub url: Option<String>,
    /// How many tools the owner sees with it.
    pub tools: usize,
    /// The clients that get it by their names.
    pub clients: Vec<String>,
}

/// Which tools clients are listed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ExposureSnapshot {
    /// `all`, `search` or `auto`.
    pub mode: String,
    /// How many tokens definitions may take in mode `auto`.
    pub budget: usize,
    /// How many tools of servers clients are listed of which nothing else is known.
    pub listed: usize,
    /// How many these clients have to search for.
    pub hidden: usize,
    /// Why they have to.
    pub reason: Option<String>,
    /// The clients that are listed all tools in mode `auto`, because they defer tools by themselves.
    pub deferring_clients: Vec<String>,
}

impl ExposureSnapshot {
    /// What a user should consider, with tools that take so many tokens.
    pub fn advice(&self, tokens: usize) -> Option<String> {
        let is_advised = self.mode == "all" && tokens > self.budget;
        is_advised.then(|| {
            format!("the definitions of all tools take about {tokens} tokens of the context of every model")
        })
    }
}

/// A note about what a server offers.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Note {
    /// The server's configured name.
    pub server: String,
    /// The text of the note.
    pub text: String,
}

/// A tool, resource or prompt of a server that is not offered.
#[derive(Debug, Serialize, Deserialize)]
pub struct QuarantinedEntry {
    /// The server's configured name.
    pub server: String,
    /// `tool`, `prompt`, `resource` or `resource template`.
    pub kind: String,
    /// Its name, or its beginning where it has none.
    pub name: String,
    /// Why it is not offered.
    pub reason: String,
}

/// The state of a server, or of its entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ServerState {
    Disabled,
    #[serde(rename = "needs approval")]
    NeedsApproval,
    Starting,
    Ready,
    /// Ready, but something about it is not right.
    Degraded,
    #[serde(rename = "auth required")]
    AuthRequired,
    #[serde(rename = "login required")]
    LoginRequired,
    Authenticating,
    /// Down, and tried again by itself.
    Restarting,
    Stopping,
    /// Down until it is called.
    Asleep,
    /// Down until it is started.
    Stopped,
    /// Down until it is restarted or its entry is changed.
    Failed,
    /// Its entry is invalid, and there is no earlier version of it that runs.
    Broken,
}

/// A server at one moment.
#[derive(Debug, Serialize, Deserialize)]
pub struct ServerSnapshot {
    /// Its configured name.
    pub name: String,
    pub state: ServerState,
    /// How it is reached; unknown if its entry is broken.
    pub transport: Option<String>,
    /// The protocol revision it speaks, once known.
    pub revision: Option<String>,
    /// Its process.
    pub pid: Option<u32>,
    /// What it says about itself.
    pub server_info: Option<Box<RawValue>>,
    /// How many tools it offers, without those that are set aside.
    pub tools: usize,
    /// How many tokens of a model their definitions take, estimated.
    #[serde(default)]
    pub tool_tokens: usize,
    /// As `tools`.
    pub resources: usize,
    /// As `tools`.
    pub resource_templates: usize,
    /// As `tools`.
    pub prompts: usize,
    /// How often it was started.
    pub starts: u64,
    /// For how long it has been in this state, in milliseconds; for one that is up, its uptime.
    #[serde(default)]
    pub state_ms: u64,
    /// How long its last start took, in milliseconds.
    #[serde(default)]
    pub start_ms: Option<u64>,
    /// Calls sent to it.
    pub calls: u64,
    /// Calls at the server now.
    pub in_flight: usize,
    /// Calls that wait for it now.
    pub waiting: usize,
    /// Lines on its stdout that were no messages.
    pub noise: u64,
    /// What went wrong, if something did; for a server that is tried again, what went wrong last.
    pub failure: Option<FailureSnapshot>,
    /// When it is tried again.
    pub retry_in_ms: Option<u64>,
    /// What could not be listed, and why.
    pub problems: Vec<String>,
    /// Whether it answers calls now.
    pub is_up: bool,
    /// Why it is unavailable, in a sentence, if it is down and not starting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub absence: Option<AbsenceSnapshot>,
}

/// Why a server is down, or its entry is broken.
#[derive(Debug, Serialize, Deserialize)]
pub struct FailureSnapshot {
    /// What happened, in one line.
    pub message: String,
    /// The last lines that the server wrote to stderr, oldest first.
    pub stderr: Vec<String>,
    /// The line of `stderr` that most likely says why.
    pub cause: Option<String>,
    /// The places where its command was searched for, if it was not found.
    pub searched: Vec<String>,
    /// What to do about it.
    pub hint: Option<String>,
}

/// Why a server is unavailable.
#[derive(Debug, Serialize, Deserialize)]
pub struct AbsenceSnapshot {
    /// A sentence that names the server.
    pub message: String,
    /// What to do about it, where something can be done.
    pub hint: Option<String>,
}

/// Lines of a log.
#[derive(Debug, Serialize, Deserialize)]
pub struct LogPage {
    /// The lines, oldest first.
    pub lines: Vec<LogEntry>,
    /// The number to ask for next.
    pub next: u64,
}

/// A line of a log.
#[derive(Debug, Serialize, Deserialize)]
pub struct LogEntry {
    /// Counts up over all starts of the server.
    pub seq: u64,
    /// Milliseconds since 1970.
    pub time_ms: u64,
    #[serde(with = "LogSourceName")]
    pub source: LogSource,
    pub text: String,
}

/// How a [`LogSource`] is written.
#[derive(Serialize, Deserialize)]
#[serde(remote = "LogSource", rename_all = "lowercase")]
enum LogSourceName {
    Stderr,
    #[serde(rename = "stdout")]
    StdoutNoise,
    /// Something that happened to the server.
    Event,
}

impl ServerState {
    /// The state in a word or two, as in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Disabled => "disabled",
            Self::NeedsApproval => "needs approval",
            Self::Starting => "starting",
            Self::Ready => "ready",
            Self::Degraded => "degraded",
            Self::AuthRequired => "auth required",
            Self::LoginRequired => "login required",
            Self::Authenticating => "authenticating",
            Self::Restarting => "restarting",
            Self::Stopping => "stopping",
            Self::Asleep => "asleep",
            Self::Stopped => "stopped",
            Self::Failed => "failed",
            Self::Broken => "broken",
        }
    }
}

impl From<&toolbay_host::ServerState> for ServerState {
    fn from(state: &toolbay_host::ServerState) -> Self {
        use toolbay_host::ServerState as State;
        match state {
            State::Disabled => Self::Disabled,
            State::Pending => Self::NeedsApproval,
            State::Starting { .. } => Self::Starting,
            State::Running => Self::Ready,
            State::Degraded { .. } => Self::Degraded,
            State::AuthRequired { .. } => Self::AuthRequired,
            State::LoginRequired { .. } => Self::LoginRequired,
            State::Authenticating => Self::Authenticating,
            State::Backoff { .. } => Self::Restarting,
            State::Stopping => Self::Stopping,
            State::Stopped { wakes: true } => Self::Asleep,
            State::Stopped { wakes: false } => Self::Stopped,
            // `Failed`; the enum of the host may grow.
            _ => Self::Failed,
        }
    }
}

impl FailureSnapshot {
    /// The message, with the places where the command was searched for.
    pub fn full_message(&self) -> String {
        match &self.searched[..] {
            [] => self.message.clone(),
            places => format!("{}; looked in {}", self.message, places.join(", ")),
        }
    }
}

impl From<&Failure> for FailureSnapshot {
    fn from(failure: &Failure) -> Self {
        Self {
            message: failure.headline(),
            stderr: failure.stderr().iter().map(|line| line.as_ref().to_owned()).collect(),
            cause: failure.cause().map(str::to_owned),
            searched: failure.searched().iter().map(|place| place.display().to_string()).collect(),
            hint: failure.hint(),
        }
    }
}

impl ServerSnapshot {
    /// A server at the moment of its status.
    pub fn of(status: &ServerStatus) -> Self {
        let ServerStatus { counts, catalog, .. } = status;
        let retry_in = status.state.next_attempt().map(|at| at.saturating_duration_since(Instant::now()));
        Self {
            name: status.name.as_str().to_owned(),
            state: (&status.state).into(),
            transport: Some(status.transport.to_owned()),
            revision: status.revision.map(|revision| revision.as_str().to_owned()),
            pid: status.pid,
            server_info: catalog.server_info.clone().and_then(|text| RawValue::from_string(text).ok()),
            tools: catalog.list(CatalogKind::Tools).len().saturating_sub(status.withheld_tools),
            tool_tokens: estimated_tokens(status.tool_bytes),
            resources: catalog.list(CatalogKind::Resources).len(),
            resource_templates: catalog.list(CatalogKind::ResourceTemplates).len(),
            prompts: catalog.list(CatalogKind::Prompts).len(),
            starts: status.starts,
            state_ms: milliseconds(status.since.elapsed()),
            start_ms: status.start_took.map(milliseconds),
            calls: counts.calls,
            in_flight: counts.in_flight,
            waiting: counts.waiting,
            noise: counts.noise,
            failure: status.state.failure().map(|failure| FailureSnapshot::from(&**failure)),
            retry_in_ms: retry_in.map(milliseconds),
            problems: catalog.problems.clone(),
            is_up: status.state.is_up(),
            absence: status
                .absence()
                .map(|absence| AbsenceSnapshot { message: absence.to_string(), hint: absence.hint() }),
        }
    }

    /// An entry that cannot be used.
    fn broken(name: &str, problem: &str) -> Self {
        let message = problem.to_owned();
        let failure =
            FailureSnapshot { message, stderr: Vec::new(), cause: None, searched: Vec::new(), hint: None };
        Self {
            name: name.to_owned(),
            state: ServerState::Broken,
            transport: None,
            revision: None,
            pid: None,
            server_info: None,
            tools: 0,
            tool_tokens: 0,
            resources: 0,
            resource_templates: 0,
            prompts: 0,
            starts: 0,
            state_ms: 0,
            start_ms: None,
            calls: 0,
            in_flight: 0,
            waiting: 0,
            noise: 0,
            failure: Some(failure),
            retry_in_ms: None,
            problems: Vec::new(),
            is_up: false,
            absence: None,
        }
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

impl HubStatus {
    /// A hub now. What the host does not know is left for the caller to fill in.
    pub fn of(host: &Host) -> Self {
        // First of all: what happens during the snapshot is reported after it, perhaps twice, but never missed.
        let revision = host.revision();
        let table = host.table();
        let config_problems = host.config_problems().to_vec();
        let mut servers: Vec<ServerSnapshot> = host.statuses().iter().map(ServerSnapshot::of).collect();
        for ConfigProblem { server, message } in &config_problems {
            if let Some(name) = server
                && !servers.iter().any(|server| server.name == *name)
            {
                servers.push(ServerSnapshot::broken(name, message));
            }
        }
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            pid: std::process::id(),
            config: None,
            url: None,
            folder: None,
            servers,
            tools: table.count(CatalogKind::Tools),
            tool_tokens: estimated_tokens(table.tool_bytes(None)),
            resources: table.count(CatalogKind::Resources),
            resource_templates: table.count(CatalogKind::ResourceTemplates),
            prompts: table.count(CatalogKind::Prompts),
            exposure: None,
            revision,
            config_problems,
            unset_variables: Vec::new(),
            quarantined: table.quarantined.iter().map(QuarantinedEntry::from).collect(),
            notes: table
                .notes()
                .map(|(server, text)| Note { server: server.as_str().to_owned(), text: text.to_owned() })
                .chain(secrets_in_args(host))
                .collect(),
            profiles: Vec::new(),
        }
    }
}

/// Notes on servers whose command lines show secrets to other users.
fn secrets_in_args(host: &Host) -> Vec<Note> {
    let shows = |status: &ServerStatus| {
        let fields = status.config.iter().flat_map(|config| &config.secrets);
        fields.into_iter().any(|field| matches!(field.place, SecretPlace::Argument(_)))
    };
    let text = "its arguments contain secrets, which other users of this machine can see";
    let note = |status: ServerStatus| Note { server: status.name.as_str().to_owned(), text: text.to_owned() };
    host.statuses().into_iter().filter(shows).map(note).collect()
}

impl From<&Quarantined> for QuarantinedEntry {
    fn from(item: &Quarantined) -> Self {
        Self {
            server: item.server.as_str().to_owned(),
            kind: item.kind.to_owned(),
            name: item.name.clone(),
            reason: item.reason.clone(),
        }
    }
}

impl From<LogLine> for LogEntry {
    fn from(line: LogLine) -> Self {
        let since_epoch = line.time.duration_since(UNIX_EPOCH).unwrap_or_default();
        Self {
            seq: line.seq,
            time_ms: u64::try_from(since_epoch.as_millis()).unwrap_or(u64::MAX),
            source: line.source,
            text: line.text.as_ref().to_owned(),
        }
    }
}

impl LogEntry {
    /// When it was written.
    pub fn time(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_millis(self.time_ms)
    }
}
