//! Servers of a hub on the terminal: a line, a table, a summary.

use std::time::Duration;

use toolbay_control::{ServerSnapshot, ServerState};

use crate::term::{
    style::{Palette, clean_line, cut, grouped},
    table::{Cell, Look, render_fitting},
    time::short,
};

/// How a table of servers is shown.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View {
    pub(crate) paint: Palette,
    /// How wide it may be.
    pub(crate) columns: Option<usize>,
    /// Whether long lists within messages are shown whole.
    pub(crate) is_verbose: bool,
    pub(crate) times: Times,
}

/// Which time is shown of each server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Times {
    /// How long its start took, or has taken so far.
    Start,
    /// For how long it has been up.
    Uptime,
}

impl View {
    pub(crate) fn new(paint: Palette, times: Times) -> Self {
        Self { paint, columns: None, is_verbose: false, times }
    }

    /// A table of servers, with the failure below each row.
    pub(crate) fn table(&self, servers: &[&ServerSnapshot]) -> Vec<String> {
        self.blocks(servers).concat()
    }

    /// The lines of [`View::table`]: first its head, then those of each server.
    pub(crate) fn blocks(&self, servers: &[&ServerSnapshot]) -> Vec<Vec<String>> {
        let time = if self.times == Times::Start { "START" } else { "UPTIME" };
        let head = [
            "",
            "SERVER",
            "STATE",
            "TOOLS",
            "TOKENS",
            "CALLS",
            time,
            "RESOURCES",
            "PROMPTS",
            "TRANSPORT",
            "REVISION",
        ];
        let mut rows = vec![head.iter().map(|text| Cell::new(*text, Look::Dim)).collect::<Vec<_>>()];
        rows.extend(servers.iter().map(|server| self.row(server)));
        let lines = render_fitting(&rows, self.paint, self.columns);
        let mut blocks: Vec<Vec<String>> = lines.into_iter().map(|line| vec![line]).collect();
        for (server, block) in servers.iter().zip(&mut blocks[1..]) {
            block.extend(self.notes(server));
        }
        blocks
    }

    fn row(&self, server: &ServerSnapshot) -> Vec<Cell> {
        let count =
            |number: usize| if server.revision.is_some() { number.to_string() } else { "–".to_owned() };
        let time = match self.times {
            Times::Uptime => server.is_up.then_some(server.state_ms),
            Times::Start if server.state == ServerState::Starting => Some(server.state_ms),
            Times::Start => server.start_ms,
        };
        vec![
            Cell::new("●", look(server)),
            Cell::new(clean_line(&server.name), Look::Bold),
            Cell::new(server.state.as_str(), look(server)),
            count(server.tools).into(),
            if server.revision.is_some() { grouped(server.tool_tokens) } else { "–".to_owned() }.into(),
            server.calls.to_string().into(),
            time.map(|time| short(Duration::from_millis(time))).unwrap_or_default().into(),
            count(server.resources + server.resource_templates).into(),
            count(server.prompts).into(),
            server.transport.clone().unwrap_or_else(|| "–".to_owned()).into(),
            revision(server).into(),
        ]
    }

    /// The failure of a server, in lines below its row.
    fn notes(&self, server: &ServerSnapshot) -> Vec<String> {
        let problems = server.problems.iter().map(|problem| clean_line(problem));
        let notes = trouble_lines(server, self.is_verbose).into_iter().chain(problems);
        notes
            .map(|note| {
                let note = match self.columns {
                    Some(columns) if !self.is_verbose => cut(&note, columns.saturating_sub(3)),
                    _ => note,
                };
                format!("   {}", self.paint.dim(&note))
            })
            .collect()
    }
}

/// A server in one line.
pub(crate) fn line(server: &ServerSnapshot, paint: Palette) -> String {
    let time = server.start_ms.map(|time| format!(", {}", short(Duration::from_millis(time))));
    let detail = match server.state {
        ServerState::Ready | ServerState::Degraded => {
            format!(" ({}, {}{})", revision(server), counts(server), time.unwrap_or_default())
        }
        ServerState::Starting => String::new(),
        _ => trouble(server).map(|trouble| format!(": {trouble}")).unwrap_or_default(),
    };
    let dot = Cell::new("●", look(server)).painted(paint);
    format!("{dot} {} {}{detail}", clean_line(&server.name), server.state.as_str())
}

