//! Which hub a client belongs to, as files change: what a project brings may be approved while a client is connected.

use std::time::Duration;

use tokio::task::spawn_blocking;
use tokio_util::task::TaskTracker;
use toolbay_config::watch_files;

use crate::{
    app::context::Context,
    configured::files::{Configuration, Identity},
};

/// Nothing is read again while a client waits for its first answers.
const FIRST_LOOK: Duration = Duration::from_millis(500);

/// Resolves when a client of the hub `current` belongs to another one.
pub(super) async fn ends(context: &Context, current: Identity) {
    if !current.is_explicit {
        tokio::time::sleep(FIRST_LOOK).await;
        if let Ok(configuration) = Configuration::find(context) {
            return differs(configuration, current, &context.tasks).await;
        }
    }
    std::future::pending().await
}

/// Resolves when the files mean another hub than `current`. They are read on a thread for that: a network file system may never
/// answer.
async fn differs(mut configuration: Configuration, current: Identity, tasks: &TaskTracker) {
    let mut watch = watch_files(&configuration.paths(), tasks);
    loop {
        // Read after the watch stands, so that nothing is missed.
        let read = spawn_blocking(move || {
            let reading = configuration.read();
            let identity = configuration.identity(&reading);
            (configuration, identity)
        });
        let Ok((back, identity)) = read.await else {
            return std::future::pending().await; // the runtime ends, and this with it
        };
        if identity != current {
            return;
        }
        configuration = back;
        watch.changed().await;
    }
}
