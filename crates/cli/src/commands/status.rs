//! `toolbay status`: the state of the hub and its servers.

mod watch;

use serde_json::json;
use toolbay_config::{Permission, ServerConfig, ServerEndpoint};
use toolbay_control::{
    ControlError, ExposureSnapshot, HubStatus, Note, ProfileSnapshot, QuarantinedEntry, ServerSnapshot,
    ServerState,
};
use toolbay_host::ConfigProblem;

use super::listing::counted;
use crate::{
    app::{context::Context, error::CliError, hub::HubPlan, session},
    args::StatusArgs,
    term::{
        status_view::{Times, View, sort_by_trouble, summary},
        style::{Palette, clean, clean_line, cut, grouped},
        table::{Cell, Look},
    },
};

pub(crate) async fn run(context: &Context, args: &StatusArgs) -> Result<(), CliError> {
    if args.watch {
        return watch::run(context).await;
    }
    let shown = session::with_running(context, async |session| {
        if args.wait {
            session.ready(None).await?;
        }
        let snapshot = session.client.snapshot().await?;
        let out = &context.out;
        if out.json {
            return Ok(out.json_object(&snapshot)?);
        }
        let problems = problems(&snapshot);
        let text: String = lines(&snapshot, view(context)).iter().map(|line| format!("{line}\n")).collect();
        out.data(&text)?;
        for problem in problems {
            out.warn(&problem);
        }
        Ok(())
    })
    .await;
    match shown {
        Err(error @ (CliError::Control(ControlError::NoHub) | CliError::NotRunning { .. })) => {
            show_configured(context)?;
            Err(error)
        }
        shown => shown,
    }
}

fn view(context: &Context) -> View {
    View {
        columns: context.out.columns,
        is_verbose: context.args.global.verbose > 0,
        ..View::new(context.out.paint, Times::Uptime)
    }
}

/// Shows the servers that a hub would run. Nothing is started.
fn show_configured(context: &Context) -> Result<(), CliError> {
    let plan = HubPlan::read(context)?;
    let out = &context.out;
    if out.json {
        let servers: Vec<_> = plan
            .servers()
            .iter()
            .map(|server| {
                json!({ "name": server.name.as_str(), "state": state(server), "transport": transport(server) })
            })
            .collect();
        return Ok(out.json_object(&json!({ "running": false, "servers": servers }))?);
    }
    let row = |server: &ServerConfig| {
        vec![
            Cell::new("●", Look::Dim),
            Cell::new(clean_line(server.name.as_str()), Look::Bold),
            state(server).into(),
            transport(server).into(),
        ]
    };
    let mut rows: Vec<Vec<Cell>> = plan.servers().iter().map(row).collect();
    if !rows.is_empty() {
        rows.insert(0, ["", "SERVER", "STATE", "TRANSPORT"].map(|head| Cell::new(head, Look::Dim)).to_vec());
    }
    crate::term::table::print(context, &rows, "no servers are configured")?;
    for note in plan.off_notes() {
        out.data(&format!("{}: {}\n", note.server, note.text))?;
    }
    Ok(())
}

fn state(server: &ServerConfig) -> &'static str {
    match server.permission {
        Permission::Enabled => "not running",
        Permission::Disabled => ServerState::Disabled.as_str(),
        Permission::Pending => ServerState::NeedsApproval.as_str(),
    }
}

fn transport(server: &ServerConfig) -> &'static str {
    match &server.endpoint {
        ServerEndpoint::Command(_) => "stdio",
        ServerEndpoint::Url(_) => "url",
        ServerEndpoint::BuiltIn(_) => "in process",
    }
}

/// The problems of the configuration, without the entries that are in the table as broken servers.
fn problems(snapshot: &HubStatus) -> Vec<String> {
    let mut sentences: Vec<String> = other_problems(snapshot)
        .map(|problem| format!("{}; the last valid version stays in effect", clean(&problem.message)))
        .collect();
    for name in &snapshot.unset_variables {
        sentences.push(format!("variable {} is set for a client, but not for the hub", clean(name)));
    }
    sentences
}

