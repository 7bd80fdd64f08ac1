//! `toolbay status`: how the hub and its servers are.

mod watch;

use serde_json::json;
use toolbay_config::{Permission, ServerConfig, ServerEndpoint};
use toolbay_control::{ControlError, HubStatus, Note, ServerSnapshot};
use toolbay_host::ConfigProblem;

use super::listing::counted;
use crate::{
    app::{context::Context, error::CliError, hub::HubPlan, session},
    args::StatusArgs,
    term::{
        status_view::{Times, View, sort_by_trouble, summary},
        style::{Palette, clean, clean_line},
        table::{Cell, Look},
        text::cut,
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
        let mut snapshot = session.client.snapshot().await?;
        let out = &context.out;
        if out.json {
            return Ok(out.json_object(&snapshot)?);
        }
        let problems = problems(&mut snapshot);
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
    crate::term::table::print(context, &rows, "no servers are configured")
}

fn state(server: &ServerConfig) -> &'static str {
    match server.permission {
        Permission::Enabled => "not running",
        Permission::Disabled => "disabled",
        Permission::Pending => "needs approval",
    }
}

fn transport(server: &ServerConfig) -> &'static str {
    match &server.endpoint {
        ServerEndpoint::Command(_) => "stdio",
        ServerEndpoint::Url(_) => "url",
        ServerEndpoint::BuiltIn(_) => "in process",
    }
}

/// What is wrong with the configuration, in sentences. An entry that cannot be used becomes a server that is broken, unless an
/// earlier form of it still runs.
fn problems(snapshot: &mut HubStatus) -> Vec<String> {
    let mut sentences = Vec::new();
    for ConfigProblem { server, message } in &snapshot.config_problems {
        match server {
            Some(name) if !snapshot.servers.iter().any(|server| server.name == *name) => {
                snapshot.servers.push(ServerSnapshot {
                    name: name.clone(),
                    state: "broken".to_owned(),
                    transport: "–".to_owned(),
                    failure: Some(message.clone()),
                    ..ServerSnapshot::default()
                });
            }
            _ => sentences.push(format!("{}; the last valid version stays in effect", clean(message))),
        }
    }
    for name in &snapshot.unset_variables {
        sentences.push(format!("variable {} is set for a client, but not for the hub", clean(name)));
    }
    sentences
}

/// The hub in a few lines, then its servers, what of theirs is not offered, and what else to know about it.
fn lines(snapshot: &HubStatus, view: View) -> Vec<String> {
    let mut lines = head(snapshot, view.paint, view.columns);
    let mut servers: Vec<&ServerSnapshot> = snapshot.servers.iter().collect();
    sort_by_trouble(&mut servers);
    lines.extend(view.table(&servers));
    lines.extend(set_aside(snapshot));
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
    let summary = format!("{} · {}", summary(&snapshot.servers), counted(snapshot.tools, "tool"));
    let fit = |line: String| columns.map_or(line.clone(), |columns| cut(&line, columns));
    vec![paint.bold(&fit(summary)), fit(hub)]
}

/// What servers offer that cannot be offered to clients.
fn set_aside(snapshot: &HubStatus) -> Vec<String> {
    let line = |offer: &serde_json::value::RawValue| {
        let value: serde_json::Value = serde_json::from_str(offer.get()).unwrap_or_default();
        let part = |key: &str| clean_line(value[key].as_str().unwrap_or("?"));
        let (server, kind, name) = (part("server"), part("kind"), part("name"));
        format!("{server}: the {kind} `{name}` is not offered: {}", part("reason"))
    };
    snapshot.quarantined.iter().map(|offer| line(offer)).collect()
}
