//! All configured servers: which entry counts, its file, its settings, and its state if a hub runs it.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};
use toolbay_config::{
    ConfigFile, Permission, ServerConfig, ServerEndpoint, WrittenServer,
    scope::{Placed, Reading, Scope},
    visible,
};
use toolbay_control::{ControlClient, ServerSnapshot};

use crate::{
    app::{
        context::Context,
        error::{CliError, similar},
        reload::complaints,
    },
    configured::files::Configuration,
};

/// The servers of all files.
#[derive(Debug)]
pub(crate) struct ConfiguredServers {
    pub(crate) configuration: Configuration,
    pub(crate) reading: Reading,
    /// The files that are there and can be read.
    pub(crate) files: Vec<(PathBuf, ConfigFile)>,
}

impl ConfiguredServers {
    /// Reads all files and reports what cannot be used; a file that was given must be readable.
    pub(crate) fn read(context: &Context) -> Result<Self, CliError> {
        let survey = Self::read_silently(context)?;
        for complaint in complaints(&survey.reading) {
            context.out.warn(&complaint.message);
        }
        Ok(survey)
    }

    /// As [`ConfiguredServers::read`], without reporting.
    pub(crate) fn read_silently(context: &Context) -> Result<Self, CliError> {
        let mut configuration = Configuration::find(context)?;
        let mut reading = configuration.read();
        if configuration.is_explicit
            && let Some(error) = reading.errors.pop()
        {
            return Err(error.into());
        }
        let paths = configuration.files.iter().map(|file| file.path.clone());
        let files = paths.filter_map(|path| Some((path.clone(), configuration.load(&path).ok()?))).collect();
        Ok(Self { configuration, reading, files })
    }

    /// A server as its file writes it.
    pub(crate) fn written(&self, placed: &Placed) -> Option<&WrittenServer> {
        let (_, file) = self.files.iter().find(|(path, _)| *path == placed.file.path)?;
        file.written.iter().find(|written| written.name == placed.server.name.as_str())
    }

    /// The server of this name that counts.
    pub(crate) fn find(&self, name: &str) -> Option<&Placed> {
        self.reading.merged.servers.iter().find(|placed| placed.server.name.as_str() == name)
    }

    /// The error for a name that no file has.
    pub(crate) fn unknown(&self, name: &str) -> CliError {
        let names = self.reading.merged.servers.iter().map(|placed| placed.server.name.as_str());
        let known: Vec<String> = names.map(str::to_owned).collect();
        let similar = similar(name, known.iter().map(String::as_str));
        CliError::UnknownServer { name: name.to_owned(), similar, known }
    }

    /// The states of the servers by name, if a hub runs these files.
    pub(crate) async fn states(&self, context: &Context) -> HashMap<String, ServerSnapshot> {
        let place = context.env.socket_dirs().place(&self.configuration.identity(&self.reading).files);
        let Ok(client) = ControlClient::at(&place).await else { return HashMap::new() };
        let servers = client.snapshot().await.map(|snapshot| snapshot.servers).unwrap_or_default();
        servers.into_iter().map(|server| (server.name.clone(), server)).collect()
    }

    /// A server as JSON: the fields that all formats share, its file, permission and state.
    pub(crate) fn json(&self, placed: &Placed) -> Value {
        let mut value = self.normalized(placed);
        value["enabled"] = (placed.server.permission == Permission::Enabled).into();
        value["permission"] = permission(placed.server.permission).into();
        value["scope"] = scope(placed.file.scope).into();
        value["file"] = json!(placed.file.path);
        value
    }

    /// The fields that all formats share. A server that an extension describes has no entry in a file.
    pub(crate) fn normalized(&self, placed: &Placed) -> Value {
        match (self.written(placed), &placed.server.endpoint) {
            (Some(written), _) => written.normalized(),
            (None, ServerEndpoint::BuiltIn(_)) => {
                json!({ "name": placed.server.name.as_str(), "transport": "builtin", "enabled": true })
            }
            (None, _) => placed.server.as_written().normalized(),
        }
    }
}

