//! The servers as they come up: a table that is drawn anew in place on a terminal, else a line per change.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use toolbay_control::ServerSnapshot;
use toolbay_host::{EventStream, Host};

use crate::{
    output::{Output, to_stderr},
    redraw::Redraw,
    style::{Paint, clean_line},
    table::{Cell, Look, render},
    time::short,
};

/// Changes that come together are drawn together.
const TOGETHER: Duration = Duration::from_millis(60);
/// Without a change, how often running times are drawn anew.
const TICK: Duration = Duration::from_millis(500);

/// Shows servers as they come up.
#[derive(Debug)]
pub(crate) struct Board<'a> {
    out: &'a Output,
    host: Host,
    events: EventStream,
    /// What is known of each server.
    known: HashMap<String, Known>,
    started: Instant,
    table: Redraw,
    form: Form,
}

/// How changes are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// A table on stderr that is drawn anew in place.
    Table,
    /// A line on stderr for each change.
    Lines,
    /// A JSON object on stdout for each change.
    Events,
    Nothing,
}

#[derive(Debug, Default)]
struct Known {
    ready_after: Option<Duration>,
    /// What was last said about it.
    said: String,
}

impl<'a> Board<'a> {
    pub(crate) fn new(host: &Host, out: &'a Output) -> Self {
        let form = match () {
            () if out.is_quiet() => Form::Nothing,
            () if out.stderr_is_terminal => Form::Table,
            () => Form::Lines,
        };
        let (host, events) = (host.clone(), host.events());
        Self {
            out,
            host,
            events,
            known: HashMap::new(),
            started: Instant::now(),
            table: Redraw::default(),
            form,
        }
    }

    /// As [`Board::new`]; with `--json`, changes are data.
    pub(crate) fn with_events(host: &Host, out: &'a Output) -> Self {
        let board = Self::new(host, out);
        if out.json { Self { form: Form::Events, ..board } } else { board }
    }

    /// Shows changes for ever. On a terminal the table is finished once all servers are settled.
    pub(crate) async fn follow(&mut self) {
        if self.form == Form::Nothing {
            return std::future::pending().await;
        }
        loop {
            let snapshots = self.look();
            self.show(&snapshots);
            if snapshots.iter().all(|server| server.state != "starting") {
                self.finish();
            }
            let is_table = self.form == Form::Table;
            tokio::select! {
                _ = self.events.next() => tokio::time::sleep(TOGETHER).await,
                () = tokio::time::sleep(TICK), if is_table => {}
            }
        }
    }

    /// Shows how things stand now. A table stays as it is from here on; later changes are lines below it.
    pub(crate) fn finish(&mut self) {
        let snapshots = self.look();
        self.show(&snapshots);
        if self.form == Form::Table {
            for server in &snapshots {
                self.known.entry(server.name.clone()).or_default().said = key(server);
            }
            self.form = Form::Lines;
        }
    }

    fn show(&mut self, snapshots: &[ServerSnapshot]) {
        match self.form {
            Form::Table => self.draw(snapshots),
            Form::Lines | Form::Events => self.tell(snapshots),
            Form::Nothing => {}
        }
    }

    fn look(&mut self) -> Vec<ServerSnapshot> {
        let elapsed = self.started.elapsed();
        let statuses = self.host.statuses();
        for status in statuses.iter().filter(|status| status.state.is_up()) {
            let known = self.known.entry(status.name.as_str().to_owned()).or_default();
            known.ready_after.get_or_insert(elapsed);
        }
        statuses.iter().map(ServerSnapshot::of).collect()
    }

    fn draw(&mut self, snapshots: &[ServerSnapshot]) {
        let elapsed = self.started.elapsed();
        let time = |server: &ServerSnapshot| {
            let ready_after = self.known.get(&server.name).and_then(|known| known.ready_after);
            ready_after.or((server.state == "starting").then_some(elapsed))
        };
        let times: Vec<Option<Duration>> = snapshots.iter().map(time).collect();
        let lines = server_lines(snapshots, &times, self.out.paint_status);
        if let Some(text) = self.table.with(lines) {
            to_stderr(&text);
        }
    }

