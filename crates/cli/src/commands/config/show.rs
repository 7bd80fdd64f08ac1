//! `toolbay config show`: the servers in the same words, whatever the format of their file.

use serde_json::{Value, json};
use toolbay_config::visible;

use crate::{
    app::{context::Context, error::CliError},
    configured::{
        describe::{pairs, target},
        report::ConfiguredServers,
    },
    term::table::{Cell, Look, render},
};

pub(super) fn run(context: &Context) -> Result<(), CliError> {
    let survey = ConfiguredServers::read(context)?;
    let servers = &survey.reading.merged.servers;
    // Of one file there is nothing to say about where its servers stand.
    let servers: Vec<Value> = match survey.configuration.is_explicit {
        true => servers.iter().map(|placed| survey.normalised(placed)).collect(),
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
    let reach = if server["url"].is_null() { "command" } else { "url" };
    let mut rows = vec![("transport", text("transport")), (reach, Some(target(server)))];
    rows.extend(pairs(server, "env").into_iter().map(|pair| ("env", Some(pair))));
    rows.extend(pairs(server, "headers").into_iter().map(|pair| ("header", Some(pair))));
    rows.push(("enabled", Some(enabled.to_owned())));
    rows.extend([("scope", text("scope")), ("file", text("file"))]);
    let cells = |(label, text): (&str, Option<String>)| {
        Some(vec!["".into(), Cell::new(label, Look::Dim), text?.into()])
    };
    rows.into_iter().filter_map(cells).collect()
}