/// The name of a permission in output.
pub(crate) fn permission(permission: Permission) -> &'static str {
    match permission {
        Permission::Enabled => "enabled",
        Permission::Disabled => "disabled",
        Permission::Pending => "needs approval",
    }
}

/// The name of a scope in output.
pub(crate) fn scope(scope: Scope) -> &'static str {
    match scope {
        Scope::Managed => "managed",
        Scope::Local => "local",
        Scope::Project => "project",
        Scope::User => "user",
        Scope::Extension => "extension",
        Scope::Discovered => "discovered",
    }
}

/// A path, shortened with `~`.
pub(crate) fn short_path(context: &Context, path: &Path) -> String {
    let below_home = context.env.home.as_ref().and_then(|home| path.strip_prefix(home).ok());
    visible(&match below_home {
        Some(rest) => format!("~/{}", rest.display()),
        None => path.display().to_string(),
    })
}

/// Warns of packages that are not pinned to a version: what runs tomorrow may differ from what runs today.
///
/// Most people have many of them, so there is one line for all, or with `-v` one for each server.
pub(crate) fn warnings<'a>(
    servers: impl IntoIterator<Item = &'a ServerConfig>,
    is_verbose: bool,
) -> Vec<String> {
    let of = |server: &ServerConfig| Some(format!("server `{}`: {}", server.name, warning(server)?));
    gathered(servers.into_iter().filter_map(of).collect(), is_verbose)
}

/// As [`warnings`], for lines that were made already.
pub(crate) fn gathered(lines: Vec<String>, is_verbose: bool) -> Vec<String> {
    match lines.len() {
        0 | 1 => lines,
        _ if is_verbose => lines,
        count => vec![format!("{count} servers are not pinned to a version; -v lists them")],
    }
}

/// The warning about one server, if its package is not pinned.
pub(crate) fn warning(server: &ServerConfig) -> Option<String> {
    let package = server.floating_package()?;
    Some(format!("`{package}` is not pinned to a version, such as `{}`", pinned(server, package)))
}

/// The package with a version, as an example.
fn pinned(server: &ServerConfig, package: &str) -> String {
    let toolbay_config::ServerEndpoint::Command(command) = &server.endpoint else {
        return package.to_owned();
    };
    let program = std::path::Path::new(&command.command).file_name().unwrap_or_default();
    let is_image = program == "docker" || program == "podman";
    let at = if is_image { ':' } else { '@' };
    let scope_ends = package.find('/').unwrap_or_default();
    let name_ends = package[scope_ends..].find(at).map_or(package.len(), |end| scope_ends + end);
    format!("{}{at}1.2.3", &package[..name_ends])
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn servers(entries: &str) -> Vec<ServerConfig> {
        let text = format!(r#"{{"mcpServers": {{{entries}}}}}"#);
        toolbay_config::parse(&text, Path::new("mcp.json")).unwrap().servers
    }

    #[test]
    fn many_take_one_line_and_one_says_how_to_pin() {
        let all = servers(
            r#""a": {"command": "npx", "args": ["-y", "@a/b@latest"]}, "b": {"command": "docker", "args": ["run", "x/y"]},
               "c": {"command": "npx", "args": ["-y", "c@1.0.0"]}"#,
        );
        assert_eq!(warnings(&all, false), ["2 servers are not pinned to a version; -v lists them"]);
        assert_eq!(
            warnings(&all, true),
            [
                "server `a`: `@a/b@latest` is not pinned to a version, such as `@a/b@1.2.3`",
                "server `b`: `x/y` is not pinned to a version, such as `x/y:1.2.3`",
            ]
        );
        assert_eq!(warnings(&all[1..], false), warnings(&all[1..], true));
        assert!(warnings(&all[2..], true).is_empty());
    }
}