/// A key that changes when a new line should be printed.
pub(crate) fn key(server: &ServerSnapshot) -> String {
    match server.state {
        state if server.is_up => format!("{state:?} {} {}", counts(server), server.starts),
        state => format!("{state:?} {:?}", server.failure),
    }
}

/// Formats a summary: `13 ready, 2 failed, 1 disabled`.
pub(crate) fn summary(servers: &[ServerSnapshot]) -> String {
    let mut states: Vec<(ServerState, usize)> = Vec::new();
    for server in servers {
        match states.iter_mut().find(|(state, _)| *state == server.state) {
            Some((_, count)) => *count += 1,
            None => states.push((server.state, 1)),
        }
    }
    states.sort_by_key(|(state, _)| (*state != ServerState::Ready, severity(*state)));
    let counts: Vec<String> =
        states.iter().map(|(state, count)| format!("{count} {}", state.as_str())).collect();
    if counts.is_empty() { "no servers".to_owned() } else { counts.join(", ") }
}

/// Sorts servers with problems first; the others keep their order.
pub(crate) fn sort_by_trouble(servers: &mut [&ServerSnapshot]) {
    servers.sort_by_key(|server| severity(server.state));
}

/// The order of states: those that need attention first.
fn severity(state: ServerState) -> u8 {
    match state {
        ServerState::Broken | ServerState::Failed => 0,
        ServerState::AuthRequired | ServerState::LoginRequired => 1,
        ServerState::Restarting => 2,
        ServerState::Degraded => 3,
        ServerState::NeedsApproval | ServerState::Authenticating => 4,
        ServerState::Starting | ServerState::Stopping => 5,
        ServerState::Ready | ServerState::Asleep => 6,
        ServerState::Stopped => 7,
        ServerState::Disabled => 8,
    }
}

fn revision(server: &ServerSnapshot) -> String {
    server.revision.clone().unwrap_or_else(|| "–".to_owned())
}

pub(crate) fn counts(server: &ServerSnapshot) -> String {
    let counted = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    format!(
        "{}, {}, {}",
        counted(server.tools, "tool"),
        counted(server.resources + server.resource_templates, "resource"),
        counted(server.prompts, "prompt")
    )
}

/// The lines about a failure: the message, its cause on stderr, and a hint.
fn trouble_lines(server: &ServerSnapshot, is_verbose: bool) -> Vec<String> {
    let Some(failure) = &server.failure else { return Vec::new() };
    if let (ServerState::LoginRequired, Some(command)) = (server.state, &failure.hint) {
        return vec![clean_line(&format!("{}: {command}", failure.message))];
    }
    let message = match failure.searched.len() {
        // `PATH` may have dozens.
        places @ 2.. if !is_verbose => {
            format!("{}; looked in {places} directories (-v lists them)", failure.message)
        }
        _ => failure.full_message(),
    };
    let mut lines = vec![clean_line(&message)];
    lines.extend(failure.cause.as_deref().map(|cause| format!("stderr: {}", clean_line(cause))));
    lines.extend(failure.hint.as_ref().map(|hint| format!("hint: {}", clean_line(hint))));
    lines
}

/// The same in one line.
pub(crate) fn trouble(server: &ServerSnapshot) -> Option<String> {
    let lines = trouble_lines(server, true);
    (!lines.is_empty()).then(|| lines.join(" – "))
}

fn look(server: &ServerSnapshot) -> Look {
    match server.state {
        ServerState::Ready => Look::Good,
        ServerState::Starting
        | ServerState::Authenticating
        | ServerState::Restarting
        | ServerState::Stopping
        | ServerState::Degraded
        | ServerState::NeedsApproval => Look::Busy,
        ServerState::Failed
        | ServerState::AuthRequired
        | ServerState::LoginRequired
        | ServerState::Broken => Look::Bad,
        ServerState::Disabled | ServerState::Stopped | ServerState::Asleep => Look::Dim,
    }
}
