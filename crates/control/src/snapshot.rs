//! What a hub tells about itself.

use std::{
    path::PathBuf,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::time::Instant;
use toolbay_host::{CatalogKind, ConfigProblem, Host, LogLine, LogSource, ServerStatus};

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
    /// The folder that it is about, where nothing is configured.
    #[serde(default)]
    pub folder: Option<PathBuf>,
    /// Its servers, in the order of the configuration.
    pub servers: Vec<ServerSnapshot>,
    /// How many tools all of them offer under the hub's names.
    pub tools: usize,
    /// As `tools`.
    pub resources: usize,
    /// As `tools`.
    pub resource_templates: usize,
    /// As `tools`.
    pub prompts: usize,
    /// The number of the last event: what is asked for with [`EVENTS`](crate::method::EVENTS) begins after it.
    pub revision: u64,
    /// The messages of `config_problems`, a line each.
    #[serde(default)]
    pub config_problem: Option<String>,
    /// Why its configuration cannot be used as it stands now; what was there before is in effect.
    #[serde(default)]
    pub config_problems: Vec<ConfigProblem>,
    /// Variables that the configuration refers to, that are set for a client, and that are not set for the hub.
    #[serde(default)]
    pub unset_variables: Vec<String>,
    /// Offers that were set aside, and why.
    pub quarantined: Vec<Box<RawValue>>,
    /// What people should know about what servers offer: what was left out or is not checked, and why.
    #[serde(default)]
    pub notes: Vec<Note>,
}

/// A note about what a server offers.
#[derive(Debug, Serialize, Deserialize)]
pub struct Note {
    /// The server's configured name.
    pub server: String,
    /// What there is to know.
    pub text: String,
}

/// A server at one moment.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct ServerSnapshot {
    /// Its configured name.
    pub name: String,
    /// `disabled`, `needs approval`, `starting`, `ready`, `degraded`, `auth required`, `authenticating`, `restarting`, `stopping`, `asleep`,
    /// `stopped` or `failed`.
    pub state: String,
    /// How it is reached.
    pub transport: String,
    /// The protocol revision it speaks, once known.
    pub revision: Option<String>,
    /// Its process.
    pub pid: Option<u32>,
    /// What it says about itself.
    pub server_info: Option<Box<RawValue>>,
    /// How many tools it offers, without those that are set aside.
    pub tools: usize,
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
    pub failure: Option<String>,
    /// The line of the server's own words that most likely says why.
    #[serde(default)]
    pub cause: Option<String>,
    /// What to do about that.
    pub hint: Option<String>,
    /// When it is tried again.
    pub retry_in_ms: Option<u64>,
    /// What could not be listed, and why.
    pub problems: Vec<String>,
    /// Whether it answers calls now.
    pub is_up: bool,
    /// Why nothing of it can be used, in a sentence, if it is down and no start is under way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub absence: Option<AbsenceSnapshot>,
}

/// Why nothing of a server can be used.
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
    /// Counts up over the life of the server.
    pub seq: u64,
    /// Milliseconds since 1970.
    pub time_ms: u64,
    /// `stderr`, `stdout` (what was no message) or `event` (what happened to it).
    pub source: String,
    /// What it says.
    pub text: String,
}

impl ServerSnapshot {
    /// A server at the moment of its status.
    pub fn of(status: &ServerStatus) -> Self {
        let ServerStatus { counts, catalog: catalogue, .. } = status;
        let failure = status.state.failure();
        let retry_in = status.state.next_attempt().map(|at| at.saturating_duration_since(Instant::now()));
        Self {
            name: status.name.as_str().to_owned(),
            state: status.state.word().to_owned(),
            transport: status.transport.to_owned(),
            revision: status.revision.map(|revision| revision.as_str().to_owned()),
            pid: status.pid,
            server_info: catalogue.server_info.clone().and_then(|text| RawValue::from_string(text).ok()),
            tools: catalogue.list(CatalogKind::Tools).len().saturating_sub(status.withheld_tools),
            resources: catalogue.list(CatalogKind::Resources).len(),
            resource_templates: catalogue.list(CatalogKind::ResourceTemplates).len(),
            prompts: catalogue.list(CatalogKind::Prompts).len(),
            starts: status.starts,
            state_ms: milliseconds(status.since.elapsed()),
            start_ms: status.start_took.map(milliseconds),
            calls: counts.calls,
            in_flight: counts.in_flight,
            waiting: counts.waiting,
            noise: counts.noise,
            failure: failure.map(ToString::to_string),
            cause: failure.and_then(|failure| failure.cause()).map(str::to_owned),
            hint: failure.and_then(|failure| failure.hint()),
            retry_in_ms: retry_in.map(milliseconds),
            problems: catalogue.problems.clone(),
            is_up: status.state.is_up(),
            absence: status
                .absence()
                .map(|absence| AbsenceSnapshot { message: absence.to_string(), hint: absence.hint() }),
        }
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

impl HubStatus {
    /// A hub now. What the host does not know is left for the caller to fill in.
    pub fn of(host: &Host) -> Self {
        // First of all: what happens while we look is told after it, perhaps twice, but never not at all.
        let revision = host.revision();
        let table = host.table();
        let config_problems = host.config_problems().to_vec();
        let messages: Vec<&str> = config_problems.iter().map(|problem| problem.message.as_str()).collect();
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            pid: std::process::id(),
            config: None,
            url: None,
            folder: None,
            servers: host.statuses().iter().map(ServerSnapshot::of).collect(),
            tools: table.count(CatalogKind::Tools),
            resources: table.count(CatalogKind::Resources),
            resource_templates: table.count(CatalogKind::ResourceTemplates),
            prompts: table.count(CatalogKind::Prompts),
            revision,
            config_problem: (!messages.is_empty()).then(|| messages.join("\n")),
            config_problems,
            unset_variables: Vec::new(),
            quarantined: table
                .quarantined
                .iter()
                .filter_map(|set_aside| serde_json::value::to_raw_value(set_aside).ok())
                .collect(),
            notes: table
                .notes()
                .map(|(server, text)| Note { server: server.as_str().to_owned(), text: text.to_owned() })
                .collect(),
        }
    }
}

impl From<LogLine> for LogEntry {
    fn from(line: LogLine) -> Self {
        let since_epoch = line.time.duration_since(UNIX_EPOCH).unwrap_or_default();
        Self {
            seq: line.seq,
            time_ms: u64::try_from(since_epoch.as_millis()).unwrap_or(u64::MAX),
            source: match line.source {
                LogSource::Stderr => "stderr",
                LogSource::StdoutNoise => "stdout",
                LogSource::Event => "event",
            }
            .to_owned(),
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
