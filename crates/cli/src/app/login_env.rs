//! Where programs are found, when whoever started us did not say it all.
//!
//! A desktop starts programs with the bare `PATH` of the system; the user's login shell knows the rest.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};

use tokio_util::task::TaskTracker;
use toolbay_config::{complete_path, shell_to_ask};
use toolbay_host::{Host, PathSender, Shim};
use toolbay_supervise::login_path;

use crate::app::context::Context;

/// Tells the servers of a host where to look, or that nobody knows. The hub serves meanwhile.
pub(crate) async fn tell_path(
    shell: PathBuf,
    ours: BTreeMap<OsString, OsString>,
    tell: PathSender,
    host: Host,
) {
    tokio::select! {
        () = host.stopping() => {}
        path = ask(&shell, &ours, host.tasks()) => {
            if let Some(path) = path {
                tell.send(path);
            }
        }
    }
}

/// Our variables as servers of a hub would inherit them.
pub(crate) async fn environment(context: &Context) -> BTreeMap<OsString, OsString> {
    let ours = &context.env.variables;
    let mut environment = ours.clone();
    if let Some(shell) = shell_to_ask(ours)
        && let Some(path) = ask(&shell, ours, &context.tasks).await
    {
        environment.insert("PATH".into(), path);
    }
    environment
}

async fn ask(shell: &Path, ours: &BTreeMap<OsString, OsString>, tasks: &TaskTracker) -> Option<OsString> {
    match login_path(shell, ours.clone(), &Shim::current_exe(), tasks).await {
        Ok(login) => {
            let path = ours.get(OsStr::new("PATH")).cloned().unwrap_or_default();
            Some(complete_path(&path, &login))
        }
        Err(error) => {
            tracing::warn!(shell = %shell.display(), "{error}; servers get the PATH of Toolbay");
            None
        }
    }
}
