//! `toolbay get`: everything about one server.

use serde_json::{Value, json};
use toolbay_config::{
    ApprovalState, environment_names,
    scope::{OverrideReason, Placed, Scope},
    visible,
};

use crate::{
    app::{context::Context, error::CliError, session},
    args::GetArgs,
    configured::{
        describe::{built_in_settings, pairs, target},
        report::{ConfiguredServers, permission, short_path},
    },
    term::{
        status_view::trouble,
        table::{Cell, Look, render},
    },
};

pub(crate) async fn run(context: &Context, args: &GetArgs) -> Result<(), CliError> {
    let survey = ConfiguredServers::read(context)?;
    let Some(placed) = survey.find(&args.server) else {
        return Err(session::explain(context, missing(&survey, &args.server)).await);
    };
    let states = survey.states(context).await;
    let mut server = about(context, &survey, placed);
    let snapshot = states.get(&args.server);
    if context.out.json {
        server["state"] = json!(snapshot.map(|server| server.state));
        server["failure"] = json!(snapshot.and_then(|server| server.failure.as_ref()));
        return Ok(context.out.json_object(&json!({ "server": server }))?);
    }
    let mut rows = rows(context, placed, &server);
    if let Some(server) = snapshot {
        rows.insert(1, ("state", server.state.as_str().to_owned()));
        rows.extend(trouble(server).map(|trouble| ("trouble", trouble)));
    }
    let rows: Vec<Vec<Cell>> = rows
        .into_iter()
        .map(|(label, text)| vec!["".into(), Cell::new(label, Look::Dim), text.into()])
        .collect();
    context.out.data(&format!("{}\n", context.out.paint.bold(&visible(&args.server))))?;
    for line in render(&rows, context.out.paint) {
        context.out.data(&format!("{line}\n"))?;
    }
    Ok(())
}

/// An entry that is there and cannot be used is another matter than none.
fn missing(survey: &ConfiguredServers, name: &str) -> CliError {
    let mut problems = survey.reading.problems.iter();
    match problems.find(|(_, problem)| problem.server.as_deref() == Some(name)) {
        Some((path, problem)) => CliError::usage(format!("{}:{problem}", path.display())),
        None => survey.unknown(name),
    }
}

/// A server without its running state, as JSON.
fn about(context: &Context, survey: &ConfiguredServers, placed: &Placed) -> Value {
    let (mut server, config) = (survey.json(placed), &placed.server);
    let written = survey.written(placed);
    let names = environment_names(&context.env.variables, config);
    let inherited: Vec<&str> =
        names.iter().filter(|name| !name.declared).map(|name| name.name.as_str()).collect();
    let merged = &survey.reading.merged;
    let others = merged.overridden.iter().filter(|other| other.entry.server.name == config.name);
    let others: Vec<Value> = others
        .map(|other| {
            let why = match other.why {
                OverrideReason::Rank => "rank",
                OverrideReason::Inert => "needs approval",
            };
            json!({ "file": other.entry.file.path, "by": other.by, "why": why })
        })
        .collect();
    let file = survey.files.iter().find(|(path, _)| *path == placed.file.path).map(|(_, file)| file);
    let approval = (placed.file.scope == Scope::Project).then(|| {
        verdict(survey.configuration.approvals().verdict(&survey.configuration.project, &placed.launch))
    });
    server["place"] = json!(
        written
            .map(|written| { json!({ "line": written.location.line, "column": written.location.column }) })
    );
    server["cwd"] = json!(written.and_then(|written| Some(written.cwd.as_ref()?.shown())));
    server["env_file"] = json!(written.and_then(|written| Some(written.env_file.as_ref()?.shown())));
    server["settings"] = json!(written.map(|written| &written.tuning));
    server["inherited_env"] = json!(inherited);
    server["format"] = json!(file.map(|file| file.format.name()));
    server["missing_variables"] = json!(file.and_then(|file| file.incomplete.get(&config.name)));
    server["outranks"] = Value::Array(others);
    server["launch_hash"] = config.launch_hash().to_string().into();
    server["approval"] = json!(approval);
    server["floating_package"] = json!(config.floating_package());
    server
}

/// The rows of the same as text.
fn rows(context: &Context, placed: &Placed, server: &Value) -> Vec<(&'static str, String)> {
    let text = |key: &str| server[key].as_str().map(visible).filter(|text| !text.is_empty());
    let words = |key: &str| {
        let words: Vec<String> =
            server[key].as_array()?.iter().filter_map(Value::as_str).map(visible).collect();
        (!words.is_empty()).then(|| words.join(", "))
    };
    let list = |key: &str| Some(pairs(server, key)).filter(|all| !all.is_empty()).map(|all| all.join(", "));
    let place = &server["place"];
    let place = place["line"].as_u64().map(|line| format!(":{line}:{}", place["column"]));
    let file = short_path(context, &placed.file.path) + &place.unwrap_or_default();
    let settings = server["settings"].as_object().filter(|all| !all.is_empty());
    let floating = text("floating_package").map(|it| format!("`{it}` is not pinned to a version"));
    let rows = [
        ("permission", Some(permission(placed.server.permission).to_owned())),
        ("approval", text("approval")),
        ("scope", text("scope")),
        ("file", Some(file)),
        ("format", text("format")),
        ("transport", text("transport")),
        (if server["url"].is_null() { "command" } else { "url" }, Some(target(server))),
        ("keys", Some(built_in_settings(server).join(", ")).filter(|keys| !keys.is_empty())),
        ("package", floating),
        ("folder", text("cwd")),
        ("env", list("env")),
        ("env file", text("env_file")),
        ("inherits", words("inherited_env")),
        ("no value", words("missing_variables")),
        ("headers", list("headers")),
        ("settings", settings.and_then(|all| serde_json::to_string(all).ok())),
        ("launch", text("launch_hash")),
    ];
    let mut rows: Vec<_> = rows.into_iter().filter_map(|(label, text)| Some((label, text?))).collect();
    for other in server["outranks"].as_array().into_iter().flatten() {
        let path = |key: &str| short_path(context, other[key].as_str().unwrap_or_default().as_ref());
        rows.push(match other["why"].as_str() {
            Some("rank") => ("outranks", path("file")),
            _ => ("besides", format!("{}, whose entry needs approval", path("file"))),
        });
    }
    rows
}

/// The name of an approval state in output.
pub(super) fn verdict(verdict: ApprovalState) -> &'static str {
    match verdict {
        ApprovalState::Approved => "approved",
        ApprovalState::Rejected => "rejected",
        ApprovalState::Changed => "changed since",
        ApprovalState::Unknown => "not asked yet",
    }
}
