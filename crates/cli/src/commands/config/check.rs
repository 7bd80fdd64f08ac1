//! `toolbay config check`: problems of files, with line and column.

use std::{io, path::Path};

use serde_json::{Value, json};
use toolbay_config::{
    ConfigError, ConfigFile, Location, Problem, WrittenServer,
    scope::{Scope, ScopedFile},
};

use crate::{
    app::{
        context::Context,
        cycle::{ITSELF, OwnHub},
        error::CliError,
    },
    args::CheckArgs,
    configured::{files::Configuration, report},
    term::style::clean_line,
};

/// A message about a file.
struct Finding {
    is_error: bool,
    place: Option<Location>,
    server: Option<String>,
    message: String,
}

pub(super) fn run(context: &Context, args: &CheckArgs) -> Result<(), CliError> {
    let named = args.file.as_ref().or(context.args.global.config.as_ref());
    let configuration = Configuration::find(context)?;
    let files = match named {
        Some(path) => vec![ScopedFile { scope: Scope::Local, path: path.clone() }],
        None => configuration.files.clone(),
    };
    let own = OwnHub {
        named: named.and_then(|path| path.canonicalize().ok()),
        folder: std::env::current_dir()?,
        addresses: Vec::new(),
    };
    let (mut errors, mut checked) = (0, Vec::new());
    for scoped in &files {
        let path = &scoped.path;
        let loaded = configuration.load(path);
        if let Err(ConfigError::Read { source, .. }) = &loaded
            && (named.is_none() && source.kind() == io::ErrorKind::NotFound)
        {
            continue;
        }
        let findings = match &loaded {
            Ok(file) => {
                let is_each_wanted = context.out.json || context.is_verbose();
                itself(file, &own).chain(findings(file, is_each_wanted)).collect()
            }
            Err(ConfigError::Read { .. }) => return loaded.map(|_| ()).map_err(CliError::from),
            Err(error) => vec![of_whole(error)],
        };
        errors += findings.iter().filter(|finding| finding.is_error).count();
        if !context.out.json {
            print(context, path, &findings, loaded.as_ref().ok())?;
        }
        checked.push(json(path, &findings, loaded.as_ref().ok()));
    }
    if context.out.json {
        context.out.json_object(&json!({ "valid": errors == 0, "files": checked }))?;
    } else if checked.is_empty() {
        let looked: Vec<String> = files.iter().map(|file| file.path.display().to_string()).collect();
        context.out.note(&format!("no configuration found; its default location is {}", looked.join(", ")));
    }
    match errors {
        0 => Ok(()),
        1 => Err(CliError::usage("the configuration has an error")),
        more => Err(CliError::usage(format!("the configuration has {more} errors"))),
    }
}

/// Entries that are the hub which reads them.
fn itself(file: &ConfigFile, own: &OwnHub) -> impl Iterator<Item = Finding> {
    let own = own.listening(&file.hub.listen);
    let both = file.servers.iter().zip(&file.written);
    both.filter(move |(server, _)| own.is(server)).map(|(_, written)| Finding {
        is_error: true,
        place: Some(written.location),
        server: Some(written.name.clone()),
        message: ITSELF.to_owned(),
    })
}

/// All messages; common and harmless ones in one line for all servers, unless `-v` is given.
fn findings(file: &ConfigFile, is_each_wanted: bool) -> Vec<Finding> {
    let of = |problem: &Problem, is_error| Finding {
        is_error,
        place: Some(problem.location),
        server: problem.server.clone(),
        message: problem.message.clone(),
    };
    let errors = file.problems.iter().map(|problem| of(problem, true));
    let warnings = file.warnings.iter().chain(&file.ignored).map(|problem| of(problem, false));
    let odd = |written: &WrittenServer, message: String| Finding {
        is_error: false,
        place: Some(written.location),
        server: Some(written.name.clone()),
        message,
    };
    let secrets = file.written.iter().filter_map(|written| {
        let secrets = written.literal_secrets();
        let message =
            format!("{} looks like a secret; use a variable such as `${{NAME}}` instead", secrets.join(", "));
        (!secrets.is_empty()).then(|| odd(written, message))
    });
    let both = file.servers.iter().zip(&file.written);
    let unpinned = both.filter_map(|(server, written)| Some(odd(written, report::warning(server)?)));
    let mut unpinned: Vec<Finding> = unpinned.collect();
    if unpinned.len() > 1 && !is_each_wanted {
        let all = report::warnings(&file.servers, false).into_iter();
        unpinned =
            all.map(|message| Finding { is_error: false, place: None, server: None, message }).collect();
    }
    let odd = secrets.chain(unpinned);
    let mut all: Vec<Finding> = errors.chain(warnings).chain(odd).collect();
    all.sort_by_key(|finding| finding.place.map(|place| (place.line, place.column)));
    all
}

/// A file that cannot be used at all.
fn of_whole(error: &ConfigError) -> Finding {
    let (place, message) = match error {
        ConfigError::Syntax { place, message, .. } => (Some(*place), message.clone()),
        other => (None, other.to_string()),
    };
    Finding { is_error: true, place, server: None, message }
}

fn print(
    context: &Context,
    path: &Path,
    findings: &[Finding],
    file: Option<&ConfigFile>,
) -> Result<(), CliError> {
    let paint = context.out.paint;
    for finding in findings {
        let place = finding.place.map(|place| format!(":{place}")).unwrap_or_default();
        let kind = if finding.is_error { paint.red("error:") } else { paint.yellow("warning:") };
        let server = finding.server.as_ref().map(|server| format!(" server `{server}`:")).unwrap_or_default();
        let text = clean_line(&format!("{server} {}", finding.message));
        context.out.data(&format!("{}{place}: {kind} {text}\n", path.display()))?;
    }
    if let Some(file) = file {
        let (count, format) = (file.servers.len(), file.format);
        let servers = if count == 1 { "server" } else { "servers" };
        context.out.note(&format!("{}: {count} {servers}, read as {format}", path.display()));
    }
    Ok(())
}

fn json(path: &Path, findings: &[Finding], file: Option<&ConfigFile>) -> Value {
    let of = |finding: &Finding| {
        json!({
            "line": finding.place.map(|place| place.line), "column": finding.place.map(|place| place.column),
            "server": finding.server, "message": finding.message,
        })
    };
    let list = |is_error: bool| -> Vec<Value> {
        findings.iter().filter(|finding| finding.is_error == is_error).map(of).collect()
    };
    json!({
        "path": path,
        "format": file.map(|file| file.format.name()),
        "servers": file.map_or(0, |file| file.servers.len()),
        "errors": list(true),
        "warnings": list(false),
    })
}
