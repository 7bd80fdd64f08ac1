//! `toolbay config`: configuration files and their servers.

mod check;

use serde_json::{Value, json};
use toolbay_config::visible;

use crate::{
    app::{context::Context, error::CliError},
    args::{ConfigCommand, PathArgs},
    configured::{
        describe::{built_in_settings, pairs, target},
        files::Configuration,
        report::{ConfiguredServers, scope},
        target::TargetFile,
    },
    term::table::{Cell, Look, render},
};

pub(crate) fn run(context: &Context, command: &ConfigCommand) -> Result<(), CliError> {
    match command {
        ConfigCommand::Check(args) => check::run(context, args),
        ConfigCommand::Show => show(context),
        ConfigCommand::Path(args) => path(context, args),
        ConfigCommand::Schema => schema(context),
    }
}

/// `toolbay config show`: the servers in the same terms, whatever the format of their file.
fn show(context: &Context) -> Result<(), CliError> {
    let survey = ConfiguredServers::read(context)?;
    let servers = &survey.reading.merged.servers;
    // With a single file, scope and file of each server are obvious.
    let servers: Vec<Value> = match survey.configuration.is_explicit {
        true => servers.iter().map(|placed| survey.normalized(placed)).collect(),
        false => servers.iter().map(|placed| survey.json(placed)).collect(),
    };
    let out = &context.out;
    if out.json {
        let format = survey.files.first().filter(|_| survey.configuration.is_explicit);
        let format = format.map(|(_, file)| file.format.name());
        return Ok(out.json_object(&json!({ "format": format, "servers": servers }))?);
    }
    if servers.is_empty() {
        out.note("no servers");
    }
    for server in &servers {
        out.data(&format!("{}\n", out.paint.bold(&visible(server["name"].as_str().unwrap_or_default()))))?;
        for line in render(&rows(server), out.paint) {
            out.data(&format!("{line}\n"))?;
        }
    }
    Ok(())
}

fn rows(server: &Value) -> Vec<Vec<Cell>> {
    let text = |key: &str| server[key].as_str().map(visible);
    let enabled = if server["enabled"] == json!(true) { "yes" } else { "no" };
    let endpoint = if server["url"].is_null() { "command" } else { "url" };
    let mut rows = vec![("transport", text("transport")), (endpoint, Some(target(server)))];
    rows.extend(built_in_settings(server).into_iter().map(|setting| ("key", Some(setting))));
    rows.extend(pairs(server, "env").into_iter().map(|pair| ("env", Some(pair))));
    rows.extend(pairs(server, "headers").into_iter().map(|pair| ("header", Some(pair))));
    rows.push(("enabled", Some(enabled.to_owned())));
    rows.extend([("scope", text("scope")), ("file", text("file"))]);
    let cells = |(label, text): (&str, Option<String>)| {
        Some(vec!["".into(), Cell::new(label, Look::Dim), text?.into()])
    };
    rows.into_iter().filter_map(cells).collect()
}

/// `toolbay config path`: the files that are read.
fn path(context: &Context, args: &PathArgs) -> Result<(), CliError> {
    if let Some(wanted) = args.scope {
        let path = TargetFile::of(context, Some(wanted))?.path;
        return match context.out.json {
            true => Ok(context.out.json_object(&json!({ "path": path }))?),
            false => Ok(context.out.data(&format!("{}\n", path.display()))?),
        };
    }
    let files = Configuration::find(context)?.files;
    let approvals = context.env.approvals();
    let all = files.iter().map(|file| (scope(file.scope), &file.path));
    let all = all.chain(approvals.iter().map(|path| ("approvals", path)));
    if context.out.json {
        let files: Vec<Value> = all
            .map(|(scope, path)| json!({ "scope": scope, "path": path, "exists": path.is_file() }))
            .collect();
        return Ok(context.out.json_object(&json!({ "files": files }))?);
    }
    let row = |(scope, path): (&'static str, &std::path::PathBuf)| {
        let is_there = path.is_file();
        let presence = if is_there { "there" } else { "missing" };
        let look = if is_there { Look::Good } else { Look::Dim };
        vec![Cell::from(scope), Cell::new(presence, look), path.display().to_string().into()]
    };
    let rows: Vec<Vec<Cell>> = all.map(row).collect();
    for line in render(&rows, context.out.paint) {
        context.out.data(&format!("{line}\n"))?;
    }
    Ok(())
}

/// `toolbay config schema`: the JSON Schema of `toolbay.toml`, for editors.
///
/// The schema is JSON already, and its own version: nothing is added to it.
fn schema(context: &Context) -> Result<(), CliError> {
    let text = serde_json::to_string_pretty(&toolbay_config::schema()).map_err(std::io::Error::other)?;
    Ok(context.out.data(&format!("{text}\n"))?)
}
