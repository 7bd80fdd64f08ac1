//! `toolbay export`: the hub or its servers, in the format and the file of a client.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};
use toolbay_config::{Edit, EditError, Format, Permission, WrittenServer, edit, edit_text};
use toolbay_supervise::find_command;

use super::import::{folders, unknown_client};
use crate::{
    app::{
        context::Context,
        error::CliError,
        hub::{HubPlan, absolute},
        secrets::is_open,
    },
    args::{ExportArgs, ScopeArg},
    configured::{
        edit::written,
        report::{ConfiguredServers, short_path},
    },
    term::style::{clean, clean_line, escape_json},
};

/// The name of the hub in files of clients.
const HUB: &str = "toolbay";

pub(crate) fn run(context: &Context, args: &ExportArgs) -> Result<(), CliError> {
    let format = Format::client(&args.client)
        .ok_or_else(|| unknown_client(&args.client, Format::CLIENTS.into_iter()))?;
    let known = path(context, args, format)?;
    let path = known.clone().unwrap_or_else(|| PathBuf::from("mcp.json"));
    let servers = if args.servers { servers(context)? } else { vec![hub(context, args, &path)?] };
    let mut exported = Exported {
        client: format.name(),
        path: &path,
        is_known: known.is_some(),
        servers: Vec::new(),
        lost: Vec::new(),
    };
    for server in servers {
        exported.take(context, format, server)?;
    }
    if args.write { exported.write(context, format) } else { exported.print(context, format) }
}

/// The client's file, if its place is known.
fn path(context: &Context, args: &ExportArgs, format: Format) -> Result<Option<PathBuf>, CliError> {
    let project = std::env::current_dir()?;
    let of_project = format.project_file(&project);
    let (path, message, hint) = match (args.scope, &of_project) {
        (Some(ScopeArg::Project), _) => {
            let message = format!("{format} has no project file");
            (of_project, message, "leave out --scope project".to_owned())
        }
        (Some(ScopeArg::User) | None, of_project) => {
            let path = folders(context).and_then(|folders| format.user_file(&folders));
            let message = format!("the location of the user-wide file of {format} is not known");
            let paste = "leave out --write and paste what is printed";
            let hint = match of_project {
                Some(file) => format!("{paste}, or write {} with --scope project", short_path(context, file)),
                None => paste.to_owned(),
            };
            (path, message, hint)
        }
    };
    match path {
        None if args.write => Err(CliError::Usage { message, hint: Some(hint) }),
        path => Ok(path),
    }
}

/// The path of this program as it is on `PATH`. The target of a link may be removed by the next update.
fn program(context: &Context) -> Result<PathBuf, CliError> {
    let this = std::env::current_exe()?;
    let path = context.env.variables.get(OsStr::new("PATH")).cloned().unwrap_or_default();
    let in_path = find_command(HUB.as_ref(), &path, None).ok();
    let typed = std::env::args_os().next().map(PathBuf::from).filter(|typed| typed.components().count() > 1);
    let typed = typed.and_then(|typed| std::path::absolute(typed).ok());
    let itself = this.canonicalize()?;
    let leads_here = |path: &PathBuf| path.canonicalize().is_ok_and(|path| path == itself);
    let known = in_path.into_iter().chain(typed).find(leads_here);
    Ok(known.unwrap_or(this))
}

/// The entry that starts this hub, with the configuration that was named.
fn hub(context: &Context, args: &ExportArgs, path: &Path) -> Result<WrittenServer, CliError> {
    let command = match args.scope {
        // Others who have the project have the program somewhere else.
        Some(ScopeArg::Project) => PathBuf::from(HUB),
        Some(ScopeArg::User) | None => program(context)?,
    };
    let mut words = vec![json!("stdio")];
    if let Some(profile) = &context.args.global.profile {
        HubPlan::read(context)?.check_profile(profile)?;
        words.extend([json!("--profile"), json!(profile.as_str())]);
    }
    if let Some(config) = &context.args.global.config {
        words.extend([json!("--config"), json!(absolute(config)?)]);
    }
    written(context, path, HUB, &json!({ "command": command, "args": words }))
}