/// The problems of the configuration that are not shown as a broken server.
fn other_problems(snapshot: &HubStatus) -> impl Iterator<Item = &ConfigProblem> {
    let is_broken =
        |name: &String| snapshot.servers.iter().any(|it| it.state == ServerState::Broken && it.name == *name);
    snapshot.config_problems.iter().filter(move |problem| !problem.server.as_ref().is_some_and(is_broken))
}

/// Prints a summary of the hub, its servers, tools that are not offered, and notes.
fn lines(snapshot: &HubStatus, view: View) -> Vec<String> {
    let mut lines = head(snapshot, view.paint, view.columns);
    let mut servers: Vec<&ServerSnapshot> = snapshot.servers.iter().collect();
    sort_by_trouble(&mut servers);
    lines.extend(view.table(&servers));
    lines.extend(set_aside(snapshot));
    lines
        .extend(snapshot.exposure.iter().flat_map(|exposure| exposure_lines(exposure, snapshot.tool_tokens)));
    lines.extend(snapshot.profiles.iter().map(profile_line));
    let note = |note: &Note| format!("{}: {}", clean_line(&note.server), clean_line(&note.text));
    lines.extend(snapshot.notes.iter().map(note));
    lines
}

fn head(snapshot: &HubStatus, paint: Palette, columns: Option<usize>) -> Vec<String> {
    let mut hub = format!("Toolbay {}, process {}", clean(&snapshot.version), snapshot.pid);
    let config = snapshot.config.as_ref().map(|config| config.display().to_string());
    for part in [snapshot.url.clone(), config] {
        hub.push_str(&part.map(|part| format!(", {}", clean(&part))).unwrap_or_default());
    }
    let tokens = match snapshot.tool_tokens {
        0 => String::new(),
        tokens => format!(", about {} tokens", grouped(tokens)),
    };
    let summary = format!("{} · {}{tokens}", summary(&snapshot.servers), counted(snapshot.tools, "tool"));
    let fit = |line: String| columns.map_or(line.clone(), |columns| cut(&line, columns));
    vec![paint.bold(&fit(summary)), fit(hub)]
}

/// What clients are listed, where that is not everything or should not be.
fn exposure_lines(exposure: &ExposureSnapshot, tokens: usize) -> Option<String> {
    if let Some(advice) = exposure.advice(tokens) {
        return Some(format!("hint: {advice}; consider `exposure = \"auto\"` in [hub]"));
    }
    let reason = exposure.reason.as_ref()?;
    let (listed, all) = (exposure.listed, exposure.listed + exposure.hidden);
    let mut line = clean_line(&format!(
        "exposure {}: {listed} of {all} tools are listed, and search_tools finds the others: {reason}",
        exposure.mode
    ));
    if exposure.mode == "auto" {
        let clients = clean_line(&exposure.deferring_clients.join(", "));
        line.push_str(&format!("; not for clients that defer tools by themselves: {clients}"));
    }
    Some(line)
}

/// A profile, what it shows, and how clients get it.
fn profile_line(profile: &ProfileSnapshot) -> String {
    let mut line = format!("profile {}: {}", profile.name, counted(profile.tools, "tool"));
    if !profile.clients.is_empty() {
        line.push_str(&format!(", for {}", profile.clients.join(", ")));
    }
    for part in [&profile.url, &profile.description].into_iter().flatten() {
        line.push_str(&format!(", {part}"));
    }
    clean_line(&line)
}

/// Tools that were set aside.
fn set_aside(snapshot: &HubStatus) -> Vec<String> {
    let line = |QuarantinedEntry { server, kind, name, reason }: &QuarantinedEntry| {
        clean_line(&format!("{server}: the {kind} `{name}` is not offered: {reason}"))
    };
    snapshot.quarantined.iter().map(line).collect()
}
