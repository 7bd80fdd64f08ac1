//! Hubs that run with other files than those that a command looks at.

use std::path::PathBuf;

use toolbay_control::{ControlClient, HubStatus};

use crate::{
    app::{context::Context, error::CliError},
    configured::files::Configuration,
};

/// Says of a server that is unknown here if a running hub has it from another file.
pub(crate) async fn explain(context: &Context, error: CliError) -> CliError {
    let CliError::UnknownServer { name, similar, known } = error else { return error };
    let has_it = |snapshot: &HubStatus| snapshot.servers.iter().any(|server| server.name == name);
    let config = snapshots(context).await.into_iter().find(has_it).and_then(|snapshot| snapshot.config);
    match config {
        Some(config) => CliError::ElsewhereServer { name, config },
        None => CliError::UnknownServer { name, similar, known },
    }
}

/// The files of running hubs that are none of ours.
pub(crate) async fn configs(context: &Context) -> Vec<PathBuf> {
    snapshots(context).await.into_iter().filter_map(|snapshot| snapshot.config).collect()
}

/// The running hubs with files that are none of ours; with `--config`, nobody wonders about others.
async fn snapshots(context: &Context) -> Vec<HubStatus> {
    if context.args.global.config.is_some() {
        return Vec::new();
    }
    let ours: Vec<PathBuf> = match Configuration::find(context) {
        Ok(configuration) => configuration.files.into_iter().map(|file| file.path).collect(),
        Err(_) => return Vec::new(),
    };
    let ours: Vec<PathBuf> = ours.iter().filter_map(|path| path.canonicalize().ok()).collect();
    let is_other =
        |snapshot: &HubStatus| snapshot.config.as_ref().is_some_and(|config| !ours.contains(config));
    let mut found = Vec::new();
    for (client, _) in ControlClient::all(context.env.socket_dirs()).await {
        found.extend(client.snapshot().await.ok());
    }
    found.into_iter().filter(is_other).collect()
}