/// All servers that count, as their files write them.
fn servers(context: &Context) -> Result<Vec<WrittenServer>, CliError> {
    let survey = ConfiguredServers::read(context)?;
    let mut servers = Vec::new();
    for placed in &survey.reading.merged.servers {
        match survey.written(placed) {
            _ if placed.server.permission == Permission::Pending => {
                let name = &placed.server.name;
                context
                    .out
                    .warn(&format!("server `{name}` is skipped: it needs approval, see `toolbay approve`"));
            }
            Some(written) => servers.push(written.clone()),
            None => {}
        }
    }
    Ok(servers)
}

/// The entries for a client.
struct Exported<'a> {
    client: &'static str,
    path: &'a Path,
    /// Whether that is where the client looks.
    is_known: bool,
    servers: Vec<WrittenServer>,
    /// Settings that the client does not support.
    lost: Vec<String>,
}

impl Exported<'_> {
    /// Adds a server if the client supports it, and reports settings that it does not support.
    fn take(&mut self, context: &Context, format: Format, server: WrittenServer) -> Result<(), CliError> {
        match edit_text("", self.path, Some(format), &[Edit::Put(&server)]) {
            Ok(edited) => {
                for lost in edited.lost {
                    let lost = format!("server `{}`: {format} does not support {lost}", server.name);
                    context.out.warn(&lost);
                    self.lost.push(lost);
                }
                self.servers.push(server);
            }
            Err(EditError::Unsupported { message, .. }) => {
                let lost = format!("server `{}` is skipped: {message}", server.name);
                context.out.warn(&lost);
                self.lost.push(lost);
            }
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// Prints the entries as they would be in the file, without secrets.
    fn print(&self, context: &Context, format: Format) -> Result<(), CliError> {
        let shown: Vec<WrittenServer> = self.servers.iter().map(WrittenServer::redacted).collect();
        let hides = shown.iter().zip(&self.servers).any(|(shown, server)| {
            shown.args != server.args
                || shown.env != server.env
                || shown.headers != server.headers
                || shown.url != server.url
        });
        let edits: Vec<Edit<'_>> = shown.iter().map(Edit::Put).collect();
        let text = edit_text("", self.path, Some(format), &edits)?.text;
        if hides {
            context.out.warn("values that may be secret are shown as ***; --write writes them to the file");
        }
        if context.out.json {
            return Ok(context.out.json_object(&self.json(false, Some(&text)))?);
        }
        let is_toml = self.path.extension().is_some_and(|extension| extension == "toml");
        context.out.data(&if is_toml { clean(&text) } else { escape_json(&text) })?;
        if self.is_known {
            context.out.note(&format!("for {}; --write writes it there", short_path(context, self.path)));
        }
        Ok(())
    }

    fn write(&self, context: &Context, format: Format) -> Result<(), CliError> {
        let edits: Vec<Edit<'_>> = self.servers.iter().map(Edit::Put).collect();
        let edited = edit(self.path, Some(format), &edits)?;
        let holds_secrets = self.servers.iter().any(|server| !server.literal_secrets().is_empty());
        if holds_secrets && is_open(self.path)? {
            let path = self.path.display();
            context.out.warn(&format!(
                "{path} contains secrets now and is readable by other users: chmod 600 {path}"
            ));
        }
        if context.out.json {
            return Ok(context.out.json_object(&self.json(true, None))?);
        }
        let backup =
            edited.backup.map(|backup| format!("; the previous version is {}", short_path(context, &backup)));
        let names: Vec<String> = self.servers.iter().map(|server| clean_line(&server.name)).collect();
        let path = short_path(context, self.path);
        context.out.note(&format!("{} in {path}{}", names.join(", "), backup.unwrap_or_default()));
        Ok(())
    }

    fn json(&self, is_written: bool, text: Option<&str>) -> Value {
        let names: Vec<&str> = self.servers.iter().map(|server| server.name.as_str()).collect();
        json!({
            "client": self.client, "path": self.path, "written": is_written, "servers": names, "lost": self.lost,
            "text": text,
        })
    }
}
