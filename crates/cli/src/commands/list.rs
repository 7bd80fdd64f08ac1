//! `toolbay list`: every configured server and its state.

use serde_json::{Value, json};
use toolbay_config::{Permission, Problem, scope::ScopedFile, visible};

use crate::{
    app::{context::Context, error::CliError, session},
    configured::{
        describe::target,
        report::{ConfiguredServers, permission, scope, short_path},
    },
    term::table::{Cell, Look, print},
};

pub(crate) async fn run(context: &Context) -> Result<(), CliError> {
    // Invalid entries are rows of the table, so that only invalid files are left to report.
    let survey = ConfiguredServers::read_silently(context)?;
    let errors = survey.reading.errors.iter().map(ToString::to_string);
    errors.chain(survey.reading.approvals.clone()).for_each(|complaint| context.out.warn(&complaint));
    let broken = broken(&survey);
    let states = survey.states(context).await;
    let servers = &survey.reading.merged.servers;
    let state = |name: &str| states.get(name).map(|server| server.state.as_str());
    if context.out.json {
        let servers = servers
            .iter()
            .map(|placed| {
                let mut server = survey.json(placed);
                server["state"] = json!(state(placed.server.name.as_str()));
                server
            })
            .chain(broken.iter().map(Broken::json));
        let servers: Vec<Value> = servers.collect();
        return Ok(context.out.json_object(&json!({ "servers": servers }))?);
    }
    let head = ["NAME", "STANDING", "STATE", "TRANSPORT", "SCOPE", "FILE", "COMMAND OR URL"];
    let mut rows = vec![head.map(|text| Cell::new(text, Look::Dim)).to_vec()];
    for placed in servers {
        let (name, normalized) = (placed.server.name.as_str(), survey.normalized(placed));
        let look = match placed.server.permission {
            Permission::Enabled => Look::Good,
            Permission::Disabled => Look::Dim,
            Permission::Pending => Look::Busy,
        };
        rows.push(vec![
            Cell::new(visible(name), Look::Bold),
            Cell::new(permission(placed.server.permission), look),
            state(name).unwrap_or("–").into(),
            normalized["transport"].as_str().unwrap_or_default().into(),
            scope(placed.file.scope).into(),
            short_path(context, &placed.file.path).into(),
            target(&normalized).into(),
        ]);
    }
    rows.extend(broken.iter().map(|entry| entry.row(context)));
    if servers.is_empty() && broken.is_empty() {
        rows.clear();
    }
    print(
        context,
        &rows,
        "no servers configured; add one with `toolbay add NAME -- COMMAND` or `toolbay import`",
    )?;
    let waits = servers.iter().any(|placed| placed.server.permission == Permission::Pending);
    if waits {
        context.out.note("servers of this project need approval; see `toolbay approve`");
    }
    for config in session::configs(context).await {
        let config = short_path(context, &config);
        context.out.note(&format!(
            "a hub with {config} is running: `toolbay list --config {config}` lists its servers"
        ));
    }
    Ok(())
}

/// An entry that cannot be used.
struct Broken<'a> {
    file: &'a ScopedFile,
    name: &'a str,
    problem: &'a Problem,
}

/// The entries that cannot be used, each once. One that could be used before still counts as it was.
fn broken(survey: &ConfiguredServers) -> Vec<Broken<'_>> {
    let mut all: Vec<Broken<'_>> = Vec::new();
    for (path, problem) in &survey.reading.problems {
        let file = survey.configuration.files.iter().find(|file| file.path == *path);
        let (Some(file), Some(name)) = (file, problem.server.as_deref()) else { continue };
        let is_there = all.iter().any(|other| other.name == name && other.file == file);
        if !is_there && survey.find(name).is_none() {
            all.push(Broken { file, name, problem });
        }
    }
    all
}

impl Broken<'_> {
    fn row(&self, context: &Context) -> Vec<Cell> {
        vec![
            Cell::new(visible(self.name), Look::Bold),
            Cell::new("broken", Look::Bad),
            "–".into(),
            "–".into(),
            scope(self.file.scope).into(),
            format!("{}:{}", short_path(context, &self.file.path), self.problem.location).into(),
            visible(&self.problem.message).into(),
        ]
    }

    fn json(&self) -> Value {
        json!({
            "name": self.name, "enabled": false, "permission": "broken", "state": null,
            "scope": scope(self.file.scope), "file": self.file.path,
            "line": self.problem.location.line, "column": self.problem.location.column, "problem": self.problem.message,
        })
    }
}
