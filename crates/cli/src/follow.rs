//! A hub that follows its configuration: save a file, and a second later it is so.

use tokio_util::task::TaskTracker;
use toolbay_config::{ConfigError, HubFile, ServerConfig, WatchWay, scope::Reading, watch_files};
use toolbay_host::{Applied, Host};

use crate::{configuration::Configuration, context::Context, output::Output};

/// Applies every change of the files; never ends.
pub(crate) async fn follow(context: &Context, mut configuration: Configuration, host: &Host) {
    // Not the host's: it waits for its tasks before this is dropped.
    let mut watch = watch_files(&configuration.paths(), &TaskTracker::new());
    if let WatchWay::Polled { reason } = watch.way() {
        tracing::warn!("the configuration is looked at every second: {reason}");
    }
    let mut settings: Option<HubFile> = None;
    loop {
        // Read after the watch stands, so that nothing is missed.
        let reading = configuration.read();
        let complaints = complaints(&reading);
        let complained = std::mem::replace(&mut configuration.complained, complaints.clone());
        for complaint in complaints.iter().filter(|complaint| !complained.contains(*complaint)) {
            context.out.warn(&format!("{complaint}; what was there before stays in force"));
        }
        if !complaints.is_empty() {
            host.reject(&complaints.join("\n"));
        } else if !complained.is_empty() {
            context.out.note("the configuration can be used again");
            host.accept();
        }
        let before = settings.replace(reading.hub.clone());
        if before.is_some_and(|before| before != reading.hub) {
            context.out.note("configuration: changes of `[hub]` take effect when the hub is restarted");
        }
        let servers: Vec<ServerConfig> =
            reading.merged.servers.into_iter().map(|placed| placed.server).collect();
        tell(&context.out, &host.apply(&servers).await);
        watch.changed().await;
    }
}

/// What is wrong with files and entries, a line each.
pub(crate) fn complaints(reading: &Reading) -> Vec<String> {
    let errors = reading.errors.iter().map(complaint);
    let problems = reading.problems.iter().map(|(path, problem)| format!("{}:{problem}", path.display()));
    errors.chain(problems).collect()
}

/// What is wrong with a whole file, with the cause.
pub(crate) fn complaint(error: &ConfigError) -> String {
    match std::error::Error::source(error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}

fn tell(out: &Output, applied: &Applied) {
    for (servers, what) in [
        (&applied.added, "added"),
        (&applied.removed, "removed"),
        (&applied.replaced, "changed, starting anew"),
        (&applied.adjusted, "changed"),
    ] {
        for server in servers {
            out.note(&format!("configuration: {server} {what}"));
        }
    }
}
