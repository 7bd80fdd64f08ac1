//! Hubs with one server of one revision, reached over any transport on either side.

mod memory;

use std::{cell::RefCell, path::Path, time::Duration};

use anyhow::{Context, Result};
use serde_json::json;
use tempfile::TempDir;
use toolbay_protocol::Revision;
use toolbay_testkit::{
    features::{Feature, FeatureContext, Support},
    harness::{Hub, Profile, Programs, RevisionClient, Setup, WebServer},
};

use memory::MemoryHub;

/// More than any answer takes; a feature that hangs must not make the others wait for long.
const PATIENCE: Duration = Duration::from_secs(20);

/// How clients reach the hub.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Front {
    Http,
    Stdio,
    Sse,
    WebSocket,
}

impl Front {
    pub(crate) const ALL: [Self; 4] = [Self::Http, Self::Stdio, Self::Sse, Self::WebSocket];
}

/// How the hub reaches the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Back {
    Http,
    Stdio,
    Sse,
    WebSocket,
    Memory,
}

impl Back {
    pub(crate) const ALL: [Self; 5] = [Self::Http, Self::Stdio, Self::Sse, Self::WebSocket, Self::Memory];

    /// How the test server is told to serve, where it is a process with an address.
    fn flag(self) -> Option<&'static str> {
        match self {
            Self::Http => Some("--http"),
            Self::Sse => Some("--sse"),
            Self::WebSocket => Some("--ws"),
            Self::Stdio | Self::Memory => None,
        }
    }
}

/// A server behind a hub for all clients over the network, and behind one of its own for each on stdio.
pub(crate) struct Stage {
    pub(crate) server: Revision,
    hub: AnyHub,
}

enum AnyHub {
    /// The program.
    Process(Box<ProcessHub>),
    /// The libraries, in this process: a server in memory has no other place.
    Memory(MemoryHub),
}

struct ProcessHub {
    programs: Programs,
    hub: Hub,
    web: Option<WebServer>,
    folders: RefCell<Vec<TempDir>>,
}

impl Stage {
    pub(crate) fn new(server: Revision, back: Back) -> Result<Self> {
        let hub = match back {
            Back::Memory => AnyHub::Memory(MemoryHub::start(server)?),
            _ => AnyHub::Process(Box::new(ProcessHub::start(server, back)?)),
        };
        Ok(Self { server, hub })
    }

    /// Opens a client that sees the server.
    pub(crate) fn open(&self, front: Front, profile: Profile) -> Result<RevisionClient> {
        let profile = profile.timeout(PATIENCE);
        let address = match &self.hub {
            AnyHub::Process(process) => process.hub.address(),
            AnyHub::Memory(memory) => memory.address(),
        };
        match front {
            Front::Http => profile.over_http(address),
            Front::Sse => profile.over_sse(address),
            Front::WebSocket => profile.over_web_socket(address),
            Front::Stdio => match &self.hub {
                AnyHub::Process(process) => process.open_stdio(profile, self.server),
                AnyHub::Memory(memory) => profile.over(memory.socket()?),
            },
        }
    }

    /// Tries features with one client, or with a new one after each failure.
    pub(crate) fn see<'a>(
        &self,
        front: Front,
        client: Revision,
        features: impl IntoIterator<Item = &'a Feature>,
    ) -> Vec<(&'static str, Result<Support>)> {
        let open = |profile: Profile| self.open(front, profile);
        let tag = format!("{front:?}-{client}").to_lowercase();
        let mut kept = None;
        let mut see = |feature: &Feature| -> Result<Support> {
            let mut client = match kept.take() {
                Some(client) => client,
                None => open(Profile::new(client, "Ada"))?,
            };
            let mut place = FeatureContext {
                client: &mut client,
                server: self.server,
                prefix: "it__",
                tag: &tag,
                open: &open,
            };
            let seen = (feature.check)(&mut place)?;
            kept = Some(client); // one that saw something wrong is not used again
            Ok(seen)
        };
        features.into_iter().map(|feature| (feature.name, see(feature))).collect()
    }
}

impl ProcessHub {
    fn start(server: Revision, back: Back) -> Result<Self> {
        let programs = Programs::beside(Path::new(env!("CARGO_BIN_EXE_toolbay")))?;
        let program = programs.path("toolbay-test-server");
        let revision = ["--revision", server.as_str()];
        let web = back.flag().map(|flag| WebServer::run(&program, &revision, flag)).transpose()?;
        let folder = folder()?;
        let hub = setup(&programs, folder.path(), server, web.as_ref()).start()?;
        hub.wait_for("it", "ready")?;
        Ok(Self { programs, hub, web, folders: RefCell::new(vec![folder]) })
    }

    fn open_stdio(&self, profile: Profile, server: Revision) -> Result<RevisionClient> {
        let folder = folder()?;
        let pipe = setup(&self.programs, folder.path(), server, self.web.as_ref()).start_stdio()?;
        self.folders.borrow_mut().push(folder);
        let mut client = profile.over(pipe)?;
        // A call waits for a server that starts; lists do not.
        client.text("it__echo", json!({ "text": "" })).context("the server does not start")?;
        Ok(client)
    }
}

fn setup(programs: &Programs, folder: &Path, server: Revision, web: Option<&WebServer>) -> Setup {
    let setup = Setup::new(programs.clone(), folder);
    match web {
        Some(web) => setup.remote("it", web.url()),
        None => setup.server("it", "toolbay-test-server", &["--revision", server.as_str()], json!({})),
    }
}

fn folder() -> Result<TempDir> {
    Ok(tempfile::Builder::new().prefix("toolbay-").tempdir()?)
}
