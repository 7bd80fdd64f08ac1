//! `toolbay export`: the hub, or its servers, in the words of a client and in its file.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use toolbay_config::{Edit, EditError, Format, Standing, Written, edit, edit_text};

use super::import::{folders, unknown_client};
use crate::{
    args::{ExportArgs, ScopeArg},
    context::Context,
    error::CliError,
    hub::absolute,
    put::written,
    style::{clean, clean_line, escape_json},
    survey::{Survey, short_path},
};

/// The name of the hub in files of clients.
const HUB: &str = "toolbay";

pub(crate) fn run(context: &Context, args: &ExportArgs) -> Result<(), CliError> {
    let format = Format::client(&args.client)
        .ok_or_else(|| unknown_client(&args.client, Format::CLIENTS.into_iter()))?;
    let path = path(context, args, format)?;
    let servers = if args.servers { servers(context)? } else { vec![hub(context, args, &path)?] };
    let mut exported = Exported { client: format.name(), path: &path, servers: Vec::new(), lost: Vec::new() };
    for server in servers {
        exported.take(context, format, server)?;
    }
    if args.write { exported.write(context, format) } else { exported.print(context, format) }
}

/// The client's file.
fn path(context: &Context, args: &ExportArgs, format: Format) -> Result<PathBuf, CliError> {
    let project = std::env::current_dir()?;
    let of_project = || format.project_file(&project);
    let of_user = || folders(context).and_then(|folders| format.user_file(&folders));
    let path = match args.scope {
        Some(ScopeArg::Project) => of_project(),
        Some(ScopeArg::User) => of_user(),
        None => of_user().or_else(of_project),
    };
    match path {
        Some(path) => Ok(path),
        None if !args.write => Ok(PathBuf::from("mcp.json")),
        None => Err(CliError::Usage {
            message: format!("nobody knows where {format} keeps its file"),
            hint: Some("leave out --write, and paste what is printed".to_owned()),
        }),
    }
}

/// The entry that starts this hub, with the configuration that was named.
fn hub(context: &Context, args: &ExportArgs, path: &Path) -> Result<Written, CliError> {
    let command = match args.scope {
        // Others who have the project have the program somewhere else.
        Some(ScopeArg::Project) => PathBuf::from(HUB),
        Some(ScopeArg::User) | None => std::env::current_exe()?,
    };
    let mut words = vec![json!("stdio")];
    if let Some(config) = &context.args.global.config {
        words.extend([json!("--config"), json!(absolute(config)?)]);
    }
    written(context, path, HUB, &json!({ "command": command, "args": words }))
}

/// All servers that count, as their files write them.
fn servers(context: &Context) -> Result<Vec<Written>, CliError> {
    let survey = Survey::read(context)?;
    let mut servers = Vec::new();
    for placed in &survey.reading.merged.servers {
        match survey.written(placed) {
            _ if placed.server.standing == Standing::Pending => {
                let name = &placed.server.name;
                context
                    .out
                    .warn(&format!("server `{name}` is left out: it needs approval, see `toolbay approve`"));
            }
            Some(written) => servers.push(written.clone()),
            None => {}
        }
    }
    Ok(servers)
}

/// What goes to a client.
struct Exported<'a> {
    client: &'static str,
    path: &'a Path,
    servers: Vec<Written>,
    /// What the client has no words for.
    lost: Vec<String>,
}

impl Exported<'_> {
    /// Takes a server if the client has words for it, and tells what it has none for.
    fn take(&mut self, context: &Context, format: Format, server: Written) -> Result<(), CliError> {
        match edit_text("", self.path, Some(format), &[Edit::Put(&server)]) {
            Ok(edited) => {
                for lost in edited.lost {
                    let lost = format!("server `{}`: {format} has no word for {lost}", server.name);
                    context.out.warn(&lost);
                    self.lost.push(lost);
                }
                self.servers.push(server);
            }
            Err(EditError::Unsayable { message, .. }) => {
                let lost = format!("server `{}` is left out: {message}", server.name);
                context.out.warn(&lost);
                self.lost.push(lost);
            }
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// Prints what would stand in the file, but for secrets.
    fn print(&self, context: &Context, format: Format) -> Result<(), CliError> {
        let shown: Vec<Written> = self.servers.iter().map(Written::redacted).collect();
        let hides = shown.iter().zip(&self.servers).any(|(shown, server)| {
            shown.args != server.args
                || shown.env != server.env
                || shown.headers != server.headers
                || shown.url != server.url
        });
        let edits: Vec<Edit<'_>> = shown.iter().map(Edit::Put).collect();
        let text = edit_text("", self.path, Some(format), &edits)?.text;
        if hides {
            context.out.warn("values that may be secret are shown as ***; --write puts them into the file");
        }
        if context.out.json {
            return Ok(context.out.json_object(&self.json(false, Some(&text)))?);
        }
        let is_toml = self.path.extension().is_some_and(|extension| extension == "toml");
        context.out.data(&if is_toml { clean(&text) } else { escape_json(&text) })?;
        context.out.note(&format!("for {}; --write puts it there", short_path(context, self.path)));
        Ok(())
    }

    fn write(&self, context: &Context, format: Format) -> Result<(), CliError> {
        let edits: Vec<Edit<'_>> = self.servers.iter().map(Edit::Put).collect();
        let edited = edit(self.path, Some(format), &edits)?;
        if context.out.json {
            return Ok(context.out.json_object(&self.json(true, None))?);
        }
        let backup = edited.backup.map(|backup| format!("; the old one is {}", short_path(context, &backup)));
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
