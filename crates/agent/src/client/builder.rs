//! Which server, and how.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

use parking_lot::Mutex;
use tokio::sync::{broadcast, mpsc};
use toolbay_config::{ServerConfig, ServerEndpoint, ServerOptions};
use toolbay_host::{InProcess, server_endpoint, server_settings};
use toolbay_protocol::ServerName;
use toolbay_transport::Connection;
use toolbay_upstream::{Endpoint, ServerSettings, Shim, custom};

use super::{Client, ClientInner, ConnectionSlot, notifications::BEHIND};
use crate::{Error, Handlers, call::CallSender, server_config};

/// A client that is being described.
#[must_use = "nothing happens before `connect`, or `build` and `initialize`"]
pub struct ClientBuilder {
    name: String,
    setup: ClientSettings,
    sender: CallSender,
}

pub(super) struct ClientSettings {
    way: Result<ClientEndpoint, Error>,
    environment: BTreeMap<OsString, OsString>,
    shim: Shim,
    tuning: Option<ServerOptions>,
}

enum ClientEndpoint {
    Configured(Box<ServerConfig>),
    Given(Endpoint),
}

impl Client {
    /// A server to run, which speaks on its standard streams.
    ///
    /// It is looked up in the `PATH` of [`ClientBuilder::environment`] and gets no variables but those.
    pub fn stdio<S: Into<String>>(command: &str, args: impl IntoIterator<Item = S>) -> ClientBuilder {
        let name = Path::new(command).file_name().and_then(|name| name.to_str()).unwrap_or("server");
        ClientBuilder::new(
            name,
            server_config::program(name, command, args, &[])
                .map(|config| ClientEndpoint::Configured(config.into())),
        )
    }

    /// A server at a URL. What is spoken there is found out: Streamable HTTP, HTTP+SSE, or WebSocket for `ws` and `wss`.
    pub fn http(url: &str) -> ClientBuilder {
        let way =
            server_config::remote("server", url, &[]).map(|config| ClientEndpoint::Configured(config.into()));
        ClientBuilder::new("server", way)
    }

    /// A server behind a transport of one's own.
    pub fn transport(transport: Arc<dyn custom::Transport>) -> ClientBuilder {
        ClientBuilder::new(transport.name(), Ok(ClientEndpoint::Given(Endpoint::Custom(transport))))
    }

    /// A server in this process.
    pub fn in_process(server: InProcess) -> ClientBuilder {
        ClientBuilder::new("in-process", Ok(ClientEndpoint::Given(Endpoint::InProcess(server))))
    }

    /// A server at the other end of a connection that stands already. When it ends, there is no other.
    pub fn connection(wire: Connection) -> ClientBuilder {
        let wire = Mutex::new(Some(wire));
        let once = move |_: &_| {
            let wire = wire.lock().take();
            wire.unwrap_or_else(|| Connection { outgoing: mpsc::channel(1).0, incoming: mpsc::channel(1).1 })
        };
        Self::in_process(Arc::new(once))
    }
}

impl ClientBuilder {
    fn new(name: &str, way: Result<ClientEndpoint, Error>) -> Self {
        let setup = ClientSettings { way, environment: BTreeMap::new(), shim: Shim::none(), tuning: None };
        Self { name: name.to_owned(), setup, sender: CallSender::new() }
    }

    /// What people call the server; errors have it.
    pub fn name(self, name: impl Into<String>) -> Self {
        Self { name: name.into(), ..self }
    }

    /// Who this program is; the server is told.
    pub fn client_info(self, name: &str, version: &str) -> Self {
        Self { sender: self.sender.named(name, version), ..self }
    }

    /// Answers for what the server asks in the middle of a call.
    pub fn handlers(self, handlers: Handlers) -> Self {
        Self { sender: self.sender.with_handlers(handlers), ..self }
    }

    /// Our own variables, such as `std::env::vars_os()`. The server inherits those that programs need to run, and none that
    /// may be a secret, unless [`ClientBuilder::tuning`] says otherwise; proxies are taken from them, too.
    pub fn environment(mut self, variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        self.setup.environment = variables.into_iter().collect();
        self
    }

    /// A variable for the server.
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        if let Ok(ClientEndpoint::Configured(config)) = &mut self.setup.way
            && let ServerEndpoint::Command(command) = &mut config.endpoint
        {
            command.env.insert(name.into(), value.into());
        }
        self
    }

    /// Where the server runs.
    pub fn cwd(mut self, folder: impl Into<PathBuf>) -> Self {
        if let Ok(ClientEndpoint::Configured(config)) = &mut self.setup.way
            && let ServerEndpoint::Command(command) = &mut config.endpoint
        {
            command.cwd = Some(folder.into());
        }
        self
    }

    /// A header for every request to a server at a URL. It is never printed.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        let headers =
            server_config::remote("server", "http://server", &[(name.to_owned(), value.to_owned())]);
        match (headers.map(|config| config.endpoint), &mut self.setup.way) {
            (Ok(ServerEndpoint::Url(checked)), Ok(ClientEndpoint::Configured(config))) => {
                if let ServerEndpoint::Url(remote) = &mut config.endpoint {
                    remote.headers.extend(checked.headers);
                }
            }
            (Err(error), way @ Ok(_)) => *way = Err(error),
            _ => {}
        }
        self
    }

    /// Time limits and whatever else a configuration may say about a server, under `toolbay` of its entry.
    pub fn tuning(mut self, tuning: ServerOptions) -> Self {
        self.setup.tuning = Some(tuning);
        self
    }

    /// How the server's process tree is kept together: see [`shim`](crate::shim).
    pub fn shim(mut self, shim: Shim) -> Self {
        self.setup.shim = shim;
        self
    }

    /// The client, which does nothing yet.
    pub fn build(self) -> Client {
        let shared = ClientInner {
            name: ServerName::new(self.name),
            setup: self.setup,
            slot: Mutex::new(ConnectionSlot::Idle),
            notifications: broadcast::Sender::new(BEHIND),
        };
        Client { shared: Arc::new(shared), sender: Arc::new(self.sender) }
    }

    /// The client, initialized.
    ///
    /// # Errors
    ///
    /// As [`Client::initialize`].
    pub async fn connect(self) -> Result<Client, Error> {
        let client = self.build();
        client.initialize().await?;
        Ok(client)
    }
}

impl ClientSettings {
    /// How to reach the server, and how to treat it.
    pub(super) fn ready(&self, name: &ServerName) -> Result<(ServerSettings, Endpoint), Error> {
        match self.way.as_ref().map_err(Clone::clone)? {
            ClientEndpoint::Configured(config) => {
                let mut config = ServerConfig { name: name.clone(), ..(**config).clone() };
                if let Some(tuning) = &self.tuning {
                    config.tuning = tuning.clone();
                }
                Ok((server_settings(&config), server_endpoint(&config, &self.environment, &self.shim, None)))
            }
            ClientEndpoint::Given(source) => Ok((ServerSettings::new(name.clone()), source.clone())),
        }
    }
}

impl fmt::Debug for ClientBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientBuilder").field("name", &self.name).finish_non_exhaustive()
    }
}