    fn tell(&mut self, snapshots: &[ServerSnapshot]) {
        for server in snapshots {
            let (key, known) = (key(server), self.known.entry(server.name.clone()).or_default());
            if key == known.said {
                continue;
            }
            known.said = key;
            if self.form == Form::Events {
                let fields = serde_json::to_string(server).unwrap_or_default();
                // Nobody reading is no reason to stop serving.
                let _ = self.out.json_fields(&format!("\"event\":\"server\",\"server\":{fields}"));
                continue;
            }
            self.out.note(&server_line(server, known.ready_after, self.out.paint_status));
        }
    }
}

/// A server in one line.
pub(crate) fn server_line(server: &ServerSnapshot, ready_after: Option<Duration>, paint: Paint) -> String {
    let time = ready_after.map(|time| format!(", {}", short(time))).unwrap_or_default();
    let detail = match server.state.as_str() {
        "ready" | "degraded" => format!(" ({}, {}{time})", revision(server), offers(server)),
        "starting" => String::new(),
        _ => trouble(server).map(|trouble| format!(": {trouble}")).unwrap_or_default(),
    };
    let dot = render(&[vec![Cell::new("●", look(server))]], paint).concat();
    format!("{dot} {} {}{detail}", clean_line(&server.name), server.state)
}

/// What is worth a line when it changes.
pub(crate) fn key(server: &ServerSnapshot) -> String {
    match server.state.as_str() {
        state if server.is_up => format!("{state} {}", offers(server)),
        state => format!("{state} {:?}", server.failure),
    }
}

/// A table of servers, with what is wrong below each row.
pub(crate) fn server_lines(
    servers: &[ServerSnapshot],
    times: &[Option<Duration>],
    paint: Paint,
) -> Vec<String> {
    let head = ["", "SERVER", "STATE", "TRANSPORT", "REVISION", "TOOLS", "RESOURCES", "PROMPTS", "TIME"];
    let mut rows = vec![head.iter().map(|text| Cell::new(*text, Look::Dim)).collect::<Vec<_>>()];
    let mut notes: Vec<(usize, String)> = Vec::new();
    for (index, server) in servers.iter().enumerate() {
        let count =
            |number: usize| if server.revision.is_some() { number.to_string() } else { "–".to_owned() };
        rows.push(vec![
            Cell::new("●", look(server)),
            Cell::new(clean_line(&server.name), Look::Bold),
            Cell::new(server.state.clone(), look(server)),
            server.transport.clone().into(),
            revision(server).into(),
            count(server.tools).into(),
            count(server.resources + server.resource_templates).into(),
            count(server.prompts).into(),
            times.get(index).copied().flatten().map(short).unwrap_or_default().into(),
        ]);
        notes.extend(trouble_lines(server).into_iter().map(|line| (index + 1, line)));
        notes.extend(server.problems.iter().map(|problem| (index + 1, clean_line(problem))));
    }
    let mut lines = Vec::new();
    for (index, line) in render(&rows, paint).into_iter().enumerate() {
        lines.push(line);
        let below = notes.iter().filter(|(row, _)| *row == index);
        lines.extend(below.map(|(_, note)| format!("   {}", paint.dim(note))));
    }
    lines
}

fn revision(server: &ServerSnapshot) -> String {
    server.revision.clone().unwrap_or_else(|| "–".to_owned())
}

pub(crate) fn offers(server: &ServerSnapshot) -> String {
    let counted = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    format!(
        "{}, {}, {}",
        counted(server.tools, "tool"),
        counted(server.resources + server.resource_templates, "resource"),
        counted(server.prompts, "prompt")
    )
}

/// What went wrong, in lines: the failure, the last words of the server, and what to do about it.
fn trouble_lines(server: &ServerSnapshot) -> Vec<String> {
    let Some(failure) = server.failure.as_deref() else { return Vec::new() };
    let mut lines = vec![clean_line(failure).trim_end_matches("; its last words:").to_owned()];
    lines.extend(failure.lines().skip(1).last().map(|last| format!("it said: {}", clean_line(last))));
    lines.extend(server.hint.as_ref().map(|hint| format!("hint: {}", clean_line(hint))));
    lines
}

/// The same in one line.
pub(crate) fn trouble(server: &ServerSnapshot) -> Option<String> {
    let lines = trouble_lines(server);
    (!lines.is_empty()).then(|| lines.join(" – "))
}

fn look(server: &ServerSnapshot) -> Look {
    match server.state.as_str() {
        "ready" => Look::Good,
        "starting" | "authenticating" | "restarting" | "stopping" | "degraded" | "needs approval" => {
            Look::Busy
        }
        "failed" | "auth required" => Look::Bad,
        _ => Look::Dim,
    }
}
