//! Writing one server to a file: shows the new entry, asks before it replaces another one, and warns.

use std::{ffi::OsStr, path::Path};

use serde_json::{Value, json};
use toolbay_config::{
    ConfigFile, Edit, EditError, Format, Problem, ReadFiles, ServerConfig, ServerEndpoint, WrittenServer,
    edit, edit_text, load_with, parse_with, preview, scope::Scope, server_environment,
};
use toolbay_supervise::find_command;

use crate::{
    app::{context::Context, error::CliError},
    args::PutArgs,
    configured::{
        describe::target,
        files::{Configuration, variables},
        report::{self, scope, short_path},
        target::{TargetFile, names},
    },
    term::confirm::{can_ask, confirm},
};

/// Writes a server, given as an entry of `mcpServers`, to the target file.
pub(crate) async fn put(
    context: &Context,
    args: &PutArgs,
    name: &str,
    entry: &Value,
) -> Result<(), CliError> {
    let file = TargetFile::of(context, args.scope)?;
    let written = written(context, &file.path, name, entry)?;
    let before = load_with(&file.path, &variables(context, ReadFiles::Never)).ok();
    let is_there = before.as_ref().is_some_and(|before| names(before).iter().any(|it| it == name));
    let (edits, format) = ([Edit::Put(&written)], before.map(|before| before.format));
    let next = preview(&file.path, None, &edits)?;
    let after = parse_with(&next.text, &file.path, &variables(context, ReadFiles::Never))?;
    let of_it = |problem: &&Problem| problem.server.as_deref() == Some(name);
    if let Some(problem) = after.problems.iter().find(of_it) {
        return Err(CliError::usage(format!("server `{name}`: {}", problem.message)));
    }
    let mut report = EditReport {
        name,
        file: &file,
        change: if is_there { "replaced" } else { "added" },
        entry: None,
        written: &written,
        warnings: warnings(context, &written, &after, &next.lost),
    };
    if args.dry_run {
        report.entry = Some(shown(&written, &file, format.unwrap_or(after.format))?);
        return report.print(context);
    }
    report.announce(context);
    if is_there && !args.yes {
        let path = || file.path.clone();
        if !can_ask(context) {
            return Err(EditError::Exists { path: path(), server: name.to_owned() }.into());
        }
        let question = format!("`{name}` already exists in {}. Replace it?", short_path(context, &file.path));
        if !confirm(context, &question).await? {
            return Err(CliError::Declined);
        }
    }
    if edit(&file.path, None, &edits)?.backup.is_none() && is_there {
        report.change = "unchanged";
    }
    approve(context, &file, name)?;
    report.print(context)
}

/// Reads an entry of `mcpServers` as if it were in a file at that path.
pub(crate) fn written(
    context: &Context,
    path: &Path,
    name: &str,
    entry: &Value,
) -> Result<WrittenServer, CliError> {
    let text = json!({ "mcpServers": { name: entry } }).to_string();
    let beside = path.with_file_name("mcp.json");
    let mut parsed = parse_with(&text, &beside, &variables(context, ReadFiles::Never))?;
    match (parsed.problems.first(), parsed.written.pop()) {
        (Some(problem), _) => Err(CliError::usage(format!("server `{name}`: {}", problem.message))),
        (None, Some(written)) => Ok(written),
        (None, None) => Err(CliError::usage(format!("server `{name}` has neither a command nor a URL"))),
    }
}

/// The entry alone, as it will be in the file, without secrets.
fn shown(written: &WrittenServer, file: &TargetFile, format: Format) -> Result<String, CliError> {
    let path = match file.path.extension() {
        Some(_) => file.path.clone(),
        None => file.path.with_extension("json"),
    };
    Ok(edit_text("", &path, Some(format), &[Edit::Put(&written.redacted())])?.text)
}

/// Warnings about a server.
fn warnings(context: &Context, put: &WrittenServer, file: &ConfigFile, lost: &[String]) -> Vec<String> {
    let name = put.name.as_str();
    let of_it = |problem: &&Problem| problem.server.as_deref() == Some(name);
    let mut all: Vec<String> =
        file.warnings.iter().filter(of_it).map(|problem| problem.message.clone()).collect();
    if let Some(server) = file.servers.iter().find(|server| server.name.as_str() == name) {
        all.extend(not_found(context, server));
        all.extend(report::warning(server));
    }
    let unknown: Vec<String> =
        put.extra.values().flat_map(|keys| keys.keys()).map(|key| format!("`{key}`")).collect();
    if !unknown.is_empty() {
        all.push(format!("{} is not used by Toolbay, and kept for other clients", unknown.join(", ")));
    }
    let written = file.written.iter().find(|written| written.name == name);
    let secrets = written.map(WrittenServer::literal_secrets).unwrap_or_default();
    if !secrets.is_empty() {
        all.push(format!(
            "{} looks like a secret and is now in the file; use a variable such as `${{NAME}}` instead",
            secrets.join(", ")
        ));
    }
    if !lost.is_empty() {
        all.push(format!("{} cannot be expressed in that file", lost.join(", ")));
    }
    all
}

/// Says if the program of a server is not where it would be looked for.
fn not_found(context: &Context, server: &ServerConfig) -> Option<String> {
    let ServerEndpoint::Command(command) = &server.endpoint else { return None };
    let path = server_environment(&context.env.variables, server).remove(OsStr::new("PATH"));
    let missing =
        find_command(command.command.as_ref(), &path.unwrap_or_default(), command.cwd.as_deref()).err()?;
    Some(format!("command `{}` is not found in PATH; {}", command.command, missing.hint()))
}

/// Approves a server that the user added to the project themselves.
pub(crate) fn approve(context: &Context, file: &TargetFile, name: &str) -> Result<(), CliError> {
    if file.scope != Scope::Project {
        return Ok(());
    }
    let configuration = Configuration::find(context)?;
    let content = configuration.load(&file.path)?;
    match content.launches.iter().find(|launch| launch.name == name) {
        Some(launch) => Ok(configuration.approvals().approve(&configuration.project, launch)?),
        None => Ok(()),
    }
}

/// What a change came to.
struct EditReport<'a> {
    name: &'a str,
    file: &'a TargetFile,
    change: &'static str,
    /// The entry as it would be in the file, if nothing was written.
    entry: Option<String>,
    written: &'a WrittenServer,
    warnings: Vec<String>,
}

impl EditReport<'_> {
    /// The launch that will run, before it is written.
    fn announce(&self, context: &Context) {
        context.out.note(&format!("{}: {}", self.name, target(&self.written.normalized())));
    }

    fn print(&self, context: &Context) -> Result<(), CliError> {
        let out = &context.out;
        for warning in &self.warnings {
            out.warn(&format!("server `{}`: {warning}", self.name));
        }
        if out.json {
            return Ok(out.json_object(&json!({
                "change": self.change,
                "dry_run": self.entry.is_some(),
                "file": self.file.path,
                "scope": scope(self.file.scope),
                "server": self.written.normalized(),
                "entry": self.entry,
                "warnings": self.warnings,
            }))?);
        }
        match &self.entry {
            Some(entry) => {
                out.data(entry)?;
                out.note(&format!("nothing was written to {}", short_path(context, &self.file.path)));
            }
            None => {
                out.note(&format!(
                    "{}: {} in {}",
                    self.name,
                    self.change,
                    short_path(context, &self.file.path)
                ));
            }
        }
        Ok(())
    }
}
