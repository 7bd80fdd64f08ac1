//! All configured servers: what counts, where it stands, how it is written, and how it is if a hub runs it.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};
use toolbay_config::{
    ConfigFile, Permission, ServerEndpoint, WrittenServer,
    scope::{Placed, Reading, Scope},
    visible,
};
use toolbay_control::{ControlClient, ServerSnapshot};

use crate::{
    app::{context::Context, error::CliError, reload::complaints},
    configured::{files::Configuration, suggest::similar},
};

/// What the files say, all of them.
#[derive(Debug)]
pub(crate) struct ConfiguredServers {
    pub(crate) configuration: Configuration,
    pub(crate) reading: Reading,
    /// The files that are there and can be read.
    pub(crate) files: Vec<(PathBuf, ConfigFile)>,
}

impl ConfiguredServers {
    /// Reads all files and tells about what cannot be used; a file that was named must be readable.
    pub(crate) fn read(context: &Context) -> Result<Self, CliError> {
        let survey = Self::read_silently(context)?;
        for complaint in complaints(&survey.reading) {
            context.out.warn(&complaint.message);
        }
        Ok(survey)
    }

    /// As [`ConfiguredServers::read`], for those who tell in their own way.
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

    /// How the servers are, by name, if a hub runs these files; nothing else.
    pub(crate) async fn states(&self, context: &Context) -> HashMap<String, ServerSnapshot> {
        let place = context.env.socket_dirs().place(&self.configuration.identity(&self.reading).files);
        let Ok(client) = ControlClient::at(&place).await else { return HashMap::new() };
        let servers = client.snapshot().await.map(|snapshot| snapshot.servers).unwrap_or_default();
        servers.into_iter().map(|server| (server.name.clone(), server)).collect()
    }

    /// A server for programs: the fields that all formats share, and where it stands.
    pub(crate) fn json(&self, placed: &Placed) -> Value {
        let mut value = self.normalised(placed);
        value["enabled"] = (placed.server.permission == Permission::Enabled).into();
        value["standing"] = permission(placed.server.permission).into();
        value["scope"] = scope(placed.file.scope).into();
        value["file"] = json!(placed.file.path);
        value
    }

    /// The fields that all formats share. Nobody wrote those of a server that an extension describes.
    pub(crate) fn normalised(&self, placed: &Placed) -> Value {
        match (self.written(placed), &placed.server.endpoint) {
            (Some(written), _) => written.normalised(),
            (None, ServerEndpoint::BuiltIn(_)) => {
                json!({ "name": placed.server.name.as_str(), "transport": "builtin", "enabled": true })
            }
            (None, _) => placed.server.as_written().normalised(),
        }
    }
}

/// Whether a server may run, in a word.
pub(crate) fn permission(standing: Permission) -> &'static str {
    match standing {
        Permission::Enabled => "enabled",
        Permission::Disabled => "disabled",
        Permission::Pending => "needs approval",
    }
}

/// Whose file it is, in a word.
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

/// A path as people write it.
pub(crate) fn short_path(context: &Context, path: &Path) -> String {
    let below_home = context.env.home.as_ref().and_then(|home| path.strip_prefix(home).ok());
    visible(&match below_home {
        Some(rest) => format!("~/{}", rest.display()),
        None => path.display().to_string(),
    })
}
