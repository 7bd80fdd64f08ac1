//! Hubs with one server of one revision.

use std::{cell::RefCell, path::Path, time::Duration};

use anyhow::{Context, Result};
use serde_json::json;
use tempfile::TempDir;
use toolbay_protocol::Revision;
use toolbay_testkit::harness::{Hub, Profile, Programs, RevisionClient, Setup, WebServer};

/// More than any answer takes; a feature that hangs must not make the others wait for long.
const PATIENCE: Duration = Duration::from_secs(5);

/// How clients reach the hub.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Front {
    Http,
    Stdio,
}

impl Front {
    pub(super) const ALL: [Self; 2] = [Self::Http, Self::Stdio];
}

/// How the hub reaches the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Back {
    Http,
    Stdio,
}

impl Back {
    pub(super) const ALL: [Self; 2] = [Self::Http, Self::Stdio];
}

/// A server behind a hub for all clients over HTTP, and behind one of its own for each on stdio.
pub(super) struct Stage {
    pub(super) server: Revision,
    pub(super) back: Back,
    programs: Programs,
    hub: Hub,
    web: Option<WebServer>,
    folders: RefCell<Vec<TempDir>>,
}

impl Stage {
    pub(super) fn new(server: Revision, back: Back) -> Result<Self> {
        let programs = Programs::beside(Path::new(env!("CARGO_BIN_EXE_toolbay")))?;
        let program = programs.path("toolbay-test-server");
        let web = match back {
            Back::Http => Some(WebServer::run(&program, &["--revision", server.as_str()])?),
            Back::Stdio => None,
        };
        let folder = folder()?;
        let hub = setup(&programs, folder.path(), server, web.as_ref()).start()?;
        hub.wait_for("it", "ready")?;
        Ok(Self { server, back, programs, hub, web, folders: RefCell::new(vec![folder]) })
    }

    /// Opens a client that sees the server.
    pub(super) fn open(&self, front: Front, profile: Profile) -> Result<RevisionClient> {
        let profile = profile.patience(PATIENCE);
        match front {
            Front::Http => profile.over_http(self.hub.address()),
            Front::Stdio => {
                let folder = folder()?;
                let setup = setup(&self.programs, folder.path(), self.server, self.web.as_ref());
                let pipe = setup.start_stdio()?;
                self.folders.borrow_mut().push(folder);
                let mut client = profile.over_pipe(pipe)?;
                // A call waits for a server that starts; lists do not.
                client.text("it__echo", json!({ "text": "" })).context("the server does not start")?;
                Ok(client)
            }
        }
    }
}

fn setup(programs: &Programs, folder: &Path, server: Revision, web: Option<&WebServer>) -> Setup {
    let setup = Setup::new(programs.clone(), folder);
    match web {
        Some(web) => setup.remote("it", &web.url()),
        None => setup.server("it", "toolbay-test-server", &["--revision", server.as_str()], json!({})),
    }
}

fn folder() -> Result<TempDir> {
    Ok(tempfile::Builder::new().prefix("toolbay-").tempdir()?)
}
